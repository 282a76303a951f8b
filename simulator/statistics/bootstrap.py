"""Quantiles, ratios and resampled data, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import inside
from simulator.errors import InputError
from simulator.statistics.estimates import LEVEL, Estimate, FloatArray, check_level, observations

RESAMPLES = 2000
"""Bootstrap resamples: the ends of a 95 % interval then repeat to about 2 % of its width."""


def bootstrap_interval(value: float, resampled: npt.ArrayLike, level: float = LEVEL) -> Estimate:
    """A number with the interval that its values on resampled data give (percentiles, Efron 1979).

    More resamples make the ends more certain and not the interval narrower: there is still only one
    set of data. The number itself may lie outside, where resampling changes what it measures.

    Parameters
    ----------
    value : what the data themselves give.
    resampled : ``(B,)`` the same number on data drawn again, finite. The ends are the k-th smallest
        and largest of them, ``k = (B + 1) (1 - level) / 2``, so 95 % take 39 at least.
    """
    x = np.sort(observations(resampled))
    check_level(level)
    k = int((len(x) + 1) * (1 - level) / 2 + 1e-9)
    if k < 1:
        least = math.ceil(2 / (1 - level) - 1 - 1e-9)
        raise InputError(f"{len(x)} resamples, expected at least {least} for {level:.0%}")
    return Estimate(value, float(x[k - 1]), float(x[-k]), len(x), level)


def quantile(values: npt.ArrayLike, q: float, level: float = LEVEL) -> Estimate:
    """The ``q``-quantile of independent observations, with an interval for any law.

    The ends are two of the sorted observations: how many lie below the quantile is binomial, so the
    interval covers at least ``level`` (David and Nagaraja, Order Statistics, 2003, 7.1). An end is
    infinite where too few observations lie beyond the quantile, for example 95 % of 20.

    Parameters
    ----------
    values : ``(n,)`` independent observations. For jobs of one run, which are not independent, see
        `pooled_quantile`.
    """
    x = np.sort(observations(values))
    check_level(level)
    inside(quantile=q)
    n = len(x)
    at_most = scipy.special.bdtr(np.arange(n + 1), n, q)  # probability of 0 .. k below the quantile
    low = int((at_most <= (1 - level) / 2).sum())
    high = int((at_most < (1 + level) / 2).sum()) + 1
    ends = np.concatenate([[-math.inf], x, [math.inf]])
    value = float(np.quantile(x, q, method="median_unbiased"))
    return Estimate(value, float(ends[low]), float(ends[high]), n, level)


def pooled_quantile(runs: Sequence[npt.ArrayLike], q: float, level: float = LEVEL) -> Estimate:
    """The ``q``-quantile of all observations of several replications taken together.

    Woodruff's interval (J. Amer. Stat. Assoc. 47, 1952) with the runs as clusters: the part of the
    observations below the quantile is a ratio of sums over the runs, which has Student's interval;
    its ends are turned into quantiles. Only the runs have to be independent.

    Parameters
    ----------
    runs : ``R`` arrays, the observations (e.g. response times) of each replication.
    """
    arrays = [observations(run) for run in runs]
    check_level(level)
    inside(quantile=q)
    if not arrays:
        raise InputError("pooled quantile of no runs, expected at least one")
    pool = np.sort(np.concatenate(arrays))
    value, count = _quantile_of(pool, q), len(arrays)
    if count == 1:
        return Estimate(value, -math.inf, math.inf, 1, level)
    excess = np.array([(run <= value).sum() - q * len(run) for run in arrays])
    error = math.sqrt(count / (count - 1) * float((excess**2).sum())) / len(pool)
    half = float(scipy.special.stdtrit(count - 1, (1 + level) / 2)) * error
    lower = _quantile_of(pool, q - half) if q > half else -math.inf
    upper = _quantile_of(pool, q + half) if q + half < 1 else math.inf
    return Estimate(value, lower, upper, count, level)


def _quantile_of(pool: FloatArray, q: float) -> float:
    """The least of the sorted values that a part ``q`` of them do not exceed."""
    return float(pool[math.ceil(q * len(pool) - 1e-9) - 1])


def ratio(
    numerators: npt.ArrayLike,
    denominators: npt.ArrayLike,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> Estimate:
    """Ratio of means, ``mean(numerators) / mean(denominators)``, the pairs resampled together.

    For a saving of one policy over another on the same random numbers, or a time average over
    cycles of random length. The interval is bootstrap-t: over 400 samples of 10, 20 and 30 skewed
    pairs it covered 93, 95 and 95 %, the percentile bootstrap 87, 92 and 93 %.

    Parameters
    ----------
    numerators, denominators : ``(n,)`` each, pair by pair of one replication.
    """
    x, y = observations(numerators), observations(denominators)
    check_level(level)
    if len(x) != len(y):
        raise InputError(f"ratio of {len(x)} and {len(y)} runs, expected equal numbers")
    if y.mean() == 0:
        raise InputError("ratio: the denominators' mean is 0, expected another number")
    value, error = (float(part) for part in _ratio(x, y))
    if len(x) == 1:
        return Estimate(value, -math.inf, math.inf, 1, level)
    rows = rng.integers(0, len(x), (RESAMPLES, len(x)))
    ratios, errors = _ratio(x[rows], y[rows])
    known = (errors > 1e-9 * error) & (errors < math.inf)  # without resamples that have no ratio
    if not known.any():
        return Estimate(value, value, value, len(x), level)
    scores = (ratios[known] - value) / errors[known]
    high, low = np.quantile(scores, [(1 + level) / 2, (1 - level) / 2])
    return Estimate(value, value - float(high) * error, value - float(low) * error, len(x), level)


def _ratio(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ratios of means over the last axis, and their standard errors by linearisation."""
    n, centre = x.shape[-1], y.mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of resamples whose mean is 0
        value = x.mean(axis=-1) / centre
        residual = x - value[..., None] * y
        error = np.sqrt((residual**2).sum(axis=-1) / max(n - 1, 1) / n) / np.abs(centre)
    return value, error
