"""One node: what runs on it, when the next job ends, and the meter of its use and cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from simulator.contract import Placement
from simulator.processes.clock import Clock, Order

_COMPLETION = Order.COMPLETION  # an attribute of an enumeration is slow to look up


class Node:
    """A machine that jobs run on.

    It keeps one pending timer, for the earliest end among the jobs that it leads (a job over
    several nodes is led by its first). A timer that was overtaken finds nothing to do and arms
    the next.

    Parameters
    ----------
    clock : of the simulation.
    fixed_type : the node's type and its GPUs; None: placements configure it.
    begin_s : from when a node of fixed type is open.
    finished : called with each job that the node leads when it ends.

    Attributes
    ----------
    shares : what runs here, by job.
    use_s : the meter: seconds that the node was open as each type with so many GPUs in use,
        rounded down where shares are real-valued. What they cost is reckoned at the end.
    gpu_seconds, cpu_seconds : GPUs and CPUs in use, integrated over time.
    """

    __slots__ = (
        "_clock", "_ends", "_finished", "_gpus", "_is_fixed", "_led", "_settled_s", "_timer_s",
        "_type", "cpu_seconds", "cpus_used", "gpu_seconds", "gpus_used", "shares", "use_s",
    )  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        fixed_type: tuple[int, float] | None,
        begin_s: float,
        finished: Callable[[int], None],
    ) -> None:
        self.shares: dict[int, Placement] = {}
        self.gpus_used = 0.0
        self.cpus_used = 0.0
        self.use_s: dict[tuple[int, int], float] = {}
        self.gpu_seconds = 0.0
        self.cpu_seconds = 0.0
        self._clock = clock
        self._finished = finished
        self._led: dict[int, float] = {}
        self._ends: list[tuple[float, int]] = []
        self._timer_s = math.inf
        self._settled_s = begin_s
        self._is_fixed = fixed_type is not None
        self._type: int | None = None
        self._gpus = 0.0
        if fixed_type is not None:
            self._type, self._gpus = fixed_type

    def add(self, placement: Placement, now_s: float) -> float:
        """Start a share; a closed VM opens as the placement's type. Returns the free GPUs."""
        if now_s > self._settled_s:
            self.settle(now_s)
        job, _, gpus, v, cpus, _ = placement
        if self._type is None:
            self._type = v
        self.shares[job] = placement
        self.gpus_used = used = self.gpus_used + gpus
        if cpus:
            self.cpus_used += cpus
        return self._gpus - used if self._is_fixed else 0.0

    def remove(self, job: int, now_s: float) -> float:
        """End a share; a VM without any closes. Returns the free GPUs."""
        if now_s > self._settled_s:
            self.settle(now_s)
        shares = self.shares
        placement = shares.pop(job)
        if job in self._led:
            del self._led[job]
        if not shares:
            self.gpus_used = self.cpus_used = 0.0
            if self._is_fixed:
                return self._gpus
            self._type = None
            return 0.0
        self.gpus_used = used = self.gpus_used - placement[2]
        self.cpus_used -= placement[4]
        return self._gpus - used if self._is_fixed else 0.0

    def close(self) -> None:
        """The node goes away, empty: it costs nothing and offers nothing until it is back."""
        self.settle(self._clock.now_s)
        self._type = None

    def reopen(self, fixed_type: int | None) -> None:
        """The node is back; a VM opens with its next share."""
        self.settle(self._clock.now_s)
        self._type = fixed_type

    def lead(self, job: int, end_s: float) -> None:
        """Report the job as finished at ``end_s``, unless it is removed before."""
        led, ends = self._led, self._ends
        led[job] = end_s
        if len(ends) > 8 and len(ends) > 2 * len(led) + 8:
            ends[:] = [(t, j) for j, t in led.items()]
            heapify(ends)
        else:
            heappush(ends, (end_s, job))
        if end_s < self._timer_s:
            self._arm(end_s)

    def _arm(self, end_s: float) -> None:
        self._timer_s = end_s
        self._clock.call_at(end_s, _COMPLETION, self._on_timer)

    @staticmethod
    def is_overtaken(time_s: float, call: Callable[[], object]) -> bool:
        """Whether a pending call is a node's timer for a time at which none of its jobs ends."""
        node = getattr(call, "__self__", None)
        return (
            isinstance(node, Node) and time_s != node._timer_s and time_s not in node._led.values()
        )

    def _on_timer(self) -> None:
        now = self._clock.now_s
        if now < self._timer_s:
            return
        self._timer_s = math.inf
        ends = self._ends
        led = self._led
        while ends:
            end_s, job = ends[0]
            if led.get(job) == end_s:
                if end_s > now:
                    self._arm(end_s)
                    return
                self._finished(job)
            heappop(ends)

    def settle(self, until_s: float) -> None:
        """Bring the meters up to a time: now, or the last completion at the end of a simulation.

        The clock may run past the last completion (timers that were overtaken).
        """
        elapsed = until_s - self._settled_s
        if elapsed <= 0:
            return
        self._settled_s = until_s
        node_type = self._type
        if node_type is None:
            return
        used, use_s = self.gpus_used, self.use_s
        key = (node_type, int(used))
        use_s[key] = use_s.get(key, 0.0) + elapsed
        if used:
            self.gpu_seconds += used * elapsed
            if self.cpus_used:
                self.cpu_seconds += self.cpus_used * elapsed
