"""The greedy family in plain Python, to be read: `policies.greedy` gives the same answers, fast.

Sources: Kiros, *Analysis of Scheduling Algorithms for Deep Learning Training Jobs* (thesis),
Sections 3.1.3 to 3.1.5; Filippini et al., *ANDREAS*, Algorithm 1. Where they differ or are
silent, a field of `Settings` says what is done.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from policies.greedy.problem import (
    FIRST_FINISH,
    LIMIT,
    OPENS_AS,
    OWN_FINISH,
    PAPER,
    PER_NODE,
    RATIO,
    RELEASED,
    SIZE,
    Jobs,
    NodeChoices,
    Settings,
    TimeProfile,
)
from simulator.model.tolerances import INSTANT_S

SAME_TIME = 1.0 + 1e-9


class Random:
    """SplitMix64: a counter and a hash of it (Steele, Lea, Flood, OOPSLA 2014)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self) -> float:
        """Next number in [0, 1)."""
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53


@dataclass
class Node:
    """An open node: its type, and for each job that it hosts [job, GPUs]."""

    node_type: int
    free: int
    hosted: list[list[int]] = field(default_factory=list)
    leader: float = math.inf

    def copy(self) -> "Node":
        """A copy that can be changed."""
        return Node(self.node_type, self.free, [list(p) for p in self.hosted], self.leader)


@dataclass
class Plan:
    """Open nodes and the value of the proxy objective."""

    nodes: list[Node]
    objective: float


class Instance:
    """One decision: the jobs in order of pressure, the machines, the settings.

    Jobs are named by their position in the queue; `order` gives their place in ``jobs``.
    """

    def __init__(self, jobs: Jobs, profile: TimeProfile, machines: NodeChoices, settings: Settings):
        self.profile, self.machines, self.s = profile, machines, settings
        slack = [
            due - rem * float(profile.fastest_s[k]) if profile.num_configs[k] > 0 else math.inf
            for k, rem, due in zip(*(jobs[c].tolist() for c in range(3)), strict=True)
        ]
        if settings.weigh_late:
            weights = jobs.weight_per_s.tolist()
            slack = [s * w if s < 0 else s for s, w in zip(slack, weights, strict=True)]
        # Pressure (3.1) is -slack: the most pressed first, equals by arrival.
        self.order = sorted(range(len(slack)), key=slack.__getitem__)
        self.index = [int(jobs.row[j]) for j in self.order]
        self.remaining = [float(jobs.remaining[j]) for j in self.order]
        self.due = [float(jobs.due_in_s[j]) for j in self.order]
        self.weight = [float(jobs.weight_per_s[j]) for j in self.order]
        self.lowest_weight = min((w for w in self.weight if w > 0), default=math.inf)
        self.postponed = [self._postponed(i) for i in range(len(self.order))]
        self.base = 0.0
        for value in self.postponed:  # `sum` rounds otherwise from Python 3.12 on
            self.base += value

    def _postponed(self, i: int) -> float:
        """The job's part of the objective when it waits: w rho (H + M - d)^+, and in the papers'
        objective w (-d)^+, what it is late already."""
        k, s = self.index[i], self.s
        slowest = self.remaining[i] * float(self.profile.slowest_s[k])
        late = s.rho * max(0.0, s.horizon_s + slowest - self.due[i])
        if s.objective == PAPER:
            late += max(0.0, -self.due[i])
        return self.weight[i] * late

    def time(self, i: int, node_type: int, gpus: int) -> float:
        """Residual time of a job."""
        return self.remaining[i] * float(self.profile.times_s[self.index[i], node_type, gpus])

    def tardiness(self, i: int, time: float) -> float:
        """w (t - d)^+."""
        return self.weight[i] * max(0.0, time - self.due[i])

    def config_time(self, i: int, config: int) -> float:
        """Residual time on a configuration, on the type as which its family opens."""
        f, g, _ = self.machines.configs[config]
        return self.time(i, int(self.machines.families[f, OPENS_AS]), int(g))

    def by_cost(self, i: int) -> list[int]:
        """All configurations that the job can run on, cheapest first."""
        k = self.index[i]
        return self.profile.by_cost[k, : self.profile.num_configs[k]].tolist()

    def by_time(self, i: int) -> list[int]:
        """All configurations that the job can run on, fastest first."""
        k = self.index[i]
        return self.profile.by_time[k, : self.profile.num_configs[k]].tolist()

    def on_time(self, i: int) -> list[int]:
        """D*: those that meet the due date by the times listed for their own size, cheapest first."""
        known = (self.remaining[i] * self.profile.cost_time_s[self.index[i]]).tolist()
        timed = zip(self.by_cost(i), known, strict=False)
        return [config for config, time in timed if time <= self.due[i] + INSTANT_S]

    def candidates(self, i: int) -> list[tuple[int, float]]:
        """The restricted candidate list, the best share of D*, or of all where D* is empty: each
        configuration with the chance of it and all before it."""
        d_star = self.on_time(i)
        wanted = d_star or self.by_time(i)
        size = min(len(wanted), max(1, math.ceil(self.s.candidate_share * len(wanted))))
        costs = dict(zip(self.by_cost(i), self.profile.cost[self.index[i]].tolist(), strict=False))
        so_far, best, reached = 0.0, math.nan, list[float]()
        for config in wanted[:size]:
            time = self.config_time(i, config)
            value = self.remaining[i] * costs[config] if d_star else time
            best = value if not reached else best
            so_far += 1.0 if self.s.pick == 1 or best <= 0 else best / value
            reached.append(so_far)
        return [(config, r / so_far) for config, r in zip(wanted, reached, strict=False)]


