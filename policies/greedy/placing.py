"""From a solution, whose nodes are interchangeable within a type, to placements on nodes."""

from __future__ import annotations

import numpy as np

from policies.greedy.problem import Solution
from policies.packing import proportional_share
from simulator.model.contract import FIXED, Placement, View

_NEW = tuple.__new__  # a named tuple's own constructor takes more than twice as long


def assign_nodes(solution: Solution, view: View) -> list[Placement]:
    """Give the nodes of a solution their identities.

    Nodes of one type are interchangeable in a solution. Each takes the node where most of its
    jobs' GPUs are now, the largest such claims first; the others take what is left, in order.
    """
    fixed, node_types = view.cluster.node_type_of, view.cluster.node_types
    used = np.arange(solution.jobs.shape[1]) < solution.num_jobs[:, None]
    opened = np.nonzero(used)[0].tolist()
    jobs = view.jobs[solution.jobs[used]].tolist()
    gpus = solution.gpus[used].astype(int).tolist()
    nodes = _identities(solution.node_type.tolist(), jobs, opened, view)
    ends: dict[tuple[int, int], tuple[float, ...]] = {}  # what follows the node in a placement
    placements = []
    types = solution.node_type[opened].tolist()
    for job, k, g, v in zip(jobs, opened, gpus, types, strict=True):
        end = ends.get((v, g))
        if end is None:
            node_type = v if fixed is None else FIXED
            end = ends[v, g] = (g, node_type, *proportional_share(node_types[v], g))
        placements.append(_NEW(Placement, (job, nodes[k], *end)))
    return placements


def _identities(types: list[int], jobs: list[int], opened: list[int], view: View) -> list[int]:
    """The node that each open node of a solution is.

    Parameters
    ----------
    types : node type of each open node.
    jobs, opened : the jobs of the solution, and the open node of each.
    """
    fixed, running = view.cluster.node_type_of, view.running
    kept: dict[tuple[int, int], float] = {}
    for job, k in zip(jobs, opened, strict=True):
        for _, node, gpus, *_ in running.get(job, ()):
            if fixed is None or fixed[node] == types[k]:
                kept[k, node] = kept.get((k, node), 0.0) + gpus
    node_of: dict[int, int] = {}
    free = dict.fromkeys(view.nodes.tolist())
    for _, k, node in sorted((-gpus, k, node) for (k, node), gpus in kept.items()):
        if k not in node_of and node in free:
            node_of[k] = node
            del free[node]
    left: dict[int, list[int]] = {}
    for node in reversed(free):
        left.setdefault(FIXED if fixed is None else fixed[node], []).append(node)
    return [
        node_of[k] if k in node_of else left[FIXED if fixed is None else v].pop()
        for k, v in enumerate(types)
    ]
