"""From a solution, whose nodes are interchangeable within a type, to placements on nodes."""

from __future__ import annotations

from array import array

import numpy as np

from policies.greedy.problem import NOWHERE, NodeAssignment
from simulator.model.cluster import IntArray, proportional_share
from simulator.model.contract import FIXED, Changes, Decision, Placement, View

_NEW = tuple.__new__  # a named tuple's own constructor takes more than twice as long


class Held:
    """Node, GPUs and type of each job that runs, as columns.

    From decision to decision only the nodes that changed are looked at (`View.node_changes`).

    Attributes
    ----------
    node, gpus, node_type : ``(J,)`` node (`NOWHERE`: none), GPUs there, type that it is configured as.
    fixed : ``(N,)`` types of the cluster's nodes; empty where decisions configure them.
    """

    def __init__(self) -> None:
        self.node = self.gpus = self.node_type = array("q")
        self.fixed: IntArray
        self._changes: Changes | None = None
        self._mark = 0
        self._jobs_on: dict[int, list[int]] = {}

    def refresh(self, view: View) -> None:
        """Bring the columns up to what runs now."""
        changes, jobs_on, shares = view.node_changes, self._jobs_on, view.shares
        changed, self._mark = changes.since(self._mark if changes is self._changes else -1)
        self._changes = changes
        if changed is None:
            nowhere = array("q", [NOWHERE]) * len(view.rows)
            self.node, self.gpus, self.node_type = nowhere, nowhere[:], nowhere[:]
            self.fixed = np.array(view.cluster.node_type_of or (), dtype=np.int64)
            jobs_on.clear()
            changed = [share.node for own in view.running.values() for share in own]
        of_job, gpus_of_job, type_of_job = self.node, self.gpus, self.node_type
        nodes = set(changed)
        for node in nodes:
            for job in jobs_on.pop(node, ()):
                of_job[job] = NOWHERE
        for node in nodes:
            here = shares[node]
            if here:
                jobs_on[node] = list(here)
                for job, (_, _, gpus, node_type, _, _) in here.items():
                    of_job[job], gpus_of_job[job], type_of_job[job] = node, int(gpus), node_type


def decision_of(solution: NodeAssignment, view: View, held: Held) -> Decision:
    """Give the nodes of a solution their identities; the decision names the jobs whose shares change.

    Nodes of one type are interchangeable in a solution. Each takes the node where most of its
    jobs' GPUs are now, the largest such claims first; the others take what is left, in order.
    Where a job that runs is to wait, or the view asks for it, the decision names all jobs that go on.
    """
    from policies.greedy.identities import identify

    held.refresh(view)
    fixed, node_types = held.fixed, view.cluster.node_types
    jobs = view.jobs[solution.jobs]
    num_open, most = jobs.shape
    is_free = np.zeros(view.cluster.num_nodes, dtype=np.bool_)
    is_free[view.nodes] = True
    node_of = np.empty(num_open, dtype=np.int64)
    moves = np.zeros((num_open, most), dtype=np.bool_)
    running = identify(
        solution.node_type, solution.num_jobs, jobs, solution.gpus, np.frombuffer(held.node, np.int64),
        np.frombuffer(held.gpus, np.int64), np.frombuffer(held.node_type, np.int64), fixed, view.nodes,
        is_free, np.empty((num_open, most, 2), np.int64), np.zeros(len(node_types), np.int64), node_of, moves,
    )  # fmt: skip
    goes_on = running == len(view.running) and not view.in_full
    named = moves if goes_on else np.arange(most) < solution.num_jobs[:, None]
    opened = np.nonzero(named)[0]
    ends: dict[tuple[int, int], tuple[float, ...]] = {}  # what follows the node in a placement
    placements = []
    for job, node, g, v in zip(
        jobs[named].tolist(),
        node_of[opened].tolist(),
        solution.gpus[named].tolist(),
        solution.node_type[opened].tolist(),
        strict=True,
    ):
        end = ends.get((v, g))
        if end is None:
            node_type = FIXED if len(fixed) else v
            end = ends[v, g] = (g, node_type, *proportional_share(node_types[v], g))
        placements.append(_NEW(Placement, (job, node, *end)))
    return Decision(placements, keep_running=goes_on)
