"""The traces of Synergy: derived from production, like Philly's, and those of the deployment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal, Self

import numpy as np
from pydantic import Field

from simulator.arguments import whole
from simulator.errors import InputError
from simulator.files.bundled import rows_of
from simulator.files.keys import Positive
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray, IntArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.synergy.dnn_models import TASKS, dnn_models
from simulator.workloads.table import JobCount, Modelled, Setting, Split


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


class PhillyLikeJobs(Modelled):
    """Jobs with the GPU demands and durations of the Philly trace, and Poisson arrivals.

    Durations come from the quantiles of jobs with as many GPUs
    (``data/synergy_philly_durations.csv``), linear in between.
    """

    kind: Literal["philly-like"] = "philly-like"
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_hour: Positive = Field(examples=[20])
    """Poisson arrivals"""
    split: Split = Field(default=[20.0, 70.0, 10.0])
    """shares of image, language and speech models"""

    def make(self, setting: Setting) -> Workload:
        """The jobs; streams ``gpus``, ``durations`` and ``arrivals``."""
        streams = setting.streams
        quantiles: dict[int, tuple[int, list[tuple[float, float]]]] = {}
        for row in rows_of("synergy_philly_durations.csv"):
            points = quantiles.setdefault(int(row["num_gpus"]), (int(row["jobs"]), []))[1]
            points.append((float(row["quantile"]), float(row["duration_s"])))
        jobs = np.array([count for count, _ in quantiles.values()])
        gpus = streams.generator("gpus").choice(
            list(quantiles), size=self.num_jobs, p=jobs / jobs.sum()
        )
        at = streams.generator("durations").random(self.num_jobs)
        duration_s = np.zeros(self.num_jobs)
        for size, (_, points) in quantiles.items():
            q, seconds = np.array(points).T
            duration_s = np.where(gpus == size, np.interp(at, q, seconds), duration_s)
        gaps = streams.generator("arrivals").exponential(size=self.num_jobs)
        return Workload(
            job_id=[str(j) for j in range(self.num_jobs)],
            submit_s=np.cumsum(gaps) * SECONDS_PER_HOUR / self.jobs_per_hour,
            performance=FixedDuration(duration_s, gpus),
            model=models_of_split(self.num_jobs, self.split),
        )

    def with_few_jobs(self) -> Self:
        """So many that the largest demands are among them."""
        return self.model_copy(update={"num_jobs": min(self.num_jobs, 500)})


def models_of_split(num_jobs: int, split: Sequence[float]) -> list[str]:
    """A network for each job: the task furthest behind its share, its networks in turn.

    Raises InputError: the split is not three shares >= 0 with a positive sum.
    """
    share = np.array(split, dtype=np.float64)
    if share.shape != (len(TASKS),) or not (share >= 0).all() or not share.sum() > 0:
        raise InputError(
            f"split is {tuple(split)}, expected three shares >= 0: image, language, speech"
        )
    share /= share.sum()
    of_task = [[n.name for n in dnn_models().values() if n.task == task] for task in TASKS]
    shares = share.tolist()
    given = [0] * len(TASKS)
    models = []
    for job in range(1, num_jobs + 1):
        # In whole billionths: equal deficits stay equal whatever rounding does.
        lag = [round((s * job - g) * 1e9) for s, g in zip(shares, given, strict=True)]
        task = lag.index(max(lag))
        of = of_task[task]
        models.append(of[given[task] % len(of)])
        given[task] += 1
    return models


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


@cache
def gpu_demand_law(name: str) -> tuple[IntArray, FloatArray]:
    """GPUs and their probabilities."""
    table = rows_of("synergy_gpu_demand.csv")
    of_law = [(int(row["num_gpus"]), float(row["jobs"])) for row in table if row["law"] == name]
    if not of_law:
        known = ", ".join(dict.fromkeys(row["law"] for row in table))
        raise InputError(f"law of GPU demand is {name!r}, expected one of {known}")
    jobs = np.array([count for _, count in of_law])
    return np.array([gpus for gpus, _ in of_law], dtype=np.int64), jobs / jobs.sum()
