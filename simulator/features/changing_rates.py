"""Rates that change with progress, for performance models that say when they do.

A performance model may have these methods beside those of `simulator.model.performance.Performance`:

- ``rate(job, shares, configuration, left)``: fraction of the work that is done in a second on these shares,
  when the fraction ``left`` of the work is left; takes the place of ``1 / time_s(..)``.
- ``next_change(job, left)``: the fraction below ``left`` at which the rate changes next; 0: not before the end.
- ``configuration(job, shares, left)``: what the job chooses to run with, for example its batch size.
- ``time_unit_s``: the time until each change, and until the end, is a multiple of this, the nearest
  or, with ``rounds_up``, the next; 0: any time.

For example, a job whose batch size doubles after 30 of 90 epochs has ``next_change(job, 1.0) == 2 / 3``.
"""

from __future__ import annotations

from typing import Any

from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import Plan
from simulator.core.simulation import Simulation


class ChangingRates(Feature):
    """An event of an execution for each change of its rate that the performance model announces."""

    def attach(self, simulation: Simulation) -> None:
        """Keep the model."""
        performance: Any = simulation.workload.performance
        self._left = simulation.jobs.remaining
        self._next_change = performance.next_change
        self._configuration = getattr(performance, "configuration", None)

    def on_start(self, execution: Execution, plan: Plan | None = None) -> None:
        """Let the job choose what it runs with, unless the policy chose it."""
        if plan is None or execution.job not in plan.configuration_of:
            execution.choose = self._configuration
            self.reached(execution)

    def next_change(self, execution: Execution) -> float:
        """The fraction of the work at which the rate changes next."""
        change: float = self._next_change(execution.job, self._left[execution.job])
        return change

    def reached(self, execution: Execution) -> bool:
        """Let the job choose anew."""
        if execution.choose is not None:
            job, left = execution.job, self._left[execution.job]
            execution.configure(execution.choose(job, execution.shares, left))
        return True
