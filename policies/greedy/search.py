"""Compiled local search (thesis, 3.1.5), from the best randomised solutions.

The best move of all seven neighbourhoods is made until none improves.
`tests/greedy/reference_search.py` says the same in plain Python.
"""

from __future__ import annotations

import numpy as np

from policies.greedy.neighbourhoods import (
    FIRST,
    KIND,
    SECOND,
    SWAP_JOBS,
    Scratch,
    change_gpus,
    change_type,
    exchange_postponed,
    exchange_running,
    leaders,
    make_scratch,
)
from policies.greedy.plan import HOSTED, TYPE
from policies.greedy.problem import OWN_FINISH, NodeChoices, TimeProfile
from policies.greedy.queue import REMAINING, PressureQueue, all_postponed
from policies.greedy.state import (
    NODE,
    NOWHERE,
    SLOT,
    MutableSolution,
    copy_state,
    least_improvement,
    load,
    make_state,
    refresh,
    refresh_first,
    total_value,
)
from policies.solving.compiling import ZERO, compiled, entry
from simulator.model.cluster import FloatArray, IntArray


@compiled
def best_of(count: int, key: FloatArray, jobs: IntArray, k: int) -> int:
    """Move the k jobs of highest key to the front, highest first, equals in order; how many."""
    k = min(k, count)
    for r in range(k):
        best = r
        for other in range(r + 1, count):
            if key[jobs[other]] > key[jobs[best]]:
                best = other
        chosen = jobs[best]
        for other in range(best, r, -1):
            jobs[other] = jobs[other - 1]
        jobs[r] = chosen
    return k


@compiled
def apply_move(
    move: IntArray, state: MutableSolution, objective: int, mu: float, queue: PressureQueue, profile: TimeProfile,
    m: NodeChoices,
) -> None:  # fmt: skip
    """Carry out the best move."""
    nodes, hosted, gpus, value, place = state[:5]
    i, j = move[FIRST], move[SECOND]
    if move[KIND] == SWAP_JOBS:
        here, a, there, b = place[i, NODE], place[i, SLOT], place[j, NODE], place[j, SLOT]
        hosted[here, a] = j
        place[i, NODE] = NOWHERE
        if there != NOWHERE:
            hosted[there, b] = i
            refresh(there, state, objective, mu, queue, profile, m)
        refresh(here, state, objective, mu, queue, profile, m)
    else:
        nodes[i, TYPE] = j
        for a in range(nodes[i, HOSTED]):
            gpus[i, a] = gpus[len(value) + 1, a]
        refresh(i, state, objective, mu, queue, profile, m)
    refresh_first(state, objective, queue, profile, m)


@compiled
def list_running(
    k: int,
    scratch: Scratch,
    state: MutableSolution,
    queue: PressureQueue,
    profile: TimeProfile,
    m: NodeChoices,
) -> tuple[int, int, int]:
    """The running jobs, the k tardiest, and of those on time the k most costly; how many each."""
    num_running, num_tardy, num_costly = 0, ZERO, ZERO
    for i in range(len(state.place)):
        node = state.place[i, NODE]
        if node == NOWHERE:
            continue
        scratch.running[num_running] = i
        num_running += 1
        if state.tardy[i] > 0.0:
            scratch.tardy[num_tardy] = i
            num_tardy += 1
        else:
            v, g = state.nodes[node, TYPE], state.gpus[node, state.place[i, SLOT]]
            time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
            scratch.cost[i] = m.price_per_s[v, g] * time
            scratch.costly[num_costly] = i
            num_costly += 1
    num_tardy = best_of(num_tardy, state.tardy, scratch.tardy, k)
    num_costly = best_of(num_costly, scratch.cost, scratch.costly, k)
    return num_running, num_tardy, num_costly


