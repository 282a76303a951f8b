"""Jobs among which time is shared, and the shares: input and output of every allocation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.model.cluster import FloatArray, IntArray

Shares = FloatArray
"""``(n, K)``: the part of its time that each job runs on GPUs of each type."""


@dataclass(frozen=True, eq=False)
class Active:
    """``n`` jobs in order of submission, and ``K`` types of GPU.

    Attributes
    ----------
    rate : ``(n, K)`` work/s of each job on each type; 0: it cannot run there.
    gpus : ``(n,)`` GPUs that each job takes.
    capacity : ``(K,)`` GPUs of each type.
    left : ``(n,)`` work that is left, in the unit of ``rate``.
    weight : ``(n,)`` of each job's share.
    age_s : ``(n,)`` seconds since submission.
    """

    rate: FloatArray
    gpus: IntArray
    capacity: IntArray
    left: FloatArray
    weight: FloatArray
    age_s: FloatArray

    def __len__(self) -> int:
        return len(self.gpus)

    def throughput(self, shares: Shares) -> FloatArray:
        """``(n,)`` work/s of each job under these shares."""
        return np.asarray((self.rate * shares).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Pairs:
    """``P`` pairs of jobs of one GPU that may share it.

    Attributes
    ----------
    members : ``(P, 2)`` rows of both jobs in `Active`.
    speed : ``(P, 2, K)`` of each beside the other, relative to the job alone; 0: they do not run together.
    """

    members: IntArray
    speed: FloatArray

    def __len__(self) -> int:
        return len(self.members)

    def useful(self) -> Pairs:
        """Pairs that share some type of GPU; not where the sum of speeds is at most 1, since taking turns is as good."""
        shares_it = (self.speed.sum(axis=1) > 1) & (self.speed > 0).all(axis=1)
        speed = np.where(shares_it[:, None, :], self.speed, 0.0)
        some = shares_it.any(axis=1)
        return Pairs(self.members[some], speed[some])
