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
from policies.greedy.compiling import compiled
from policies.greedy.plan import (
    FREE,
    HOSTED,
    MOST_FREE,
    Plan,
    enter_bucket,
    first_node,
    fits_somewhere,
    fullest_node,
    leave_bucket,
    one_of_the_fullest,
    open_node,
    room,
    suboptimal,
    suboptimal_on_first_node,
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
    Machines,
    Profile,
    Settings,
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
    Queue,
    find_candidates,
    find_fewest,
)
from simulator.catalog import FloatArray

SWAP_STEP = 0.05
"""Released: by how much the chance of a swap is above `Settings.swap_scale` where the first of
two neighbours weighs more, and below it elsewhere."""


@compiled
def loses_turn(current: int, following: int, queue: Queue, s: Settings, state: Any) -> bool:
    """Whether a job of the queue gives way to the one behind it."""
    chance = queue.jobs[current, SWAP]
    if s.swap == RELEASED:
        heavier = queue.jobs[current, WEIGHT] > queue.jobs[following, WEIGHT]
        chance = s.swap_scale + (SWAP_STEP if heavier else -SWAP_STEP)
    return bool(uniform(state) < chance)


@compiled
def draw_candidate(i: int, count: int, queue: Queue, state: Any) -> int:
    """One of a job's candidates, by their probabilities."""
    draw, choice = uniform(state), 0
    for c in range(count - 1):
        choice += draw >= queue.candidates[i, c, CUMULATIVE]
    return choice


@compiled
def other_configuration(
    i: int, may_open: bool, num_open: int, queue: Queue, profile: Profile, plan: Plan, m: Machines,
    s: Settings,
) -> tuple[int, int]:  # fmt: skip
    """Another configuration for a job whose own fits nowhere, and its node where a rule names one.

    -1 for a node that is still to be chosen, and for a job that has to wait.
    """
    if queue.known[i, FEWEST] == UNKNOWN:
        find_fewest(i, queue, profile, m, s)
    if not fits_somewhere(i, may_open, queue.known, plan.families, m.families):
        return -1, -1
    if s.suboptimal_first_fit and not may_open:
        return suboptimal_on_first_node(i, num_open, queue, profile, plan.nodes, m, s)
    k = queue.row[i]
    config = suboptimal(
        k, queue.jobs[i, REMAINING], queue.jobs[i, DUE], queue.known[i, ON_TIME] > 0, s.fall_back,
        may_open, profile.cost_time_s, profile.by_cost, profile.by_time, profile.num_configs[k],
        m.configs, plan.families, m.families,
    )  # fmt: skip
    return -1, config


@compiled
def node_for(
    random: bool, f: int, g: int, num_open: int, plan: Plan, m: Machines, s: Settings,
    inverse: FloatArray, state: Any,
) -> int:  # fmt: skip
    """The open node for a configuration; -1 where none has room."""
    most = plan.families[f, MOST_FREE]
    if most < g:
        return -1
    if s.first_fit:
        return first_node(f, g, num_open, plan.nodes, m.family_of)
    if random:
        return one_of_the_fullest(
            f, g, most, s.node_share, plan.in_bucket, plan.bucket, inverse, state
        )
    return fullest_node(f, g, plan.in_bucket, plan.bucket)


@compiled
def seat(i: int, g: int, leader: float, node: int, f: int, free: int, plan: Plan) -> None:
    """Give a job its GPUs on a node with ``free`` ones."""
    at = plan.nodes[node, HOSTED]
    plan.hosted[node, at], plan.gpus[node, at] = i, g
    plan.nodes[node, HOSTED] = at + 1
    plan.nodes[node, FREE] = free - g
    plan.leading[node] = min(plan.leading[node], leader)
    enter_bucket(node, f, free - g, plan)


@compiled
def close(
    num_open: int, total: float, base: float, queue: Queue, profile: Profile, plan: Plan,
    m: Machines, s: Settings,
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
    random: bool, queue: Queue, profile: Profile, plan: Plan, m: Machines, s: Settings,
    base: float, inverse: FloatArray, state: Any,
) -> tuple[int, float]:  # fmt: skip
    """Build one solution in ``plan``; returns the open nodes and the objective.

    ``random=False`` is the pure greedy. ``base`` is the postponed jobs' part over all jobs; each
    placement adds its gain, then each node its leader's cost.
    """
    jobs, n, max_nodes = queue.jobs, len(queue.row), len(plan.nodes)
    plan.families[:] = 0
    plan.in_bucket[:] = 0
    num_open, free_gpus, current = 0, 0, 0
    total = base
    for step in range(n):
        may_open = num_open < max_nodes
        if free_gpus == 0 and not may_open:
            break
        i, following = current, step + 1
        current = following
        if random and s.swap != 0 and following < n and loses_turn(i, following, queue, s, state):
            current, i = i, following
        count = queue.known[i, COUNT]
        if count == UNKNOWN:
            count = find_candidates(i, random, queue, profile, m, s)
        if count == 0:
            continue
        choice = draw_candidate(i, count, queue, state) if random and count > 1 else 0
        node, config = -1, queue.configs[i, choice]
        leader, change = queue.candidates[i, choice, LEADER], queue.candidates[i, choice, GAIN]
        f, g = m.configs[config, FAMILY], m.configs[config, GPUS]
        if room(f, may_open, plan.families, m.families) < g:
            node, config = other_configuration(i, may_open, num_open, queue, profile, plan, m, s)
            if config < 0:
                continue
            f, g = m.configs[config, FAMILY], m.configs[config, GPUS]
            v = m.families[f, OPENS_AS]
            time = jobs[i, REMAINING] * profile.times_s[queue.row[i], v, g]
            leader = m.price_per_s[v, g] * time
            change = jobs[i, WEIGHT] * max(0.0, time - jobs[i, DUE]) - jobs[i, POSTPONED]
        if node < 0:
            node = node_for(random, f, g, num_open, plan, m, s, inverse, state)
        if node < 0:
            node, free = num_open, open_node(f, plan, m.families, num_open)
            num_open += 1
            free_gpus += free
        else:
            free = plan.nodes[node, FREE]
            leave_bucket(node, f, free, plan)
        seat(i, g, leader, node, f, free, plan)
        free_gpus -= g
        total += change
    return num_open, close(num_open, total, base, queue, profile, plan, m, s)
