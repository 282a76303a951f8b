"""The traces of Synergy: derived from production, and those of the deployment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from simulator.arguments import whole
from simulator.errors import InputError
from simulator.files.bundled import rows_of
from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.gpu_demand import gpu_demand_law
from simulator.workloads.networks.named import models_of_split


def derived_trace(
    num_jobs: int,
    streams: Streams,
    *,
    split: Sequence[float] = (20, 70, 10),
    jobs_per_hour: float | None = None,
    multi_gpu: bool = False,
    gpu_law: str = "philly",
) -> Workload:
    """The production-derived trace of Section 5.1, at GPU-proportional durations.

    Minutes are 10^x, x uniform on [1.5, 3] with probability 0.8 and on [3, 4] with 0.2 (16.8 h on
    average). A task is the one that lags most behind its share of the split; the networks of a task
    take turns.

    Parameters
    ----------
    num_jobs : how many.
    streams : of ``arrivals``, ``durations`` and ``gpus``; the same jobs come at every load.
    split : shares of image, language and speech jobs.
    jobs_per_hour : rate of the Poisson arrivals; None: all jobs at time 0.
    multi_gpu : GPUs drawn from ``gpu_law`` (up to 16), else 1 each.
    gpu_law : ``"philly"`` or ``"gavel"``, a law of ``data/synergy_gpu_demand.csv``.
    """
    whole(1, "derived trace", num_jobs=num_jobs)
    if jobs_per_hour is not None and not 0 < jobs_per_hour < np.inf:
        raise InputError(f"derived trace: {jobs_per_hour} jobs/h, expected a number > 0")
    rng = streams.generator("durations")
    long = rng.random(num_jobs) < 0.2
    x = np.where(long, rng.uniform(3, 4, num_jobs), rng.uniform(1.5, 3, num_jobs))
    gpus = np.ones(num_jobs, dtype=np.int64)
    if multi_gpu:
        sizes, probability = gpu_demand_law(gpu_law)
        gpus = streams.generator("gpus").choice(sizes, size=num_jobs, p=probability)
    submit_s = np.zeros(num_jobs)
    if jobs_per_hour is not None:
        gaps = streams.generator("arrivals").exponential(size=num_jobs)
        submit_s = np.cumsum(gaps) * SECONDS_PER_HOUR / jobs_per_hour
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=submit_s,
        performance=FixedDuration(60 * 10**x, gpus),
        model=models_of_split(num_jobs, split),
    )


def deployment_trace(name: Literal["static", "dynamic"]) -> Workload:
    """One of the two traces behind Table 5: 100 single-GPU jobs on four servers.

    ``static``: all at time 0, split (60, 30, 10), scheduled with FIFO in the paper; ``dynamic``:
    arrivals over time, split (30, 60, 10), with SRTF.
    """
    if name not in ("static", "dynamic"):
        raise InputError(f"deployment trace: got {name!r}, expected 'static' or 'dynamic'")
    table = rows_of(f"synergy_trace_{name}.csv")
    gpus = np.array([int(row["num_gpus"]) for row in table], dtype=np.int64)
    return Workload(
        job_id=[str(row["job_id"]) for row in table],
        submit_s=np.array([float(row["submit_s"]) for row in table]),
        performance=FixedDuration(np.array([float(row["duration_s"]) for row in table]), gpus),
        model=[row["model"] for row in table],
    )
