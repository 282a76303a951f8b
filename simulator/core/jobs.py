"""State of all jobs, as columns: how much work is left, how fast it shrinks, what the job holds."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simulator.model.cluster import FloatArray, IntArray


def column_of(value: float, count: int) -> array[float]:
    """A column of ``count`` equal numbers."""
    return array("d", [value]) * count


@dataclass(slots=True)
class JobStates:
    """One number a job in each column, ``(J,)``.

    Attributes
    ----------
    remaining : fraction of the work that was left at ``since_s``.
    rate : fraction of the work that is done in a second from ``since_s`` on; 0: the job does not run.
        ``since_s`` lies in the future while a job restarts or saves.
    since_s : the time from which ``remaining`` and ``rate`` count, s.
    gpus, held_since_s : GPUs that the job holds, and from when on.
    attained_gpu_s, running_s : GPU-seconds that it had held, and seconds that it had held GPUs, before
        ``held_since_s``.
    first_start_s : NaN before its first start.
    """

    job_columns: ClassVar[tuple[str, ...]] = (
        "remaining",
        "rate",
        "since_s",
        "gpus",
        "held_since_s",
        "attained_gpu_s",
        "running_s",
        "first_start_s",
    )

    remaining: array[float]
    rate: array[float]
    since_s: array[float]
    gpus: array[float]
    held_since_s: array[float]
    attained_gpu_s: array[float]
    running_s: array[float]
    first_start_s: array[float]

    @classmethod
    def of_size(cls, count: int) -> JobStates:
        """All jobs whole, waiting, never started."""
        start = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, math.nan)
        return cls(*(column_of(value, count) for value in start))

    def remaining_at(self, job: int, now_s: float) -> float:
        """Fraction of the job's work that is left."""
        elapsed_s = now_s - self.since_s[job]
        left = self.remaining[job]
        return max(0.0, left - self.rate[job] * elapsed_s) if elapsed_s > 0 else left

    def all_remaining_at(self, jobs: IntArray, now_s: float) -> FloatArray:
        """`remaining_at` of several jobs."""
        elapsed_s = now_s - np.frombuffer(self.since_s)[jobs]
        left = np.frombuffer(self.remaining)[jobs]
        now_left = np.maximum(left - np.frombuffer(self.rate)[jobs] * elapsed_s, 0.0)
        return np.where(elapsed_s > 0, now_left, left)

    def attained_at(self, job: int, now_s: float) -> float:
        """GPU-seconds that the job has held."""
        return self.attained_gpu_s[job] + self.gpus[job] * (now_s - self.held_since_s[job])
