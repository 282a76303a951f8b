"""A number with its interval, from independent observations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import inside
from simulator.errors import InputError
from simulator.model.tolerances import SUMS

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.95
"""Confidence level of every interval, unless another is given."""

LEAST_SKEWED = 4
"""Observations from which on an interval is corrected for skewness: of three, it would cover no more, and be longer."""


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval, in the unit of the observations.

    Attributes
    ----------
    mean : the estimate (a mean, quantile or ratio).
    lower, upper : ends of the interval; infinite where one observation says nothing of its error.
    n : independent observations behind it (replications or batches).
    level : confidence level, 0.95 for 95 %.
    """

    mean: float
    lower: float
    upper: float
    n: int
    level: float = LEVEL

    @property
    def half_width(self) -> float:
        """Half of the interval's length."""
        return (self.upper - self.lower) / 2

    @property
    def relative_half_width(self) -> float:
        """Half width over the absolute mean; infinite at mean zero, 0 where both are zero."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf

    def at_least(self, least: float) -> Estimate:
        """The same of a quantity that is never below ``least``: the part of the interval that it can take."""
        return replace(self, lower=max(self.lower, least))

    def contains(self, value: float) -> bool:
        """True where the interval covers a value."""
        return self.lower <= value <= self.upper

    def __str__(self) -> str:
        return f"{self.mean:.6g} ± {self.half_width:.2g}"


def student(values: npt.ArrayLike, level: float = LEVEL) -> Estimate:
    """Mean of independent observations with Student's t interval.

    Parameters
    ----------
    values : ``(n,)`` one number a replication, finite.
    level : confidence level.
    """
    x = observations(values)
    check_level(level)
    mean = float(x.mean())
    if len(x) == 1:
        return Estimate(mean, -math.inf, math.inf, 1, level)
    half = (
        float(scipy.special.stdtrit(len(x) - 1, (1 + level) / 2))
        * float(x.std(ddof=1))
        / len(x) ** 0.5
    )
    return Estimate(mean, mean - half, mean + half, len(x), level)


def skewed_student(
    mean: float, error: float, skew: float, count: int, level: float = LEVEL
) -> Estimate:
    """Student's t interval corrected for skewness: longer on the side of the tail.

    Willink (Metrology and Measurement Systems 12, 2005), after Johnson (J. Amer. Stat. Assoc. 73,
    1978): with ``b = skew / (6 sqrt(count))``, t is replaced by ``(cbrt(1 + 6 b (t - b)) - 1) / 2b``.

    Parameters
    ----------
    mean, error : the estimate and its standard error.
    skew, count : skewness (`skewness`) and number of the independent observations behind it, >= 2.
    """
    check_level(level)
    t = float(scipy.special.stdtrit(count - 1, (1 + level) / 2))
    b = skew / (6 * math.sqrt(count))

    def corrected(score: float) -> float:
        if abs(b) < 1e-9:
            return score
        return (float(np.cbrt(1 + 6 * b * (score - b))) - 1) / (2 * b)

    return Estimate(mean, mean - corrected(t) * error, mean - corrected(-t) * error, count, level)


def mean_of_skewed(values: npt.ArrayLike, level: float = LEVEL) -> Estimate:
    """Mean of independent observations; Student's t interval corrected for their skewness.

    For example means of short runs of a queue, which rare busy periods make. Of fewer than `LEAST_SKEWED` the interval is
    Student's. docs/statistics.md has the measured coverage of both.

    Parameters
    ----------
    values : ``(n,)`` one number a replication, finite.
    """
    x = observations(values)
    if len(x) == 1:
        return student(x, level)
    error = float(x.std(ddof=1)) / math.sqrt(len(x))
    skew = skewness(x) if len(x) >= LEAST_SKEWED else 0.0
    return skewed_student(float(x.mean()), error, skew, len(x), level)


def skewness(x: FloatArray) -> float:
    """Sample skewness with the usual correction for small samples; 0 of fewer than three values."""
    n, centred = len(x), x - x.mean()
    second = float((centred**2).mean())
    if n < 3 or second == 0:
        return 0.0
    return (
        math.sqrt(n * (n - 1)) / (n - 2) * float((centred**3).mean()) / (second * math.sqrt(second))
    )


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, level: float = LEVEL) -> Estimate:
    """Mean of ``a - b`` where both were run on the same random numbers, pair by pair.

    Parameters
    ----------
    a, b : ``(n,)`` results of two policies under replication 0, 1, .. of the same streams.
    """
    x, y = observations(a), observations(b)
    if len(x) != len(y):
        raise InputError(f"paired difference of {len(x)} and {len(y)} runs, expected equal numbers")
    return mean_of_skewed(differences(x, y), level)


def differences(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """``a - b``; 0 where the two differ by no more than their own rounding.

    Parameters
    ----------
    a, b : equal shapes; numbers that are sums of many.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return np.where(np.isclose(x, y, rtol=SUMS, atol=0.0), 0.0, x - y)


def observations(values: npt.ArrayLike) -> FloatArray:
    """``(n,)`` finite numbers, n >= 1; else `InputError`."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not len(x):
        raise InputError(f"observations have shape {x.shape}, expected (n,) with n >= 1")
    if not np.isfinite(x).all():
        bad = int(np.argmin(np.isfinite(x)))
        raise InputError(f"observation {bad} is {x[bad]}, expected a finite number")
    return x


def check_level(level: float) -> None:
    """A confidence level is between 0 and 1; else `InputError`."""
    inside(**{"confidence level": level})


def jain(values: npt.NDArray[np.float64]) -> float:
    """Jain's index: 1 where all are equal, 1/n where one has everything (Jain et al. 1984)."""
    good = values[np.isfinite(values)]
    square = float((good**2).sum())
    return float(good.sum()) ** 2 / (len(good) * square) if square else math.nan
