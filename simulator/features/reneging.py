"""Reneging: jobs that leave when they have not started within their patience (`Workload.patience_s`).

A job leaves after the decisions of its instant (`EventOrder.RENEGING`). With a patience of 0 it therefore leaves
at once where no decision at its arrival starts it: the loss model of Erlang. A job that has started once
stays, also where it is preempted. A job that left has no completion time and counts in the loss alone, so no policy
has shorter completion times by letting jobs leave.
"""

from __future__ import annotations

import math

from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.controller import Controller
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation


class Reneging(Feature):
    """A process for each waiting job whose patience is finite."""

    def attach(self, simulation: Simulation) -> None:
        """Read the patience of the jobs."""
        assert simulation.workload.patience_s is not None
        self._simulation = simulation
        self._patience_s = simulation.workload.patience_s

    def on_submit(self, controller: Controller, job: int) -> None:
        """Set the timer of a job."""
        leaves_s = self._simulation.submitted_s[job] + float(self._patience_s[job])
        if leaves_s < math.inf:  # a quota may have held the job meanwhile
            controller.clock.process(self._wait(controller, job, leaves_s))

    def _wait(self, controller: Controller, job: int, leaves_s: float) -> ProcessGenerator:
        """SimPy process: the job leaves unless it has started by then."""
        yield controller.clock.at(leaves_s, EventOrder.RENEGING)
        if math.isnan(controller.jobs.first_start_s[job]):
            self._simulation.renege(job, controller.clock.now)
            controller.leave(job)
            if self._simulation.triggers.at_completions and controller.waiting:
                controller.ask(EventOrder.AFTER_RENEGING)  # those behind it may fit now
