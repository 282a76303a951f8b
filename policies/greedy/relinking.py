"""Compiled path relinking among the best randomised solutions (Filippini et al., IEEE TSC 2023).

`tests/greedy/reference_search.py` says the same in plain Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policies.greedy.plan import FREE, HOSTED, TYPE
from policies.greedy.problem import FIRST_FINISH, OWN_FINISH, NodeChoices, TimeProfile
from policies.greedy.queue import REMAINING, PressureQueue, all_postponed
from policies.greedy.state import (
    NODE,
    NOWHERE,
    MutableSolution,
    change_to,
    copy_state,
    least_improvement,
    load,
    make_state,
    node_value,
    refresh,
    refresh_first,
    soonest,
    total_value,
    value_at,
)
from policies.solving.compiling import compiled, entry
from simulator.model.cluster import FloatArray, IntArray


class Walk(NamedTuple):
    """The way from the start to one guide.

    Attributes
    ----------
    slot_of : ``(P,)`` which node of the state each node of the guide becomes.
    node_in_guide : ``(n,)`` each job's node in the guide, or `NOWHERE`.
    taken, shared : ``(2 P,)`` room for `match_nodes`.
    open_to : ``(P,)`` 1 for the guide's nodes that no step has taken yet.
    guide_value : ``(P,)`` value of the guide's nodes.
    homeless : ``(n,)`` jobs that run in one of the two solutions, by pressure.
    """

    slot_of: IntArray
    node_in_guide: IntArray
    taken: IntArray
    shared: IntArray
    open_to: IntArray
    guide_value: FloatArray
    homeless: IntArray


@compiled
def match_nodes(
    guide: int, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, state: MutableSolution,
    configurable: bool, slot_of: IntArray, taken: IntArray, shared: IntArray,
) -> None:  # fmt: skip
    """Nodes of the state that the nodes of the guide become: ``slot_of``.

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
    node: int, leaving: int, first: float, node_in_guide: IntArray, state: MutableSolution, objective: int,
    mu: float, queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> float:  # fmt: skip
    """A node's value when the jobs of one node of the guide have left it.

    ``first`` is the first finish in the system, for `FIRST_FINISH` alone.
    """
    nodes, hosted, gpus, value = state.nodes, state.hosted, state.gpus, state.value
    trial, left = len(value), 0
    for a in range(nodes[node, HOSTED]):
        i = hosted[node, a]
        if node_in_guide[i] != leaving:
            hosted[trial, left], gpus[trial, left] = i, gpus[node, a]
            left += 1
    nodes[trial, HOSTED] = left
    if objective == FIRST_FINISH:
        v = nodes[node, TYPE]
        return value_at(first, trial, NOWHERE, NOWHERE, v, nodes, hosted, gpus, queue, profile, m)
    return node_value(
        trial, NOWHERE, NOWHERE, nodes[node, TYPE], nodes, hosted, gpus, objective, mu, queue.jobs,
        queue.row, profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
    )  # fmt: skip


@compiled
def first_without(
    node: int,
    leaving: int,
    node_in_guide: IntArray,
    state: MutableSolution,
    queue: PressureQueue,
    profile: TimeProfile,
) -> float:
    """A node's first finish when the jobs of one node of the guide have left it."""
    v, first = state.nodes[node, TYPE], np.inf
    for a in range(state.nodes[node, HOSTED]):
        i, g = state.hosted[node, a], state.gpus[node, a]
        if node_in_guide[i] != leaving:
            time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
            first = min(first, time)
    return float(first)


@compiled
def take_guide_node(
    k: int, guide: int, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray,
    state: MutableSolution,
) -> int:  # fmt: skip
    """Put the guide's node k on the scratch row; returns its type."""
    trial = len(state.value)
    state.nodes[trial, HOSTED] = pool_nodes[guide, k, HOSTED]
    for a in range(state.nodes[trial, HOSTED]):
        state.hosted[trial, a] = pool_hosted[guide, k, a]
        state.gpus[trial, a] = pool_gpus[guide, k, a]
    return int(pool_nodes[guide, k, TYPE])


