"""The simulation clock: SimPy's environment, plus calls at exact times in a fixed order.

SimPy schedules by delay, so two things due at the same instant can miss each other by a rounding
error. Here a call is put at an absolute time, and simultaneous calls run in the order of `Order`:
what finishes, then nodes that go or come back, then what arrives, then ticks; what is decided comes
after them (`Clock.call_last`). Jobs that lose patience come last of all: a job that a decision of that
instant starts does not leave. A run is therefore a pure function of its scenario and seed.

Calls and SimPy's own events share one queue. A call is a plain function in it, without an event
object around it, which takes a third of the time; SimPy processes work as ever (`Clock.until`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Any

from simpy import Environment, Event

Call = Callable[[], object]


class Order(IntEnum):
    """Priority of simultaneous calls; SimPy's own urgent (0) and normal (1) events come before."""

    COMPLETION = 2
    OUTAGE = 3
    ARRIVAL = 4
    SERVICE_END = 5
    TICK = 6
    DEPARTURE = 7


class Clock(Environment):
    """A SimPy environment with calls at absolute times.

    Attributes
    ----------
    now_s : the time, s. `now` is the same, SimPy's way; this is a plain attribute, which costs less.
    call_last : makes a call at this instant, when nothing else is left to happen at it.
    """

    def __init__(self) -> None:
        super().__init__(0.0)
        self.now_s = 0.0
        self._last: deque[Call] = deque()
        self.call_last: Callable[[Call], None] = self._last.append

    def call_at(self, time_s: float, order: int, call: Call) -> None:
        """Make a call at ``time_s``, or now if that is past; ``order`` is one of `Order`.

        A plain number is faster to compare than a member of an enumeration.
        """
        now_s = self.now_s
        entry: Any = (time_s if time_s > now_s else now_s, order, next(self._eid), call)
        heappush(self._queue, entry)

    def drop(self, is_void: Callable[[float, Call], bool]) -> None:
        """Forget the calls at absolute times of which ``is_void(time_s, call)`` says that they do nothing."""
        queue: Any = self._queue
        queue[:] = [e for e in queue if e[1] < Order.COMPLETION or not is_void(e[0], e[3])]
        heapify(queue)

    @property
    def num_pending(self) -> int:
        """Calls and events that are still to come."""
        return len(self._queue)

    def until(self, time_s: float, order: Order) -> Event:
        """An event that happens at ``time_s``, or now if that is past; processes can yield it."""
        event = Event(self)
        self.call_at(time_s, order, event.succeed)
        return event

    def run(self, until: Any = None) -> Any:
        """Run until nothing is left to happen, or as SimPy's own `run` where ``until`` is given."""
        if until is not None:
            return super().run(until)
        queue: Any = self._queue
        last, next_last = self._last, self._last.popleft
        now_s = self.now_s
        while queue or last:  # `step`, without a call of it for each
            if last and not (queue and queue[0][0] <= now_s):
                next_last()()
                continue
            now_s, order, number, call = heappop(queue)
            if order >= 2:
                self.now_s = self._now = now_s
                call()
            else:  # SimPy's own: `step` takes it from the queue
                heappush(queue, (now_s, order, number, call))
                self.step()
        return None

    def step(self) -> None:
        """Make the next call, or process SimPy's next event; `EmptySchedule` where there is none."""
        queue: Any = self._queue
        if self._last and not (queue and queue[0][0] <= self.now_s):
            self._last.popleft()()
        elif queue and queue[0][1] >= Order.COMPLETION:
            self.now_s, _, _, call = heappop(queue)
            self._now = self.now_s
            call()
        else:
            self.now_s = queue[0][0] if queue else self.now_s
            super().step()
