"""Jobs that fail by themselves: at a time that is drawn, or where their attempts in a log failed."""

from __future__ import annotations

from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.failures.guard import FaultGuard
from simulator.laws import Law
from simulator.schema import Column, ColumnData

COLUMNS = (
    Column(
        "failures", "", "times that a failure of a node, or of its own, stopped the job", "integer",
        when="something can fail",
    ),
)  # fmt: skip


class JobFailures(Feature):
    """Failures of jobs.

    Attributes
    ----------
    time_to_failure : seconds that a job runs until it fails by itself, drawn anew at each start; None: never.
    max_attempts : a job that has failed so often by itself is abandoned; None: never.
    failures, own_failures : ``(J,)`` how often each job has failed, with its nodes or by itself; by itself.
    attempt : ``(J,)`` how many attempts of `Workload.fails_at` each job has behind it.
    abandoned : ``(J,)`` 1 for a job that was abandoned.
    """

    def __init__(
        self, time_to_failure: Law | None, max_attempts: int | None, guard: FaultGuard
    ) -> None:
        self.time_to_failure, self.max_attempts = time_to_failure, max_attempts
        self._guard = guard

    def attach(self, simulation: Simulation) -> None:
        """Read the attempts of the jobs."""
        workload, jobs = simulation.workload, len(simulation.workload)
        if simulation.cluster.is_pool:
            if workload.fails_at:
                raise InputError(
                    "workload.attempts: given with a rental pool, expected nodes or VMs"
                )
            raise InputError(
                "failures: a rental pool has no nodes that fail, expected nodes or VMs"
            )
        self._simulation = simulation
        self._rng = simulation.streams.generator("job failures")
        self._fails_at = workload.fails_at
        self.failures, self.own_failures = [0] * jobs, [0] * jobs
        self.attempt, self.abandoned = [0] * jobs, [0] * jobs

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """Draw when the job fails by itself."""
        if self.time_to_failure is not None:
            clock = self._simulation.clock
            at_s = clock.now + self.time_to_failure(self._rng)
            clock.process(self._fail_at(execution, at_s))

    def _fail_at(self, execution: Execution, at_s: float) -> ProcessGenerator:
        """SimPy process: the job fails, if it still runs then."""
        yield self._simulation.clock.at(at_s, EventOrder.OUTAGE)
        if execution.is_running:
            self._fail(execution, "failed")

    def next_change(self, execution: Execution) -> float:
        """Fraction of the work that is left when the attempt fails that the job is at."""
        if not self._fails_at:
            return 0.0
        parts, attempt = self._fails_at[execution.job], self.attempt[execution.job]
        return 1.0 - parts[attempt] if attempt < len(parts) else 0.0

    def reached(self, execution: Execution) -> bool:
        """An attempt fails: all work of it was for nothing, and the next begins."""
        if self._simulation.jobs.remaining[execution.job] != self.next_change(execution):
            return True
        self._fail(execution, "attempt failed")
        return False

    def _fail(self, execution: Execution, cause: str) -> None:
        """A job fails by itself; after too many attempts it is abandoned."""
        self._guard.count(self._simulation, "failures of jobs (failures.job_time_to_failure)")
        job, limit, controller = execution.job, self.max_attempts, execution.controller
        controller.stop(execution, cause)
        self.own_failures[job] += 1
        if limit is not None and self.own_failures[job] >= limit:
            self.abandoned[job] = 1
            controller.leave(job)
        if self._simulation.triggers.at_completions and controller.active:
            controller.ask()

    def on_release(self, execution: Execution, cause: str) -> None:
        """Count failures, and attempts that a log has."""
        self.attempt[execution.job] += cause == "attempt failed"
        self.failures[execution.job] += cause in ("failed", "attempt failed")

    def columns(self) -> tuple[ColumnData, ...]:
        """Failures of each job."""
        return (ColumnData(COLUMNS[0], self.failures),)
