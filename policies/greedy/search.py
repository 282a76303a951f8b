"""Compiled local search over seven neighbourhoods (thesis, 3.1.5), from the best randomised
solutions.

The objective is a sum over nodes (and a constant: all jobs postponed), so a move is priced by the
one or two nodes that it changes; but for the objective of the first finish, by all of them where
that becomes another. `reference_search` says the same in plain Python.
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
from policies.greedy.problem import FIRST_FINISH, OWN_FINISH, PAPER, Machines, Profile
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
    earliest : ``(N,)`` when the first job of each node finishes.
    first : ``(1,)`` the first finish in the system, where the objective is `FIRST_FINISH`.
    """

    nodes: IntArray
    hosted: IntArray
    gpus: IntArray
    value: FloatArray
    place: IntArray
    tardy: FloatArray
    earliest: FloatArray
    first: FloatArray


@compiled
def node_value(
    at: int, slot: int, instead: int, v: int, nodes: IntArray, hosted: IntArray, gpus: IntArray,
    objective: int, mu: float, jobs: FloatArray, row: IntArray, times_s: FloatArray,
    slowest_s: FloatArray, price: FloatArray, capacity: IntArray,
) -> float:  # fmt: skip
    """A node's part of the objective if it had type ``v`` and job ``instead`` in one slot.

    Slot -1: as it is. Infinite where a job cannot run so. For `FIRST_FINISH` see `value_at`.
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


@compiled
def value_at(
    first: float, at: int, slot: int, instead: int, v: int, nodes: IntArray, hosted: IntArray,
    gpus: IntArray, queue: Queue, profile: Profile, m: Machines,
) -> float:  # fmt: skip
    """`node_value` for `FIRST_FINISH`, when the first job in the system finishes at ``first``."""
    jobs, used, total = queue.jobs, 0, 0.0
    for a in range(nodes[at, HOSTED]):
        i = instead if a == slot else hosted[at, a]
        used += gpus[at, a]
        if jobs[i, REMAINING] * profile.times_s[queue.row[i], v, gpus[at, a]] == np.inf:
            return np.inf
        total += jobs[i, WEIGHT] * max(0.0, first - jobs[i, DUE]) - jobs[i, POSTPONED]
    return float(total + m.price_per_s[v, used] * first) if used > 0 else 0.0


@compiled
def soonest(
    at: int, slot: int, instead: int, v: int, nodes: IntArray, hosted: IntArray, gpus: IntArray,
    queue: Queue, profile: Profile,
) -> float:  # fmt: skip
    """When the first job of a node finishes, if it had type ``v`` and another job in one slot."""
    first = np.inf
    for a in range(nodes[at, HOSTED]):
        i = instead if a == slot else hosted[at, a]
        time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, gpus[at, a]]
        first = min(first, time)
    return float(first)


@compiled
def first_after(
    here: int, at: int, a: int, j: int, v: int, there: int, b: int, i: int, u: int, state: State,
    queue: Queue, profile: Profile,
) -> float:  # fmt: skip
    """The first finish in the system when nodes change as `change_of` says."""
    nodes, hosted, gpus, value, _, _, earliest, system = state
    first = system[0]
    new = soonest(at, a, j, v, nodes, hosted, gpus, queue, profile)
    stays = earliest[here] > first
    if there != NOWHERE:
        new = min(new, soonest(there, b, i, u, nodes, hosted, gpus, queue, profile))
        stays = stays and earliest[there] > first
    if stays:
        return float(min(first, new))
    for node in range(len(value)):
        if node not in (here, there):
            new = min(new, earliest[node])
    return float(new)


@compiled
def change_of_all(
    here: int, at: int, a: int, j: int, v: int, there: int, b: int, i: int, u: int, state: State,
    queue: Queue, profile: Profile, m: Machines,
) -> float:  # fmt: skip
    """`change_of` for `FIRST_FINISH`: where that becomes another, all nodes change."""
    nodes, hosted, gpus, value = state.nodes, state.hosted, state.gpus, state.value
    first = first_after(here, at, a, j, v, there, b, i, u, state, queue, profile)
    delta = value_at(first, at, a, j, v, nodes, hosted, gpus, queue, profile, m) - value[here]
    if there != NOWHERE:
        other = value_at(first, there, b, i, u, nodes, hosted, gpus, queue, profile, m)
        delta += other - value[there]
    for node in range(len(value) if first != state.first[0] else 0):
        if node not in (here, there):
            kind = nodes[node, TYPE]
            other = value_at(first, node, -1, -1, kind, nodes, hosted, gpus, queue, profile, m)
            delta += other - value[node]
    return float(delta)


@compiled
def change_of(
    here: int, at: int, a: int, j: int, v: int, there: int, b: int, i: int, u: int, state: State,
    objective: int, mu: float, queue: Queue, profile: Profile, m: Machines,
) -> float:  # fmt: skip
    """What changes in the objective when one node, or two, change.

    Node ``here`` becomes what row ``at`` is with type v and job j in slot a; node ``there``, if it
    is one, type u with job i in slot b.
    """
    if objective == FIRST_FINISH:
        return change_of_all(here, at, a, j, v, there, b, i, u, state, queue, profile, m)
    nodes, hosted, gpus, value = state.nodes, state.hosted, state.gpus, state.value
    delta = node_value(
        at, a, j, v, nodes, hosted, gpus, objective, mu, queue.jobs, queue.row,
        profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
    ) - value[here]  # fmt: skip
    if there != NOWHERE:
        delta += node_value(
            there, b, i, u, nodes, hosted, gpus, objective, mu, queue.jobs, queue.row,
            profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
        ) - value[there]  # fmt: skip
    return float(delta)


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
        np.full(nodes, np.inf),
        np.zeros(1),
    )


@compiled
def refresh(
    node: int, state: State, objective: int, mu: float, queue: Queue, profile: Profile, m: Machines
) -> None:
    """Bring a node's value, and its jobs' places and tardiness, up to date.

    Where the first finish counts, `refresh_first` follows when all changes are made.
    """
    nodes, hosted, gpus, value, place, late, earliest, _ = state
    v = nodes[node, TYPE]
    if objective == FIRST_FINISH:
        earliest[node] = soonest(node, -1, -1, v, nodes, hosted, gpus, queue, profile)
    else:
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
def refresh_first(
    state: State, objective: int, queue: Queue, profile: Profile, m: Machines
) -> None:
    """Bring the first finish up to date, where that counts, and with it all nodes' values."""
    nodes, hosted, gpus, value, _, _, earliest, system = state
    if objective != FIRST_FINISH:
        return
    first = np.inf
    for node in range(len(value)):
        first = min(first, earliest[node])
    system[0] = first
    for node in range(len(value)):
        v = nodes[node, TYPE]
        value[node] = value_at(first, node, -1, -1, v, nodes, hosted, gpus, queue, profile, m)


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
        state.earliest[node] = np.inf
        if node < opens[rank]:
            for column in range(4):
                state.nodes[node, column] = pool_nodes[rank, node, column]
            for a in range(state.nodes[node, HOSTED]):
                state.hosted[node, a] = pool_hosted[rank, node, a]
                state.gpus[node, a] = pool_gpus[rank, node, a]
            refresh(node, state, objective, mu, queue, profile, m)
    refresh_first(state, objective, queue, profile, m)


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
def cannot_pay(
    i: int, j: int, least: float, gain: FloatArray, without: FloatArray, nodes: IntArray,
    gpus: IntArray, place: IntArray, late: FloatArray, jobs: FloatArray, row: IntArray,
    times_s: FloatArray, price: FloatArray,
) -> bool:  # fmt: skip
    """Whether the exchange of two running jobs' places changes the papers' objective by more than
    ``least``: tardiness and leaders of both nodes, exact but for rounding."""
    here, there = place[i, NODE], place[j, NODE]
    v, u = nodes[here, TYPE], nodes[there, TYPE]
    g, h = gpus[here, place[i, SLOT]], gpus[there, place[j, SLOT]]
    time_j = jobs[j, REMAINING] * times_s[row[j], v, g]
    time_i = jobs[i, REMAINING] * times_s[row[i], u, h]
    if time_i == np.inf or time_j == np.inf:
        return True
    change = jobs[i, WEIGHT] * max(0.0, time_i - jobs[i, DUE]) - late[i]
    change += jobs[j, WEIGHT] * max(0.0, time_j - jobs[j, DUE]) - late[j]
    change += min(without[i], price[v, g] * time_j) - gain[1 + here]
    change += min(without[j], price[u, h] * time_i) - gain[1 + there]
    return bool(change > least)


