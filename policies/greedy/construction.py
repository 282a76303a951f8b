"""Compiled construction: the pure and the randomised greedy (thesis, 3.1.3 and 3.1.4; ANDREAS,
Algorithm 1).

`tests/greedy/reference.py` says the same in plain Python, to be read; tests hold the two equal to
the last bit. Jobs are visited in order of pressure, and a visit that cannot place anything costs
one comparison a family (the fewest GPUs that the job accepts there). Swaps of neighbours in the
queue are made while walking along it, not on a copy.
"""

from __future__ import annotations

from typing import Any

from policies.greedy.chance import uniform
from policies.greedy.plan import (
    FREE,
    HOSTED,
    MOST_FREE,
    OPENED,
    TYPE,
    PartialSolution,
    first_node,
    fits_somewhere,
    fullest_node,
    one_of_the_fullest,
    put,
    room,
    suboptimal,
    suboptimal_on_first_node,
    take,
)
from policies.greedy.post_processing import (
    paper_objective,
    post_process,
    post_process_as_released,
    released_objective,
)
from policies.greedy.problem import (
    FAMILY,
    GPUS,
    OPENS_AS,
    PAPER,
    PER_NODE,
    RELEASED,
    SIZE,
    NodeChoices,
    Settings,
    TimeProfile,
)
from policies.greedy.queue import (
    COUNT,
    CUMULATIVE,
    DUE,
    FEWEST,
    GAIN,
    LEADER,
    ON_TIME,
    POSTPONED,
    REMAINING,
    SWAP,
    UNKNOWN,
    WEIGHT,
    PressureQueue,
    find_candidates,
    find_fewest,
)
from policies.solving.compiling import ZERO, compiled
from simulator.model.cluster import FloatArray

SWAP_STEP = 0.05
"""Released: by how much the chance of a swap is above `Settings.swap_scale` where the first of
two neighbours weighs more, and below it elsewhere."""


@compiled
def close(
    num_open: int, total: float, base: float, queue: PressureQueue, profile: TimeProfile, plan: PartialSolution,
    m: NodeChoices, s: Settings,
) -> float:  # fmt: skip
    """Post-process all nodes; returns the objective."""
    nodes = plan.nodes
    for node in range(num_open):
        if nodes[node, FREE] > 0:
            if s.shrink == PER_NODE or s.expand == PER_NODE:
                total += post_process(
                    node, s.shrink, s.expand, queue.row, queue.jobs, profile.times_s, nodes,
                    plan.leading, plan.hosted, plan.gpus, m.price_per_s, m.gpus, m.family_of,
                    m.sizes,
                )  # fmt: skip
            total += s.mu * nodes[node, FREE]
        total += plan.leading[node]
    if s.shrink == RELEASED or s.expand == RELEASED:
        post_process_as_released(num_open, plan, profile, queue, m, s)
        total = paper_objective(num_open, base, queue, profile, plan, m, s)
    if s.objective != PAPER:
        return released_objective(num_open, base, queue, profile, plan, m, s)
    return total


@compiled
def construct(
    random: bool, queue: PressureQueue, profile: TimeProfile, plan: PartialSolution, m: NodeChoices, s: Settings,
    base: float, inverse: FloatArray, state: Any,
) -> tuple[int, float]:  # fmt: skip
    """Build one solution in ``plan``; returns the open nodes and the objective.

    ``random=False`` is the pure greedy. ``base`` is the postponed jobs' part over all jobs; each
    placement adds its gain, then each node its leader's cost.

    In one piece, longer than a screen: with its steps (a lost turn, the draw, the node, the place) as
    functions of their own a randomised construction took 20 to 50 % longer, since each call hands
    over all arrays.
    """
    _, index, jobs, candidate_configs, candidates, known = queue
    nodes, leading, hosted, gpus, bucket, in_bucket, families = plan
    times_s, by_cost, by_time, _, cost_time_s, num_configs, _, _, _, _ = profile
    price, _, family_of, limits, _, configs, _, _ = m
    n, max_nodes = len(index), len(nodes)
    families[:] = 0
    in_bucket[:] = 0
    num_open, free_gpus, current = ZERO, 0, ZERO
    total = base
    for step in range(n):
        may_open = num_open < max_nodes
        if free_gpus == 0 and not may_open:
            break
        i, following = current, step + 1
        current = following
        if random and s.swap != 0 and following < n:
            chance = jobs[i, SWAP]
            if s.swap == RELEASED:
                heavier = jobs[i, WEIGHT] > jobs[following, WEIGHT]
                chance = s.swap_scale + (SWAP_STEP if heavier else -SWAP_STEP)
            if uniform(state) < chance:
                current, i = i, following
        count = known[i, COUNT]
        if count == UNKNOWN:
            count = find_candidates(i, random, queue, profile, m, s)
        if count == 0:
            continue
        choice = 0
        if random and count > 1:
            draw = uniform(state)
            for c in range(count - 1):
                choice += draw >= candidates[i, c, CUMULATIVE]
        config = candidate_configs[i, choice]
        leader, change = candidates[i, choice, LEADER], candidates[i, choice, GAIN]
        f, g = configs[config, FAMILY], configs[config, GPUS]
        node = -1
        if room(f, may_open, families, limits) < g:
            if s.suboptimal == 0:
                continue
            if known[i, FEWEST] == UNKNOWN:
                find_fewest(i, queue, profile, m, s)
            if not fits_somewhere(i, may_open, known, families, limits):
                continue
            k, rem, due = index[i], jobs[i, REMAINING], jobs[i, DUE]
            if s.suboptimal_first_fit and not may_open:
                node, config = suboptimal_on_first_node(i, num_open, queue, profile, nodes, m, s)
            else:
                config = suboptimal(
                    k, rem, due, known[i, ON_TIME] > 0, s.fall_back, may_open,
                    cost_time_s, by_cost, by_time, num_configs[k], configs, families, limits,
                )  # fmt: skip
            if config < 0:
                continue
            f, g = configs[config, FAMILY], configs[config, GPUS]
            v = limits[f, OPENS_AS]
            time = rem * times_s[k, v, g]
            leader = price[v, g] * time
            change = jobs[i, WEIGHT] * max(0.0, time - due) - jobs[i, POSTPONED]
        if node < 0 and families[f, MOST_FREE] >= g:
            if s.first_fit:
                node = first_node(f, g, num_open, nodes, family_of)
            elif random:
                node = one_of_the_fullest(
                    f, g, families[f, MOST_FREE], s.node_share, in_bucket, bucket, inverse, state
                )
            else:
                node = fullest_node(f, g, in_bucket, bucket)
        if node < 0:
            node = num_open
            num_open += 1
            families[f, OPENED] += 1
            free = limits[f, SIZE]
            free_gpus += free
            nodes[node, TYPE] = limits[f, OPENS_AS]
            nodes[node, HOSTED] = 0
            leading[node] = leader
        else:
            free = nodes[node, FREE]
            take(node, f, free, in_bucket, bucket)
            leading[node] = min(leading[node], leader)
        at = nodes[node, HOSTED]
        hosted[node, at] = i
        gpus[node, at] = g
        nodes[node, HOSTED] = at + 1
        free -= g
        nodes[node, FREE] = free
        free_gpus -= g
        put(node, f, free, in_bucket, bucket)
        top = max(families[f, MOST_FREE], free)
        while top > 0 and in_bucket[f, top] == 0:
            top -= 1
        families[f, MOST_FREE] = top
        total += change
    return num_open, close(num_open, total, base, queue, profile, plan, m, s)
