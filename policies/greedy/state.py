"""A solution that can be changed, and what a change costs (compiled).

The objective is a sum over nodes (and a constant: all jobs postponed), so a change is priced by the
one or two nodes that become others; but for the objective of the first finish, by all of them where
that becomes another.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from policies.greedy.plan import FREE, HOSTED, TYPE
from policies.greedy.post_processing import LEAST_COST
from policies.greedy.problem import FIRST_FINISH, OWN_FINISH, PAPER, NodeChoices, TimeProfile
from policies.greedy.queue import DUE, POSTPONED, REMAINING, WEIGHT, PressureQueue
from policies.solving.compiling import compiled
from simulator.model.cluster import FloatArray, IntArray

NODE, SLOT = 0, 1
"""Columns of `State.place`."""
NOWHERE = cast(int, np.int64(-1))
"""Not a literal, for which each kernel that is given it would be compiled once more."""
IMPROVES = 1e-9
"""A change counts when it lowers the objective by more than this part of it (rounding)."""


class MutableSolution(NamedTuple):
    """A solution that can be changed.

    Attributes
    ----------
    nodes : ``(N + 2, 3)`` see `PartialSolution`; a node with no job is closed. The last two are scratch: the
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
                total -= jobs[i, REMAINING] * slowest_s[row[i]] / max(cost, LEAST_COST)
    if objective == PAPER:
        total += leader + mu * (capacity[v] - used)
    return total


@compiled
def value_at(
    first: float, at: int, slot: int, instead: int, v: int, nodes: IntArray, hosted: IntArray,
    gpus: IntArray, queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
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
    queue: PressureQueue, profile: TimeProfile,
) -> float:  # fmt: skip
    """Time at which the first job of a node finishes, if it had type ``v`` and another job in one slot."""
    first = np.inf
    for a in range(nodes[at, HOSTED]):
        i = instead if a == slot else hosted[at, a]
        time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, gpus[at, a]]
        first = min(first, time)
    return float(first)


@compiled
def first_after(
    here: int, at: int, a: int, j: int, v: int, there: int, b: int, i: int, u: int, state: MutableSolution,
    queue: PressureQueue, profile: TimeProfile,
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
        if node != here and node != there:
            new = min(new, earliest[node])
    return float(new)


@compiled
def change_of_all(
    here: int, at: int, a: int, j: int, v: int, there: int, b: int, i: int, u: int, state: MutableSolution,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> float:  # fmt: skip
    """`change_of` for `FIRST_FINISH`: where that becomes another, all nodes change."""
    nodes, hosted, gpus, value = state.nodes, state.hosted, state.gpus, state.value
    first = first_after(here, at, a, j, v, there, b, i, u, state, queue, profile)
    delta = value_at(first, at, a, j, v, nodes, hosted, gpus, queue, profile, m) - value[here]
    if there != NOWHERE:
        other = value_at(first, there, b, i, u, nodes, hosted, gpus, queue, profile, m)
        delta += other - value[there]
    for node in range(len(value) if first != state.first[0] else 0):
        if node != here and node != there:
            kind = nodes[node, TYPE]
            other = value_at(
                first, node, NOWHERE, NOWHERE, kind, nodes, hosted, gpus, queue, profile, m
            )
            delta += other - value[node]
    return float(delta)


@compiled
def change_to(
    trial: int, node: int, v: int, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> float:  # fmt: skip
    """Change of the objective if ``node`` had type ``v`` and the jobs and GPUs of row ``trial``."""
    if objective == FIRST_FINISH:
        return change_of_all(
            node, trial, NOWHERE, NOWHERE, v, NOWHERE, NOWHERE, NOWHERE, NOWHERE, state, queue, profile, m
        )  # fmt: skip
    change: float = node_value(
        trial, NOWHERE, NOWHERE, v, state.nodes, state.hosted, state.gpus, objective, mu, queue.jobs,
        queue.row, profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
    ) - state.value[node]  # fmt: skip
    return change


@compiled
def change_of(
    here: int, at: int, a: int, j: int, v: int, there: int, b: int, i: int, u: int, state: MutableSolution,
    objective: int, mu: float, queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> float:  # fmt: skip
    """Change of the objective when one node, or two, change.

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


def make_state(num_jobs: int, nodes: int, most: int) -> MutableSolution:
    """Room for a solution."""
    return MutableSolution(
        np.zeros((nodes + 2, 3), np.int64),
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
    node: int,
    state: MutableSolution,
    objective: int,
    mu: float,
    queue: PressureQueue,
    profile: TimeProfile,
    m: NodeChoices,
) -> None:
    """Bring a node's value, and its jobs' places and tardiness, up to date.

    Where the first finish counts, `refresh_first` follows when all changes are made.
    """
    nodes, hosted, gpus, value, place, late, earliest, _ = state
    v = nodes[node, TYPE]
    if objective == FIRST_FINISH:
        earliest[node] = soonest(node, NOWHERE, NOWHERE, v, nodes, hosted, gpus, queue, profile)
    else:
        value[node] = node_value(
            node, NOWHERE, NOWHERE, v, nodes, hosted, gpus, objective, mu, queue.jobs, queue.row,
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
    state: MutableSolution,
    objective: int,
    queue: PressureQueue,
    profile: TimeProfile,
    m: NodeChoices,
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
        value[node] = value_at(
            first, node, NOWHERE, NOWHERE, v, nodes, hosted, gpus, queue, profile, m
        )


@compiled
def load(
    rank: int, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray,
    state: MutableSolution, objective: int, mu: float, queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Take a solution of the pool into the state."""
    state.place[:] = NOWHERE
    for node in range(len(state.value)):
        state.nodes[node, HOSTED] = 0
        state.value[node] = 0.0
        state.earliest[node] = np.inf
        if node < opens[rank]:
            for column in range(3):
                state.nodes[node, column] = pool_nodes[rank, node, column]
            for a in range(state.nodes[node, HOSTED]):
                state.hosted[node, a] = pool_hosted[rank, node, a]
                state.gpus[node, a] = pool_gpus[rank, node, a]
            refresh(node, state, objective, mu, queue, profile, m)
    refresh_first(state, objective, queue, profile, m)


@compiled
def total_value(base: float, state: MutableSolution) -> float:
    """The objective: all jobs' postponement, and what each node changes in it."""
    total = base
    for node in range(len(state.value)):
        total += state.value[node]
    return total


@compiled
def least_improvement(base: float) -> float:
    """Least decrease of the objective for a change to count, ``base`` being all postponed."""
    return IMPROVES * (1.0 + abs(base))


@compiled
def copy_state(source: MutableSolution, target: MutableSolution) -> None:
    """Overwrite one state with another, but for the scratch rows."""
    for node in range(len(source.value)):
        for column in range(3):
            target.nodes[node, column] = source.nodes[node, column]
        for a in range(source.nodes[node, HOSTED]):
            target.hosted[node, a] = source.hosted[node, a]
            target.gpus[node, a] = source.gpus[node, a]
        target.value[node], target.earliest[node] = source.value[node], source.earliest[node]
    for i in range(len(source.tardy)):
        target.place[i, NODE], target.place[i, SLOT] = source.place[i, NODE], source.place[i, SLOT]
        target.tardy[i] = source.tardy[i]
    target.first[0] = source.first[0]
