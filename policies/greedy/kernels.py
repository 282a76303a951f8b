"""Compiled construction: the pure and the randomised greedy (thesis, 3.1.3 and 3.1.4; ANDREAS,
Algorithm 1).

`reference.py` says the same in plain Python, to be read; tests hold the two equal to the last
bit. What differs here is how a step is made cheap:

- jobs are visited in order of pressure, and a visit that cannot place anything costs one
  comparison a family (the fewest GPUs that the job accepts there);
- open nodes lie in buckets by family and free GPUs, so the fullest node that fits is found in at
  most G steps;
- a job's candidates (configurations, times, probabilities) are worked out at its first visit in
  a decision and serve all iterations;
- swaps of neighbours in the queue are made while walking along it, not on a copy.

Small tables with named columns stand for records. Random numbers are SplitMix64, a counter and a hash: the result depends on the seed
alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from policies.greedy.compiling import allocating, compiled
from policies.greedy.problem import (
    FIRST_FINISH,
    LIMIT,
    NEVER,
    OPENS_AS,
    OWN_FINISH,
    PAPER,
    SIZE,
    Jobs,
    Machines,
    Profile,
    Settings,
)
from policies.selection import DUE_TOLERANCE_S
from simulator.catalog import FloatArray, IntArray

TOLERANCE = float(DUE_TOLERANCE_S)
GAIN_AT_LEAST = 1.0 + 1e-9
"""A speed-up counts when it exceeds this (rounding)."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
TO_UNIT = 1.0 / 9007199254740992.0

REMAINING, DUE, WEIGHT, POSTPONED, SWAP = 0, 1, 2, 3, 4
"""Columns of a queued job: `Queue.jobs`."""
CUMULATIVE, LEADER, GAIN = 0, 1, 2
"""Columns of a candidate: `Queue.candidates`."""
COUNT, ON_TIME, FEWEST = 0, 1, 2
"""Columns of `Queue.known`; from `FEWEST` on there is one a family."""
TYPE, FREE, HOSTED, POSITION = 0, 1, 2, 3
"""Columns of a node: `Plan.nodes`."""
MOST_FREE, OPENED = 0, 1
"""Columns of a family: `Plan.families`."""
UNKNOWN = -1


class Queue(NamedTuple):
    """The jobs of a decision in order of pressure, and their restricted candidate lists.

    Attributes
    ----------
    place : ``(n,)`` the job's place in `Jobs`.
    row : ``(n,)`` its row of the profile.
    jobs : ``(n, 5)`` remaining fraction, due in (s), weight, its part of the objective when it is
        postponed, its chance to lose its turn to the next in the queue.
    configs : ``(n, K)`` candidate configurations.
    candidates : ``(n, K, 3)`` of each: probability up to it, what the job costs if it leads a
        node so, and what placing it so changes in the jobs' part of the objective.
    known : ``(n, 2 + F)`` how many candidates, how many configurations meet the due date, the
        fewest GPUs of each family that the job accepts; `UNKNOWN` until its first visit.
    """

    place: IntArray
    row: IntArray
    jobs: FloatArray
    configs: IntArray
    candidates: FloatArray
    known: IntArray


class Plan(NamedTuple):
    """A solution under construction.

    Attributes
    ----------
    nodes : ``(N, 4)`` type, free GPUs, jobs hosted, position in its bucket; in opening order.
    leading : ``(N,)`` cost of the cheapest job to finish, which counts for the node.
    hosted, gpus : ``(N, G)`` the jobs (queue positions) and their GPUs.
    bucket : ``(F, G + 1, N)`` nodes of a family by free GPUs, ``in_bucket`` ``(F, G + 1)`` many.
    families : ``(F, 2)`` the most free GPUs of an open node; how many nodes are open.
    """

    nodes: IntArray
    leading: FloatArray
    hosted: IntArray
    gpus: IntArray
    bucket: IntArray
    in_bucket: IntArray
    families: IntArray


def pressure_order(jobs: Jobs, profile: Profile) -> IntArray:
    """``(n,)`` the jobs by pressure (equation 3.1), most pressed first, equals by arrival."""
    return np.argsort(jobs.due_in_s - jobs.remaining * profile.lead_s[jobs.row], kind="stable")


