"""Checkpoints: how jobs save their work, and what those that fail lose.

[checkpoints]
interval_s = "daly"
cost_s = 60
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, Self

from pydantic import Field, model_validator

from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.files.keys import Config, KeyedError, NonNegative
from simulator.schema import Column, ColumnData
from simulator.theory.reliability import best_interval_s, daly_interval_s, young_interval_s

Interval = NonNegative | Literal["young", "daly", "best"]

OPTIMAL = {"young": young_interval_s, "daly": daly_interval_s, "best": best_interval_s}
"""Intervals between checkpoints from the cost of one and the mean time between failures."""

MOST_CHECKPOINTS = 1_000_000
"""Checkpoints of one execution, beyond which the interval is held to be a mistake."""

COLUMNS = (
    Column("lost_gpu_s", "GPU-seconds", "work that failures destroyed", "number", when="something can fail"),
)  # fmt: skip


class Checkpoints(Config):
    """Checkpoints of jobs: each works for an interval, then saves for a time without work, and so on.

    There is no checkpoint at the end of a job. What it has done since its last whole checkpoint is lost when it
    fails. A job that a policy preempts or moves saves its work, as everywhere (`reconfiguration_s`).
    """

    interval_s: Interval | None = Field(default=None, examples=[1800])
    """work between two checkpoints; young, daly, best: chosen by the failures to be expected; 0: work is never lost; left out: no checkpoints"""
    cost_s: NonNegative = 0.0
    """time of a checkpoint, without work"""
    restart_s: NonNegative = 0.0
    """time without work when a job that failed starts again"""
    cost_of_model: dict[str, NonNegative] = Field(default_factory=dict, examples=[{"vgg19": 120}])
    """time of a checkpoint by model"""
    cost_per_gpu_s: NonNegative = 0.0
    """added to it for each GPU of the job"""

    @model_validator(mode="after")
    def _work_is_kept_at_no_cost(self) -> Self:
        if self.interval_s == 0 and any(
            [self.cost_s, self.cost_per_gpu_s, *self.cost_of_model.values()]
        ):
            raise KeyedError("interval_s", "got 0 at a cost, expected more than 0")
        return self

    def plan(self, model: str, mean_up_s: float, gpus: float = 0.0) -> tuple[float, float]:
        """Interval and cost (s) for a job of this model that fails every ``mean_up_s`` on average."""
        cost_s = self.cost_of_model.get(model, self.cost_s) + self.cost_per_gpu_s * gpus
        if self.interval_s is None:
            return math.inf, cost_s
        if not isinstance(self.interval_s, str):
            return self.interval_s, cost_s
        if cost_s == 0:
            return 0.0, 0.0
        if math.isinf(mean_up_s):
            return math.inf, cost_s
        return OPTIMAL[self.interval_s](cost_s, mean_up_s), cost_s


class Checkpointing(Feature):
    """Checkpoints of all jobs; a job that fails goes back to its last one.

    Attributes
    ----------
    lost_gpu_s, overhead_gpu_s : ``(J,)`` GPU-seconds of work that were done and lost, and GPU-seconds held
        without work: checkpoints, restarts, reconfigurations.
    """

    def __init__(self, spec: Checkpoints, failure_rate: Callable[[Execution], float]) -> None:
        self.spec, self._failure_rate = spec, failure_rate

    def attach(self, simulation: Simulation) -> None:
        """Begin the accounts of all jobs."""
        self._simulation, jobs = simulation, len(simulation.workload)
        self.lost_gpu_s, self.overhead_gpu_s = [0.0] * jobs, [0.0] * jobs
        self._restarts = [False] * jobs
        self._attempt_gpu_s: dict[int, float] = {}

    def checkpoint(self, execution: Execution) -> tuple[float, float]:
        """Interval and cost of a job's checkpoints, by the failures that it has to expect."""
        model = self._simulation.workload.model[execution.job]
        rate = self._failure_rate(execution)
        return self.spec.plan(model, 1 / rate if rate else math.inf, execution.gpus)

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """`InputError` where a job would make too many checkpoints, as it runs now."""
        simulation, job, interval_s = self._simulation, execution.job, execution.interval_s
        workload, left = simulation.workload, simulation.jobs.remaining[job]
        time_s = simulation.time_on_s(
            workload, job, execution.shares, execution.configuration, left
        )
        if 0 < interval_s * MOST_CHECKPOINTS < left * time_s < math.inf:
            raise InputError(
                f"checkpoints: interval_s is {interval_s:g}, and job {workload.job_id[job]!r} takes "
                f"{left * time_s:g} s: more than {MOST_CHECKPOINTS:,} checkpoints, expected a longer interval"
            )

    def delay_s(self, execution: Execution, start: str) -> float:
        """Time to restart a job that has failed."""
        restarts, self._restarts[execution.job] = self._restarts[execution.job], False
        return self.spec.restart_s if restarts else 0.0

    def restart(self, execution: Execution, wait_s: float) -> None:
        """A job that keeps its nodes, but for one that comes after ``wait_s``, goes back to its last checkpoint."""
        self._lose(execution)
        now_s = self._simulation.clock.now
        execution.restart(max(now_s + self.spec.restart_s, execution.begin_s) + wait_s)

    def _lose(self, execution: Execution) -> None:
        lost_gpu_s, job = execution.gpus * execution.fall_back(), execution.job
        self.lost_gpu_s[job] += lost_gpu_s
        self._attempt_gpu_s[job] = self._attempt_gpu_s.get(job, 0.0) - lost_gpu_s

    def on_release(self, execution: Execution, cause: str) -> None:
        """Count what was not work; a job that failed is back at its last checkpoint."""
        job, gpus, worked_s = execution.job, execution.gpus, execution.worked_s
        held_s = self._simulation.clock.now - execution.start_s
        self.overhead_gpu_s[job] += gpus * (held_s - worked_s)
        self._attempt_gpu_s[job] = self._attempt_gpu_s.get(job, 0.0) + gpus * worked_s
        if cause == "failed":
            self._lose(execution)
        if cause == "attempt failed":
            self.lost_gpu_s[job] += self._attempt_gpu_s.pop(job)
        if cause in ("failed", "attempt failed"):
            self._restarts[job] = True

    def columns(self) -> tuple[ColumnData, ...]:
        """The work that each job lost."""
        return (ColumnData(COLUMNS[0], self.lost_gpu_s),)
