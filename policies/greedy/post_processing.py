"""Post-processing of a construction's nodes (compiled).

The papers: each node shrinks to the smallest equivalent VM, then its idle GPUs go to its job of
highest speed-up. The released program: a node shrinks where that is cheaper, and one job of the
whole system gets idle GPUs.
"""

from __future__ import annotations

import numpy as np

from policies.greedy.plan import FREE, HOSTED, TYPE, PartialSolution
from policies.greedy.problem import (
    FIRST_FINISH,
    OWN_FINISH,
    PER_NODE,
    RELEASED,
    NodeChoices,
    Settings,
    TimeProfile,
)
from policies.greedy.queue import DUE, POSTPONED, REMAINING, WEIGHT, PressureQueue
from policies.solving.compiling import compiled
from simulator.model.cluster import FloatArray, IntArray

SAME_TIME = 1.0 + 1e-9
"""Two times are the same, and a speed-up is none, up to this factor (rounding)."""
LEAST_COST = 1e-300
"""Instead of a cost of zero, by which the released ratio would divide."""


@compiled
def post_process(
    node: int, may_shrink: int, may_expand: int, index: IntArray, jobs: FloatArray,
    times_s: FloatArray, nodes: IntArray, leading: FloatArray, hosted: IntArray, gpus: IntArray,
    price: FloatArray, capacity: IntArray, family_of: IntArray, sizes: IntArray,
) -> float:  # fmt: skip
    """Shrink a node to the smallest equivalent VM, then give idle GPUs to the highest speed-up.

    Updates the plan and returns the change in the jobs' part of the objective.
    """
    here, v = nodes[node, HOSTED], nodes[node, TYPE]
    before = 0.0
    for a in range(here):
        i = hosted[node, a]
        time = jobs[i, REMAINING] * times_s[index[i], v, gpus[node, a]]
        before += jobs[i, WEIGHT] * max(0.0, time - jobs[i, DUE])
    if may_shrink == PER_NODE:
        shrink(node, index, times_s, nodes, hosted, gpus, capacity, family_of, sizes)
    if may_expand == PER_NODE:
        while nodes[node, FREE] > 0 and expand(node, index, times_s, nodes, hosted, gpus):
            pass
    v = nodes[node, TYPE]
    after, leader = 0.0, np.inf
    for a in range(here):
        i, g = hosted[node, a], gpus[node, a]
        time = jobs[i, REMAINING] * times_s[index[i], v, g]
        after += jobs[i, WEIGHT] * max(0.0, time - jobs[i, DUE])
        leader = min(leader, price[v, g] * time)
    leading[node] = leader
    return after - before


@compiled
def shrink(
    node: int, index: IntArray, times_s: FloatArray, nodes: IntArray, hosted: IntArray,
    gpus: IntArray, capacity: IntArray, family_of: IntArray, sizes: IntArray,
) -> None:  # fmt: skip
    """The smallest VM of the family that holds the GPUs in use and slows no job down."""
    v = nodes[node, TYPE]
    used = capacity[v] - nodes[node, FREE]
    f = family_of[v]
    for k in range(sizes.shape[1]):
        smaller = sizes[f, k]
        if smaller < 0 or smaller == v or capacity[smaller] == capacity[v]:
            return
        if capacity[smaller] < used:
            continue
        same = True
        for a in range(nodes[node, HOSTED]):
            job, g = index[hosted[node, a]], gpus[node, a]
            if not times_s[job, smaller, g] <= times_s[job, v, g] * SAME_TIME:
                same = False
                break
        if same:
            nodes[node, TYPE] = smaller
            nodes[node, FREE] = capacity[smaller] - used
            return


@compiled
def expand(
    node: int, index: IntArray, times_s: FloatArray, nodes: IntArray, hosted: IntArray,
    gpus: IntArray,
) -> bool:  # fmt: skip
    """Give idle GPUs to the job with the highest speed-up; False where no job gains."""
    v = nodes[node, TYPE]
    best, winner, more = SAME_TIME, -1, 0
    for a in range(nodes[node, HOSTED]):
        job, now = index[hosted[node, a]], gpus[node, a]
        time_now = times_s[job, v, now]
        for g in range(now + 1, now + nodes[node, FREE] + 1):
            time = times_s[job, v, g]
            if time * best < time_now:
                best, winner, more = time_now / time, a, g - now
    if winner < 0:
        return False
    gpus[node, winner] += more
    nodes[node, FREE] -= more
    return True