@compiled
def leaders(
    gain: FloatArray, without: FloatArray, state: State, queue: Queue, profile: Profile, m: Machines
) -> None:
    """Each node's leader's cost in ``gain[1:]``, the most that a better leader could save; in
    ``without`` what it would be without each job of the node."""
    nodes, hosted, gpus, value = state.nodes, state.hosted, state.gpus, state.value
    for node in range(len(value)):
        v, here = nodes[node, TYPE], nodes[node, HOSTED]
        first, second = np.inf, np.inf
        leader = NOWHERE
        for a in range(here):
            i, g = hosted[node, a], gpus[node, a]
            time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
            cost = m.price_per_s[v, g] * time
            if cost < first:
                first, second, leader = cost, first, i
            elif cost < second:
                second = cost
        for a in range(here):
            i = hosted[node, a]
            without[i] = second if i == leader else first
        gain[1 + node] = first if here > 0 else 0.0


@compiled
def exchange_running(
    tardy: IntArray, num_tardy: int, others: IntArray, num_others: int, margin: float,
    gain: FloatArray, move: IntArray, without: FloatArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Neighbourhoods 1 and 2: the tardiest jobs change places with others on other nodes."""
    nodes, gpus, place = state.nodes, state.gpus, state.place
    for r in range(num_tardy):
        i = tardy[r]
        here, a = place[i, NODE], place[i, SLOT]
        for q in range(num_others):
            j = others[q]
            there, b = place[j, NODE], place[j, SLOT]
            if here == there or (
                objective == PAPER
                and cannot_pay(
                    i, j, gain[0] + margin, gain, without, nodes, gpus, place, state.tardy,
                    queue.jobs, queue.row, profile.times_s, m.price_per_s,
                )
            ):  # fmt: skip
                continue
            delta = change_of(
                here, here, a, j, nodes[here, TYPE], there, b, i, nodes[there, TYPE], state,
                objective, mu, queue, profile, m,
            )  # fmt: skip
            if delta < gain[0]:
                gain[0] = delta
                move[KIND], move[FIRST], move[SECOND] = SWAP_JOBS, i, j


@compiled
def losses(
    running: IntArray, num_running: int, gain: FloatArray, lost: FloatArray, state: State,
    queue: Queue,
) -> None:  # fmt: skip
    """What postponing each running job loses at the least, its node's leader at no cost: in
    ``lost[r, 0]``; the least from there to the end of the queue in ``lost[r, 1]``."""
    least = np.inf
    for r in range(num_running - 1, -1, -1):
        i = running[r]
        lost[r, 0] = queue.jobs[i, POSTPONED] - state.tardy[i] - gain[1 + state.place[i, NODE]]
        least = min(least, lost[r, 0])
        lost[r, 1] = least


@compiled
def first_behind(i: int, running: IntArray, num_running: int) -> int:
    """Where the running jobs of lower pressure than job i begin."""
    low, high = 0, num_running
    while low < high:
        middle = (low + high) // 2
        if running[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def exchange_postponed(
    by_promise: IntArray, promise: FloatArray, running: IntArray, num_running: int, margin: float,
    gain: FloatArray, move: IntArray, lost: FloatArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Neighbourhood 3: a postponed job takes the place of a running one of lower pressure.

    ``promise`` is the most that a job can gain by running; jobs come with the highest first, so
    the search ends where no running job could be worth displacing any more.
    """
    nodes, place = state.nodes, state.place
    bounded = objective == PAPER
    if num_running == 0:
        return
    if bounded:
        losses(running, num_running, gain, lost, state, queue)
    for r in range(len(by_promise)):
        p = by_promise[r]
        # A running job is worth displacing only if it loses less than this.
        limit = gain[0] + margin + promise[p]
        if bounded and lost[0, 1] > limit:
            return
        if place[p, NODE] != NOWHERE:
            continue
        first = first_behind(p, running, num_running)
        if first == num_running or (bounded and lost[first, 1] > limit):
            continue
        for other in range(num_running - 1, first - 1, -1):
            if bounded and lost[other, 0] > limit:
                continue
            q = running[other]
            node = place[q, NODE]
            delta = change_of(
                node, node, place[q, SLOT], p, nodes[node, TYPE], NOWHERE, -1, -1, -1, state,
                objective, mu, queue, profile, m,
            )  # fmt: skip
            if delta < gain[0]:
                gain[0] = delta
                limit = delta + margin + promise[p]
                move[KIND], move[FIRST], move[SECOND] = SWAP_JOBS, q, p


@compiled
def consider(
    node: int, v: int, gain: FloatArray, move: IntArray, state: State, objective: int, mu: float,
    queue: Queue, profile: Profile, m: Machines,
) -> None:  # fmt: skip
    """Price a node with another type, or with the GPUs of the scratch row; keep the best."""
    nodes, gpus, trial = state.nodes, state.gpus, len(state.value)
    if objective == FIRST_FINISH:
        delta = change_of_all(node, trial, -1, -1, v, NOWHERE, -1, -1, -1, state, queue, profile, m)
    else:
        delta = node_value(
            trial, -1, -1, v, nodes, state.hosted, gpus, objective, mu, queue.jobs, queue.row,
            profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
        ) - state.value[node]  # fmt: skip
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
    nodes, hosted, gpus = state.nodes, state.hosted, state.gpus
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
    nodes, gpus = state.nodes, state.gpus
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
def improve(
    state: State, rounds: int, k: int, objective: int, mu: float, margin: float, queue: Queue,
    profile: Profile, m: Machines, by_promise: IntArray, promise: FloatArray, running: IntArray,
    tardy: IntArray, costly: IntArray, cost: FloatArray, gain: FloatArray, lost: FloatArray,
    without: FloatArray, move: IntArray,
) -> int:  # fmt: skip
    """Make the best move of all neighbourhoods until none improves; returns the moves made."""
    nodes, gpus, place, late = state.nodes, state.gpus, state.place, state.tardy
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
        leaders(gain, without, state, queue, profile, m)
        move[KIND] = 0
        exchange_running(
            tardy, num_tardy, costly, num_costly, margin, gain, move, without, state, objective,
            mu, queue, profile, m,
        )  # fmt: skip
        exchange_running(
            tardy, num_tardy, running, num_running, margin, gain, move, without, state, objective,
            mu, queue, profile, m,
        )  # fmt: skip
        exchange_postponed(
            by_promise, promise, running, num_running, margin, gain, move, lost, state, objective,
            mu, queue, profile, m,
        )  # fmt: skip
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
    objective : what is improved.
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
    lost, without = np.empty((n, 2)), np.empty(n)
    lowest, start, moves = np.inf, 0, 0
    for rank in range(len(opens)):
        load(
            rank, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        moves += improve(
            state, rounds, k, objective, mu, margin, queue, profile, m, by_promise, promise,
            running, tardy, costly, cost, gain, lost, without, move,
        )  # fmt: skip
        value = total_value(base if objective <= OWN_FINISH else 0.0, state)
        if value < lowest:
            lowest, start = value, rank
            best.nodes[:] = state.nodes
            best.hosted[:] = state.hosted
            best.gpus[:] = state.gpus
    return best.nodes[:size], best.hosted[:size], best.gpus[:size], lowest, start, moves
