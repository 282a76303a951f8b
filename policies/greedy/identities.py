"""The node that each open node of a solution is (compiled)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from policies.greedy.problem import NOWHERE
from policies.solving.compiling import ZERO, compiled, entry
from simulator.model.cluster import IntArray

BoolArray = npt.NDArray[np.bool_]

NODE, GPUS = 0, 1
"""Columns of a claim."""


@entry
def identify(
    types: IntArray, num_jobs: IntArray, jobs: IntArray, gpus: IntArray, held_node: IntArray,
    held_gpus: IntArray, held_type: IntArray, fixed: IntArray, nodes: IntArray, is_free: BoolArray,
    claims: IntArray, next_of: IntArray, node_of: IntArray, moves: BoolArray,
) -> int:  # fmt: skip
    """The node that each open node of a solution is, and which jobs' shares change.

    Parameters
    ----------
    types, num_jobs, jobs, gpus : of the open nodes, as in `NodeAssignment`, jobs by their number.
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
def grant(wanted: int, claims: IntArray, is_free: BoolArray, node_of: IntArray) -> int:
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