@compiled
def uniform(state: Any) -> float:
    """Next number in [0, 1); ``state`` is one uint64 (SplitMix64)."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return float((z ^ (z >> S31)) >> S11) * TO_UNIT


@allocating
def make_queue(
    order: IntArray, jobs: Jobs, profile: Profile, m: Machines, s: Settings, random: bool
) -> Queue:
    """The jobs in the order of `pressure_order`; room for the candidates of a randomised greedy.

    The pure greedy looks at the first candidate alone, and memory that is not touched costs none.
    """
    rows, remaining, due_in, weight = jobs
    n = len(rows)
    row, table = np.empty(n, np.int64), np.empty((n, 5))
    lowest = np.inf
    for i in range(n):
        j = order[i]
        k = rows[j]
        row[i] = k
        table[i, REMAINING], table[i, DUE], table[i, WEIGHT] = remaining[j], due_in[j], weight[j]
        slowest = remaining[j] * profile.slowest_s[k]
        late = s.rho * max(0.0, s.horizon_s + slowest - due_in[j])
        if s.objective == PAPER:
            late += max(0.0, -due_in[j])
        table[i, POSTPONED] = weight[j] * late
        if 0.0 < weight[j] < lowest:
            lowest = weight[j]
    for i in range(n):
        w = table[i, WEIGHT]
        table[i, SWAP] = s.swap_scale * (lowest / w if w > 0.0 else 1.0)
    width = max(1, int(np.ceil(s.candidate_share * len(m.configs)))) if random else 1
    known = np.empty((n, FEWEST + len(m.families)), np.int64)
    known[:] = UNKNOWN
    return Queue(order, row, table, np.empty((n, width), np.int64), np.empty((n, width, 3)), known)


@allocating
def make_plan(num_jobs: int, m: Machines) -> Plan:
    """Room for a solution."""
    nodes, families = min(m.num_nodes, num_jobs), len(m.families)
    most = m.price_per_s.shape[1] - 1
    return Plan(
        np.empty((nodes, 4), np.int64),
        np.empty(nodes),
        np.empty((nodes, most), np.int64),
        np.empty((nodes, most), np.int64),
        np.empty((families, most + 1, nodes), np.int64),
        np.zeros((families, most + 1), np.int64),
        np.zeros((families, 2), np.int64),
    )


@compiled
def find_candidates(
    i: int, random: bool, queue: Queue, profile: Profile, m: Machines, s: Settings
) -> int:
    """Work out a job's restricted candidate list; returns how many candidates it has.

    The configurations that meet the due date by cost; where none does, all by time. The pure
    greedy (``random=False``) needs the first alone, and the rest is left for later.
    """
    k, jobs, candidates = queue.row[i], queue.jobs, queue.candidates
    rem, due = jobs[i, REMAINING], jobs[i, DUE]
    total = profile.num_configs[k]
    times, costs = profile.cost_time_s, profile.cost
    on_time, first = 0, 0
    for c in range(total):
        if rem * times[k, c] <= due + TOLERANCE:
            if on_time == 0:
                first = c
            on_time += 1
            if not random:
                break
    wanted = on_time if on_time > 0 else total
    size = min(wanted, max(1, int(np.ceil(s.candidate_share * wanted))) if random else 1)
    found, best, so_far = 0, 0.0, 0.0
    for c in range(first, total):
        if found == size:
            break
        config = profile.by_cost[k, c] if on_time > 0 else profile.by_time[k, c]
        f, g = m.configs[config, 0], m.configs[config, 1]
        v = m.families[f, OPENS_AS]
        time = rem * (times[k, c] if on_time > 0 else profile.times_s[k, v, g])
        if on_time > 0 and time > due + TOLERANCE:
            continue
        value = rem * costs[k, c] if on_time > 0 else time
        if found == 0:
            best = value
        so_far += 1.0 if s.pick == 1 or best <= 0.0 else best / value
        queue.configs[i, found] = config
        candidates[i, found, CUMULATIVE] = so_far
        candidates[i, found, LEADER] = m.price_per_s[v, g] * time
        candidates[i, found, GAIN] = jobs[i, WEIGHT] * max(0.0, time - due) - jobs[i, POSTPONED]
        found += 1
    for c in range(found):
        candidates[i, c, CUMULATIVE] /= so_far
    queue.known[i, ON_TIME] = on_time
    if random:
        queue.known[i, COUNT] = found
    return found


@compiled
def find_fewest(i: int, queue: Queue, profile: Profile, m: Machines, s: Settings) -> None:
    """Work out the fewest GPUs of each family that a job accepts."""
    k, known = queue.row[i], queue.known
    rem, due = queue.jobs[i, REMAINING], queue.jobs[i, DUE] + TOLERANCE
    for f in range(len(m.families)):
        known[i, FEWEST + f] = profile.fewest[k, f] if s.fall_back else NEVER
    for c in range(0 if s.fall_back else profile.num_configs[k]):
        if rem * profile.cost_time_s[k, c] <= due:
            config = profile.by_cost[k, c]
            f, g = FEWEST + m.configs[config, 0], m.configs[config, 1]
            known[i, f] = min(known[i, f], g)


@compiled
def fullest_node(f: int, g: int, in_bucket: IntArray, bucket: IntArray) -> int:
    """Best fit: the node that is left with the fewest idle GPUs."""
    while in_bucket[f, g] == 0:
        g += 1
    return int(bucket[f, g, in_bucket[f, g] - 1])


@compiled
def one_of_the_fullest(
    f: int, g: int, most: int, share: float, in_bucket: IntArray, bucket: IntArray,
    inverse: FloatArray, state: Any,
) -> int:  # fmt: skip
    """One of the fullest share of the nodes that fit, by the chance that ``inverse`` gives.

    ``inverse`` is by the idle GPUs that the node is left with.
    """
    fitting = 0
    for free in range(g, most + 1):
        fitting += in_bucket[f, free]
    left = max(1, int(np.ceil(share * fitting)))
    if left == 1:
        return fullest_node(f, g, in_bucket, bucket)
    total, last, rest = 0.0, g, left
    for free in range(g, most + 1):
        here = min(in_bucket[f, free], rest)
        total += here * inverse[free - g]
        rest -= here
        if rest == 0:
            last = free
            break
    draw = uniform(state) * total
    for free in range(g, last):
        here, weight = in_bucket[f, free], inverse[free - g]
        left -= here
        if draw < here * weight:
            return int(bucket[f, free, here - 1 - min(int(draw / weight), here - 1)])
        draw -= here * weight
    at = min(int(draw / inverse[last - g]), left - 1)
    return int(bucket[f, last, in_bucket[f, last] - 1 - at])


@compiled
def first_node(f: int, g: int, num_open: int, nodes: IntArray, family_of: IntArray) -> int:
    """First fit: the node that opened first among those with room."""
    for node in range(num_open):
        if family_of[nodes[node, TYPE]] == f and nodes[node, FREE] >= g:
            return node
    return -1


@compiled
def room(f: int, may_open: bool, families: IntArray, limits: IntArray) -> int:
    """The most GPUs that one node of a family can give now, opening one if that is possible."""
    if may_open and families[f, OPENED] < limits[f, LIMIT]:
        return int(limits[f, SIZE])
    return int(families[f, MOST_FREE])


@compiled
def fits_somewhere(
    i: int, may_open: bool, known: IntArray, families: IntArray, limits: IntArray
) -> bool:
    """Whether any family has room for the fewest GPUs that a job accepts of it."""
    for f in range(len(limits)):
        if known[i, FEWEST + f] <= room(f, may_open, families, limits):
            return True
    return False


@compiled
def suboptimal(
    k: int, rem: float, due: float, some_on_time: bool, fall_back: int, may_open: bool,
    times: FloatArray, by_cost: Any, by_time: Any, total: int, configs: IntArray,
    families: IntArray, limits: IntArray,
) -> int:  # fmt: skip
    """The best configuration that fits somewhere; -1 where none does.

    Those that meet the due date by cost; then, with ``fall_back``, all by time.
    """
    if some_on_time:
        for c in range(total):
            config = int(by_cost[k, c])
            fits = configs[config, 1] <= room(configs[config, 0], may_open, families, limits)
            if fits and rem * times[k, c] <= due + TOLERANCE:
                return config
    if fall_back:
        for c in range(total):
            config = int(by_time[k, c])
            if configs[config, 1] <= room(configs[config, 0], may_open, families, limits):
                return config
    return -1


@compiled
def suboptimal_on_first_node(
    i: int, num_open: int, queue: Queue, profile: Profile, nodes: IntArray, m: Machines, s: Settings
) -> tuple[int, int]:
    """The first open node with room, and the job's best configuration there; -1, -1 if none."""
    k, configs = queue.row[i], m.configs
    rem, due = queue.jobs[i, REMAINING], queue.jobs[i, DUE] + TOLERANCE
    for node in range(num_open):
        free = nodes[node, FREE]
        family = m.family_of[nodes[node, TYPE]]
        for c in range(profile.num_configs[k] if free > 0 else 0):
            config = int(profile.by_cost[k, c])
            fits = configs[config, 0] == family and configs[config, 1] <= free
            if fits and rem * profile.cost_time_s[k, c] <= due:
                return node, config
        for c in range(profile.num_configs[k] if free > 0 and s.fall_back else 0):
            config = int(profile.by_time[k, c])
            if configs[config, 0] == family and configs[config, 1] <= free:
                return node, config
    return -1, -1