class Construction:
    """One run of the (randomised) greedy: preprocessing, scheduling, post-processing."""

    def __init__(self, instance: Instance, random: Random | None) -> None:
        self.x, self.random = instance, random
        self.nodes: list[Node] = []
        self.max_nodes = min(instance.machines.num_nodes, len(instance.order))

    def run(self) -> Plan:
        """Build a solution."""
        x = self.x
        total = x.base
        for i in self.queue():
            placed = self.select(i)
            if placed is None:
                continue
            config, k = placed
            self.assign(i, config, k)
            time = x.config_time(i, config)
            total += x.tardiness(i, time) - x.postponed[i]
        for node in self.nodes:
            if node.free > 0:
                if PER_NODE in (x.s.shrink, x.s.expand):
                    total += self.post_process(node)
                total += x.s.mu * node.free
            total += node.leader
        if RELEASED in (x.s.shrink, x.s.expand):
            post_process_as_released(x, self.nodes)
            total = x.base
            for node in self.nodes:
                for i, g in node.hosted:
                    late = x.tardiness(i, x.time(i, node.node_type, g))
                    total += late - x.postponed[i]
                total += node_parts(x, node)[1] + x.s.mu * node.free
        if x.s.objective != PAPER:
            total = released_objective(x, self.nodes)
        return Plan(self.nodes, total)

    def queue(self) -> Iterator[int]:
        """The jobs by pressure until nothing is free; at random each may lose its turn to the next."""
        x, n = self.x, len(self.x.order)
        current = 0
        for following in range(1, n + 1):
            if not self.may_open() and all(node.free == 0 for node in self.nodes):
                return
            if self.random is not None and x.s.swap and following < n:
                lowest, w = x.lowest_weight, x.weight[current]
                chance = x.s.swap_scale * (lowest / w if w > 0 else 1.0)
                if x.s.swap == 2:
                    chance = x.s.swap_scale + (0.05 if w > x.weight[following] else -0.05)
                if self.random.uniform() < chance:
                    yield following
                    continue
            yield current
            current = following

    def may_open(self) -> bool:
        """True if the cluster has a node that is not open."""
        return len(self.nodes) < self.max_nodes

    def open_of(self, f: int) -> list[tuple[int, int]]:
        """Free GPUs and number of each open node of a family, the fullest first."""
        family_of = self.x.machines.family_of
        return sorted((n.free, k) for k, n in enumerate(self.nodes) if family_of[n.node_type] == f)

    def fits(self, config: int) -> bool:
        """True if a configuration fits on an open node or on one that can be opened."""
        f, g, _ = self.x.machines.configs[config]
        family, opened = self.x.machines.families[f], self.open_of(int(f))
        if self.may_open() and len(opened) < family[LIMIT]:
            return int(g) <= int(family[SIZE])
        return int(g) <= max((free for free, _ in opened), default=0)

    def select(self, i: int) -> tuple[int, int] | None:
        """Configuration and node (-1: a new one) of a job; None: it waits."""
        candidates = self.x.candidates(i)
        if not candidates:
            return None
        choice = 0
        if self.random is not None and len(candidates) > 1:
            draw = self.random.uniform()
            choice = sum(draw >= reached for _, reached in candidates[:-1])
        config, node = candidates[choice][0], -1
        if not self.fits(config):
            suboptimal = self.suboptimal(i)
            if suboptimal is None:
                return None
            config, node = suboptimal
        return config, node if node >= 0 else self.open_node(config)

    def open_node(self, config: int) -> int:
        """The open node for a configuration by best fit or first fit; -1: none fits."""
        f, g, _ = (int(value) for value in self.x.machines.configs[config])
        fullest_first = [(free, k) for free, k in self.open_of(f) if free >= g]
        if not fullest_first:
            return -1
        if self.x.s.first_fit:
            return min(k for _, k in fullest_first)
        size = max(1, math.ceil(self.x.s.node_share * len(fullest_first)))
        if self.random is None or size == 1:
            return fullest_first[0][1]
        return self.draw_node(fullest_first[:size], g)

    def draw_node(self, nodes: list[tuple[int, int]], g: int) -> int:
        """One of some nodes, with probability inverse to the GPUs that it is left with."""
        assert self.random is not None

        def weight(free: int) -> float:
            return 1.0 / (1.0 + (free - g)) if self.x.s.node_pick == 0 else 1.0

        levels = sorted({free for free, _ in nodes})
        members = {level: [k for free, k in nodes if free == level] for level in levels}
        total = 0.0
        for level in range(g, levels[-1] + 1):
            total += len(members.get(level, [])) * weight(level)
        draw = self.random.uniform() * total
        for level in levels[:-1]:
            here = len(members[level])
            if draw < here * weight(level):
                return members[level][min(int(draw / weight(level)), here - 1)]
            draw -= here * weight(level)
        last = members[levels[-1]]
        return last[min(int(draw / weight(levels[-1])), len(last) - 1)]

    def suboptimal(self, i: int) -> tuple[int, int] | None:
        """Another configuration, and the node where the rule names one (else -1): the best that
        fits somewhere, or (first fit) the first open node with room, the best that fits there."""
        x = self.x
        if not x.s.suboptimal:
            return None
        acceptable = x.on_time(i) + (x.by_time(i) if x.s.fall_back else [])
        if not x.s.suboptimal_first_fit or self.may_open():
            return next(((c, -1) for c in acceptable if self.fits(c)), None)
        for k, node in enumerate(self.nodes):
            family = x.machines.family_of[node.node_type]
            for config in acceptable:
                f, g, _ = x.machines.configs[config]
                if f == family and g <= node.free:
                    return config, k
        return None

    def assign(self, i: int, config: int, k: int) -> None:
        """Give a job its GPUs on an open node, or on a new one (-1)."""
        machines = self.x.machines
        f, g, _ = (int(value) for value in machines.configs[config])
        if k < 0:
            family = machines.families[f]
            self.nodes.append(Node(int(family[OPENS_AS]), int(family[SIZE])))
        node = self.nodes[k]
        node.hosted.append([i, g])
        node.free -= g
        price = float(machines.price_per_s[node.node_type, g])
        node.leader = min(node.leader, price * self.x.config_time(i, config))

    def post_process(self, node: Node) -> float:
        """Shrink the VM, then share out its idle GPUs; the change in the jobs' part."""
        before, _ = node_parts(self.x, node)
        if self.x.s.shrink == PER_NODE:
            shrink(self.x, node)
        if self.x.s.expand == PER_NODE:
            while node.free > 0 and expand(self.x, node):
                pass
        after, node.leader = node_parts(self.x, node)
        return after - before


