"""Performance model of jobs that need a part of a GPU, or several whole ones, for a known time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.performance import FixedDuration
from simulator.model.tolerances import PART_OF_A_GPU
from simulator.model.workload import Workload


@dataclass(frozen=True)
class SharedDuration(FixedDuration):
    """Jobs that need a part of one GPU, or several whole ones, for a known time.

    A job of a part may hold a whole GPU, too; it is no faster then. Others on the GPU do not slow a job
    down: each has its part for itself.

    Parameters
    ----------
    part : ``(J,)`` of each GPU, in (0, 1]; 1 where there are several.
    """

    part: FloatArray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        part = np.array(np.ones(len(self)) if self.part is None else self.part, dtype=np.float64)
        good = (part > 0) & (part <= 1) & ((self.num_gpus == 1) | (part == 1))
        if part.shape != self.duration_s.shape or not good.all():
            raise InputError(
                f"parts of GPUs: {part.tolist()[:3]}.., expected one above 0 and at most 1 a job, "
                "and 1 for jobs of several GPUs"
            )
        part.flags.writeable = False
        object.__setattr__(self, "part", part)

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds with the job's part, or its whole GPUs; infinite with any other number."""
        own = self.num_gpus.item(job)
        fits = gpus == own or abs(gpus - own * self.part.item(job)) < PART_OF_A_GPU
        return self.duration_s.item(job) if fits else math.inf

    def work_gpu_s(self, cluster: Cluster) -> FloatArray:
        """GPUs, or the part of one, times duration."""
        return np.asarray(self.duration_s * self.num_gpus * self.part, dtype=np.float64)


def shares_gpus(workload: Workload) -> bool:
    """Whether jobs need parts of GPUs, so that several are on one GPU."""
    return isinstance(workload.performance, SharedDuration)


def demanded_gpus(workload: Workload, in_parts: bool) -> FloatArray:
    """``(J,)`` GPUs that each job holds while it runs: parts of one where the policy gives parts; 0: it chooses."""
    gpus = workload.num_gpus.astype(np.float64)
    performance = workload.performance
    if in_parts and isinstance(performance, SharedDuration):
        gpus *= performance.part
    return gpus
