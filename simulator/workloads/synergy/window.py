"""The window of the Philly log that Figure 6 of the Synergy paper replays.

The released simulator takes the jobs submitted 2,400 to 3,000 h after the log's first submission. When that was
is not published with the jobs: the public table begins later. So the time of it is a key.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from pydantic import Field

from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.files.keys import Positive
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.networks.named import models_of_split
from simulator.workloads.synergy.draw import SIZES
from simulator.workloads.table import JobCount, Modelled, Setting, Split

WINDOW_S = (2400 * 3600.0, 3000 * 3600.0)
"""After the log's first submission."""


class PhillyWindowJobs(Modelled):
    """Jobs of the Philly log submitted 2,400 to 3,000 h after its first, as Synergy's released simulator replays them.

    They are in ``data/synergy_philly_jobs.csv``: runs of 10^1.5 to 10^4 minutes; jobs of other than 1, 2, 4, 8 or 16
    GPUs are left out. Times start with the first job.
    """

    kind: Literal["philly-window"] = "philly-window"
    num_jobs: JobCount = 8000
    """number of jobs, at most: the first in the window"""
    began_days_earlier: Positive = Field(examples=[28])
    """days from the log's first submission, which is not published, to the first one of the table"""
    split: Split = Field(default=[20.0, 70.0, 10.0])
    """shares of image, language and speech models"""

    def make(self, setting: Setting) -> Workload:
        """The jobs; no random numbers."""
        table = read_table("synergy_philly_jobs.csv")
        after_s = table["gap_s"].cumsum().to_numpy() + 86400.0 * self.began_days_earlier
        inside = (after_s > WINDOW_S[0]) & (after_s < WINDOW_S[1])
        chosen = np.flatnonzero(inside & table["num_gpus"].isin(SIZES).to_numpy())[: self.num_jobs]
        if not len(chosen):
            raise InputError(
                f"workload.began_days_earlier: {self.began_days_earlier:g} days put no job into the window, "
                "expected about 20 to 100"
            )
        return Workload(
            job_id=[str(job) for job in range(len(chosen))],
            submit_s=after_s[chosen] - after_s[chosen[0]],
            performance=FixedDuration(
                table["duration_s"].to_numpy(dtype=np.float64)[chosen],
                table["num_gpus"].to_numpy()[chosen],
            ),
            model=models_of_split(len(chosen), self.split),
        )

    @property
    def is_fixed(self) -> bool:
        """They are those of the log."""
        return True

    def with_few_jobs(self) -> Self:
        """The first ones."""
        return self.model_copy(update={"num_jobs": min(self.num_jobs, 500)})
