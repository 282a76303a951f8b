"""The objectives of the hierarchical paper in the exact pattern form: (P1a), and its second and third model.

On each node the *leader* is the job whose lease counts, the others follow: a leading slot costs
tardiness and lease, a following one tardiness alone. The minimum over who leads is the paper's
first job to end (the job of least lease on the node). See `policies.solving.slots` for the form.

With fixed heterogeneous nodes (ANDREAS), classes of equal nodes are the node types, at most as
many nodes of a class are used as exist, and the leader pays by the GPUs that it uses itself:
t c_ng of constraint (4k) there.

The second and third model (end of Section IV), which the paper found worse than (P2), have no formulas in the text. The
second "focuses on earliness rather than on tardiness", jobs are to end as close as possible to their due dates, and the
execution of all running jobs is counted, not only until the first ends. Read so, a job that runs costs

    w_j |t_jvg - d_j|  +  t_jvg c_v,

and a job that waits what it costs in (P1a). The third model is a convex combination of its objective
and that of (P2), half of each.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from policies.solving.instance import DecisionInput, Formulation, JobOnNode, by_node, cost
from policies.solving.model import FloatArray
from policies.solving.slots import SlotForm, build, pattern_table, with_disposal


def patterns(instance: DecisionInput) -> Formulation:
    """The pattern form of an instance. Raises `InputError` for nodes of too many GPUs."""
    tardy = instance.tardiness_cost
    form = by_role(instance, tardy + instance.lease_cost, tardy)
    return Formulation(form.model, form.decode, form.encode, functools.partial(cost, instance))


def by_role(instance: DecisionInput, lead: FloatArray, follow: FloatArray) -> SlotForm:
    """The model in which a job costs ``lead`` or ``follow``, both ``(J, V, G + 1)``, by its role on its node."""
    table = pattern_table(tuple(instance.gpus.tolist()), with_leader=True)
    roles = [with_disposal(c, instance.times_s, instance.mu) for c in (lead, follow)]
    first, rest = slice(None, table.leading), slice(table.leading, None)
    columns = [(table.slot_type[part], table.slot_gpus[part]) for part in (first, rest)]
    return build(
        instance,
        table,
        np.hstack([c[:, v, g] for (c, _), (v, g) in zip(roles, columns, strict=True)]),
        np.hstack([u[:, v, g] for (_, u), (v, g) in zip(roles, columns, strict=True)]),
    )


def second_model(instance: DecisionInput) -> Formulation:
    """Deviations from due dates, and the lease of every job that runs."""
    return _combined(instance, 1.0)


def third_model(instance: DecisionInput) -> Formulation:
    """Half of the second model's objective and half of (P2)'s."""
    return _combined(instance, 0.5)


def _combined(instance: DecisionInput, share: float) -> Formulation:
    """The second model's objective to a share, (P2)'s for the rest."""
    possible = instance.possible
    times, tardy, lease = (
        np.where(possible, values, 0.0)
        for values in (instance.times_s, instance.tardiness_cost, instance.lease_cost)
    )
    due_s = np.where(np.isfinite(instance.due_s), instance.due_s, 0.0)[:, None, None]
    second = tardy + instance.weight_per_s[:, None, None] * np.maximum(due_s - times, 0.0) + lease
    follow = np.where(possible, share * second + (1 - share) * tardy, np.inf)
    form = by_role(instance, follow + (1 - share) * lease, follow)
    value = functools.partial(_value, instance, second, share)
    return Formulation(form.model, form.decode, form.encode, value)


def _value(
    instance: DecisionInput, second: FloatArray, share: float, assignments: Sequence[JobOnNode]
) -> float:
    """The combined objective of an assignment."""
    waits = np.ones(instance.num_jobs, dtype=bool)
    total = 0.0
    for node in by_node(assignments):
        v = node[0].node_type
        waits[[a.job for a in node]] = False
        total += sum(float(second[a.job, v, a.gpus]) for a in node)
        total += instance.mu * (int(instance.gpus[v]) - sum(a.gpus for a in node))
    total += float(instance.postponed_cost[waits].sum())
    return share * total + (1 - share) * cost(instance, assignments)
