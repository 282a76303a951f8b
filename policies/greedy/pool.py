"""The best solutions of many constructions (compiled)."""

from __future__ import annotations

from typing import Any

import numpy as np

from policies.greedy.construction import construct
from policies.greedy.plan import HOSTED, TYPE, PartialSolution, inverse_table, make_plan
from policies.greedy.problem import Jobs, NodeChoices, Settings, TimeProfile
from policies.greedy.queue import PressureQueue, all_postponed, fill_queue, make_queue
from policies.solving.compiling import ZERO, compiled, entry
from simulator.model.cluster import FloatArray, IntArray


@compiled
def slot_for(value: float, kept: int, values: FloatArray, slot_of: IntArray) -> int:
    """Position of a solution of this value in a pool that holds ``kept``; -1: nowhere.

    ``values`` and ``slot_of`` are sorted by value and are brought up to date; the slots, in which
    the solutions lie, are not. A value that the pool has already is not taken again.
    """
    rank = kept
    while rank > 0 and value < values[rank - 1]:
        rank -= 1
    if rank == len(values) or (rank > 0 and value == values[rank - 1]):
        return -1
    slot = slot_of[min(kept, len(values) - 1)]
    for r in range(min(kept, len(values) - 1), rank, -1):
        values[r], slot_of[r] = values[r - 1], slot_of[r - 1]
    values[rank], slot_of[rank] = value, slot
    return int(slot)


@entry
def fill_pool(
    queue: PressureQueue, jobs: Jobs, profile: TimeProfile, plan: PartialSolution, m: NodeChoices, s: Settings,
    iterations: int, inverse: FloatArray, state: Any, opens: IntArray, nodes: IntArray, hosted: IntArray,
    gpus: IntArray, values: FloatArray, slot_of: IntArray,
) -> int:  # fmt: skip
    """Keep the best of many constructions, the pure greedy first; returns how many are kept."""
    fill_queue(queue, jobs, profile, s)
    base = all_postponed(queue)
    kept = ZERO
    for iteration in range(iterations):
        num_open, value = construct(iteration > 0, queue, profile, plan, m, s, base, inverse, state)
        slot = slot_for(value, kept, values, slot_of)
        if slot < 0:
            continue
        kept = min(kept + 1, len(values))
        opens[slot] = num_open
        for node in range(num_open):
            for column in range(3):
                nodes[slot, node, column] = plan.nodes[node, column]
            for a in range(plan.nodes[node, HOSTED]):
                hosted[slot, node, a] = plan.hosted[node, a]
                gpus[slot, node, a] = plan.gpus[node, a]
    return kept


def randomised_greedy(
    order: IntArray,
    jobs: Jobs, profile: TimeProfile, m: NodeChoices, s: Settings, iterations: int, pool_size: int,
    seed: Any,
) -> tuple[PressureQueue, IntArray, IntArray, IntArray, IntArray, FloatArray, Any]:  # fmt: skip
    """The best solutions of ``iterations`` constructions, the pure greedy first.

    Parameters
    ----------
    order : see `pressure_order`.
    iterations, pool_size : constructions; how many of the best to keep.
    seed : uint64.

    Returns
    -------
    queue, and for the ``P`` best distinct solutions, best first: open nodes ``(P,)``, nodes
    ``(P, nodes, 3)``, jobs and GPUs ``(P, nodes, G)`` (see `PartialSolution`), objective ``(P,)``; and the
    state of the random numbers.
    """
    queue = make_queue(order, m, s, iterations > 1)
    plan = make_plan(len(order), m)
    inverse = inverse_table(m.price_per_s.shape[1] - 1, s.node_pick)
    state = np.array([seed], np.uint64)
    pool = (
        np.zeros(pool_size, np.int64),
        np.zeros((pool_size, *plan.nodes.shape), np.int64),
        np.zeros((pool_size, *plan.hosted.shape), np.int64),
        np.zeros((pool_size, *plan.gpus.shape), np.int64),
    )
    values, slot_of = np.empty(pool_size), np.arange(pool_size)
    kept = fill_pool(
        queue, jobs, profile, plan, m, s, iterations, inverse, state, *pool, values, slot_of
    )
    opens, nodes, hosted, gpus = (column[slot_of[:kept]] for column in pool)
    return queue, opens, nodes, hosted, gpus, values[:kept], state


def by_place(
    place: IntArray, nodes: IntArray, hosted: IntArray, gpus: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """A plan's open nodes as the columns of a `NodeAssignment`: types, how many jobs, the jobs by their
    place in `Jobs`, their GPUs."""
    columns = np.empty((len(nodes), 2), np.int64), np.empty_like(hosted), np.empty_like(gpus)
    k = list_open(place, nodes, hosted, gpus, *columns)
    kinds, jobs, given = (column[:k] for column in columns)
    return kinds[:, 0], kinds[:, 1], jobs, given


@entry
def list_open(
    place: IntArray, nodes: IntArray, hosted: IntArray, gpus: IntArray, kinds: IntArray,
    jobs: IntArray, given: IntArray,
) -> int:  # fmt: skip
    """`by_place` into arrays with room for all nodes; returns how many are open."""
    k = 0
    for node in range(len(nodes)):
        here = nodes[node, HOSTED]
        if here == 0:
            continue
        kinds[k, 0], kinds[k, 1] = nodes[node, TYPE], here
        for a in range(hosted.shape[1]):
            jobs[k, a] = place[hosted[node, a]] if a < here else -1
            given[k, a] = gpus[node, a] if a < here else 0
        k += 1
    return k


def best_construction(
    order: IntArray, jobs: Jobs, profile: TimeProfile, m: NodeChoices, s: Settings, iterations: int,
    seed: Any,
) -> tuple[IntArray, IntArray, IntArray, IntArray, float]:  # fmt: skip
    """The best of ``iterations`` constructions: `by_place`, and its objective."""
    queue, opens, nodes, hosted, gpus, values, _ = randomised_greedy(
        order, jobs, profile, m, s, iterations, 1, seed
    )
    k = opens[0]
    return *by_place(queue.place, nodes[0, :k], hosted[0, :k], gpus[0, :k]), float(values[0])
