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
    names = view.jobs
    hosted = [
        [(int(names[j]), int(g)) for j, g in zip(jobs[:k], gpus[:k], strict=True)]
        for k, jobs, gpus in zip(
            solution.num_jobs.tolist(), solution.jobs, solution.gpus, strict=True
        )
    ]
    types = solution.node_type.tolist()
    claims: list[tuple[float, int, int]] = []
    for k, jobs in enumerate(hosted):
        kept: dict[int, float] = {}
        for job, _ in jobs:
            for placement in view.running.get(job, ()):
                if fixed is None or fixed[placement.node] == types[k]:
                    kept[placement.node] = kept.get(placement.node, 0.0) + placement.gpus
        claims.extend((-gpus, k, node) for node, gpus in kept.items())
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
    for k, jobs in enumerate(hosted):
        kind = FIXED if fixed is None else types[k]
        node = node_of[k] if k in node_of else left[kind].pop()
        node_type = types[k] if fixed is None else FIXED
        spec = view.cluster.node_types[types[k]]
        placements.extend(Placement(job, node, g, node_type, *beside(spec, g)) for job, g in jobs)
    return placements