@compiled
def shrink_where_cheaper(
    node: int, plan: PartialSolution, profile: TimeProfile, queue: PressureQueue, m: NodeChoices
) -> None:
    """Released: the size with as many GPUs as are in use, or else one more, if it is cheaper."""
    v = plan.nodes[node, TYPE]
    used = m.gpus[v] - plan.nodes[node, FREE]
    for wanted in (used, used + 1):
        for k in range(m.sizes.shape[1]):
            smaller = m.sizes[m.family_of[v], k]
            if smaller < 0 or m.gpus[smaller] != wanted:
                continue
            runs = m.price_per_s[smaller, used] < m.price_per_s[v, used]
            for a in range(plan.nodes[node, HOSTED]):
                job, g = queue.row[plan.hosted[node, a]], plan.gpus[node, a]
                runs = runs and profile.times_s[job, smaller, g] < np.inf
            if runs:
                plan.nodes[node, TYPE] = smaller
                plan.nodes[node, FREE] = wanted - used
                return


@compiled
def expand_one_job(
    num_open: int, plan: PartialSolution, profile: TimeProfile, queue: PressureQueue
) -> None:
    """Released: the job that gains the most seconds takes all idle GPUs of its node."""
    nodes, hosted, gpus = plan.nodes, plan.hosted, plan.gpus
    most, winner, slot = 0.0, -1, -1
    for node in range(num_open):
        v, free = nodes[node, TYPE], nodes[node, FREE]
        for a in range(nodes[node, HOSTED] if free > 0 else 0):
            i, g = hosted[node, a], gpus[node, a]
            now, then = (
                profile.times_s[queue.row[i], v, g],
                profile.times_s[queue.row[i], v, g + free],
            )
            gained = queue.jobs[i, REMAINING] * (now - then)
            if gained > most:
                most, winner, slot = gained, node, a
    if winner >= 0:
        gpus[winner, slot] += nodes[winner, FREE]
        nodes[winner, FREE] = 0


@compiled
def post_process_as_released(
    num_open: int,
    plan: PartialSolution,
    profile: TimeProfile,
    queue: PressureQueue,
    m: NodeChoices,
    s: Settings,
) -> None:
    """Shrink each node where that is cheaper, then expand one job of all."""
    for node in range(num_open if s.shrink == RELEASED else 0):
        if plan.nodes[node, FREE] > 0:
            shrink_where_cheaper(node, plan, profile, queue, m)
    if s.expand == RELEASED:
        expand_one_job(num_open, plan, profile, queue)


@compiled
def paper_objective(
    num_open: int,
    base: float,
    queue: PressureQueue,
    profile: TimeProfile,
    plan: PartialSolution,
    m: NodeChoices,
    s: Settings,
) -> float:
    """The papers' objective of a whole plan, for what changes many nodes at once."""
    total = base
    for node in range(num_open):
        v, leader = plan.nodes[node, TYPE], np.inf
        for a in range(plan.nodes[node, HOSTED]):
            i, g = plan.hosted[node, a], plan.gpus[node, a]
            time = queue.jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
            late = queue.jobs[i, WEIGHT] * max(0.0, time - queue.jobs[i, DUE])
            total += late - queue.jobs[i, POSTPONED]
            leader = min(leader, m.price_per_s[v, g] * time)
        total += leader + s.mu * plan.nodes[node, FREE]
    return total


@compiled
def released_objective(
    num_open: int,
    base: float,
    queue: PressureQueue,
    profile: TimeProfile,
    plan: PartialSolution,
    m: NodeChoices,
    s: Settings,
) -> float:
    """The objectives of the released program, see `reference.objective`."""
    index, jobs, times_s = queue.row, queue.jobs, profile.times_s
    nodes, hosted, gpus = plan.nodes, plan.hosted, plan.gpus
    first = np.inf
    for node in range(num_open):
        for a in range(nodes[node, HOSTED]):
            i = hosted[node, a]
            time = times_s[index[i], nodes[node, TYPE], gpus[node, a]]
            first = min(first, jobs[i, REMAINING] * time)
    total, ratio = base, 0.0
    for node in range(num_open):
        v = nodes[node, TYPE]
        used = m.gpus[v] - nodes[node, FREE]
        if s.objective == FIRST_FINISH:
            total += m.price_per_s[v, used] * first
        for a in range(nodes[node, HOSTED]):
            i, g = hosted[node, a], gpus[node, a]
            time = jobs[i, REMAINING] * times_s[index[i], v, g]
            if s.objective == FIRST_FINISH:
                tardy = jobs[i, WEIGHT] * max(0.0, first - jobs[i, DUE])
                total += tardy - jobs[i, POSTPONED]
            else:
                cost = m.price_per_s[v, used] * time * g / used
                cost += jobs[i, WEIGHT] * max(0.0, time - jobs[i, DUE])
                total += cost - jobs[i, POSTPONED]
                slowest = jobs[i, REMAINING] * profile.slowest_s[index[i]]
                ratio -= slowest / max(cost, LEAST_COST)
    return total if s.objective == FIRST_FINISH or s.objective == OWN_FINISH else ratio
