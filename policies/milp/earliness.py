"""The hierarchical paper's second and third model (end of Section IV), which it found worse than (P2).

The text gives no formulas. The second model "focuses on earliness rather than on tardiness", jobs are to
end as close as possible to their due dates, and the execution of all running jobs is counted, not only
until the first ends. Read so, a job that runs costs

    w_j |t_jvg - d_j|  +  t_jvg c_v,

and a job that waits what it costs in (P1a). The third model is a convex combination of its objective
and that of (P2), half of each.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from policies.milp.formulation import Formulation
from policies.milp.instance import Assignment, Instance, by_node, cost
from policies.milp.model import FloatArray
from policies.milp.patterns import by_role


def second_model(instance: Instance) -> Formulation:
    """Deviations from due dates, and the lease of every job that runs."""
    return _combined(instance, 1.0)


def third_model(instance: Instance) -> Formulation:
    """Half of the second model's objective and half of (P2)'s."""
    return _combined(instance, 0.5)


def _combined(instance: Instance, share: float) -> Formulation:
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
    instance: Instance, second: FloatArray, share: float, assignments: Sequence[Assignment]
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