def node_parts(x: Instance, node: Node) -> tuple[float, float]:
    """The tardiness of the jobs on a node, and the cost of the cheapest job to finish: alpha_jn
    picks the one that counts freely among the node's jobs (ANDREAS, 4l and 4m)."""
    tardiness, leader = 0.0, math.inf
    for i, g in node.hosted:
        time = x.time(i, node.node_type, g)
        tardiness += x.tardiness(i, time)
        leader = min(leader, float(x.machines.price_per_s[node.node_type, g]) * time)
    return tardiness, leader


def shrink(x: Instance, node: Node) -> None:
    """The smallest VM of the family that holds the GPUs in use and slows no job down."""
    gpus, v = x.machines.gpus, node.node_type
    used = int(gpus[v]) - node.free
    for smaller in (int(u) for u in x.machines.sizes[x.machines.family_of[v]] if u >= 0):
        if gpus[smaller] == gpus[v]:
            return
        times = x.profile.times_s
        if gpus[smaller] >= used and all(
            times[x.index[i], smaller, g] <= times[x.index[i], v, g] * SAME_TIME
            for i, g in node.hosted
        ):
            node.node_type, node.free = smaller, int(gpus[smaller]) - used
            return


def expand(x: Instance, node: Node) -> bool:
    """Give idle GPUs to the job with the highest speed-up; False where no job gains."""
    best, winner = SAME_TIME, None
    for place, (i, now) in enumerate(node.hosted):
        times = x.profile.times_s[x.index[i], node.node_type]
        for g in range(now + 1, now + node.free + 1):
            if times[g] * best < times[now]:
                best, winner = float(times[now] / times[g]), (place, g)
    if winner is None:
        return False
    place, g = winner
    node.free -= g - node.hosted[place][1]
    node.hosted[place][1] = g
    return True


