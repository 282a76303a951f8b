"""From a solution, whose nodes are interchangeable within a type, to placements on nodes."""

from __future__ import annotations

from policies.greedy.problem import Solution
from policies.packing import beside
from simulator.contract import FIXED, Placement, View


def assign_nodes(solution: Solution, view: View) -> list[Placement]:
    """Give the nodes of a solution their identities.

    Nodes of one type are interchangeable in a solution. Each takes the node where most of its
    jobs' GPUs are now, the largest such claims first; the others take what is left, in order.
    """
    fixed = view.cluster.node_type_of
    running = view.running
    hosted = [
        list(zip(jobs[:k], gpus[:k], strict=True))
        for k, jobs, gpus in zip(
            solution.num_jobs.tolist(),
            view.jobs[solution.jobs].tolist(),
            solution.gpus.astype(int).tolist(),
            strict=True,
        )
    ]
    types = solution.node_type.tolist()
    claims: list[tuple[float, int, int]] = []
    for k, jobs in enumerate(hosted):
        kept: dict[int, float] = {}
        for job, _ in jobs:
            for _, node, gpus, *_ in running.get(job, ()):
                if fixed is None or fixed[node] == types[k]:
                    kept[node] = kept.get(node, 0.0) + gpus
        for node, gpus in kept.items():
            claims.append((-gpus, k, node))
    node_of: dict[int, int] = {}
    free = dict.fromkeys(view.nodes.tolist())
    for _, k, node in sorted(claims):
        if k not in node_of and node in free:
            node_of[k] = node
            del free[node]
    left: dict[int, list[int]] = {}
    for node in reversed(free):
        left.setdefault(FIXED if fixed is None else fixed[node], []).append(node)
    placements: list[Placement] = []
    besides: dict[tuple[int, int], tuple[float, float]] = {}
    for k, jobs in enumerate(hosted):
        v = types[k]
        node = node_of[k] if k in node_of else left[FIXED if fixed is None else v].pop()
        node_type = v if fixed is None else FIXED
        for job, g in jobs:
            if (v, g) not in besides:
                besides[v, g] = beside(view.cluster.node_types[v], g)
            placements.append(Placement(job, node, g, node_type, *besides[v, g]))
    return placements
