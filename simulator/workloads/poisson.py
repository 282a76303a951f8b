"""Poisson arrivals of jobs of fixed demand: the queues of the textbooks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.catalog import SECONDS_PER_HOUR
from simulator.laws import Law
from simulator.performance import FixedDuration
from simulator.statistics import Streams
from simulator.workload import Workload


def poisson_jobs(
    num_jobs: int,
    streams: Streams,
    *,
    arrival_rate_per_h: float,
    duration_s: Law,
    num_gpus: Sequence[int] = (1,),
) -> Workload:
    """Exponential gaps, durations from a law, GPU demands drawn with equal probability.

    Parameters
    ----------
    num_jobs : how many.
    streams : of ``arrivals``, ``durations`` and ``gpus``.
    arrival_rate_per_h : jobs per hour.
    duration_s : law of the durations, s.
    num_gpus : the demands to draw from.
    """
    mean_gap_s = SECONDS_PER_HOUR / arrival_rate_per_h
    gaps_s = streams.generator("arrivals").exponential(mean_gap_s, num_jobs)
    demand = streams.generator("gpus").choice(np.array(num_gpus, dtype=np.int64), num_jobs)
    durations_s = duration_s.sample(streams.generator("durations"), num_jobs)
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=np.cumsum(gaps_s),
        performance=FixedDuration(durations_s, demand),
        num_gpus=demand,
    )
