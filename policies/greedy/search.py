"""Compiled improvement: local search over seven neighbourhoods (thesis, 3.1.5), path relinking
(Filippini et al., IEEE TSC 2023).

Both start from the pool of the best randomised solutions. The objective is a sum over nodes (and
a constant: all jobs postponed), so a move is priced by the one or two nodes that it changes.
`reference_search` says the same in plain Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policies.greedy.compiling import allocating, compiled
from policies.greedy.kernels import (
    DUE,
    FREE,
    HOSTED,
    POSTPONED,
    REMAINING,
    TYPE,
    WEIGHT,
    Queue,
)
from policies.greedy.problem import OWN_FINISH, PAPER, Machines, Profile
from simulator.catalog import FloatArray, IntArray

NODE, SLOT = 0, 1
"""Columns of `State.place`."""
SWAP_JOBS, CHANGE_NODE = 1, 2
"""Kinds of moves."""
KIND, FIRST, SECOND = 0, 1, 2
"""A move: swap two jobs (the second may be postponed), or change a node's type and GPUs to those
of the chosen scratch row."""
NOWHERE = -1


class State(NamedTuple):
    """A solution that can be changed.

    Attributes
    ----------
    nodes : ``(N + 2, 4)`` see `Plan`; a node with no job is closed. The last two are scratch: the
        candidate that is priced, and the best one so far.
    hosted, gpus : ``(N + 2, G)`` jobs (queue positions) and their GPUs.
    value : ``(N,)`` each node's part of the objective.
    place : ``(n, 2)`` node and slot of each job; node -1: postponed.
    tardy : ``(n,)`` cost of each running job's tardiness.
    """

    nodes: IntArray
    hosted: IntArray
    gpus: IntArray
    value: FloatArray
    place: IntArray
    tardy: FloatArray


@compiled
def node_value(
    at: int, slot: int, instead: int, v: int, nodes: IntArray, hosted: IntArray, gpus: IntArray,
    objective: int, mu: float, jobs: FloatArray, row: IntArray, times_s: FloatArray,
    slowest_s: FloatArray, price: FloatArray, capacity: IntArray,
) -> float:  # fmt: skip
    """A node's part of the objective if it had type ``v`` and job ``instead`` in one slot.

    Slot -1: as it is. Infinite where a job cannot run so.
    """
    used, total, leader = 0, 0.0, np.inf
    for a in range(nodes[at, HOSTED]):
        used += gpus[at, a]
    if used == 0:
        return 0.0
    for a in range(nodes[at, HOSTED]):
        i, g = hosted[at, a], gpus[at, a]
        if a == slot:
            i = instead
        time = jobs[i, REMAINING] * times_s[row[i], v, g]
        if time == np.inf:
            return np.inf
        tardy = jobs[i, WEIGHT] * max(0.0, time - jobs[i, DUE])
        if objective == PAPER:
            total += tardy - jobs[i, POSTPONED]
            leader = min(leader, price[v, g] * time)
        else:
            cost = price[v, used] * time * g / used + tardy
            if objective == OWN_FINISH:
                total += cost - jobs[i, POSTPONED]
            else:
                total -= jobs[i, REMAINING] * slowest_s[row[i]] / max(cost, 1e-300)
    if objective == PAPER:
        total += leader + mu * (capacity[v] - used)
    return total


@allocating
def make_state(num_jobs: int, nodes: int, most: int) -> State:
    """Room for a solution."""
    return State(
        np.zeros((nodes + 2, 4), np.int64),
        np.zeros((nodes + 2, most), np.int64),
        np.zeros((nodes + 2, most), np.int64),
        np.zeros(nodes),
        np.zeros((num_jobs, 2), np.int64),
        np.zeros(num_jobs),
    )


@compiled
def refresh(
    node: int, state: State, objective: int, mu: float, queue: Queue, profile: Profile, m: Machines
) -> None:
    """Bring a node's value, and its jobs' places and tardiness, up to date."""
    nodes, hosted, gpus, value, place, late = state
    v = nodes[node, TYPE]
    value[node] = node_value(
        node, -1, -1, v, nodes, hosted, gpus, objective, mu, queue.jobs, queue.row,
        profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
    )  # fmt: skip
    jobs, used = queue.jobs, 0
    for a in range(nodes[node, HOSTED]):
        i = hosted[node, a]
        used += gpus[node, a]
        time = jobs[i, REMAINING] * profile.times_s[queue.row[i], v, gpus[node, a]]
        late[i] = jobs[i, WEIGHT] * max(0.0, time - jobs[i, DUE])
        place[i, NODE], place[i, SLOT] = node, a
    nodes[node, FREE] = m.gpus[v] - used


@compiled
def load(
    rank: int, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray,
    state: State, objective: int, mu: float, queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Take a solution of the pool into the state."""
    state.place[:] = NOWHERE
    for node in range(len(state.value)):
        state.nodes[node, HOSTED] = 0
        state.value[node] = 0.0
        if node < opens[rank]:
            for column in range(4):
                state.nodes[node, column] = pool_nodes[rank, node, column]
            for a in range(state.nodes[node, HOSTED]):
                state.hosted[node, a] = pool_hosted[rank, node, a]
                state.gpus[node, a] = pool_gpus[rank, node, a]
            refresh(node, state, objective, mu, queue, profile, m)


