"""The clock: SimPy's environment with events at absolute times, and a rule for what is simultaneous.

Times are sums of floating-point numbers: ``0.1 + 0.2`` and ``0.3`` are one time, and differ in the last
bit. So events that are due within `INSTANT_S` of the first of them are *one instant*: they happen at the
latest of their times, in the order of `EventOrder`. Among all ways to say "the same time" this one is taken since
it changes no time by more than rounding, and has no grid: a sum of thirds keeps all its digits. Orders of
policies call two times equal where they differ by less than the same `INSTANT_S` (`simulator.model.ranks`).

`INSTANT_S` is about a microsecond. Rounding errors are below it up to 2^32 s (136 years) on the clock, and
nothing on a cluster takes less. A job that takes less than it ends at the instant of its start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from simpy import Environment, Event, Process
from simpy.events import ProcessGenerator

from simulator.model.tolerances import INSTANT_S


class EventOrder:
    """Priority of simultaneous events; SimPy's own urgent (0) and normal (1) events come before.

    For example, a job that ends when its node fails has ended. A job that arrives at that instant finds
    the node down, and the decision sees both.
    """

    COMPLETION = 2
    OUTAGE = 3
    ARRIVAL = 4
    SERVICE_END = 5
    TICK = 6
    DECISION = 7
    RENEGING = 8
    AFTER_RENEGING = 9


def without_noise(time_s: float) -> float:
    """A computed time; where it misses a whole microsecond by less than a nanosecond, that microsecond.

    For example, a job of 3,900 s that has saved 38 times ends at 3900.0, and not at 3899.9999999999986.
    """
    near_s = round(time_s * 1e6) / 1e6
    return near_s if abs(time_s - near_s) < 1e-9 else time_s


_step = Environment.step


class Clock(Environment):
    """A SimPy environment with events at absolute times, and instants of a length.

    Attributes
    ----------
    now : the time, s.
    """

    now = 0.0  # of SimPy a property, and read at every turn

    def __init__(self) -> None:
        super().__init__(0.0)
        self._at_end: deque[Callable[[], None]] = deque()

    def step(self) -> None:
        """Let the next event happen; before the first of an instant, bring all of it to one time."""
        queue = self._queue
        if self._at_end and not (queue and queue[0][:2] <= (self.now, EventOrder.DECISION)):
            self._at_end.popleft()()
            return
        if queue and queue[0][0] > self.now:
            end_s = queue[0][0] + INSTANT_S
            if len(queue) > 1 and (queue[1][0] < end_s or (len(queue) > 2 and queue[2][0] < end_s)):
                self._gather(end_s)
            self.now = self._now = queue[0][0]
        _step(self)

    def _gather(self, end_s: float) -> None:
        """Put all events before ``end_s`` at the latest of their times."""
        queue = self._queue
        due = []
        while queue and queue[0][0] < end_s:
            due.append(heappop(queue))
        time_s = due[-1][0]
        for _, order, number, event in due:
            heappush(queue, (time_s, order, number, event))

    def at(self, time_s: float, order: int, event: Event | None = None) -> Event:
        """An event at ``time_s``, or now if that is past.

        Parameters
        ----------
        event : schedule this one, which was not triggered yet; None: a new one.
        """
        if event is None:
            event = Event(self)
        event._ok, event._value = True, None
        if time_s < self.now:
            time_s = self.now
        heappush(self._queue, (time_s, order, next(self._eid), event))  # type: ignore[misc]
        return event

    def at_end(self, call: Callable[[], None]) -> None:
        """Call this at the end of the instant: after all of its events up to `EventOrder.DECISION`."""
        self._at_end.append(call)

    def schedule(self, event: Event, *how: Any) -> None:
        """SimPy's own events; the end of a `Begun` process is none, since nobody waits for it."""
        if type(event) is Begun and event._ok:
            event.callbacks = None  # type: ignore[assignment]  # as SimPy marks what has happened
        else:
            super().schedule(event, *how)


class Begun(Process):
    """A process that goes at once to its first event, without an event for its beginning or its end."""

    def __init__(self, clock: Clock, generator: ProcessGenerator) -> None:
        Event.__init__(self, clock)
        self._generator = generator
        self._target = next(generator)
        self._target.callbacks.append(self._resume)
