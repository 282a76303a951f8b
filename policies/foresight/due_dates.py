"""Due dates of jobs: the job's own one and, where idle nodes have a price, the end of the lease.

A job that ends at t, with dates d_1 <= d_2 and weights w_1, w_2 a second, costs

    w_1 (t - d_1)^+ + w_2 (t - d_2)^+  =  max over 0 <= m <= w_1 + w_2 of [m t - m*(d_1, d_2)],
    m*(d_1, d_2) = min(m, w_1) d_1 + (m - w_1)^+ d_2.

m is what a second is worth to the job: what of it the weight of the earlier date can pay counts to that date, what is
above to the later one. With one date, m* = m d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.model.cluster import FloatArray

SLOPES = 24
"""Values of m that are looked at: 0, then geometric from W/10,000 up to W, the sum of the weights."""

NEVER_S = 1e12
"""Time to the due date of a job that has none."""


def slopes_of(weight_per_s: FloatArray, count: int = SLOPES) -> FloatArray:
    """``(n, M)`` values of m for each job, from 0 to ``(n,)`` weights."""
    relative = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, count - 1)])
    slopes: FloatArray = weight_per_s[:, None] * relative
    return slopes


@dataclass(frozen=True, eq=False)
class DueDates:
    """The due dates of n jobs, the earliest of each first.

    Attributes
    ----------
    in_s, weight_per_s : ``(D, n)`` seconds to each date, and the cost of a second after it; D is 1 or 2.
    """

    in_s: FloatArray
    weight_per_s: FloatArray

    @property
    def with_end(self) -> bool:
        """Whether there are two dates."""
        return len(self.in_s) > 1

    @classmethod
    def of(cls, in_s: FloatArray, weight_per_s: FloatArray) -> DueDates:
        """Of ``(n,)`` due dates and weights."""
        return cls(in_s[None], weight_per_s[None])

    def beside(self, end_in_s: float, weight_per_s: float) -> DueDates:
        """With a second date, which is the same for all jobs."""
        in_s = np.vstack([self.in_s, np.full_like(self.in_s, end_in_s)])
        weight = np.vstack([self.weight_per_s, np.full_like(self.weight_per_s, weight_per_s)])
        order = in_s.argsort(axis=0, kind="stable")
        return DueDates(*(np.take_along_axis(a, order, axis=0) for a in (in_s, weight)))

    def slopes(self, count: int = SLOPES) -> FloatArray:
        """``(n, M)`` values of m to look at, with w_1 where there are two dates: there m* has a corner."""
        slopes = slopes_of(self.weight_per_s.sum(axis=0), count)
        return np.hstack([slopes, self.weight_per_s[:-1].T])

    def conjugate(self, slopes: FloatArray, passed_s: float) -> FloatArray:
        """``(n, M)`` m* after some seconds, at ``(n, M)`` values of m."""
        *earlier, last = self.in_s - passed_s
        result, rest = np.zeros(slopes.shape), slopes
        for date, weight in zip(earlier, self.weight_per_s, strict=False):
            part = np.minimum(rest, weight[:, None])
            result, rest = result + part * date[:, None], rest - part
        found: FloatArray = result + rest * last[:, None]
        return found

    def lateness_cost(self, time_s: FloatArray, passed_s: float = 0.0) -> FloatArray:
        """Cost of ending so many seconds after ``passed_s``; ``(n,)``, ``(n, C)`` or ``(n, L)``."""
        columns = (slice(None),) + (None,) * (time_s.ndim - 1)
        cost = np.zeros(time_s.shape)
        for date, weight in zip(self.in_s - passed_s, self.weight_per_s, strict=True):
            cost = cost + weight[columns] * np.maximum(time_s - date[columns], 0.0)
        return cost

    def urgency(self, time_s: FloatArray) -> FloatArray:
        """``(n,)`` part of the time to the earlier date that a job needs, at its fastest ``(n,)``; infinite after
        that date."""
        first = self.in_s[0]
        return np.where(first > 0.0, time_s / np.where(first > 0.0, first, 1.0), np.inf)
