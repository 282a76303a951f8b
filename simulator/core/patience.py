"""Jobs that leave when they have waited too long: a controller with a timer for each waiting job.

A departure comes after the decisions of its instant (`Order.DEPARTURE`). A job with a patience of 0
therefore leaves at once where no decision at its arrival starts it: the loss model of Erlang. A job
that has started once stays, also where it is preempted. A simulation without patience has none of this.
"""

from __future__ import annotations

import math

from simulator.core.clock import Order
from simulator.core.controller import Controller


class ImpatientController(Controller):
    """A controller whose jobs leave where they have not started in time."""

    def submit(self, job: int) -> None:
        """A job joins the queue, and sets its timer."""
        super().submit(job)
        patience_s = self.world.workload.patience_s
        assert patience_s is not None
        wait_s = float(patience_s[job])
        if wait_s < math.inf:
            at_s = float(self.world.workload.submit_s[job]) + wait_s  # a quota may have held it
            # What else happens at that instant has asked for its decisions by then: they come first.
            self._clock.call_at(
                at_s, Order.DEPARTURE, lambda: self._clock.call_last(lambda: self._leave(job))
            )

    def _lost(self, job: int) -> None:
        """A job has left; for those who count the unfinished ones."""

    def _leave(self, job: int) -> None:
        """The patience of a job ends; nothing happens where it has started."""
        world = self.world
        started_s = world.log.first_start_s[job]
        if started_s == started_s:  # not NaN
            return
        del self.waiting[job], self.active[job]
        world.completion_s[job] = self._clock.now_s
        world.left[job] = None
        self._changed = True
        self._lost(job)
        # Those behind it may fit now.
        if world.points.on_completion and self.waiting:
            self.request()
