"""The best solutions of many constructions (compiled)."""

from __future__ import annotations

from typing import Any

import numpy as np

from policies.greedy.compiling import allocating, compiled
from policies.greedy.construction import construct
from policies.greedy.plan import HOSTED, TYPE, inverse_table, make_plan
from policies.greedy.problem import Jobs, Machines, Profile, Settings
from policies.greedy.queue import POSTPONED, Queue, make_queue
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


@allocating
def randomised_greedy(
    order: IntArray,
    jobs: Jobs, profile: Profile, m: Machines, s: Settings, iterations: int, pool_size: int,
    seed: Any,
) -> tuple[Queue, IntArray, IntArray, IntArray, IntArray, FloatArray, Any]:  # fmt: skip
    """The best solutions of ``iterations`` constructions, the pure greedy first.

    Parameters
    ----------
    order : see `pressure_order`.
    iterations, pool_size : constructions; how many of the best to keep.
    seed : uint64.

    Returns
    -------
    queue, and for the ``P`` best distinct solutions, best first: open nodes ``(P,)``, nodes
    ``(P, nodes, 3)``, jobs and GPUs ``(P, nodes, G)`` (see `Plan`), objective ``(P,)``; and the
    state of the random numbers.
    """
    queue = make_queue(order, jobs, profile, m, s, iterations > 1)
    n, most = len(jobs.row), m.price_per_s.shape[1] - 1
    plan, inverse = make_plan(n, m), inverse_table(most, s.node_pick)
    state = np.empty(1, np.uint64)
    state[0] = seed
    base = 0.0
    for i in range(n):
        base += queue.jobs[i, POSTPONED]
    size = len(plan.nodes)
    opens = np.zeros(pool_size, np.int64)
    nodes = np.empty((pool_size, size, 3), np.int64)
    hosted = np.empty((pool_size, size, most), np.int64)
    gpus = np.empty((pool_size, size, most), np.int64)
    values = np.empty(pool_size)
    slot_of = np.arange(pool_size)
    kept = 0
    for iteration in range(iterations):
        # Constants, for which the compiler makes a version each: the pure one is twice as fast.
        if iteration == 0:
            num_open, value = construct(False, queue, profile, plan, m, s, base, inverse, state)
        else:
            num_open, value = construct(True, queue, profile, plan, m, s, base, inverse, state)
        slot = slot_for(value, kept, values, slot_of)
        if slot < 0:
            continue
        kept = min(kept + 1, pool_size)
        opens[slot] = num_open
        nodes[slot, :num_open] = plan.nodes[:num_open]
        hosted[slot, :num_open] = plan.hosted[:num_open]
        gpus[slot, :num_open] = plan.gpus[:num_open]
    rank_of = slot_of[:kept]
    return (
        queue,
        opens[rank_of],
        nodes[rank_of],
        hosted[rank_of],
        gpus[rank_of],
        values[:kept],
        state,
    )


@allocating
def by_place(
    place: IntArray, nodes: IntArray, hosted: IntArray, gpus: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """A plan's open nodes as the columns of a `Solution`: types, how many jobs, the jobs by their
    place in `Jobs`, their GPUs."""
    most, num_open = hosted.shape[1], 0
    for node in range(len(nodes)):
        num_open += nodes[node, HOSTED] > 0
    node_type, num_jobs = np.empty(num_open, np.int64), np.empty(num_open, np.int64)
    jobs = np.empty((num_open, most), np.int64)
    given = np.empty((num_open, most), np.int64)
    k = 0
    for node in range(len(nodes)):
        here = nodes[node, HOSTED]
        if here == 0:
            continue
        node_type[k], num_jobs[k] = nodes[node, TYPE], here
        for a in range(most):
            jobs[k, a] = place[hosted[node, a]] if a < here else -1
            given[k, a] = gpus[node, a] if a < here else 0
        k += 1
    return node_type, num_jobs, jobs, given


@allocating
def best_construction(
    order: IntArray, jobs: Jobs, profile: Profile, m: Machines, s: Settings, iterations: int,
    seed: Any,
) -> tuple[IntArray, IntArray, IntArray, IntArray, float]:  # fmt: skip
    """The best of ``iterations`` constructions: `by_place`, and its objective."""
    queue, opens, nodes, hosted, gpus, values, _ = randomised_greedy(
        order, jobs, profile, m, s, iterations, 1, seed
    )
    k = opens[0]
    node_type, num_jobs, placed, given = by_place(queue.place, nodes[0, :k], hosted[0], gpus[0])
    return node_type, num_jobs, placed, given, values[0]
