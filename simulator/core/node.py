"""One node: what runs on it, when the next job ends, and the meter of its use and cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from simulator.core.clock import Clock, Order
from simulator.model.contract import Placement

_COMPLETION = int(Order.COMPLETION)  # a member of an enumeration is slow to look up, and to compare


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
    gpu_seconds, cpu_seconds : GPUs and CPUs in use, integrated over time.
    """

    __slots__ = (
        "_by_gpus", "_clock", "_ends", "_finished", "_gpus", "_is_fixed", "_led", "_meters", "_settled_s",
        "_timer_s", "_type", "cpu_seconds", "cpus_used", "gpu_seconds", "gpus_used", "shares",
    )  # fmt: skip

    def __init__(
        self,
        clock: Clock,
        fixed_type: tuple[int, float] | None,
        begin_s: float,
        finished: Callable[[int], None],
    ) -> None:
        self.shares: dict[int, Placement] = {}
        self.gpus_used: float = 0
        self.cpus_used = 0.0
        # One number in a list for each (type, GPUs in use); `_by_gpus` finds those of the type now.
        self._meters: dict[tuple[int, int], list[float]] = {}
        self._by_gpus: dict[float, list[float]] = {}
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

    @property
    def use_s(self) -> dict[tuple[int, int], float]:
        """The meter: seconds that the node was open as each type with so many GPUs in use.

        Rounded down where shares are real-valued. What they cost is reckoned at the end.
        """
        return {key: meter[0] for key, meter in self._meters.items()}

    def add(self, placement: Placement, now_s: float) -> float:
        """Start a share; a closed VM opens as the placement's type. Returns the free GPUs."""
        if now_s > self._settled_s:
            self.settle(now_s)
        if self._type is None:
            self._type = placement[3]
            self._by_gpus = {}
        self.shares[placement[0]] = placement  # by index, since it is slow to unpack a named tuple
        self.gpus_used = used = self.gpus_used + placement[2]
        cpus = placement[4]
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
            self.gpus_used = 0
            self.cpus_used = 0.0
            if self._is_fixed:
                return self._gpus
            self._type = None
            return 0.0
        self.gpus_used = used = self.gpus_used - placement[2]
        cpus = placement[4]
        if cpus:
            self.cpus_used -= cpus
        return self._gpus - used if self._is_fixed else 0.0

    def close(self) -> None:
        """The node goes away, empty: it costs nothing and offers nothing until it is back."""
        self.settle(self._clock.now_s)
        self._type = None

    def reopen(self, fixed_type: int | None) -> None:
        """The node is back; a VM opens with its next share."""
        self.settle(self._clock.now_s)
        self._type = fixed_type
        self._by_gpus = {}

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
            self._timer_s = end_s
            self._clock.call_at(end_s, _COMPLETION, self._on_timer)

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
        used = self.gpus_used
        meter = self._by_gpus.get(used)
        if meter is None:
            meter = self._meter(node_type, used)
        meter[0] += elapsed
        if used:
            self.gpu_seconds += used * elapsed
            if self.cpus_used:
                self.cpu_seconds += self.cpus_used * elapsed

    def _meter(self, node_type: int, used: float) -> list[float]:
        """The meter of a number of GPUs in use, made where there is none."""
        whole = int(used)
        meter = self._meters.setdefault((node_type, whole), [0.0])
        if whole == used:  # real-valued shares have too many numbers to remember
            self._by_gpus[whole] = meter
        return meter
