"""The simulation clock: SimPy's environment, plus events at exact times in a fixed order.

SimPy schedules by delay, so two things due at the same instant can miss each other by a rounding
error. Here an event is put at an absolute time, and simultaneous events run in the order of
`Order`: what finishes, then what arrives, then what is decided. A run is therefore a pure
function of its scenario and seed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappush

from simpy import Environment, Event


class Order(IntEnum):
    """Priority of simultaneous events; SimPy's own urgent (0) and normal (1) come before."""

    COMPLETION = 2
    ARRIVAL = 3
    SERVICE_END = 4
    TICK = 5
    DECISION = 6


class Clock(Environment):
    """A SimPy environment with events at absolute times."""

    def until(self, time_s: float, order: Order) -> Event:
        """An event that happens at ``time_s`` (not before now); processes can yield it."""
        event = Event(self)
        event._ok = True
        event._value = None
        entry = (max(time_s, float(self._now)), order, next(self._eid), event)
        heappush(self._queue, entry)  # type: ignore[misc]
        return event

    def call_at(self, time_s: float, order: Order, callback: Callable[[Event], None]) -> None:
        """Call ``callback(event)`` at ``time_s``."""
        self.until(time_s, order).callbacks = [callback]
