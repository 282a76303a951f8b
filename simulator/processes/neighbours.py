"""Jobs that share GPUs: their speed changes when a neighbour comes or goes.

All of this is in classes of its own; a simulation without `simulator.neighbours.Neighbours` has none of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop

from simulator import tolerances
from simulator.contract import Placement, View
from simulator.errors import InfeasibleDecision
from simulator.mig import PROFILES, best_start, mask_of
from simulator.neighbours import Neighbours
from simulator.processes.controller import Controller
from simulator.processes.node import Node
from simulator.processes.partition import Partition
from simulator.processes.world import World

Gpu = tuple[int, int]
"""A node, and the number of a GPU on it."""


class SharedNode(Node):
    """A node that meters the GPUs in use, however many jobs are on each of them."""

    busy = 0

    def _on_timer(self) -> None:
        """The same as of any node, but that the end of a job may change the ends of its neighbours."""
        now = self._clock.now_s
        if now < self._timer_s:
            return
        self._timer_s = math.inf
        while self._ends:
            end_s, job = self._ends[0]
            is_valid = self._led.get(job) == end_s
            if is_valid and end_s > now:
                self._arm(end_s)
                return
            heappop(self._ends)
            if is_valid:
                self._finished(job)

    def settle(self, until_s: float) -> None:
        """Bring the meters up to a time; GPUs in use count once, what jobs hold of them as it is."""
        elapsed, gpu_seconds, used = until_s - self._settled_s, self.gpu_seconds, self.gpus_used
        if elapsed <= 0:
            return
        self.gpus_used = float(self.busy)
        super().settle(until_s)
        self.gpus_used = used
        self.gpu_seconds = gpu_seconds + used * elapsed


class SharedPartition(Partition):
    """Nodes whose GPUs several jobs may use at once."""

    def __init__(self, world: World, index: int, finished: Callable[[int], None]) -> None:
        super().__init__(world, index, finished)
        self.neighbours: Neighbours
        self.gpus_of: Callable[[int], tuple[int, ...]]
        self.forget: Callable[[int], object]
        self.on_gpu: dict[Gpu, dict[int, None]] = {}
        self._alone: dict[int, float] = {}

    def _make(self, index: int) -> Node:
        super()._make(index)
        world, cluster = self._world, self._world.cluster
        assert cluster.node_type_of is not None
        v = cluster.node_type_of[index]
        node = SharedNode(
            self._clock, (v, cluster.node_types[v].gpus), world.begin_s, self._finished
        )
        world.nodes[index] = node
        world.shares[index] = node.shares
        return node

    def start(self, job: int, shares: tuple[Placement, ...]) -> None:
        """Put a job on its GPUs; its neighbours, and it, are slower from now on."""
        super().start(job, shares)
        self._alone[job] = self._world.log.rate[job]
        places = self._places(job, shares)
        for place in places:
            self.on_gpu.setdefault(place, {})[job] = None
        self._count(shares)
        self._retime(job, places)

    def release(self, job: int, is_done: bool = False) -> None:
        """Take a job off its GPUs; its neighbours are faster from now on."""
        shares = self.running[job]
        places = self._places(job, shares)
        super().release(job, is_done)
        del self._alone[job]
        for place in places:
            self.on_gpu[place].pop(job, None)
        self._count(shares)
        self._retime(None, places)
        self.forget(job)  # the next decision about it may name no GPUs

    def _places(self, job: int, shares: tuple[Placement, ...]) -> list[Gpu]:
        """The GPUs of a job; none where the decision did not name them."""
        return [(shares[0].node, g) for g in self.gpus_of(job)]

    def _count(self, shares: Iterable[Placement]) -> None:
        """GPUs in use on the nodes of a job: those with a job on them, and the unnamed ones."""
        for n in {share.node for share in shares}:
            node = self._nodes[n]
            assert isinstance(node, SharedNode)
            named = {g for job in node.shares for g in self.gpus_of(job)}
            unnamed = sum(p.gpus for job, p in node.shares.items() if not self.gpus_of(job))
            node.busy = len(named) + int(unnamed)

    def _retime(self, new: int | None, places: Iterable[Gpu]) -> None:
        """Jobs on these GPUs run at another speed from now on."""
        log, now = self._world.log, self._clock.now_s
        jobs = dict.fromkeys(job for place in places for job in self.on_gpu.get(place, ()))
        for job in jobs:
            rate = self._alone[job] * self._speed(job)
            if rate == log.rate[job] and job != new:
                continue
            log.remaining[job] = log.remaining_at(job, now)
            log.since_s[job] = max(log.since_s[job], now)
            log.rate[job] = rate
            end_s = log.since_s[job] + log.remaining[job] / rate
            if self._period_s is not None:
                end_s = self._end_beside_ticks(end_s, 1 / rate, self._period_s)
            leader = self._nodes[self.running[job][0].node]
            assert leader is not None
            leader.lead(job, end_s)

    def _speed(self, job: int) -> float:
        """A job is as fast as on the slowest of its GPUs."""
        node = self.running[job][0].node
        speeds = []
        for g in self.gpus_of(job):
            others = [other for other in self.on_gpu[node, g] if other != job]
            speeds.append(self.neighbours.speed(job, others))
        return min(speeds, default=1.0)


class SharingController(Controller):
    """A controller whose jobs may share GPUs; it checks their memory and slices."""

    partition: SharedPartition
    neighbours: Neighbours

    def _make_partition(self) -> SharedPartition:
        return SharedPartition(self.world, self.index, self.finish)

    def attach(self, neighbours: Neighbours) -> None:
        """Learn what jobs do to each other; before the simulation starts."""
        self.neighbours = self.partition.neighbours = neighbours
        self.partition.gpus_of = lambda job: self._parts.get(job, ())
        self.partition.forget = lambda job: self._parts.pop(job, None)
        self._slices: dict[int, list[tuple[Gpu, int]]] = {}
        self.see(neighbours=neighbours)

    def _note_parts(
        self,
        gpus_of: Mapping[int, tuple[int, ...]],
        shares_of: Mapping[int, tuple[Placement, ...]],
        keep_running: bool,
        view: View,
    ) -> None:
        for job, shares in shares_of.items():
            before = self.running.get(job)
            if before and (before != shares or self._parts.get(job) != gpus_of.get(job)):
                raise self._error(f"moves job {job} to another GPU, expected it to stay")
        super()._note_parts(gpus_of, shares_of, keep_running, view)
        if self.world.check:
            kept = [j for j in self.running if keep_running or j in shares_of]
            new = [j for j in shares_of if j not in self.running]
            self._check_memory([*kept, *new], shares_of)
            if self.neighbours.profile is not None:
                self._check_slices(kept, new, shares_of)

    def _places_of(
        self, job: int, shares_of: Mapping[int, tuple[Placement, ...]]
    ) -> tuple[Gpu, ...]:
        shares = self.running.get(job) or shares_of[job]
        return tuple((shares[0].node, g) for g in self._parts.get(job, ()))

    def _check_memory(
        self, jobs: Iterable[int], shares_of: Mapping[int, tuple[Placement, ...]]
    ) -> None:
        """No GPU holds jobs that need more memory than it has."""
        most = self.neighbours.gpu_memory_gb
        used: dict[Gpu, float] = {}
        for job in jobs:
            for place in self._places_of(job, shares_of):
                used[place] = used.get(place, 0.0) + float(self.neighbours.memory_gb[job])
                if used[place] > most * (1 + tolerances.CAPACITY):
                    raise self._error(
                        f"node {place[0]}: GPU {place[1]}: {used[place]:g} GB of memory used of {most:g}"
                    )

    def _check_slices(
        self,
        kept: Iterable[int],
        new: Iterable[int],
        shares_of: Mapping[int, tuple[Placement, ...]],
    ) -> None:
        """Each new job gets a slice where its profile may begin; slices of running jobs do not move."""
        profile = self.neighbours.profile
        assert profile is not None
        self._slices = {j: self._slices[j] for j in kept if j in self._slices}
        taken: dict[Gpu, int] = {}
        for held in self._slices.values():
            for place, mask in held:
                taken[place] = taken.get(place, 0) | mask
        for job in new:
            for place in self._places_of(job, shares_of):
                k = int(profile[job])
                start = best_start(taken.get(place, 0), k)
                if start is None:
                    raise self._error(
                        f"node {place[0]}: GPU {place[1]} has no room for a slice {PROFILES[k].name}"
                    )
                taken[place] = taken.get(place, 0) | mask_of(k, start)
                self._slices.setdefault(job, []).append((place, mask_of(k, start)))

    def _error(self, what: str) -> InfeasibleDecision:
        return InfeasibleDecision(
            f"policy {self.world.policy_name} at {self._clock.now_s:.6g} s: {what}"
        )
