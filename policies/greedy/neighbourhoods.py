"""The seven neighbourhoods of the local search (thesis, 3.1.5), compiled: each keeps the best move.

Where the papers' objective is improved, bounds on what a move can save let most of them go
without being priced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policies.greedy.plan import FREE, HOSTED, TYPE
from policies.greedy.problem import PAPER, NodeChoices, TimeProfile
from policies.greedy.queue import DUE, POSTPONED, REMAINING, WEIGHT, PressureQueue
from policies.greedy.state import (
    NODE,
    NOWHERE,
    SLOT,
    MutableSolution,
    change_of,
    change_to,
)
from policies.solving.compiling import compiled
from simulator.model.cluster import FloatArray, IntArray

SWAP_JOBS, CHANGE_NODE = 1, 2
"""Kinds of moves."""
KIND, FIRST, SECOND = 0, 1, 2
"""A move: swap two jobs (the second may be postponed), or change a node's type and GPUs to those
of the chosen scratch row."""


class Scratch(NamedTuple):
    """Data of one round of the search.

    Attributes
    ----------
    running, tardy, costly : ``(n,)`` lists of jobs; how many are meaningful goes beside them.
    cost : ``(n,)`` of each running job that is on time, if it led its node.
    by_promise, promise : ``(n,)`` see `promises`.
    change : ``(1,)`` what the best move so far changes in the objective, below 0.
    move : ``(3,)`` that move.
    leading : ``(N,)`` each node's leader's cost, the most that a better leader could save.
    without : ``(n,)`` the cost of its node's leader, were the job not there.
    lost : ``(n, 2)`` see `losses`.
    """

    running: IntArray
    tardy: IntArray
    costly: IntArray
    cost: FloatArray
    by_promise: IntArray
    promise: FloatArray
    change: FloatArray
    move: IntArray
    leading: FloatArray
    without: FloatArray
    lost: FloatArray


def make_scratch(by_promise: IntArray, promise: FloatArray, nodes: int) -> Scratch:
    """Room for a round."""
    n = len(promise)
    return Scratch(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
        by_promise,
        promise,
        np.empty(1),
        np.zeros(3, np.int64),
        np.empty(nodes),
        np.empty(n),
        np.empty((n, 2)),
    )


@compiled
def cannot_pay(
    i: int, j: int, least: float, leading: FloatArray, without: FloatArray, nodes: IntArray,
    gpus: IntArray, place: IntArray, late: FloatArray, jobs: FloatArray, row: IntArray,
    times_s: FloatArray, price: FloatArray,
) -> bool:  # fmt: skip
    """True where the exchange of two running jobs' places changes the papers' objective by more than
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
    change += min(without[i], price[v, g] * time_j) - leading[here]
    change += min(without[j], price[u, h] * time_i) - leading[there]
    return bool(change > least)


@compiled
def leaders(
    leading: FloatArray, without: FloatArray, state: MutableSolution, queue: PressureQueue, profile: TimeProfile,
    m: NodeChoices,
) -> None:  # fmt: skip
    """Each node's leader's cost, and in ``without`` what it would be without each job there."""
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
        leading[node] = first if here > 0 else 0.0


