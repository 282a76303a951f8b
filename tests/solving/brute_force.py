"""Every decision of a tiny instance, costed from the paper's definitions alone.

Nothing of policies.milp is used but the container of the input: every job waits or gets (node,
GPUs); every node any type (or its own). The cost is (P1a) term by term.
"""

import itertools

import numpy as np

from policies.solving.instance import DecisionInput

FIRST, ALL, SECOND, THIRD = "first", "all", "second", "third"
"""Lease of a node: until its first job ends (2021), or each job's share until its own end (2019). In the
second model the whole node for each job until its own end, and earliness is weighted as tardiness is;
the third is half of that and half of the first."""
EARLY = {FIRST: 0.0, ALL: 0.0, SECOND: 1.0, THIRD: 0.5}


def least_cost(x: DecisionInput, lease: str = FIRST) -> float:
    """The optimum of an instance."""
    return min(value for _, value in decisions(x, lease))


def decisions(x: DecisionInput, lease: str = FIRST) -> list[tuple[int, float]]:
    """For each way to type the nodes: the nodes in use that it takes, and the least cost."""
    jobs, types, width = x.times_s.shape
    choices = [(-1, 0), *itertools.product(range(x.num_nodes), range(1, width))]
    table = np.array(list(itertools.product(range(len(choices)), repeat=jobs)))
    node = np.array([n for n, _ in choices])[table]
    gpus = np.array([g for _, g in choices])[table]
    if x.nodes_of_type is None:
        typings = itertools.combinations_with_replacement(range(types), x.num_nodes)
    else:
        typings = iter([tuple(np.repeat(np.arange(types), x.nodes_of_type).tolist())])
    results = [cost for typing in typings for cost in _of_typing(x, typing, node, gpus, lease)]
    # (P1n): as many nodes as there are, or as there are jobs, where that can be done at all.
    most = max(used for used, _ in results)
    return [(used, cost) for used, cost in results if used == most]


def _of_typing(x, typing, node, gpus, lease):
    jobs = x.times_s.shape[0]
    v = np.array([*typing, 0])[node]
    time = np.where(node >= 0, x.times_s[np.arange(jobs), v, gpus], 0.0)
    good = np.isfinite(time).all(axis=1)
    used = [(gpus * (node == n)).sum(axis=1) for n in range(x.num_nodes)]
    for n, taken in enumerate(used):
        good &= taken <= x.gpus[typing[n]]
    node, gpus, time = node[good], gpus[good], time[good]
    busy = np.stack([taken[good] > 0 for taken in used], axis=1)
    cost = np.zeros(len(node))
    for j in range(jobs):
        cost += _job(x, j, node[:, j] >= 0, time[:, j], typing, EARLY[lease])
    price = np.broadcast_to(np.reshape(x.price_per_hour, (len(x.gpus), -1)), x.times_s.shape[1:])
    for n, t in enumerate(typing):
        here = node == n
        bill = np.where(here, time * price[t, np.where(here, gpus, 1)] / 3600.0, np.inf)
        if lease == ALL:
            bill_of_node = (np.where(here, bill, 0.0) * gpus / x.gpus[t]).sum(axis=1)
        else:
            share, each = EARLY[lease], np.where(here, bill, 0.0).sum(axis=1)
            first = np.where(here.any(axis=1), bill.min(axis=1), 0.0)
            bill_of_node = (1 - share) * first + share * each
        idle = x.gpus[t] - used[n][good]
        cost += np.where(busy[:, n], np.where(busy[:, n], bill_of_node, 0.0) + x.mu * idle, 0.0)
    count = busy.sum(axis=1)
    return [(int(c), float(cost[count == c].min())) for c in np.unique(count)]


def _job(x, j, runs, time, typing, early):
    """Weighted tardiness of one job: tau when it runs, and a share of its earliness; tau + rho tau_hat
    when it waits."""
    weight, due = float(x.weight_per_s[j]), float(x.due_s[j])
    types = range(len(x.gpus)) if x.nodes_of_type is None else set(typing)
    times = np.array([x.times_s[j, v, g] for v in types for g in range(1, x.times_s.shape[2])])
    longest = times[np.isfinite(times)].max() if np.isfinite(times).any() else 0.0
    late = np.maximum(0.0, time - due)
    if np.isfinite(due):
        late = late + early * np.maximum(0.0, due - time)
    waiting = max(0.0, -due) + x.rho * max(0.0, x.horizon_s + longest - due)
    return weight * np.where(runs, late, waiting)
