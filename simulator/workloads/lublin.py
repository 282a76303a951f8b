"""Jobs by the model of Lublin and Feitelson: sizes, running times and a day of submissions, with requested times.

U. Lublin and D. Feitelson, The workload on parallel supercomputers: modeling the characteristics of rigid jobs, Journal
of Parallel and Distributed Computing 63(11), 2003; its parameters for all jobs together. Requested times follow
A. Mu'alem and D. Feitelson, IEEE Transactions on Parallel and Distributed Systems 12(6), 2001: a running time times a
uniform number.

With 256 GPUs the means of 20,000 jobs are 4,965 s and 22.1 GPUs; RLScheduler (Zhang et al., SC 2020) prints 4,862 s and 22
for jobs of this model.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from simulator.files.keys import NonNegative, Positive
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.table import JobCount, Setting, WorkloadTable

SERIAL, POWER_OF_TWO = 0.244, 0.576
"""Probabilities that a job has one processor, and that a parallel one has a power of two."""
LOW, BELOW_MOST, FIRST = 0.8, 2.5, 0.86
"""Of log2 of a parallel job's size: least value, change of density below the largest, probability below the change."""
SHORT, LONG = (4.2, 0.94), (312.0, 0.03)
"""Shape and scale of log(running time / s), of short and long jobs."""
SLOPE, AT_NONE, LEAST_P = -0.0054, 0.78, 0.05
"""Probability of a short job by its size, at least 0.05 and at most 0.95."""
MOST_LOG_RUN, MOST_LOG_GAP = 12.0, 13.0
"""Logarithms of times that are drawn again: two days, five days."""
GAP = (10.2303 * 1.0225, 0.4871)
"""Shape and scale of log(gap / s) at a mean hour of the day."""
DAY = (8.1737, 3.9631)
"""Shape and scale of the time of day of submissions, in half hours."""
HALF_HOUR_S, HALF_HOURS, FIRST_HALF_HOUR = 1800, 48, 11


class LublinJobs(WorkloadTable):
    """Jobs by Lublin's and Feitelson's model of parallel supercomputers: sizes, running times, a day of submissions."""

    kind: Literal["lublin"] = "lublin"
    num_jobs: JobCount = 1000
    """number of jobs"""
    num_gpus: Annotated[int, Field(ge=8, le=2**20)] = 256
    """GPUs of the largest jobs: the size of the system"""
    load: Positive | None = Field(default=None, examples=[0.8])
    """offered load on so many GPUs, by longer or shorter gaps; left out: the gaps of the model"""
    overestimate: NonNegative = 4.0
    """jobs ask for their running time times a uniform number from 1 to 1 + overestimate"""

    def make(self, setting: Setting) -> Workload:
        """The jobs; streams ``gpus``, ``durations``, ``arrivals`` and ``requested``."""
        streams = setting.streams
        gpus = sizes(streams.generator("gpus"), self.num_jobs, self.num_gpus)
        duration_s = running_times_s(streams.generator("durations"), gpus)
        gaps = _below(streams.generator("arrivals"), *GAP, MOST_LOG_GAP, self.num_jobs)
        at_mean_hours_s = np.cumsum(np.exp(gaps))
        if self.load is not None:
            span_s = float(gpus @ duration_s) / (self.num_gpus * self.load)
            at_mean_hours_s *= span_s / at_mean_hours_s[-1]
        factor = 1 + self.overestimate * streams.generator("requested").random(self.num_jobs)
        return Workload(
            job_id=[str(j) for j in range(self.num_jobs)],
            submit_s=in_the_day_s(at_mean_hours_s),
            performance=FixedDuration(duration_s, gpus),
            requested_s=duration_s * factor,
        )

    def with_few_jobs(self) -> Self:
        """So many that the largest demands are among them."""
        return self.model_copy(update={"num_jobs": min(self.num_jobs, 500)})


def sizes(rng: np.random.Generator, count: int, most: int) -> IntArray:
    """``(n,)`` GPUs: one, or 2 to the power of a two-stage uniform number, often a power of two."""
    high = math.log2(most)
    middle = high - BELOW_MOST
    in_first = rng.random(count) < FIRST
    log2 = np.where(
        in_first, rng.uniform(min(LOW, middle), middle, count), rng.uniform(middle, high, count)
    )
    log2 = np.where(rng.random(count) < POWER_OF_TWO, np.floor(log2 + 0.5), log2)
    parallel = np.floor(2.0**log2 + 0.5).astype(np.int64)
    found: IntArray = np.where(rng.random(count) < SERIAL, 1, np.clip(parallel, 1, most))
    return found


def running_times_s(rng: np.random.Generator, gpus: IntArray) -> FloatArray:
    """``(n,)`` s: exp of a hyper-gamma number; larger jobs are more often long ones."""
    short = np.clip(SLOPE * gpus + AT_NONE, LEAST_P, 1 - LEAST_P)
    log_s = np.where(
        rng.random(len(gpus)) < short,
        _below(rng, *SHORT, MOST_LOG_RUN, len(gpus)),
        _below(rng, *LONG, MOST_LOG_RUN, len(gpus)),
    )
    return np.asarray(np.exp(log_s))


def in_the_day_s(at_mean_hours_s: FloatArray) -> FloatArray:
    """Times of submission, s after midnight, of times that pass as fast as jobs are submitted at each hour."""
    from scipy.special import gammainc

    shape, scale = DAY
    edges = FIRST_HALF_HOUR - 0.5 + np.arange(HALF_HOURS + 1)
    part = np.diff(gammainc(shape, edges / scale))
    part = np.roll(part / part.sum(), FIRST_HALF_HOUR)
    day_s = HALF_HOUR_S * HALF_HOURS
    passed_s = day_s * np.concatenate([[0.0], np.cumsum(part)])
    days, within_s = np.divmod(at_mean_hours_s, day_s)
    clock_s = np.interp(within_s, passed_s, HALF_HOUR_S * np.arange(HALF_HOURS + 1))
    return np.asarray(days * day_s + clock_s)


def _below(
    rng: np.random.Generator, shape: float, scale: float, most: float, count: int
) -> FloatArray:
    """``(n,)`` gamma numbers, drawn again where they are larger."""
    found = rng.gamma(shape, scale, count)
    while (large := found > most).any():
        found[large] = rng.gamma(shape, scale, int(large.sum()))
    return np.asarray(found)
