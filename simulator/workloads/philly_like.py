"""Jobs like those of the Philly trace: its demands of GPUs, its durations, and networks in given shares."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from pydantic import Field

from simulator.files.bundled import rows_of
from simulator.files.keys import Positive
from simulator.model.cluster import SECONDS_PER_HOUR
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.networks.named import models_of_split
from simulator.workloads.table import JobCount, Modelled, Setting, Split


class PhillyLikeJobs(Modelled):
    """Jobs with the GPU demands and durations of the Philly trace, and Poisson arrivals.

    Durations come from the quantiles of jobs with as many GPUs
    (``data/synergy_philly_durations.csv``), linear in between.
    """

    kind: Literal["philly-like"] = "philly-like"
    num_jobs: JobCount = 1000
    """number of jobs"""
    jobs_per_hour: Positive = Field(examples=[20])
    """rate of the Poisson arrivals"""
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
