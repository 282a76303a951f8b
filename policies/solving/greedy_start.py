"""A quick feasible answer: where the solver finds none in time, and for it to begin from."""

from __future__ import annotations

import numpy as np

from policies.solving.instance import DecisionInput, IntArray, JobOnNode
from policies.solving.model import BoolArray, FloatArray
from policies.solving.slots import with_disposal


def greedy_start(instance: DecisionInput) -> list[JobOnNode]:
    """Fill the nodes in use one after another, each as cheaply as can be seen from there.

    A node is tried as every type with every equal share of g GPUs a job: the jobs that gain most
    from running, against waiting, take a share each, and the cheapest leader takes what is left
    over. The trial of least cost by (P1a) stays. A job is left for each node still to come.
    """
    tardy = instance.tardiness_cost
    lead, lead_used = with_disposal(tardy + instance.lease_cost, instance.times_s, instance.mu)
    follow, follow_used = with_disposal(tardy, instance.times_s, instance.mu)
    free: BoolArray = np.any(instance.possible, axis=(1, 2))
    left = _nodes_left(instance)
    first = np.cumsum(left) - left if instance.nodes_of_type is not None else np.zeros_like(left)
    answer: list[JobOnNode] = []
    for n in range(instance.nodes_in_use):
        most = int(free.sum()) - (instance.nodes_in_use - n - 1)
        trials = [
            trial
            for v in np.flatnonzero(left > 0)
            for g in range(1, int(instance.gpus[v]) + 1)
            if (trial := _trial(instance, lead, follow, free, int(v), g, most)) is not None
        ]
        if not trials:
            break
        _, v, g, jobs, spare = min(trials, key=lambda trial: trial[:3])
        node = n if instance.nodes_of_type is None else int(first[v])
        answer.append(JobOnNode(int(jobs[0]), node, v, int(lead_used[jobs[0], v, g + spare])))
        answer.extend(JobOnNode(int(j), node, v, int(follow_used[j, v, g])) for j in jobs[1:])
        free[jobs] = False
        if instance.nodes_of_type is not None:
            left[v] -= 1
            first[v] += 1
    return answer


def _nodes_left(instance: DecisionInput) -> IntArray:
    if instance.nodes_of_type is not None:
        return instance.nodes_of_type.copy()
    return np.full(len(instance.gpus), instance.num_nodes)


def _trial(
    instance: DecisionInput,
    lead: FloatArray,
    follow: FloatArray,
    free: BoolArray,
    v: int,
    g: int,
    most: int,
) -> tuple[float, int, int, IntArray, int] | None:
    """A node of type v in shares of g: cost against waiting, v, g, jobs (leader first), spare."""
    fits = np.flatnonzero(free & np.isfinite(follow[:, v, g]))
    if not len(fits) or most < 1:
        return None
    net = follow[fits, v, g] - instance.postponed_cost[fits]
    count = min(int(instance.gpus[v]) // g, len(fits), most)
    # Where running gains nothing, the jobs of least lease come first.
    chosen = np.lexsort((lead[fits, v, g], net))[:count]
    jobs = fits[chosen]
    spare = int(instance.gpus[v]) - count * g
    extra = lead[jobs, v, g + spare] - follow[jobs, v, g]
    leader = int(np.argmin(extra))
    order = np.concatenate([[leader], np.delete(np.arange(count), leader)])
    return float(net[chosen].sum() + extra[leader]), v, g, jobs[order], spare