@compiled
def exchange_running(
    num_tardy: int, others: IntArray, num_others: int, margin: float, scratch: Scratch,
    state: MutableSolution, objective: int, mu: float, queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Neighbourhoods 1 and 2: the tardiest jobs change places with others on other nodes."""
    nodes, gpus, place = state.nodes, state.gpus, state.place
    change, move = scratch.change, scratch.move
    for r in range(num_tardy):
        i = scratch.tardy[r]
        here, a = place[i, NODE], place[i, SLOT]
        for q in range(num_others):
            j = others[q]
            there, b = place[j, NODE], place[j, SLOT]
            if here == there or (
                objective == PAPER
                and cannot_pay(
                    i, j, change[0] + margin, scratch.leading, scratch.without, nodes, gpus, place,
                    state.tardy, queue.jobs, queue.row, profile.times_s, m.price_per_s,
                )
            ):  # fmt: skip
                continue
            delta = change_of(
                here, here, a, j, nodes[here, TYPE], there, b, i, nodes[there, TYPE], state,
                objective, mu, queue, profile, m,
            )  # fmt: skip
            if delta < change[0]:
                change[0] = delta
                move[KIND], move[FIRST], move[SECOND] = SWAP_JOBS, i, j


@compiled
def losses(
    running: IntArray, num_running: int, leading: FloatArray, lost: FloatArray, state: MutableSolution,
    queue: PressureQueue,
) -> None:  # fmt: skip
    """Least loss from postponing each running job, its node's leader at no cost: in
    ``lost[r, 0]``; the least from there to the end of the queue in ``lost[r, 1]``."""
    least = np.inf
    for r in range(num_running - 1, -1, -1):
        i = running[r]
        lost[r, 0] = queue.jobs[i, POSTPONED] - state.tardy[i] - leading[state.place[i, NODE]]
        least = min(least, lost[r, 0])
        lost[r, 1] = least


@compiled
def first_behind(i: int, running: IntArray, num_running: int) -> int:
    """Index of the first running job of lower pressure than job i."""
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
    num_running: int, margin: float, scratch: Scratch, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Neighbourhood 3: a postponed job takes the place of a running one of lower pressure.

    `Scratch.promise` is the most that a job can gain by running; jobs come with the highest first, so
    the search ends where no running job could be worth displacing any more.
    """
    nodes, place = state.nodes, state.place
    change, move, lost, running = scratch.change, scratch.move, scratch.lost, scratch.running
    bounded = objective == PAPER
    if num_running == 0:
        return
    if bounded:
        losses(running, num_running, scratch.leading, lost, state, queue)
    for r in range(len(scratch.by_promise)):
        p = scratch.by_promise[r]
        # A running job is worth displacing only if it loses less than this.
        limit = change[0] + margin + scratch.promise[p]
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
                node, node, place[q, SLOT], p, nodes[node, TYPE], NOWHERE, NOWHERE, NOWHERE, NOWHERE, state,
                objective, mu, queue, profile, m,
            )  # fmt: skip
            if delta < change[0]:
                change[0] = delta
                limit = delta + margin + scratch.promise[p]
                move[KIND], move[FIRST], move[SECOND] = SWAP_JOBS, q, p


@compiled
def consider(
    node: int, v: int, scratch: Scratch, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Price a node with another type, or with the GPUs of the scratch row; keep the best."""
    nodes, gpus, trial = state.nodes, state.gpus, len(state.value)
    change, move = scratch.change, scratch.move
    delta = change_to(trial, node, v, state, objective, mu, queue, profile, m)
    if delta < change[0]:
        change[0] = delta
        move[KIND], move[FIRST], move[SECOND] = CHANGE_NODE, node, v
        for a in range(nodes[node, HOSTED]):
            gpus[trial + 1, a] = gpus[trial, a]


@compiled
def change_type(
    node: int, scratch: Scratch, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
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
            consider(node, u, scratch, state, objective, mu, queue, profile, m)


@compiled
def change_gpus(
    node: int, scratch: Scratch, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
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
                consider(node, v, scratch, state, objective, mu, queue, profile, m)
            for b in range(here if g < now else 0):
                if b != a:
                    gpus[trial, b] = gpus[node, b] + now - g
                    consider(node, v, scratch, state, objective, mu, queue, profile, m)
                    gpus[trial, b] = gpus[node, b]
        gpus[trial, a] = now


def promises(queue: PressureQueue, profile: TimeProfile) -> FloatArray:
    """``(n,)`` the most that each job can gain by running: postponement less least tardiness."""
    promise = np.zeros(len(queue.row))
    runs = profile.num_configs[queue.row] > 0
    remaining, due, weight, postponed, _ = queue.jobs[runs].T
    time = remaining * profile.fastest_s[queue.row[runs]]
    promise[runs] = postponed - weight * np.maximum(0.0, time - due)
    return promise