@compiled
def step_to_first(
    k: int, slot: int, guide: int, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, node_in_guide: IntArray, state: MutableSolution, queue: PressureQueue, profile: TimeProfile,
    m: NodeChoices,
) -> tuple[float, float]:  # fmt: skip
    """For `FIRST_FINISH`: when the first job in the system finishes after a step, and the value
    of the guide's node k then."""
    nodes, hosted, gpus, trial = state.nodes, state.hosted, state.gpus, len(state.value)
    v = take_guide_node(k, guide, pool_nodes, pool_hosted, pool_gpus, state)
    first = soonest(trial, NOWHERE, NOWHERE, v, nodes, hosted, gpus, queue, profile)
    for node in range(len(state.value)):
        if node != slot and state.earliest[node] < first:
            left = first_without(node, k, node_in_guide, state, queue, profile)
            first = min(first, left)
    return first, value_at(
        first, trial, NOWHERE, NOWHERE, v, nodes, hosted, gpus, queue, profile, m
    )


@compiled
def step_value(
    k: int, slot: int, guide_value: float, guide: int, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, node_in_guide: IntArray, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> float:  # fmt: skip
    """Changes when a node becomes the guide's node k; its jobs leave the nodes where they
    are, the jobs that were there are postponed."""
    value, place, first = state.value, state.place, state.first[0]
    if objective == FIRST_FINISH:
        first, guide_value = step_to_first(
            k, slot, guide, pool_nodes, pool_hosted, pool_gpus, node_in_guide, state, queue,
            profile, m,
        )  # fmt: skip
    delta = guide_value - float(value[slot])
    if first != state.first[0]:
        for node in range(len(value)):
            if node != slot:
                delta += value_without(
                    node, k, first, node_in_guide, state, objective, mu, queue, profile, m
                ) - value[node]  # fmt: skip
        return delta
    for a in range(pool_nodes[guide, k, HOSTED]):
        node = place[pool_hosted[guide, k, a], NODE]
        new = node != NOWHERE and node != slot
        for b in range(a):
            new = new and place[pool_hosted[guide, k, b], NODE] != node
        if new:
            delta += value_without(
                node, k, first, node_in_guide, state, objective, mu, queue, profile, m
            ) - value[node]  # fmt: skip
    return delta


@compiled
def take_step(
    k: int, slot: int, guide: int, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, node_in_guide: IntArray, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Make a node the guide's node k."""
    nodes, hosted, gpus, place = state.nodes, state.hosted, state.gpus, state.place
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
    refresh_first(state, objective, queue, profile, m)


@compiled
def fill(
    homeless: IntArray, count: int, margin: float, state: MutableSolution, objective: int, mu: float,
    queue: PressureQueue, profile: TimeProfile, m: NodeChoices,
) -> None:  # fmt: skip
    """Give postponed jobs, in order of pressure, the free GPUs of open nodes that pay most."""
    nodes, hosted, gpus, value, place = state[:5]
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
                v = nodes[node, TYPE]
                delta = change_to(trial, node, v, state, objective, mu, queue, profile, m)
                if delta < best:
                    best, where, most = delta, node, g
        if where != NOWHERE:
            at = nodes[where, HOSTED]
            hosted[where, at], gpus[where, at] = i, most
            nodes[where, HOSTED] = at + 1
            refresh(where, state, objective, mu, queue, profile, m)
            refresh_first(state, objective, queue, profile, m)


def make_walk(num_jobs: int, size: int) -> Walk:
    """Room for a walk between solutions of at most ``size`` nodes."""
    return Walk(
        np.empty(size, np.int64),
        np.empty(num_jobs, np.int64),
        np.empty(2 * size, np.int64),
        np.empty(2 * size, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(num_jobs, np.int64),
    )


@compiled
def set_out(
    guide: int, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray,
    walk: Walk, state: MutableSolution, objective: int, mu: float, queue: PressureQueue, profile: TimeProfile,
    m: NodeChoices,
) -> int:  # fmt: skip
    """Compare the state with the guide; returns how many jobs run in one of them."""
    match_nodes(
        guide, opens, pool_nodes, pool_hosted, state, m.configurable, walk.slot_of, walk.taken,
        walk.shared,
    )  # fmt: skip
    for i in range(len(walk.node_in_guide)):
        walk.node_in_guide[i] = NOWHERE
    for k in range(opens[guide]):
        walk.open_to[k] = 1
        for a in range(pool_nodes[guide, k, HOSTED]):
            walk.node_in_guide[pool_hosted[guide, k, a]] = k
        v = take_guide_node(k, guide, pool_nodes, pool_hosted, pool_gpus, state)
        walk.guide_value[k] = node_value(
            len(state.value), NOWHERE, NOWHERE, v, state.nodes, state.hosted, state.gpus, objective, mu,
            queue.jobs, queue.row, profile.times_s, profile.slowest_s, m.price_per_s, m.gpus,
        )  # fmt: skip
    count = 0
    for i in range(len(walk.node_in_guide)):
        if state.place[i, NODE] != NOWHERE or walk.node_in_guide[i] != NOWHERE:
            walk.homeless[count] = i
            count += 1
    return count


@compiled
def best_step(
    guide: int, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray,
    walk: Walk, state: MutableSolution, objective: int, mu: float, queue: PressureQueue, profile: TimeProfile,
    m: NodeChoices,
) -> int:  # fmt: skip
    """The node of the guide whose step leads to the least objective."""
    chosen, least = NOWHERE, np.inf
    for k in range(opens[guide]):
        if walk.open_to[k] == 1:
            delta = step_value(
                k, walk.slot_of[k], walk.guide_value[k], guide, pool_nodes, pool_hosted,
                pool_gpus, walk.node_in_guide, state, objective, mu, queue, profile, m,
            )  # fmt: skip
            if delta < least:
                chosen, least = k, delta
    return chosen


@compiled
def best_of_pool(
    opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray, base: float,
    state: MutableSolution, best: MutableSolution, objective: int, mu: float, queue: PressureQueue, profile: TimeProfile,
    m: NodeChoices,
) -> tuple[float, int]:  # fmt: skip
    """Put the best solution into ``best``: the pool's objective may be another than this one."""
    lowest, rank = np.inf, 0
    for other in range(len(opens)):
        load(
            other, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        value = total_value(base, state)
        if value < lowest:
            lowest, rank = value, other
            copy_state(state, best)
    return lowest, rank


@entry
def walk_to_all(
    opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray, pool_gpus: IntArray, walk: Walk,
    state: MutableSolution, here: MutableSolution, best: MutableSolution, objective: int, mu: float, queue: PressureQueue,
    profile: TimeProfile, m: NodeChoices,
) -> tuple[float, int, int]:  # fmt: skip
    """Walk from the best solution of the pool to each other one; the best on the way in ``best``.

    Returns its objective, the rank of the guide (the start's own: none), the steps made.
    """
    base = all_postponed(queue)
    margin = least_improvement(base)
    base = base if objective <= OWN_FINISH else 0.0
    lowest, start = best_of_pool(
        opens, pool_nodes, pool_hosted, pool_gpus, base, state, best, objective, mu, queue,
        profile, m,
    )  # fmt: skip
    origin, steps = start, 0
    for guide in range(len(opens)):
        if guide == start:
            continue
        load(
            start, opens, pool_nodes, pool_hosted, pool_gpus, state, objective, mu, queue, profile,
            m,
        )  # fmt: skip
        count = set_out(
            guide, opens, pool_nodes, pool_hosted, pool_gpus, walk, state, objective, mu, queue,
            profile, m,
        )  # fmt: skip
        for _ in range(opens[guide]):
            chosen = best_step(
                guide, opens, pool_nodes, pool_hosted, pool_gpus, walk, state, objective, mu,
                queue, profile, m,
            )  # fmt: skip
            walk.open_to[chosen] = 0
            take_step(
                chosen, walk.slot_of[chosen], guide, pool_nodes, pool_hosted, pool_gpus,
                walk.node_in_guide, state, objective, mu, queue, profile, m,
            )  # fmt: skip
            steps += 1
            copy_state(state, here)
            fill(walk.homeless, count, margin, here, objective, mu, queue, profile, m)
            value = total_value(base, here)
            if value < lowest - margin:
                lowest, origin = value, guide
                copy_state(here, best)
    return lowest, origin, steps


def path_relinking(
    queue: PressureQueue, opens: IntArray, pool_nodes: IntArray, pool_hosted: IntArray,
    pool_gpus: IntArray, profile: TimeProfile, m: NodeChoices, objective: int, mu: float,
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
    state, here, best = (make_state(n, 2 * size, most) for _ in range(3))
    found = walk_to_all(
        opens, pool_nodes, pool_hosted, pool_gpus, make_walk(n, size), state, here, best, objective,
        mu, queue, profile, m,
    )  # fmt: skip
    rows = slice(2 * size)
    return best.nodes[rows], best.hosted[rows], best.gpus[rows], *found
