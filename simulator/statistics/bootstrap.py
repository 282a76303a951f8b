"""Quantiles and ratios, with intervals from resampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

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


def quantile(
    values: npt.ArrayLike, q: float, rng: np.random.Generator, level: float = LEVEL
) -> Estimate:
    """The ``q``-quantile of independent observations, with a percentile bootstrap interval.

    Parameters
    ----------
    values : ``(n,)`` independent observations, some ten or more of them beyond the quantile (of
        100 exponential ones the 95 % interval of the 0.9-quantile covers 93 %, of 200 94 %). For
        jobs of one run, which are not independent, see `pooled_quantile`.
    """
    x = observations(values)
    _check_quantile(q)

    def statistic(rows: FloatArray, axis: int = -1) -> FloatArray:
        return np.asarray(np.quantile(rows, q, axis=axis, method="median_unbiased"))

    return _percentile_bootstrap(x, statistic, rng, level, vectorized=True)


def pooled_quantile(
    runs: Sequence[npt.ArrayLike], q: float, rng: np.random.Generator, level: float = LEVEL
) -> Estimate:
    """The ``q``-quantile of all observations of several replications taken together.

    Whole replications are resampled, so the dependence inside a run does no harm.

    Parameters
    ----------
    runs : ``R`` arrays, the observations (e.g. response times) of each replication.
    """
    arrays = [observations(run) for run in runs]
    _check_quantile(q)
    if not arrays:
        raise InputError("pooled quantile of no runs, expected at least one")
    # Resampling a run is weighting its observations: one sort serves all resamples.
    pool = np.concatenate(arrays)
    owner = np.repeat(np.arange(len(arrays)), [len(a) for a in arrays])
    order = np.argsort(pool, kind="stable")
    pool, owner = pool[order], owner[order]

    def statistic(chosen: FloatArray) -> FloatArray:
        times = np.bincount(chosen.astype(np.int64), minlength=len(arrays))
        weight = np.cumsum(times[owner])
        return np.asarray(pool[np.searchsorted(weight, q * weight[-1])])

    return _percentile_bootstrap(
        np.arange(len(arrays), dtype=float), statistic, rng, level, vectorized=False
    )


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
    known = errors > 1e-9 * error
    if not known.any():
        return Estimate(value, value, value, len(x), level)
    scores = (ratios[known] - value) / errors[known]
    high, low = np.quantile(scores, [(1 + level) / 2, (1 - level) / 2])
    return Estimate(value, value - float(high) * error, value - float(low) * error, len(x), level)


def _ratio(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ratios of means over the last axis, and their standard errors by linearisation."""
    n, centre = x.shape[-1], y.mean(axis=-1)
    value = x.mean(axis=-1) / centre
    residual = x - value[..., None] * y
    error = np.sqrt((residual**2).sum(axis=-1) / max(n - 1, 1) / n) / np.abs(centre)
    return value, error


def _percentile_bootstrap(
    data: FloatArray,
    statistic: Callable[..., FloatArray],
    rng: np.random.Generator,
    level: float,
    vectorized: bool,
) -> Estimate:
    """Percentile interval of a statistic under resampling of ``data``."""
    check_level(level)
    value = float(statistic(data))
    if len(data) == 1:
        return Estimate(value, -math.inf, math.inf, 1, level)
    from scipy import stats  # half a second that most runs need not wait for

    found = stats.bootstrap(
        (data,),
        statistic,
        method="percentile",
        confidence_level=level,
        n_resamples=RESAMPLES,
        batch=max(1, 1_000_000 // len(data)),  # a million numbers at a time
        vectorized=vectorized,
        rng=rng,
    ).confidence_interval
    return Estimate(value, float(found.low), float(found.high), len(data), level)


def _check_quantile(q: float) -> None:
    if not 0 < q < 1:
        raise InputError(f"quantile is {q}, expected between 0 and 1")
