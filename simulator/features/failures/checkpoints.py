"""Checkpoints: how jobs save their work, and what those that fail lose.

[checkpoints]
interval_s = "daly"
cost_s = 60
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.arguments import checked
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import Plan
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.schema import Column, ColumnData
from simulator.theory.reliability import best_interval_s, daly_interval_s, young_interval_s

Interval = float | Literal["young", "daly", "best"]

OPTIMAL = {"young": young_interval_s, "daly": daly_interval_s, "best": best_interval_s}
"""Intervals between checkpoints from the cost of one and the mean time between failures."""

MOST_CHECKPOINTS = 1_000_000
"""Checkpoints of one execution, beyond which the interval is held to be a mistake."""

COLUMNS = (
    Column("lost_gpu_s", "GPU-seconds", "work that failures destroyed", "number", when="something can fail"),
)  # fmt: skip


@checked("checkpoints")
@dataclass(frozen=True)
class Checkpoints:
    """Specification of checkpoints.

    A job works for ``interval_s`` seconds, then saves for ``cost_s`` seconds, and so on; there is no
    checkpoint at its end. What it has done since the last whole checkpoint is lost when it fails.
    A job that a policy preempts or moves saves its work, as everywhere (`reconfiguration_s`).

    Attributes
    ----------
    interval_s : seconds of work; infinite: never. 0 (at no cost): all the time, nothing is lost.
        "young", "daly" or "best" choose it by the failures that the job has to expect.
    cost_s : of one checkpoint, s.
    restart_s : until a job that failed works again, s after its start.
    cost_of_model : cost by name of the network, where it is another one.
    cost_per_gpu_s : more for each GPU of the job, s.
    """

    interval_s: Interval = math.inf
    cost_s: float = 0.0
    restart_s: float = 0.0
    cost_of_model: Mapping[str, float] = field(default_factory=dict)
    cost_per_gpu_s: float = 0.0

    def __post_init__(self) -> None:
        interval = self.interval_s
        if isinstance(interval, str):
            if interval not in OPTIMAL:
                known = ", ".join(OPTIMAL)
                raise InputError(
                    f"checkpoints: interval_s is {interval!r}, expected seconds, or one of {known}"
                )
        elif not interval >= 0:
            raise InputError(f"checkpoints: interval_s is {interval}, expected a number >= 0")
        costs = {
            "cost_s": self.cost_s,
            "cost_per_gpu_s": self.cost_per_gpu_s,
            "restart_s": self.restart_s,
            **self.cost_of_model,
        }
        for name, value in costs.items():
            if not 0 <= value < math.inf:
                raise InputError(f"checkpoints: {name} is {value}, expected a number >= 0")
        positive = [c for n, c in costs.items() if n != "restart_s" and c > 0]
        if interval == 0 and positive:
            raise InputError("checkpoints: interval_s is 0 at a cost, expected more than 0")

    def plan(self, model: str, mean_up_s: float, gpus: float = 0.0) -> tuple[float, float]:
        """Interval and cost (s) for a job of this model that fails every ``mean_up_s`` on average."""
        cost_s = self.cost_of_model.get(model, self.cost_s) + self.cost_per_gpu_s * gpus
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

    def on_start(self, execution: Execution, plan: Plan) -> None:
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