@compiled
def total_value(base: float, state: State) -> float:
    """The objective: all jobs' postponement, and what each node changes in it."""
    total = base
    for node in range(len(state.value)):
        total += state.value[node]
    return total


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
def try_swap(
    i: int, j: int, margin: float, gain: FloatArray, move: IntArray, state: State, objective: int,
    mu: float, jobs: FloatArray, row: IntArray, times_s: FloatArray, slowest_s: FloatArray,
    price: FloatArray, capacity: IntArray,
) -> None:  # fmt: skip
    """Price the exchange of two running jobs' places; keep it if it is the best so far."""
    nodes, hosted, gpus, value, place, late = state
    here, there = place[i, NODE], place[j, NODE]
    a, b = place[i, SLOT], place[j, SLOT]
    if here == there:
        return
    v, u = nodes[here, TYPE], nodes[there, TYPE]
    if objective == PAPER:
        # Leaders cost nothing at the best: what tardiness alone would give bounds the gain.
        time_j = jobs[j, REMAINING] * times_s[row[j], v, gpus[here, a]]
        time_i = jobs[i, REMAINING] * times_s[row[i], u, gpus[there, b]]
        if time_i == np.inf or time_j == np.inf:
            return
        bound = jobs[i, WEIGHT] * max(0.0, time_i - jobs[i, DUE]) - late[i]
        bound += jobs[j, WEIGHT] * max(0.0, time_j - jobs[j, DUE]) - late[j]
        if bound > gain[0] + margin + gain[1 + here] + gain[1 + there]:
            return
    delta = node_value(
        here, a, j, v, nodes, hosted, gpus, objective, mu, jobs, row, times_s, slowest_s, price,
        capacity,
    ) - value[here]  # fmt: skip
    delta += node_value(
        there, b, i, u, nodes, hosted, gpus, objective, mu, jobs, row, times_s, slowest_s, price,
        capacity,
    ) - value[there]  # fmt: skip
    if delta < gain[0]:
        gain[0] = delta
        move[KIND], move[FIRST], move[SECOND] = SWAP_JOBS, i, j


@compiled
def leaders(gain: FloatArray, state: State, queue: Queue, profile: Profile, m: Machines) -> None:
    """Each node's leader's cost, in ``gain[1:]``: the most that a better leader could save."""
    nodes, hosted, gpus, value, _, _ = state
    for node in range(len(value)):
        v, leader = nodes[node, TYPE], np.inf
        for a in range(nodes[node, HOSTED]):
            i, g = hosted[node, a], gpus[node, a]
            time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
            leader = min(leader, m.price_per_s[v, g] * time)
        gain[1 + node] = leader if nodes[node, HOSTED] > 0 else 0.0


