"""Cost of a job from now on if it had the machines to itself: V_j(r, d).

With r of its work left and d seconds to its due date, at a price lambda of node-time,

    A_j(m)    = min over k of t_jk (p_k + lambda s_k + m)
    V_j(r, d) = max over 0 <= m <= w_j of [r A_j(m) - m d].

m is what a second is worth to the job. At a fixed m the job takes the configuration that is best
when time costs m a second, so r A_j(m) - m d is a lower bound on lease plus tardiness, and the best m
makes it exact for a job that may change its configuration on the way: V is the lower convex hull
of the configurations' costs over their times, plus w_j a second beyond the due date. It is convex in
d, and linear when r and d grow together. Where the lease has an end, that is a second due date, and m*(d, C) of
`policies.foresight.due_dates` takes the place of m d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies.foresight.due_dates import SLOPES, DueDates
from simulator.model.cluster import FloatArray


def support(times_s: FloatArray, rate_per_s: FloatArray, slopes: FloatArray) -> FloatArray:
    """``(n, M)`` A_j(m): least cost of the whole job when a second costs m.

    Parameters
    ----------
    times_s : ``(n, C)`` of the whole job, s; infinite where it cannot run.
    rate_per_s : ``(C,)`` p_k + lambda s_k.
    slopes : ``(n, M)``.
    """
    possible = np.isfinite(times_s)
    # An impossible configuration must stay infinite also where it would cost nothing a second.
    base = np.where(possible, times_s, 0.0) * rate_per_s
    base[~possible] = np.inf
    times = np.where(possible, times_s, 0.0)
    result = np.empty_like(slopes)
    for i in range(slopes.shape[1]):
        result[:, i] = (base + slopes[:, i : i + 1] * times).min(axis=1)
    return result


@dataclass(frozen=True, eq=False)
class Value:
    """V_j of n jobs.

    Attributes
    ----------
    dates : the due dates.
    slopes, least : ``(n, M)`` m and A_j(m).
    """

    dates: DueDates
    slopes: FloatArray
    least: FloatArray

    @classmethod
    def of(
        cls, dates: DueDates, times_s: FloatArray, rate_per_s: FloatArray, count: int = SLOPES
    ) -> Value:
        """Of ``(n, C)`` times of the whole jobs and ``(C,)`` p_k + lambda s_k, at so many values of m."""
        slopes = dates.slopes(count)
        return cls(dates, slopes, support(times_s, rate_per_s, slopes))

    def __call__(self, remaining: FloatArray, passed_s: float) -> FloatArray:
        """V_j after some seconds, for ``(n,)`` or ``(n, C)`` of r."""
        columns = (slice(None),) + (None,) * (remaining.ndim - 1)
        conjugate = self.dates.conjugate(self.slopes, passed_s)
        value = np.full(remaining.shape, -np.inf)
        for i in range(self.slopes.shape[1]):
            a, at_dates = self.least[:, i][columns], conjugate[:, i][columns]
            np.maximum(value, remaining * a - at_dates, out=value)
        return value


@dataclass(frozen=True, eq=False)
class SingleValue:
    """V_j of n jobs that keep one configuration to the end, so without the hull:

        min over k of [r t_jk (p_k + lambda s_k) + w_j (r t_jk - d)^+],

    with the lateness after both dates where there are two.

    Attributes
    ----------
    dates : the due dates.
    times_s : ``(n, C)`` of the whole job, s; infinite where it cannot run.
    rate_per_s : ``(C,)`` p_k + lambda s_k, or ``(C, L)`` where each column of r has a lambda.
    """

    dates: DueDates
    times_s: FloatArray
    rate_per_s: FloatArray

    def __call__(self, remaining: FloatArray, passed_s: float) -> FloatArray:
        """V_j after some seconds, for ``(n,)``, ``(n, C)`` or ``(n, L)`` of r."""
        columns = (slice(None),) + (None,) * (remaining.ndim - 1)
        value = np.full(remaining.shape, np.inf)
        for k in range(self.times_s.shape[1]):
            possible = np.isfinite(self.times_s[:, k])
            whole = np.where(possible, self.times_s[:, k], 0.0)  # 0 times infinite has no value
            time = remaining * whole[columns]
            cost = time * self.rate_per_s[k] + self.dates.lateness_cost(time, passed_s)
            cost[~possible] = np.inf
            np.minimum(value, cost, out=value)
        return value


STEPS = ((0.42, 0.63), (1.0, 0.37))
"""Lengths of a step in units of the mean gap, and their weights: two points for the exponential
time until the next event."""

ONE_STEP = ((1.0, 1.0),)


def step_gain(
    value: Value | SingleValue,
    remaining: FloatArray,
    times_s: FloatArray,
    step_s: float,
    speed: FloatArray | None = None,
) -> FloatArray:
    """``(n, C)`` what it saves to run a job on each configuration for a step, rather than wait.

    V_j(r, d - x) - V_j(r - x / t_jk, d - x); where the job ends within the step, the second term
    is what its lateness costs. Minus infinity where it cannot run.

    Parameters
    ----------
    remaining : ``(n,)``.
    times_s : ``(n, C)`` of the whole job, s.
    step_s : x.
    speed : ``(n, C)`` part of the step in which the job gets on (reconfiguration), 1 where None.
    """
    possible = np.isfinite(times_s)
    times = np.where(possible, times_s, 1.0)
    done = step_s / times if speed is None else speed * step_s / times
    after = np.maximum(remaining[:, None] - done, 0.0)
    at_end = value.dates.lateness_cost(remaining[:, None] * times)
    gain = value(remaining, step_s)[:, None] - np.where(after > 0.0, value(after, step_s), at_end)
    return np.where(possible, gain, -np.inf)
