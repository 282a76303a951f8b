"""The authors' centralised model of 2019 (ICCCS), the rival of the hierarchical paper.

The text of 2019 is not at hand. What the hierarchical paper says of it (end of Section IV,
Section V-B) is: GPUs are priced linearly within a GPU type, without regard to the lots that VMs
come in; the costs of all running jobs are counted, not those of the first to end; the model is
linear and has fewer columns and rows than (P2); and it passes 300,000 columns at 40 nodes.

Assumed, beyond that: jobs, node types, partitions and tardiness are those of (P1), (P1b)-(P1i),
(P1m), (P1n) with the same rho, mu and H; the third term of (P1a) becomes

    sum over j, n, v, g of  t_jvg c_v (g / G_v) x_jnvg,

and a node in use runs at least one job (in (P1) the leader sees to that). x keeps its node index,
which gives the 300,000: 40 nodes and 27 jobs a controller of 5 nodes (as the 5,000 columns of the
hierarchical models imply), so 216 jobs, make 276,480 of x alone.

`centralised_2019_literal` is that model; `centralised_2019` has the same optimum over patterns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from policies.milp.literal import add_schedule
from policies.solving.instance import DecisionInput, Formulation, JobOnNode, by_node
from policies.solving.model import Builder, FloatArray
from policies.solving.slots import build, pattern_table, with_disposal


def linear_lease(instance: DecisionInput) -> FloatArray:
    """``(J, V, G + 1)`` t c g / G, the job's own GPUs until its end; infinite: it cannot run."""
    share = np.arange(instance.times_s.shape[2]) / instance.gpus[:, None]
    with np.errstate(invalid="ignore"):
        lease = instance.lease_cost * share
    return np.where(instance.possible, lease, np.inf)


def cost_2019(instance: DecisionInput, assignments: Sequence[JobOnNode]) -> float:
    """The objective of 2019 of an assignment."""
    lease = linear_lease(instance)
    waits = np.ones(instance.num_jobs, dtype=bool)
    total = 0.0
    for node in by_node(assignments):
        v = node[0].node_type
        for a in node:
            waits[a.job] = False
            total += float(instance.tardiness_cost[a.job, v, a.gpus] + lease[a.job, v, a.gpus])
        total += instance.mu * (int(instance.gpus[v]) - sum(a.gpus for a in node))
    return total + float(instance.postponed_cost[waits].sum())


def centralised_2019(instance: DecisionInput) -> Formulation:
    """The model of 2019 over patterns: the same optimum, a size that nodes do not change."""
    table = pattern_table(tuple(instance.gpus.tolist()), with_leader=False)
    cost, used = with_disposal(
        instance.tardiness_cost + linear_lease(instance), instance.times_s, instance.mu
    )
    v, g = table.slot_type, table.slot_gpus
    form = build(instance, table, cost[:, v, g], used[:, v, g])
    return Formulation(form.model, form.decode, form.encode, functools.partial(cost_2019, instance))


def centralised_2019_literal(instance: DecisionInput) -> Formulation:
    """The model of 2019 over nodes: J N (configurations + 1) + 2 J + N (V + 1) columns."""
    b = Builder()
    columns = add_schedule(b, instance, linear_lease(instance))
    rows = b.add_rows(instance.num_nodes, lower=0.0, upper=np.inf)  # a node in use runs a job
    b.add(rows[:, None], columns.z)
    b.add(rows, columns.w, -1.0)
    model = b.build(offset=0.0, constant=instance.constant)
    return Formulation(
        model,
        columns.decode,
        functools.partial(columns.encode, model.columns),
        functools.partial(cost_2019, instance),
    )
