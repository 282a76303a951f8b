"""The paper's objective (P1a) in the exact pattern form.

On each node the *leader* is the job whose lease counts, the others follow: a leading slot costs
tardiness and lease, a following one tardiness alone. The minimum over who leads is the paper's
first job to end (the job of least lease on the node). See `policies.milp.slots` for the form.

With fixed heterogeneous nodes (ANDREAS), classes of equal nodes are the node types, at most as
many nodes of a class are used as exist, and the leader pays by the GPUs that it uses itself:
t c_ng of constraint (4k) there.
"""

from __future__ import annotations

import functools

import numpy as np

from policies.milp.formulation import Formulation
from policies.milp.instance import Instance, cost
from policies.milp.model import FloatArray
from policies.milp.slots import SlotForm, build, pattern_table, with_disposal


def patterns(instance: Instance) -> Formulation:
    """The pattern form of an instance. Raises `InputError` for nodes of too many GPUs."""
    tardy = instance.tardiness_cost
    form = by_role(instance, tardy + instance.lease_cost, tardy)
    return Formulation(form.model, form.decode, form.encode, functools.partial(cost, instance))


def by_role(instance: Instance, lead: FloatArray, follow: FloatArray) -> SlotForm:
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
