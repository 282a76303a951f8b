"""Physical nodes of a solution's nodes: those that hold their jobs already.

This assignment is optimal; that of the greedy family is greedy, and compiled for thousands of nodes. One in
place of the other would change the results here, and the speed there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from policies.solving.instance import IntArray, JobOnNode, by_node
from simulator.model.contract import FIXED, Placement, View
from simulator.model.placement import in_proportion


def keep_nodes(
    assignments: Sequence[JobOnNode],
    current: Mapping[int, tuple[int, int, int]],
    num_nodes: int,
    type_of_node: Sequence[int] | None = None,
) -> list[JobOnNode]:
    """Renumber a solution's nodes so that as many jobs as possible go on undisturbed.

    Nodes of one type are interchangeable for the optimiser, not for the jobs on them. Kept first
    are jobs whose node, type and GPUs stay the same, then those whose node and type do.

    Parameters
    ----------
    current : node, type and GPUs of each job that runs now.
    num_nodes : N; nodes are 0 .. N - 1.
    type_of_node : ``(N,)`` where the nodes' types are fixed, else None.

    Returns
    -------
    The assignments with other node numbers, in order of node and job.
    """
    nodes = by_node(assignments)
    if not nodes:
        return []
    # One job undisturbed is worth more than any number of jobs that are only resized.
    undisturbed = float(len(assignments) + 1)
    gain = np.zeros((len(nodes), num_nodes))
    for i, jobs in enumerate(nodes):
        for job, _, v, g in jobs:
            node, type_now, gpus_now = current.get(job, (-1, -1, -1))
            if node >= 0 and type_now == v:
                gain[i, node] += undisturbed if gpus_now == g else 1.0
    if type_of_node is not None:
        allowed = np.array([jobs[0].node_type for jobs in nodes])[:, None] == np.array(type_of_node)
        gain[~allowed] = -undisturbed * len(nodes) * len(assignments)
    mine, theirs = scipy.optimize.linear_sum_assignment(gain, maximize=True)
    place: IntArray = np.empty(len(nodes), dtype=np.int64)
    place[mine] = theirs
    renumbered = [a._replace(node=int(place[i])) for i, jobs in enumerate(nodes) for a in jobs]
    return sorted(renumbered, key=lambda a: (a.node, a.job))


def placements_of_assignments(assignments: Sequence[JobOnNode], view: View) -> list[Placement]:
    """Assignments of an instance as placements on this controller's nodes, few jobs moved."""
    cluster = view.cluster
    place = {int(node): i for i, node in enumerate(view.nodes)}
    index = {int(job): i for i, job in enumerate(view.jobs)}
    fixed = None
    if cluster.node_type_of is not None:
        fixed = [cluster.node_type_of[node] for node in place]
    current = {}
    for job, shares in view.running.items():
        if len(shares) == 1:
            share = shares[0]
            i = place[share.node]
            v = share.node_type if fixed is None else fixed[i]
            current[index[job]] = (i, v, int(share.gpus))
    kept = keep_nodes(assignments, current, len(view.nodes), fixed)
    nodes, jobs = view.nodes.tolist(), view.jobs.tolist()
    return [
        in_proportion(
            jobs[a.job], nodes[a.node], a.gpus, cluster.node_types[a.node_type],
            a.node_type if fixed is None else FIXED,
        )
        for a in kept
    ]  # fmt: skip
