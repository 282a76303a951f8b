"""Jobs like those of two clusters that develop large language models, Seren and Kalos (Acme).

Q. Hu et al., Characterization of large language model development in the datacenter, NSDI 2024; the summary of its
released trace (InternLM/AcmeTrace, CC-BY-4.0) gives for each cluster the mean and the median of the running times, the
mean, the median and the largest number of GPUs, and the GPU-seconds of all jobs. A law of each is chosen here that has
these: sizes are powers of two with geometric probabilities, one GPU with probability 0.6 (the median is 1); running
times are lognormal, and a doubling of the GPUs multiplies their median by a factor.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from simulator.files.keys import Positive
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.table import JobCount, Setting, WorkloadTable

ONE_GPU = 0.6
SIZES = 2 ** np.arange(11)


class SizeLaw(NamedTuple):
    """Sizes and running times of a cluster's jobs.

    Attributes
    ----------
    ratio : of the probabilities of a size and its half, from 4 GPUs on.
    median_s : of the running times on one GPU, s.
    doubling : what it is multiplied by for each doubling of the GPUs.
    sigma : of the logarithm of a running time.
    longest_s : longest time, s; longer ones count as that.
    """

    ratio: float
    median_s: float
    doubling: float
    sigma: float
    longest_s: float

    def probabilities(self) -> FloatArray:
        """``(11,)`` of 1, 2, 4, .. 1024 GPUs."""
        parallel = self.ratio ** np.arange(1, len(SIZES))
        rest: FloatArray = parallel / parallel.sum() * (1 - ONE_GPU)
        return np.concatenate([[ONE_GPU], rest])


LAWS = {
    "seren": SizeLaw(0.53314, 98.377, 1.29392, 2.17120, 1_209_604.0),
    "kalos": SizeLaw(0.76364, 78.387, 1.42751, 1.86943, 625_740.0),
}


class AcmeLikeJobs(WorkloadTable):
    """Jobs like those of two clusters for large language models (Acme): few gangs of up to 1,024 GPUs have most work."""

    kind: Literal["acme-like"] = "acme-like"
    num_jobs: JobCount = 1000
    """number of jobs"""
    like: Literal["kalos", "seren"] = "kalos"
    """the cluster: in Kalos a job has 26.8 GPUs on average, in Seren 5.7"""
    jobs_per_hour: Positive = Field(examples=[20])
    """rate of the Poisson arrivals"""

    def make(self, setting: Setting) -> Workload:
        """The jobs; streams ``gpus``, ``durations`` and ``arrivals``."""
        law, streams = LAWS[self.like], setting.streams
        doublings = streams.generator("gpus").choice(
            len(SIZES), size=self.num_jobs, p=law.probabilities()
        )
        factor = streams.generator("durations").lognormal(0.0, law.sigma, self.num_jobs)
        duration_s = np.minimum(law.median_s * law.doubling**doublings * factor, law.longest_s)
        gaps = streams.generator("arrivals").exponential(size=self.num_jobs)
        return Workload(
            job_id=[str(j) for j in range(self.num_jobs)],
            submit_s=np.cumsum(gaps) * SECONDS_PER_HOUR / self.jobs_per_hour,
            performance=FixedDuration(duration_s, SIZES[doublings]),
        )

    def with_few_jobs(self) -> Self:
        """So many that the largest demands are among them."""
        return self.model_copy(update={"num_jobs": min(self.num_jobs, 500)})