@compiled
def change_nodes_of_tardy(
    num_tardy: int, scratch: Scratch, state: MutableSolution, objective: int, mu: float, queue: PressureQueue,
    profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Neighbourhoods 4 to 7, on each node of the tardiest jobs once."""
    trial = len(state.value)
    for r in range(num_tardy):
        node = state.place[scratch.tardy[r], NODE]
        seen = False
        for before in range(r):
            seen = seen or state.place[scratch.tardy[before], NODE] == node
        if seen:
            continue
        state.nodes[trial, HOSTED] = state.nodes[node, HOSTED]
        for a in range(state.nodes[node, HOSTED]):
            state.hosted[trial, a] = state.hosted[node, a]
        if m.configurable:
            change_type(node, scratch, state, objective, mu, queue, profile, m)
        change_gpus(node, scratch, state, objective, mu, queue, profile, m)


@compiled
def improve(
    state: MutableSolution, scratch: Scratch, rounds: int, k: int, objective: int, mu: float, margin: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> int:  # fmt: skip
    """Make the best move of all neighbourhoods until none improves; returns the moves made."""
    for done in range(rounds):
        num_running, num_tardy, num_costly = list_running(k, scratch, state, queue, profile, m)
        scratch.change[0] = -margin
        scratch.move[KIND] = 0
        leaders(scratch.leading, scratch.without, state, queue, profile, m)
        exchange_running(
            num_tardy, scratch.costly, num_costly, margin, scratch, state, objective, mu, queue,
            profile, m,
        )  # fmt: skip
        exchange_running(
            num_tardy, scratch.running, num_running, margin, scratch, state, objective, mu, queue,
            profile, m,
        )  # fmt: skip
        exchange_postponed(num_running, margin, scratch, state, objective, mu, queue, profile, m)
        change_nodes_of_tardy(num_tardy, scratch, state, objective, mu, queue, profile, m)
        if scratch.move[KIND] == 0:
            return done
        apply_move(scratch.move, state, objective, mu, queue, profile, m)
    return rounds


@entry
def improve_all(
    opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray,
    scratch: Scratch, state: MutableSolution, best: MutableSolution, objective: int, mu: float, rounds: int, k: int,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> tuple[float, int, int]:  # fmt: skip
    """Improve every solution of the pool, the best one in ``best``.

    Returns its objective, the rank of its start, the moves made in all.
    """
    base = all_postponed(queue)
    margin = least_improvement(base)
    lowest, start, moves = np.inf, 0, 0
    for rank in range(len(opens)):
        load(
            rank, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        moves += improve(state, scratch, rounds, k, objective, mu, margin, queue, profile, m)
        value = total_value(base if objective <= OWN_FINISH else 0.0, state)
        if value < lowest:
            lowest, start = value, rank
            copy_state(state, best)
    return lowest, start, moves


def local_search(
    queue: PressureQueue, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, by_promise: IntArray, promise: FloatArray, profile: TimeProfile, m: NodeChoices,
    objective: int, mu: float, rounds: int, k: int,
) -> tuple[IntArray, IntArray, IntArray, float, int, int]:  # fmt: skip
    """Improve every solution of the pool; returns the best one.

    Parameters
    ----------
    queue, opens, pool_nodes, pool_hosted, pool_gpus : what `pool.randomised_greedy` returned.
    by_promise : ``(n,)`` jobs by `promises`, highest first.
    objective : what is improved.
    rounds : moves a solution at the most.
    k : jobs from the head of the sorted lists.

    Returns
    -------
    nodes ``(N, 3)``, jobs and GPUs ``(N, G)`` (nodes without a job are closed), objective, rank
    of the start in the pool, moves made in all.
    """
    n, size, most = len(queue.row), pool_nodes.shape[1], pool_hosted.shape[2]
    state, best = make_state(n, size, most), make_state(n, size, most)
    found = improve_all(
        opens, pool_nodes, pool_hosted, pool_gpus, make_scratch(by_promise, promise, size), state,
        best, objective, mu, rounds, k, queue, profile, m,
    )  # fmt: skip
    return best.nodes[:size], best.hosted[:size], best.gpus[:size], *found
