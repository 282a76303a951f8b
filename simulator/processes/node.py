"""One node: what runs on it, when the next job ends, and the meter of its use and cost."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from simulator.catalog import Cluster
from simulator.contract import Placement
from simulator.processes.clock import Clock, Order


class Node:
    """A machine that jobs run on.

    It keeps one pending timer, for the earliest end among the jobs that it leads (a job over
    several nodes is led by its first). A timer that was overtaken finds nothing to do and arms
    the next.

    Parameters
    ----------
    clock, cluster, index : where it lives and which node it is.
    begin_s : from when a node of fixed type is open.

    Attributes
    ----------
    shares : what runs here, by job.
    use_s : the meter: seconds that the node was open as each type with so many GPUs in use,
        rounded down where shares are real-valued. What they cost is reckoned at the end.
    gpu_seconds, cpu_seconds : GPUs and CPUs in use, integrated over time.
    """

    def __init__(
        self,
        clock: Clock,
        cluster: Cluster,
        index: int,
        begin_s: float,
    ) -> None:
        self.index = index
        self.shares: dict[int, Placement] = {}
        self.gpus_used = 0.0
        self.cpus_used = 0.0
        self.use_s: dict[tuple[int, int], float] = {}
        self.gpu_seconds = 0.0
        self.cpu_seconds = 0.0
        self._clock = clock
        self._cluster = cluster
        self._led: dict[int, tuple[float, Callable[[int], None]]] = {}
        self._ends: list[tuple[float, int]] = []
        self._timer_s = math.inf
        self._settled_s = begin_s
        fixed = cluster.node_type_of
        self._type: int | None = None if fixed is None else fixed[index]

    @property
    def free_gpus(self) -> float:
        """GPUs not in use; 0 on a closed VM."""
        if self._type is None:
            return 0.0
        return self._cluster.node_types[self._type].gpus - self.gpus_used

    def add(self, placement: Placement) -> None:
        """Start a share; a closed VM opens as the placement's type."""
        self.settle()
        if self._type is None:
            self._type = placement.node_type
        self.shares[placement.job] = placement
        self.gpus_used += placement.gpus
        self.cpus_used += placement.cpus

    def remove(self, job: int) -> None:
        """End a share; a VM without any closes."""
        self.settle()
        placement = self.shares.pop(job)
        self.gpus_used -= placement.gpus
        self.cpus_used -= placement.cpus
        self._led.pop(job, None)
        if not self.shares:
            self.gpus_used = self.cpus_used = 0.0
            if self._cluster.node_type_of is None:
                self._type = None

    def lead(self, job: int, end_s: float, finished: Callable[[int], None]) -> None:
        """Call ``finished(job)`` at ``end_s``, unless the job is removed before."""
        self._led[job] = (end_s, finished)
        if len(self._ends) > 2 * len(self._led) + 8:
            self._ends = [(t, j) for j, (t, _) in self._led.items()]
            heapq.heapify(self._ends)
        else:
            heapq.heappush(self._ends, (end_s, job))
        if end_s < self._timer_s:
            self._arm(end_s)

    def _arm(self, end_s: float) -> None:
        self._timer_s = end_s
        self._clock.call_at(end_s, Order.COMPLETION, self._on_timer)

    def _on_timer(self) -> None:
        now = self._clock.now_s
        if now < self._timer_s:
            return
        self._timer_s = math.inf
        ends = self._ends
        led = self._led
        while ends:
            end_s, job = ends[0]
            current = led.get(job)
            if current is not None and current[0] == end_s:
                if end_s > now:
                    self._arm(end_s)
                    return
                current[1](job)
            heapq.heappop(ends)

    def settle(self, until_s: float | None = None) -> None:
        """Bring the meters up to now, or to ``until_s``.

        The clock may run past the last completion (timers that were overtaken), hence the option.
        """
        now = self._clock.now_s if until_s is None else until_s
        elapsed = now - self._settled_s
        if elapsed <= 0:
            return
        self._settled_s = now
        if self._type is None:
            return
        key = (self._type, int(self.gpus_used))
        self.use_s[key] = self.use_s.get(key, 0.0) + elapsed
        self.gpu_seconds += self.gpus_used * elapsed
        self.cpu_seconds += self.cpus_used * elapsed
