"""Rounds that end with their last job, as in the published simulators of Gavel and Shockwave.

A round begins with a decision, and the next one when the last job that runs has stopped, ``round_s`` later at most.
Jobs that arrive meanwhile wait for it; GPUs that are free earlier stay idle. A round in which no job runs lasts ``round_s``.
"""

from __future__ import annotations

from simpy.events import ProcessGenerator

from simulator.core.clock import Order
from simulator.core.controller import Controller
from simulator.core.feature import Feature


class Rounds(Feature):
    """Rounds of each controller.

    Parameters
    ----------
    round_s : the length of a round, s.
    all_stop : every job stops by itself within the round (`simulator.features.round_work`).
    """

    name = "rounds"

    def __init__(self, round_s: float, all_stop: bool) -> None:
        self._round_s, self._all_stop = round_s, all_stop
        self._going: set[int] = set()

    def on_submit(self, controller: Controller, job: int) -> None:
        """Begin a round where there were no jobs."""
        if controller.index not in self._going:
            self._going.add(controller.index)
            controller.clock.process(self._rounds(controller))

    def _rounds(self, controller: Controller) -> ProcessGenerator:
        """SimPy process: ask, wait until all that runs has stopped, and so on while there are jobs."""
        clock, executions = controller.clock, controller.executions
        while controller.active:
            controller.guard.count("rounds")
            controller.ask()
            yield clock.at(clock.now, Order.AFTER_RENEGING)
            all_over = clock.all_of([execution.process for execution in executions.values()])
            if executions and self._all_stop:
                yield all_over
            else:
                end = clock.at(clock.now + self._round_s, Order.TICK)
                yield (all_over | end) if executions else end
        self._going.remove(controller.index)