@compiled
def exchange_running(
    tardy: IntArray, num_tardy: int, others: IntArray, num_others: int, margin: float,
    gain: FloatArray, move: IntArray, state: State, objective: int, mu: float, queue: Queue,
    profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Neighbourhoods 1 and 2: the tardiest jobs change places with others on other nodes."""
    for r in range(num_tardy):
        for q in range(num_others):
            if others[q] != tardy[r]:
                try_swap(
                    tardy[r], others[q], margin, gain, move, state, objective, mu, queue.jobs,
                    queue.row, profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
                )  # fmt: skip


@compiled
def exchange_postponed(
    by_promise: IntArray, promise: FloatArray, running: IntArray, num_running: int, margin: float, gain: FloatArray, move: IntArray,
    state: State, objective: int, mu: float, queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Neighbourhood 3: a postponed job takes the place of a running one of lower pressure.

    ``promise`` is the most that a job can gain by running; jobs come with the highest first, so
    the search ends where no running job could be worth displacing any more.
    """
    nodes, hosted, gpus, value, place, late = state
    jobs, row, times_s = queue.jobs, queue.row, profile.times_s
    least = np.inf
    for r in range(num_running):
        i = running[r]
        least = min(least, jobs[i, POSTPONED] - late[i] - gain[1 + place[i, NODE]])
    for r in range(len(by_promise)):
        p = by_promise[r]
        if objective == PAPER and least - promise[p] > gain[0] + margin:
            return
        if place[p, NODE] != NOWHERE:
            continue
        for other in range(num_running - 1, -1, -1):
            q = running[other]
            if q < p:
                break
            node = place[q, NODE]
            if objective == PAPER:
                lost = jobs[q, POSTPONED] - late[q] - gain[1 + node]
                if lost - promise[p] > gain[0] + margin:
                    continue
            delta = node_value(
                node, place[q, SLOT], p, nodes[node, TYPE], nodes, hosted, gpus, objective, mu,
                jobs, row, times_s, profile.slowest_s, m.price_per_s, m.gpus,
            ) - value[node]  # fmt: skip
            if delta < gain[0]:
                gain[0] = delta
                move[KIND], move[FIRST], move[SECOND] = SWAP_JOBS, q, p


@compiled
def consider(
    node: int, v: int, gain: FloatArray, move: IntArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Price a node with another type, or with the GPUs of the scratch row; keep the best."""
    nodes, hosted, gpus, value, _, _ = state
    trial = len(value)
    delta = node_value(
        trial, -1, -1, v, nodes, hosted, gpus, objective, mu, queue.jobs, queue.row,
        profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
    ) - value[node]  # fmt: skip
    if delta < gain[0]:
        gain[0] = delta
        move[KIND], move[FIRST], move[SECOND] = CHANGE_NODE, node, v
        for a in range(nodes[node, HOSTED]):
            gpus[trial + 1, a] = gpus[trial, a]


@compiled
def change_type(
    node: int, gain: FloatArray, move: IntArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Neighbourhoods 4, 5, 6: another GPU type with the same GPUs a job, if the times add up to
    less; the same GPU type with twice the GPUs, or half of them, each job's share kept."""
    nodes, hosted, gpus, _, _, _ = state
    times_s, row = profile.times_s, queue.row
    v, trial, here = nodes[node, TYPE], len(state.value), nodes[node, HOSTED]
    for u in range(len(m.gpus)):
        same_family = m.family_of[u] == m.family_of[v]
        if same_family and m.gpus[u] != 2 * m.gpus[v] and 2 * m.gpus[u] != m.gpus[v]:
            continue
        used, before, after, whole = 0, 0.0, 0.0, True
        for a in range(here):
            i, g = hosted[node, a], gpus[node, a]
            if same_family:
                whole = whole and (m.gpus[u] > m.gpus[v] or g % 2 == 0)
                gpus[trial, a] = 2 * g if m.gpus[u] > m.gpus[v] else g // 2
            else:
                gpus[trial, a] = g
            used += gpus[trial, a]
            if used <= m.gpus[u]:
                before += queue.jobs[i, REMAINING] * times_s[row[i], v, g]
                after += queue.jobs[i, REMAINING] * times_s[row[i], u, gpus[trial, a]]
        if used <= m.gpus[u] and whole and (same_family or after < before):
            consider(node, u, gain, move, state, objective, mu, queue, profile, m)


@compiled
def change_gpus(
    node: int, gain: FloatArray, move: IntArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Neighbourhood 7: any other number of GPUs for one job, or some handed to another job."""
    nodes, _, gpus, _, _, _ = state
    v, trial, here, free = (
        nodes[node, TYPE],
        len(state.value),
        nodes[node, HOSTED],
        nodes[node, FREE],
    )
    for a in range(here):
        gpus[trial, a] = gpus[node, a]
    for a in range(here):
        now = gpus[node, a]
        for g in range(1, now + free + 1):
            gpus[trial, a] = g
            if g != now:
                consider(node, v, gain, move, state, objective, mu, queue, profile, m)
            for b in range(here if g < now else 0):
                if b != a:
                    gpus[trial, b] = gpus[node, b] + now - g
                    consider(node, v, gain, move, state, objective, mu, queue, profile, m)
                    gpus[trial, b] = gpus[node, b]
        gpus[trial, a] = now


@compiled
def apply_move(
    move: IntArray, state: State, objective: int, mu: float, queue: Queue, profile: Profile,
    m: Machines,
) -> None:  # fmt: skip
    """Carry out the best move."""
    nodes, hosted, gpus, value, place, _ = state
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


@compiled
def improve(
    state: State, rounds: int, k: int, objective: int, mu: float, margin: float, queue: Queue,
    profile: Profile, m: Machines, by_promise: IntArray, promise: FloatArray, running: IntArray,
    tardy: IntArray, costly: IntArray, cost: FloatArray, gain: FloatArray, move: IntArray,
) -> int:  # fmt: skip
    """Make the best move of all neighbourhoods until none improves; returns the moves made."""
    nodes, _, gpus, _, place, late = state
    n, trial = len(place), len(state.value)
    for done in range(rounds):
        num_running, num_tardy, num_costly = 0, 0, 0
        for i in range(n):
            node = place[i, NODE]
            if node == NOWHERE:
                continue
            running[num_running] = i
            num_running += 1
            if late[i] > 0.0:
                tardy[num_tardy] = i
                num_tardy += 1
            else:
                v, g = nodes[node, TYPE], gpus[node, place[i, SLOT]]
                time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
                cost[i] = m.price_per_s[v, g] * time
                costly[num_costly] = i
                num_costly += 1
        num_tardy = best_of(num_tardy, late, tardy, k)
        num_costly = best_of(num_costly, cost, costly, k)
        gain[0] = -margin
        leaders(gain, state, queue, profile, m)
        move[KIND] = 0
        exchange_running(
            tardy, num_tardy, costly, num_costly, margin, gain, move, state, objective, mu, queue,
            profile, m,
        )  # fmt: skip
        exchange_running(
            tardy, num_tardy, running, num_running, margin, gain, move, state, objective, mu,
            queue, profile, m,
        )  # fmt: skip
        exchange_postponed(
            by_promise,
            promise,
            running,
            num_running,
            margin,
            gain,
            move,
            state,
            objective,
            mu,
            queue,
            profile,
            m,
        )
        for r in range(num_tardy):
            node = place[tardy[r], NODE]
            seen = False
            for before in range(r):
                seen = seen or place[tardy[before], NODE] == node
            if seen:
                continue
            nodes[trial, HOSTED] = nodes[node, HOSTED]
            for a in range(nodes[node, HOSTED]):
                state.hosted[trial, a] = state.hosted[node, a]
            if m.configurable:
                change_type(node, gain, move, state, objective, mu, queue, profile, m)
            change_gpus(node, gain, move, state, objective, mu, queue, profile, m)
        if move[KIND] == 0:
            return done
        apply_move(move, state, objective, mu, queue, profile, m)
    return rounds


@allocating
def promises(queue: Queue, profile: Profile) -> FloatArray:
    """``(n,)`` the most that each job can gain by running: postponement less least tardiness."""
    n = len(queue.row)
    promise = np.zeros(n)
    for i in range(n):
        k = queue.row[i]
        if profile.num_configs[k] > 0:
            time = queue.jobs[i, REMAINING] * profile.fastest_s[k]
            least = queue.jobs[i, WEIGHT] * max(0.0, time - queue.jobs[i, DUE])
            promise[i] = queue.jobs[i, POSTPONED] - least
    return promise


@allocating
def local_search(
    queue: Queue, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, by_promise: IntArray, promise: FloatArray, profile: Profile, m: Machines,
    objective: int, mu: float, rounds: int, k: int,
) -> tuple[IntArray, IntArray, IntArray, float, int, int]:  # fmt: skip
    """Improve every solution of the pool; returns the best one.

    Parameters
    ----------
    queue, opens, pool_nodes, pool_hosted, pool_gpus : what `kernels.randomised_greedy` returned.
    by_promise : ``(n,)`` jobs by `promises`, highest first.
    objective : what is improved; `FIRST_FINISH` is no sum over nodes and not allowed here.
    rounds : moves a solution at the most.
    k : jobs from the head of the sorted lists.

    Returns
    -------
    nodes ``(N, 4)``, jobs and GPUs ``(N, G)`` (nodes without a job are closed), objective, rank
    of the start in the pool, moves made in all.
    """
    n, size, most = len(queue.row), pool_nodes.shape[1], pool_hosted.shape[2]
    state, best = make_state(n, size, most), make_state(n, size, most)
    base = 0.0
    for i in range(n):
        base += queue.jobs[i, POSTPONED]
    margin = 1e-9 * (1.0 + abs(base))
    running, tardy, costly = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    cost, gain, move = np.empty(n), np.empty(1 + size), np.zeros(3, np.int64)
    lowest, start, moves = np.inf, 0, 0
    for rank in range(len(opens)):
        load(
            rank, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        moves += improve(
            state, rounds, k, objective, mu, margin, queue, profile, m, by_promise, promise,
            running, tardy, costly, cost, gain, move,
        )  # fmt: skip
        value = total_value(base if objective <= OWN_FINISH else 0.0, state)
        if value < lowest:
            lowest, start = value, rank
            best.nodes[:] = state.nodes
            best.hosted[:] = state.hosted
            best.gpus[:] = state.gpus
    return best.nodes[:size], best.hosted[:size], best.gpus[:size], lowest, start, moves


@compiled
def match_nodes(
    guide: int, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, state: State,
    configurable: bool, slot_of: IntArray, taken: IntArray, shared: IntArray,
) -> None:  # fmt: skip
    """Which node of the state each node of the guide becomes: ``slot_of``.

    In order, each takes the free node with which it shares the most jobs; then those that share
    none take the nodes left, then closed ones. Fixed nodes keep their type.
    """
    nodes, place = state.nodes, state.place
    size = len(state.value)
    taken[:] = 0
    for pair_all in range(2):
        for k in range(opens[guide]):
            if pair_all == 0:
                slot_of[k] = NOWHERE
            elif slot_of[k] != NOWHERE:
                continue
            shared[:] = 0
            for a in range(pool_nodes[guide, k, HOSTED]):
                node = place[pool_hosted[guide, k, a], NODE]
                if node != NOWHERE:
                    shared[node] += 1
            best, most = NOWHERE, 0 if pair_all == 0 else -1
            for node in range(size):
                same = configurable or nodes[node, TYPE] == pool_nodes[guide, k, TYPE]
                usable = nodes[node, HOSTED] > 0 and taken[node] == 0 and same
                if usable and shared[node] > most:
                    best, most = node, shared[node]
            if best == NOWHERE and pair_all == 1:
                best = 0
                while nodes[best, HOSTED] > 0 or taken[best] == 1:
                    best += 1
            if best != NOWHERE:
                slot_of[k] = best
                taken[best] = 1


@compiled
def value_without(
    node: int, leaving: int, node_in_guide: IntArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> float:  # fmt: skip
    """A node's value when the jobs of one node of the guide have left it."""
    nodes, hosted, gpus, value, _, _ = state
    trial, left = len(value), 0
    for a in range(nodes[node, HOSTED]):
        i = hosted[node, a]
        if node_in_guide[i] != leaving:
            hosted[trial, left], gpus[trial, left] = i, gpus[node, a]
            left += 1
    nodes[trial, HOSTED] = left
    return node_value(
        trial, -1, -1, nodes[node, TYPE], nodes, hosted, gpus, objective, mu, queue.jobs,
        queue.row, profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
    )  # fmt: skip


@compiled
def step_value(
    k: int, slot: int, guide_value: float, guide: int, pool_nodes: IntArray, pool_hosted: IntArray,
    node_in_guide: IntArray, state: State, objective: int, mu: float, queue: Queue,
    profile: Profile, m: Machines,
) -> float:  # fmt: skip
    """What changes when a node becomes the guide's node k; its jobs leave the nodes where they
    are, the jobs that were there are postponed."""
    value, place = state.value, state.place
    delta = guide_value - float(value[slot])
    for a in range(pool_nodes[guide, k, HOSTED]):
        node = place[pool_hosted[guide, k, a], NODE]
        first = node != NOWHERE and node != slot
        for b in range(a):
            first = first and place[pool_hosted[guide, k, b], NODE] != node
        if first:
            delta += value_without(
                node, k, node_in_guide, state, objective, mu, queue, profile, m
            ) - value[node]  # fmt: skip
    return delta


@compiled
def take_step(
    k: int, slot: int, guide: int, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, node_in_guide: IntArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Make a node the guide's node k."""
    nodes, hosted, gpus, _, place, _ = state
    for a in range(pool_nodes[guide, k, HOSTED]):
        node = place[pool_hosted[guide, k, a], NODE]
        if node in (NOWHERE, slot):
            continue
        left = 0
        for b in range(nodes[node, HOSTED]):
            if node_in_guide[hosted[node, b]] != k:
                hosted[node, left], gpus[node, left] = hosted[node, b], gpus[node, b]
                left += 1
        nodes[node, HOSTED] = left
        refresh(node, state, objective, mu, queue, profile, m)
    for a in range(nodes[slot, HOSTED]):
        place[hosted[slot, a], NODE] = NOWHERE
    nodes[slot, TYPE] = pool_nodes[guide, k, TYPE]
    nodes[slot, HOSTED] = pool_nodes[guide, k, HOSTED]
    for a in range(nodes[slot, HOSTED]):
        hosted[slot, a], gpus[slot, a] = pool_hosted[guide, k, a], pool_gpus[guide, k, a]
    refresh(slot, state, objective, mu, queue, profile, m)


@allocating
def copy_state(source: State, target: State) -> None:
    """Overwrite one state with another."""
    target.nodes[:] = source.nodes
    target.hosted[:] = source.hosted
    target.gpus[:] = source.gpus
    target.value[:] = source.value
    target.place[:] = source.place
    target.tardy[:] = source.tardy


@compiled
def fill(
    homeless: IntArray, count: int, margin: float, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Give postponed jobs, in order of pressure, the free GPUs of open nodes that pay most."""
    nodes, hosted, gpus, value, place, _ = state
    trial = len(value)
    for r in range(count):
        i = homeless[r]
        if place[i, NODE] != NOWHERE:
            continue
        best, where, most = -margin, NOWHERE, 0
        for node in range(len(value)):
            here = nodes[node, HOSTED]
            if here == 0 or nodes[node, FREE] == 0:
                continue
            for a in range(here):
                hosted[trial, a], gpus[trial, a] = hosted[node, a], gpus[node, a]
            hosted[trial, here], nodes[trial, HOSTED] = i, here + 1
            for g in range(1, nodes[node, FREE] + 1):
                gpus[trial, here] = g
                delta = node_value(
                    trial, -1, -1, nodes[node, TYPE], nodes, hosted, gpus, objective, mu,
                    queue.jobs, queue.row, profile.times_s, profile.slowest_s, m.price_per_s,
                    m.gpus,
                ) - value[node]  # fmt: skip
                if delta < best:
                    best, where, most = delta, node, g
        if where != NOWHERE:
            at = nodes[where, HOSTED]
            hosted[where, at], gpus[where, at] = i, most
            nodes[where, HOSTED] = at + 1
            refresh(where, state, objective, mu, queue, profile, m)


@allocating
def path_relinking(
    queue: Queue, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, profile: Profile, m: Machines, objective: int, mu: float,
) -> tuple[IntArray, IntArray, IntArray, float, int, int]:  # fmt: skip
    """Walk from the best solution of the pool to each other one; returns the best on the way.

    A step makes one node equal to a node of the guide, the step of least objective first. Each
    solution on the way is completed: jobs that lost their place take free GPUs where that pays.

    Returns
    -------
    nodes, jobs, GPUs and objective as `local_search`; rank of the guide on whose path it lies
    (0: the start), steps made in all.
    """
    n, size, most = len(queue.row), pool_nodes.shape[1], pool_hosted.shape[2]
    # Twice the nodes: of fixed nodes, start and guide may use different ones.
    state, best = make_state(n, 2 * size, most), make_state(n, 2 * size, most)
    here = make_state(n, 2 * size, most)
    slot_of, node_in_guide = np.empty(size, np.int64), np.empty(n, np.int64)
    taken, shared = np.empty(2 * size, np.int64), np.empty(2 * size, np.int64)
    open_to, guide_value = np.empty(size, np.int64), np.empty(size)
    homeless = np.empty(n, np.int64)
    base = 0.0
    for i in range(n):
        base += queue.jobs[i, POSTPONED]
    margin = 1e-9 * (1.0 + abs(base))
    base = base if objective <= OWN_FINISH else 0.0
    lowest, origin, steps = np.inf, 0, 0
    for guide in range(len(opens)):
        # The pool's objective may be another than the one that is followed here.
        load(
            guide, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        value = total_value(base, state)
        if value < lowest:
            lowest, origin = value, guide
            copy_state(state, best)
    start = origin
    for guide in range(len(opens)):
        if guide == start:
            continue
        load(
            start, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        match_nodes(
            guide, opens, pool_nodes, pool_hosted, state, m.configurable, slot_of, taken, shared
        )
        node_in_guide[:] = NOWHERE
        for k in range(opens[guide]):
            open_to[k] = 1
            for a in range(pool_nodes[guide, k, HOSTED]):
                i, g = pool_hosted[guide, k, a], pool_gpus[guide, k, a]
                node_in_guide[i] = k
                here.hosted[0, a], here.gpus[0, a] = i, g
            here.nodes[0, HOSTED] = pool_nodes[guide, k, HOSTED]
            guide_value[k] = node_value(
                0, -1, -1, pool_nodes[guide, k, TYPE], here.nodes, here.hosted, here.gpus,
                objective, mu, queue.jobs, queue.row, profile.times_s, profile.slowest_s,
                m.price_per_s, m.gpus,
            )  # fmt: skip
        count = 0
        for i in range(n):
            if state.place[i, NODE] != NOWHERE or node_in_guide[i] != NOWHERE:
                homeless[count] = i
                count += 1
        for _ in range(opens[guide]):
            chosen, least = NOWHERE, np.inf
            for k in range(opens[guide]):
                if open_to[k] == 1:
                    delta = step_value(
                        k, slot_of[k], guide_value[k], guide, pool_nodes, pool_hosted,
                        node_in_guide, state, objective, mu, queue, profile, m,
                    )  # fmt: skip
                    if delta < least:
                        chosen, least = k, delta
            open_to[chosen] = 0
            take_step(
                chosen, slot_of[chosen], guide, pool_nodes, pool_hosted, pool_gpus, node_in_guide,
                state, objective, mu, queue, profile, m,
            )  # fmt: skip
            steps += 1
            copy_state(state, here)
            fill(homeless, count, margin, here, objective, mu, queue, profile, m)
            value = total_value(base, here)
            if value < lowest - margin:
                lowest, origin = value, guide
                copy_state(here, best)
    return (
        best.nodes[: 2 * size], best.hosted[: 2 * size], best.gpus[: 2 * size], lowest, origin,
        steps,
    )  # fmt: skip
