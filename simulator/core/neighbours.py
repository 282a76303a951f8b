"""Jobs that share GPUs: their speed changes when a neighbour comes or goes.

All of this is in classes of its own; a simulation without `simulator.features.colocation.Neighbours` has none of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop

from simulator.core.controller import Controller
from simulator.core.node import Node
from simulator.core.partition import Partition
from simulator.core.plans import Claims, Plan
from simulator.core.world import World
from simulator.errors import InfeasibleDecision
from simulator.features.colocation import Neighbours
from simulator.features.mig import PROFILES, best_start, mask_of
from simulator.model import tolerances
from simulator.model.contract import Placement, View

Gpu = tuple[int, int]
"""A node, and the number of a GPU on it."""

Slice = tuple[Gpu, int]
"""A GPU, and the slices of its memory that a job has, as bits."""

NO_CLAIMS = Claims({})


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
        self.claim: Callable[[int], object]
        self.forget: Callable[[int], object]
        self.on_gpu: dict[Gpu, dict[int, None]] = {}
        self.alone: dict[int, float] = {}

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
        self.claim(job)
        super().start(job, shares)
        self.alone[job] = self._world.log.rate[job]
        self._begin(job)
        places = self._places(job, shares)
        for place in places:
            self.on_gpu.setdefault(place, {})[job] = None
        self._count_busy(shares)
        self._retime(job, places)

    def _begin(self, job: int) -> None:
        """A job has started; for those who keep more of it."""

    def release(self, job: int, is_done: bool = False) -> None:
        """Take a job off its GPUs; its neighbours are faster from now on."""
        shares = self.running[job]
        places = self._places(job, shares)
        super().release(job, is_done)
        del self.alone[job]
        for place in places:
            self.on_gpu[place].pop(job, None)
        self._count_busy(shares)
        self._retime(None, places)
        self.forget(job)  # the next decision about it may name no GPUs

    def _places(self, job: int, shares: tuple[Placement, ...]) -> list[Gpu]:
        """The GPUs of a job; none where the decision did not name them."""
        return [(shares[0].node, g) for g in self.gpus_of(job)]

    def _count_busy(self, shares: Iterable[Placement]) -> None:
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
            rate = self.alone[job] * self._speed(job)
            if rate == log.rate[job] and job != new:
                continue
            end_s = self._run_at(job, rate, now)
            if self._period_s is not None:
                end_s = self._end_beside_ticks(end_s, 1 / rate, self._period_s)
            leader = self._nodes[self.running[job][0].node]
            assert leader is not None
            leader.lead(job, end_s)

    def _run_at(self, job: int, rate: float, now_s: float) -> float:
        """Bring a job's work up to date, let it run at a rate, and say when it ends."""
        log = self._world.log
        log.remaining[job] = log.remaining_at(job, now_s)
        log.since_s[job] = max(log.since_s[job], now_s)
        log.rate[job] = rate
        return log.since_s[job] + log.remaining[job] / rate

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

    def meet(self, neighbours: Neighbours) -> None:
        """Learn what jobs do to each other; before the simulation starts."""
        self.neighbours = self.partition.neighbours = neighbours
        self.partition.gpus_of = lambda job: self._parts.get(job, ())
        self.partition.claim, self.partition.forget = self._claim, self._forget
        self._slices: dict[int, tuple[Slice, ...]] = {}
        self._claims = NO_CLAIMS
        self.see(neighbours=neighbours, slices_of=self._slices, rate_alone=self.partition.alone)

    def _claim(self, job: int) -> None:
        """A job that starts gets the GPUs and slices that the decision names."""
        claims = self._claims
        if job in claims.gpus_of:
            self._parts[job] = claims.gpus_of[job]
        if job in claims.slices_of:
            self._slices[job] = claims.slices_of[job]

    def _forget(self, job: int) -> None:
        """A job that has left its GPUs may be started again by a decision that names none."""
        self._parts.pop(job, None)
        self._slices.pop(job, None)

    def _hold(self, claims: Claims, jobs: Iterable[int]) -> None:
        """Nothing is held before a job starts: one that moves first leaves the GPUs that it has."""
        self._claims = claims

    def _apply(self, shares_of: Mapping[int, tuple[Placement, ...]], keep_running: bool) -> None:
        """Carry out a decision; a job on the same node may go to another GPU of it."""
        named = self._claims.gpus_of
        for job, shares in shares_of.items():
            own = self._parts.get(job)
            if self.running.get(job) == shares and named.get(job, own) != own:
                self.partition.release(job)
                self.world.reconfigurations[job] += 1
                self._only_starts = False
        super()._apply(shares_of, keep_running)
        self._claims = NO_CLAIMS

    def _make_claims(
        self,
        gpus_of: Mapping[int, tuple[int, ...]],
        shares_of: Mapping[int, tuple[Placement, ...]],
        keep_running: bool,
        view: View,
    ) -> Claims:
        claims = super()._make_claims(gpus_of, shares_of, keep_running, view)
        stays = self._staying(claims.gpus_of, shares_of, keep_running)
        new = [job for job in shares_of if job not in stays]
        if self.world.check:
            self._check_memory(stays, new, claims, shares_of)
        if self.neighbours.profile is None:
            return claims
        return claims._replace(slices_of=self._cut(stays, new, claims, shares_of))

    def _staying(
        self,
        gpus_of: Mapping[int, tuple[int, ...]],
        shares_of: Mapping[int, tuple[Placement, ...]],
        keep_running: bool,
    ) -> dict[int, None]:
        """Running jobs that neither stop nor move."""
        stays: dict[int, None] = {}
        for job, shares in self.running.items():
            own = self._parts.get(job)
            same = job in shares_of and shares_of[job] == shares and gpus_of.get(job, own) == own
            if same or (keep_running and job not in shares_of):
                stays[job] = None
        return stays

    def _check_memory(
        self,
        stays: Iterable[int],
        new: Iterable[int],
        claims: Claims,
        shares_of: Mapping[int, tuple[Placement, ...]],
    ) -> None:
        """No GPU holds jobs that need more memory than it has."""
        most = self.neighbours.gpu_memory_gb
        used: dict[Gpu, float] = {}
        places = [(job, self.running[job][0].node, self._parts.get(job, ())) for job in stays]
        places += [(job, shares_of[job][0].node, claims.gpus_of.get(job, ())) for job in new]
        for job, node, gpus in places:
            for g in gpus:
                used[node, g] = used.get((node, g), 0.0) + float(self.neighbours.memory_gb[job])
                if used[node, g] > most * (1 + tolerances.CAPACITY):
                    raise self._error(
                        f"node {node}: GPU {g}: {used[node, g]:g} GB of memory used of {most:g}"
                    )

    def _cut(
        self,
        stays: Iterable[int],
        new: Iterable[int],
        claims: Claims,
        shares_of: Mapping[int, tuple[Placement, ...]],
    ) -> dict[int, tuple[Slice, ...]]:
        """A slice for each new job, where its profile may begin; slices of running jobs do not move."""
        profile = self.neighbours.profile
        assert profile is not None
        taken: dict[Gpu, int] = {}
        cut: dict[int, tuple[Slice, ...]] = {}
        for job in stays:
            held = self._slices.get(job, ())
            if job in shares_of:
                cut[job] = held
            for place, mask in held:
                taken[place] = taken.get(place, 0) | mask
        for job in new:
            k = int(profile[job])
            for g in claims.gpus_of.get(job, ()):
                place = shares_of[job][0].node, g
                start = best_start(taken.get(place, 0), k)
                if start is None:
                    raise self._error(
                        f"node {place[0]}: GPU {g} has no room for a slice {PROFILES[k].name}"
                    )
                taken[place] = taken.get(place, 0) | mask_of(k, start)
                cut[job] = (*cut.get(job, ()), (place, mask_of(k, start)))
        return cut

    def _has_room(self, job: int, plan: Plan) -> bool:
        """Also of the memory and the slices of each GPU, beside what runs now."""
        if not super()._has_room(job, plan):
            return False
        if plan.claims is None:  # jobs on whole GPUs, whichever they are
            return True
        node, memory_gb = plan.shares_of[job][0].node, self.neighbours.memory_gb
        for g in plan.claims.gpus_of.get(job, ()):
            others = [j for j in self.partition.on_gpu.get((node, g), ()) if j != job]
            used = float(memory_gb[job]) + sum(float(memory_gb[j]) for j in others)
            if used > self.neighbours.gpu_memory_gb * (1 + tolerances.CAPACITY):
                return False
            wanted = [
                mask for place, mask in plan.claims.slices_of.get(job, ()) if place == (node, g)
            ]
            held = [m for j in others for place, m in self._slices.get(j, ()) if place == (node, g)]
            if any(a & b for a in wanted for b in held):
                return False
        return True

    def _error(self, what: str) -> InfeasibleDecision:
        return InfeasibleDecision(
            f"policy {self.world.policy_name} at {self._clock.now_s:.6g} s: {what}"
        )
