"""Predicted execution times for policies; the engine runs the true ones.

    shown = PredictedWorkload(predicted(workload, Predictions(noise=0.3), Streams(seed)))
    simulate(workload, cluster, policy, features=[shown])

Policies and dispatchers read the predicted times in ``view.workload``; the progress of a job
(``view.remaining``, ``view.attained_gpu_s``) is observed, and true. With ``learned`` a policy is
shown the remaining work of a job in terms of what was observed of its speed: once a part of a job is
done, the time that it took over the time that was predicted corrects all predictions of this job.
In a scenario file:

[predictions]
bias = 0.1
noise = 0.3
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.table import FeatureTable, Scene
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import (
    DurationByType,
    FixedDuration,
    Performance,
    Sensitivity,
    SpeedupCurve,
    TimeTable,
)
from simulator.model.sensitive_table import SensitiveTable
from simulator.model.workload import Workload
from simulator.statistics import Streams

OBSERVED = 0.01
"""Part of a job's work after which its speed counts as observed."""


MOST_WRONG = 1e6
"""A bias or noise beyond it is a mistake: times would differ by more than numbers can hold."""


class Predictions(FeatureTable):
    """Errors of the execution times that policies see."""

    table: ClassVar[str] = "predictions"

    bias: Annotated[float, Field(gt=-1, le=MOST_WRONG)] = 0.0
    """all times are predicted too long by this part; below 0: too short"""
    noise: Annotated[float, Field(ge=0, le=MOST_WRONG)] = 0.0
    """standard deviation of a lognormal factor for each job"""
    configuration_noise: Annotated[float, Field(ge=0, le=MOST_WRONG)] = 0.0
    """the same for each job and configuration"""
    learned: bool = False
    """whether the observed speed of a running job corrects its predictions"""

    @property
    def exact(self) -> bool:
        """Whether nothing differs."""
        return not (self.bias or self.noise or self.configuration_noise)

    def make(self, scene: Scene) -> PredictedWorkload | None:
        """The jobs with predicted times; None where nothing differs."""
        if self.exact:
            return None
        return PredictedWorkload(predicted(scene.workload, self, scene.streams), self.learned)


class PredictedWorkload(NamedTuple):
    """Workload as policies see it, and whether it is corrected while jobs run."""

    workload: Workload
    learned: bool = False


def predicted(workload: Workload, predictions: Predictions, streams: Streams) -> Workload:
    """The workload with predicted times; itself where nothing differs.

    Pure; the errors come from a stream of their own (``predictions``), so all policies are shown
    the same.

    Raises
    ------
    InputError
        A performance model of another package.
    """
    workload = workload.without_record()
    if predictions.exact:
        return workload
    rng = streams.generator("predictions")
    factor = (1 + predictions.bias) * _factors(rng, predictions.noise, (len(workload),))
    return replace(workload, performance=_times(workload.performance, factor, predictions, rng))


def _times(
    performance: Performance, factor: FloatArray, predictions: Predictions, rng: np.random.Generator
) -> Performance:
    each = predictions.configuration_noise
    if isinstance(performance, TimeTable):
        table = performance.times_s
        times_s = table * factor[:, None, None] * _factors(rng, each, table.shape)
        if isinstance(performance, SensitiveTable):
            return replace(performance, times_s=times_s)
        return TimeTable(times_s)
    if isinstance(performance, FixedDuration | Sensitivity | SpeedupCurve):
        # One configuration a job, or one curve: its error is one number as well.
        own = factor * _factors(rng, each, factor.shape)
        seen = replace(performance, duration_s=performance.duration_s * own)
        if isinstance(seen, DurationByType):
            seen = replace(seen, times_s=seen.times_s * own[:, None])
        return seen
    raise InputError(
        f"predictions: performance is {type(performance).__name__}, expected FixedDuration, "
        "TimeTable, SpeedupCurve or Sensitivity"
    )


def _factors(rng: np.random.Generator, cv: float, shape: tuple[int, ...]) -> FloatArray:
    """Lognormal factors of mean 1 and this standard deviation; ones where it is 0."""
    if not cv:
        return np.ones(shape)
    variance = math.log1p(cv * cv)
    return np.asarray(rng.lognormal(-variance / 2, math.sqrt(variance), shape))


class PredictedTimes(Feature):
    """Jobs as policies and dispatchers see them."""

    def __init__(self, shown: Workload) -> None:
        self._shown = shown

    def shown(self, workload: Workload) -> Workload:
        """The jobs with predicted times."""
        if self._shown.job_id != workload.job_id:
            raise InputError("shown: its jobs are others than the workload's, expected the same")
        return self._shown


class LearnedTimes(PredictedTimes):
    """Observations of the jobs of one simulation: their times over the predicted ones.

    It corrects the remaining work that policies see (`View.remaining`), in units of the predicted work.
    Times are residual times for every policy: remaining work times predicted time. So the correction
    reaches each of them, those too that read the times once. ``view.learned`` tells a policy that corrects
    times by itself.
    """

    name = "learned"

    def seen(self, controller: Controller) -> bool:
        """True: what remains is corrected."""
        return True

    def attach(self, simulation: Simulation) -> None:
        """Begin with the predictions as they are."""
        self._simulation = simulation
        self._ratio = np.ones(len(simulation.workload))
        self._seen: dict[int, Execution] = {}

    def shown_work(self, jobs: IntArray | int) -> FloatArray:
        """True over predicted time of each job, as far as it was observed; else 1."""
        return np.asarray(self._ratio[jobs])

    def before_decision(self, controller: Controller) -> None:
        """Look at the jobs that run; what neighbours cost is known, and no property of a job."""
        simulation, now_s = self._simulation, controller.clock.now
        for job, execution in controller.executions.items():
            if self._seen.get(job) is execution:
                continue
            if simulation.jobs.remaining_at(job, now_s) > 1 - OBSERVED:
                continue
            expected_s = simulation.time_on_s(simulation.rows, job, execution.shares)
            if 0 < expected_s < math.inf:
                self._ratio[job] = execution.time_s / expected_s
                self._seen[job] = execution
