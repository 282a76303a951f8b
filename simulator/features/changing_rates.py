"""Rates that change with progress, and times that are noticed late, where the performance model says so.

The model says it by `rate`, `next_change`, `configuration`, `time_unit_s` of `simulator.model.performance.Performance`.
For example, a job whose batch size doubles after 30 of 90 epochs has ``next_change(job, 1.0) == 2 / 3``.
"""

from __future__ import annotations

import math

from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.model.performance import Performance
from simulator.model.tolerances import INSTANT_S


class ChangingRates(Feature):
    """An event of an execution for each change of its rate that the performance model announces."""

    def attach(self, simulation: Simulation) -> None:
        """Keep the model."""
        self._performance = simulation.workload.performance
        self._left = simulation.jobs.remaining
        model = type(self._performance)
        self._chooses = model.configuration is not Performance.configuration

    def on_start(self, execution: Execution, plan: DecisionPlan | None = None) -> None:
        """Let the job choose what it runs with, unless the policy chose it."""
        if plan is None or execution.job not in plan.configuration_of:
            execution.choose = self._performance.configuration if self._chooses else None
            self.reached(execution)

    def next_change(self, execution: Execution) -> float:
        """The fraction of the work at which the rate changes next."""
        return self._performance.next_change(execution.job, self._left[execution.job])

    def noticed_after_s(self, execution: Execution, work_s: float) -> float:
        """A multiple of the model's unit of time, where it has one."""
        unit_s = self._performance.time_unit_s
        if not unit_s:
            return work_s
        if self._performance.rounds_up:
            return math.ceil((work_s - INSTANT_S) / unit_s) * unit_s
        return round(work_s / unit_s) * unit_s

    def reached(self, execution: Execution) -> bool:
        """Let the job choose anew."""
        if execution.choose is not None:
            job, left = execution.job, self._left[execution.job]
            execution.configure(execution.choose(job, execution.shares, left))
        return True
