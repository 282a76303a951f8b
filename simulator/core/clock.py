"""The clock: SimPy's environment with events at exact times, in a fixed order among simultaneous ones.

SimPy schedules by delay, and ``now + (t - now)`` is not always ``t``: two things that are due at one
instant could miss each other by a rounding error. `Clock.at` puts an event at an absolute time. Events
of one instant happen in the order of `Order`. So a run is a pure function of its scenario and seed.
"""

from __future__ import annotations

from enum import IntEnum
from heapq import heappush

from simpy import Environment, Event


class Order(IntEnum):
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


class Clock(Environment):
    """A SimPy environment with one method more."""

    def __init__(self) -> None:
        super().__init__(0.0)

    def at(self, time_s: float, order: Order, event: Event | None = None) -> Event:
        """An event at ``time_s``, or now if that is past.

        Parameters
        ----------
        event : schedule this one, which was not triggered yet; None: a new one.
        """
        if event is None:
            event = Event(self)
        event._ok, event._value = True, None
        now_s: float = self._now
        heappush(self._queue, (max(time_s, now_s), order, next(self._eid), event))  # type: ignore[misc]
        return event