def post_process_as_released(x: Instance, nodes: list[Node]) -> None:
    """Shrink each node to the size in use, or one more, if it is cheaper; expand one job of all."""
    machines, times = x.machines, x.profile.times_s
    for node in nodes if x.s.shrink == RELEASED else ():
        used = sum(g for _, g in node.hosted)
        sizes = [int(u) for u in machines.sizes[machines.family_of[node.node_type]] if u >= 0]
        price = machines.price_per_s[:, used]
        for wanted in (used, used + 1) if node.free else ():
            fitting = [
                u
                for u in sizes
                if machines.gpus[u] == wanted
                and price[u] < price[node.node_type]
                and all(math.isfinite(times[x.index[i], u, g]) for i, g in node.hosted)
            ]
            if fitting:
                node.node_type, node.free = fitting[0], wanted - used
                break
    if x.s.expand == RELEASED:
        most, winner = 0.0, None
        for node in nodes:
            for slot, (i, g) in enumerate(node.hosted if node.free else ()):
                t = times[x.index[i], node.node_type]
                gained = x.remaining[i] * (float(t[g]) - float(t[g + node.free]))
                if gained > most:
                    most, winner = gained, (node, slot)
        if winner is not None:
            node, slot = winner
            node.hosted[slot][1] += node.free
            node.free = 0


def released_objective(x: Instance, nodes: list[Node]) -> float:
    """Objective of the released program.

    `FIRST_FINISH`: prices of the open nodes up to the first finish anywhere, running jobs'
    tardiness then, worst-case tardiness of the others. `OWN_FINISH`: every running job's share of
    its node and tardiness at its own finish. `RATIO`: minus the sum of slowest times over that.
    """
    machines = x.machines
    finishes = [x.time(i, node.node_type, g) for node in nodes for i, g in node.hosted]
    first = min(finishes, default=math.inf)
    total, ratio = x.base, 0.0
    for node in nodes:
        used = int(machines.gpus[node.node_type]) - node.free
        price = float(machines.price_per_s[node.node_type, used])
        if x.s.objective == FIRST_FINISH:
            total += price * first
        for i, g in node.hosted:
            time = x.time(i, node.node_type, g)
            if x.s.objective == FIRST_FINISH:
                total += x.tardiness(i, first) - x.postponed[i]
            else:
                cost = price * time * g / used
                cost += x.tardiness(i, time)
                total += cost - x.postponed[i]
                slowest = x.remaining[i] * float(x.profile.slowest_s[x.index[i]])
                ratio -= slowest / max(cost, 1e-300)
    assert x.s.objective in (FIRST_FINISH, OWN_FINISH, RATIO)
    return ratio if x.s.objective == RATIO else total


def randomised_greedy(
    jobs: Jobs, profile: TimeProfile, machines: NodeChoices, s: Settings, iterations: int,
    pool_size: int, seed: int,
) -> tuple[Instance, list[Plan]]:  # fmt: skip
    """The best distinct solutions of ``iterations`` constructions, the pure greedy first."""
    instance, random = Instance(jobs, profile, machines, s), Random(seed)
    pool: list[Plan] = []
    for iteration in range(iterations):
        plan = Construction(instance, random if iteration > 0 else None).run()
        if all(plan.objective != other.objective for other in pool):
            pool.append(plan)
            pool.sort(key=lambda other: other.objective)
            del pool[pool_size:]
    return instance, pool
