"""The nodes of one controller and the jobs on them: where shares start and end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from simulator.core.node import Node
from simulator.core.world import World
from simulator.errors import InfeasibleDecision
from simulator.model import tolerances
from simulator.model.contract import Changes, Placement
from simulator.model.performance import FixedDuration, Performance, TimeTable

NOTHING: Mapping[int, Placement] = MappingProxyType({})
"""The shares of a node that was never used."""

CHANGES_KEPT = 4096
"""`Changes` of nodes and queues remember so many entries at least, and one a node."""


MOST_PENDING = 100_000
"""So many calls may be pending before those of overtaken timers are looked for."""


class Partition:
    """The nodes ``k, k + K, ..`` of controller ``k``. A node is made when it is first used.

    Attributes
    ----------
    nodes : ``(N/K,)`` their indices, read-only.
    running : placements of the jobs that run.
    free_gpus_total : GPUs not in use, where node types are fixed.
    changes : nodes whose shares changed, in order.
    has_gpus_alone : whether nodes have fixed types, and CPUs and memory without limits.
    """

    def __init__(self, world: World, index: int, finished: Callable[[int], None]) -> None:
        self.nodes = world.cluster.nodes_of(index)
        self.nodes.flags.writeable = False
        self.running: dict[int, tuple[Placement, ...]] = {}
        self.free_gpus_total = float(np.frombuffer(world.free_gpus)[self.nodes].sum())
        self.changes = Changes(max(CHANGES_KEPT, len(self.nodes)))
        self._world = world
        self._clock = world.clock
        self._jobs = world.log
        self._finished = finished
        self._is_fixed = world.cluster.node_type_of is not None
        self.has_gpus_alone = self._is_fixed and not world.cluster.limited_resources
        self._time_s_of = world.workload.performance.time_s
        self._nodes: list[Any] = world.nodes
        self._free_gpus = world.free_gpus
        self._period_s = world.points.period_s
        self._is_uniform = len(world.cluster.node_types) == 1
        self._least_free = -math.inf
        if world.check and self._is_fixed:  # as far below as `check_decision` lets pass
            self._least_free = -tolerances.FRACTIONS * max(1.0, world.cluster.max_gpus_per_node)
        self._demand: Any = None
        self._duration_s: Any = None
        self._table: tuple[Any, int, int] | None = None
        if world.network is None:
            self._demand, self._duration_s = _fixed_durations(world.workload.performance)
            self._table = _table_of(world.workload.performance)

    def start(self, job: int, shares: tuple[Placement, ...]) -> None:
        """Put a job on its nodes."""
        log, now = self._jobs, self._clock.now_s
        nodes, free_gpus, changed = self._nodes, self._free_gpus, self.changes.items
        least = self._least_free
        gpus = 0.0
        for placement in shares:
            n = placement[1]
            gpus += placement[2]
            free_gpus[n] = free = (nodes[n] or self._make(n)).add(placement, now)
            if free < least:
                raise self._over(n)
            changed.append(n)
        if self._is_fixed:
            self.free_gpus_total -= gpus
        demand = self._demand
        if demand is not None and gpus == demand[job]:
            time_s = self._duration_s[job]
        else:
            time_s = self._time_s(job, shares, gpus)
        started = log.first_start_s[job]
        if started != started:  # NaN: its first start
            log.first_start_s[job] = begin = now
        else:
            begin = now + self._world.reconfiguration_s
        log.rate[job] = 1.0 / time_s
        log.since_s[job] = begin
        log.gpus[job] = gpus
        log.held_since_s[job] = now
        self.running[job] = shares
        end_s = begin + log.remaining[job] * time_s
        if self._period_s is not None:
            end_s = self._end_beside_ticks(end_s, time_s, self._period_s)
        nodes[shares[0][1]].lead(job, end_s)

    def release(self, job: int, is_done: bool = False) -> None:
        """Take a job off its nodes, its progress kept; ``is_done``: it has reached its end."""
        log, now = self._jobs, self._clock.now_s
        gpus, start_s = log.gpus[job], log.held_since_s[job]
        log.attained_gpu_s[job] += gpus * (now - start_s)
        if is_done:
            log.remaining[job] = log.gpus[job] = 0.0
        else:
            log.remaining[job] = log.remaining_at(job, now)
            log.held_since_s[job] = log.since_s[job] = now
            log.rate[job] = log.gpus[job] = 0.0
        shares = self.running.pop(job)
        nodes, free_gpus, changed = self._nodes, self._free_gpus, self.changes.items
        for placement in shares:
            n = placement[1]
            free_gpus[n] = nodes[n].remove(job, now)
            changed.append(n)
        if self._is_fixed:
            self.free_gpus_total += gpus
        schedule = self._world.schedule
        if now > start_s and schedule is not None:
            schedule.add(shares, start_s, now)

    def tidy(self) -> None:
        """Forget timers that were overtaken, where a policy that moves many jobs has left so many."""
        if self._clock.num_pending > MOST_PENDING:
            self._clock.drop(Node.is_overtaken)

    def _over(self, n: int) -> InfeasibleDecision:
        """A node gives more than it has."""
        world = self._world
        assert world.cluster.node_type_of is not None
        most = world.cluster.node_types[world.cluster.node_type_of[n]].gpus
        used = sum(share.gpus for share in world.shares[n].values())
        return InfeasibleDecision(
            f"policy {world.policy_name} at {self._clock.now_s:.6g} s: node {n}: {used:g} GPUs used "
            f"of {most:g}"
        )

    def _make(self, index: int) -> Node:
        """A node that is used for the first time."""
        world, cluster = self._world, self._world.cluster
        fixed_type = None
        if cluster.node_type_of is not None:
            v = cluster.node_type_of[index]
            fixed_type = (v, cluster.node_types[v].gpus)
        node = Node(self._clock, fixed_type, world.begin_s, self._finished)
        world.nodes[index] = node
        world.shares[index] = node.shares
        return node

    def _end_beside_ticks(self, end_s: float, time_s: float, period_s: float) -> float:
        """When a job is over where there are ticks.

        One that ends at a tick but for rounding ends at the tick: else a GPU would be idle for a
        whole round because of the last bit of a sum.
        """
        if self._world.points.finish_at_tick:
            return math.ceil(end_s / period_s - tolerances.ROUNDS) * period_s
        tick_s = round(end_s / period_s) * period_s
        rounding_s = tolerances.SUMS * time_s + tolerances.CLOCK * end_s
        return tick_s if abs(end_s - tick_s) <= rounding_s else end_s

    def _time_s(self, job: int, shares: tuple[Placement, ...], gpus: float) -> float:
        """Seconds of the whole job; over nodes of several types, as on the slowest."""
        world = self._world
        fixed = world.cluster.node_type_of
        if self._table is not None and len(shares) == 1:
            times_s, num_types, width = self._table
            v, g = shares[0][3] if fixed is None else fixed[shares[0][1]], int(gpus)
            if g == gpus and 0 <= g < width and 0 <= v < num_types:
                found: float = times_s[(job * num_types + v) * width + g]
                if 0 < found < math.inf:
                    return found
        cpus = memory_gb = 0.0
        for placement in shares:
            cpus += placement[4]
            memory_gb += placement[5]
        if len(shares) == 1:
            v = shares[0][3] if fixed is None else fixed[shares[0][1]]
            time_s = self._time_s_of(job, v, gpus, cpus, memory_gb)
            if 0 < time_s < math.inf:
                return time_s
        slowest = 0.0
        kinds: Iterable[int] = (0,)
        if not self._is_uniform:
            kinds = {p.node_type if fixed is None else fixed[p.node] for p in shares}
        for v in kinds:
            time_s = self._time_s_of(job, v, gpus, cpus, memory_gb)
            if not 0 < time_s < math.inf:
                raise InfeasibleDecision(
                    f"policy {world.policy_name} at {self._clock.now_s:.6g} s: job "
                    f"{world.workload.job_id[job]} cannot run on {gpus:g} GPUs of "
                    f"{world.cluster.node_types[v].name}"
                )
            slowest = max(slowest, time_s)
        if world.network is not None:
            return slowest * world.network.factor(job, [p[1] for p in shares])
        return slowest * world.workload.performance.network_penalty


def _fixed_durations(performance: Performance) -> tuple[Any, Any]:
    """GPUs and seconds of each job, where all have one duration wherever they run; else None."""
    if type(performance) is not FixedDuration:
        return None, None
    return performance.num_gpus.data, performance.duration_s.data


def _table_of(performance: Performance) -> tuple[Any, int, int] | None:
    """Times t[j, v, g] in one row, numbers of types and of values of g; None of another model."""
    if type(performance) is not TimeTable:
        return None
    times_s = np.ascontiguousarray(performance.times_s)
    return times_s.reshape(-1).data, times_s.shape[1], times_s.shape[2]
