"""From a solution, whose nodes are interchangeable within a type, to placements on nodes."""

from __future__ import annotations

from array import array

import numpy as np

from policies.greedy.compiling import ZERO, compiled, entry
from policies.greedy.problem import Solution
from policies.packing import proportional_share
from simulator.model.cluster import IntArray
from simulator.model.contract import FIXED, Changes, Decision, Placement, View

_NEW = tuple.__new__  # a named tuple's own constructor takes more than twice as long

NODE, GPUS = 0, 1
"""Columns of a claim."""
NOWHERE = -1
"""Node of a job that does not run."""


class Held:
    """What each job runs on, as columns.

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
            nowhere = array("q", [NOWHERE]) * len(view.workload)
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


def decision_of(solution: Solution, view: View, held: Held) -> Decision:
    """Give the nodes of a solution their identities; the decision names the jobs whose shares change.

    Nodes of one type are interchangeable in a solution. Each takes the node where most of its
    jobs' GPUs are now, the largest such claims first; the others take what is left, in order.
    Where a job that runs is to wait, or the view asks for it, the decision names all jobs that go on.
    """
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


@entry
def identify(
    types: IntArray, num_jobs: IntArray, jobs: IntArray, gpus: IntArray, held_node: IntArray,
    held_gpus: IntArray, held_type: IntArray, fixed: IntArray, nodes: IntArray, is_free: IntArray,
    claims: IntArray, next_of: IntArray, node_of: IntArray, moves: IntArray,
) -> int:  # fmt: skip
    """The node that each open node of a solution is, and which jobs' shares change.

    Parameters
    ----------
    types, num_jobs, jobs, gpus : of the open nodes, as in `Solution`, jobs by their number.
    held_node, held_gpus, held_type, fixed : columns of `Held`.
    nodes, is_free : nodes that may be taken, in order; ``(N,)`` whether each is one of them.
    claims, next_of : room for ``(open nodes, G, 2)`` and ``(V,)`` numbers, the latter 0.
    node_of, moves : results ``(open nodes,)``, ``(open nodes, G)``.

    Returns
    -------
    How many of the jobs run already.
    """
    running, largest = ZERO, ZERO
    for k in range(len(types)):
        node_of[k] = NOWHERE
        for a in range(claims.shape[1]):
            claims[k, a, GPUS] = 0
        for a in range(num_jobs[k]):
            job = jobs[k, a]
            node = held_node[job]
            if node == NOWHERE:
                continue
            running += 1
            if len(fixed) and fixed[node] != types[k]:
                continue
            at = 0
            while claims[k, at, GPUS] > 0 and claims[k, at, NODE] != node:
                at += 1
            claims[k, at, NODE] = node
            claims[k, at, GPUS] += held_gpus[job]
            largest = max(largest, claims[k, at, GPUS])
    while largest > 0:
        largest = grant(largest, claims, is_free, node_of)
    for k in range(len(types)):
        v = types[k] if len(fixed) else 0
        while node_of[k] == NOWHERE:
            node = nodes[next_of[v]]
            next_of[v] += 1
            if is_free[node] and (not len(fixed) or fixed[node] == v):
                node_of[k] = node
        for a in range(num_jobs[k]):
            job = jobs[k, a]
            moves[k, a] = (
                held_node[job] != node_of[k]
                or held_gpus[job] != gpus[k, a]
                or (not len(fixed) and held_type[job] != types[k])
            )
    return int(running)


@compiled
def grant(wanted: int, claims: IntArray, is_free: IntArray, node_of: IntArray) -> int:
    """Grant the claims of so many GPUs, of one open node the first node; returns the next smaller claim."""
    smaller = ZERO
    for k in range(len(node_of)):
        first = NOWHERE
        for a in range(claims.shape[1]):
            node, gpus = claims[k, a, NODE], claims[k, a, GPUS]
            if gpus == 0:
                break
            if gpus < wanted:
                smaller = max(smaller, gpus)
            elif gpus == wanted and is_free[node] and (first == NOWHERE or node < first):
                first = node
        if node_of[k] == NOWHERE and first != NOWHERE:
            node_of[k] = first
            is_free[first] = False
    return int(smaller)