@compiled
def construct(
    random: bool, queue: Queue, profile: Profile, plan: Plan, m: Machines, s: Settings,
    base: float, inverse: FloatArray, state: Any,
) -> tuple[int, float]:  # fmt: skip
    """Build one solution in ``plan``; returns the open nodes and the objective.

    ``random=False`` is the pure greedy. ``base`` is the postponed jobs' part over all jobs; each
    placement adds its gain, then each node its leader's cost.
    """
    _, index, jobs, candidate_configs, candidates, known = queue
    nodes, leading, hosted, gpus, bucket, in_bucket, families = plan
    times_s, by_cost, by_time, _, cost_time_s, num_configs, _, _, _, _ = profile
    price, _, family_of, limits, _, configs, _, _ = m
    n, max_nodes = len(index), len(nodes)
    families[:] = 0
    in_bucket[:] = 0
    num_open, free_gpus, current = 0, 0, 0
    total = base
    for step in range(n):
        may_open = num_open < max_nodes
        if free_gpus == 0 and not may_open:
            break
        i, following = current, step + 1
        current = following
        if random and s.swap != 0 and following < n:
            chance = jobs[i, SWAP]
            if s.swap == 2:
                lighter = jobs[i, WEIGHT] < jobs[following, WEIGHT]
                chance = s.swap_scale + (0.05 if lighter else -0.05)
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
        f, g = configs[config, 0], configs[config, 1]
        node = -1
        if room(f, may_open, families, limits) < g:
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
            f, g = configs[config, 0], configs[config, 1]
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
            last = in_bucket[f, free] - 1
            in_bucket[f, free] = last
            moved, at = bucket[f, free, last], nodes[node, POSITION]
            bucket[f, free, at] = moved
            nodes[moved, POSITION] = at
            leading[node] = min(leading[node], leader)
        at = nodes[node, HOSTED]
        hosted[node, at] = i
        gpus[node, at] = g
        nodes[node, HOSTED] = at + 1
        free -= g
        nodes[node, FREE] = free
        free_gpus -= g
        at = in_bucket[f, free]
        bucket[f, free, at] = node
        nodes[node, POSITION] = at
        in_bucket[f, free] = at + 1
        top = max(families[f, MOST_FREE], free)
        while top > 0 and in_bucket[f, top] == 0:
            top -= 1
        families[f, MOST_FREE] = top
        total += change
    for node in range(num_open):
        if nodes[node, FREE] > 0:
            if s.shrink or s.expand:
                total += post_process(
                    node, s.shrink, s.expand, index, jobs, times_s, nodes, leading, hosted, gpus,
                    price, m.gpus, family_of, m.sizes,
                )  # fmt: skip
            total += s.mu * nodes[node, FREE]
        total += leading[node]
    if s.objective != PAPER:
        total = released_objective(num_open, base, queue, profile, plan, m, s)
    return num_open, total


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
    if may_shrink:
        shrink(node, index, times_s, nodes, hosted, gpus, capacity, family_of, sizes)
    if may_expand:
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
            if not times_s[job, smaller, g] <= times_s[job, v, g] * GAIN_AT_LEAST:
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
    best, winner, more = GAIN_AT_LEAST, -1, 0
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
def released_objective(
    num_open: int, base: float, queue: Queue, profile: Profile, plan: Plan, m: Machines, s: Settings
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
                ratio -= slowest / max(cost, 1e-300)
    return total if s.objective == FIRST_FINISH or s.objective == OWN_FINISH else ratio


@allocating
def inverse_table(most: int, rule: int) -> FloatArray:
    """Weight of a node by the GPUs that it is left with: 1 / (1 + idle), or 1 throughout."""
    table = np.ones(most + 1)
    if rule == 0:
        for idle in range(most + 1):
            table[idle] = 1.0 / (1.0 + idle)
    return table


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
    ``(P, nodes, 4)``, jobs and GPUs ``(P, nodes, G)`` (see `Plan`), objective ``(P,)``; and the
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
    nodes = np.empty((pool_size, size, 4), np.int64)
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
        # `values` and `slot_of` are sorted; slots hold the solutions.
        rank = kept
        while rank > 0 and value < values[rank - 1]:
            rank -= 1
        if rank == pool_size or (rank > 0 and value == values[rank - 1]):
            continue
        if kept < pool_size:
            slot = kept
            kept += 1
        else:
            slot = slot_of[pool_size - 1]
        for r in range(kept - 1, rank, -1):
            values[r], slot_of[r] = values[r - 1], slot_of[r - 1]
        values[rank], slot_of[rank] = value, slot
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
