"""Steady-state mean of one long run, and the length of a warm-up."""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt
import scipy

from simulator.errors import InputError
from simulator.statistics.estimates import (
    LEVEL,
    Estimate,
    FloatArray,
    check_level,
    observations,
    skewed_student,
    skewness,
)

FEWEST = 1280
"""Observations that `steady_state_mean` takes at least."""

BATCHES = 20
"""Long batches: more would gain little (Schmeiser, Operations Research 30, 1982), and of fewer the
skewness is not known."""

SIGNIFICANCE = 0.2
"""Size of the test of independence: large, so that dependent batches are seldom accepted."""


def mser5(values: npt.ArrayLike) -> int:
    """Observations to drop from the start of each run (MSER-5).

    Means of five are formed; the cut minimises the squared standard error of what remains
    (White, Cobb and Spratt, WSC 2000). Two published safeguards: only cuts in the first half count,
    and a minimum at the end of that half means that the run is too short, and gives a warning
    (Hoad and Robinson, WSC 2011); several runs are averaged first, as in Welch's plot (Hoad,
    Robinson and Davies, J. Oper. Res. Soc. 61, 2010). One run of a queue needs the average most:
    alone, the rule takes a long busy period near the start for a warm-up and drops it, so that the
    mean of the rest is too low.

    Parameters
    ----------
    values : ``(n,)`` observations in order of time, n >= 10, or ``(R, n)`` of R replications.

    Returns
    -------
    A multiple of 5, at most ``n / 2``.
    """
    x = np.asarray(values, dtype=np.float64)
    x = observations(x.mean(axis=0) if x.ndim == 2 else x)
    if len(x) < 10:
        raise InputError(f"MSER-5 over {len(x)} observations, expected at least 10")
    means = x[: len(x) // 5 * 5].reshape(-1, 5).mean(axis=1)
    left = np.arange(len(means), 0, -1)
    # Centred first: sums of squares of large, nearly equal numbers would cancel.
    centred = means - means.mean()
    sums = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    error = (squares - sums**2 / left) / left**2
    error[error < 1e-14 * error.max()] = 0.0  # rounding, where nothing varies any more
    half = len(means) // 2
    cut = int(np.argmin(error[: half + 1]))
    if cut == half:
        warnings.warn("MSER-5 cuts half of the run: it is too short to tell", stacklevel=2)
    return 5 * cut


def batch_means(values: npt.ArrayLike, batches: int = BATCHES, level: float = LEVEL) -> Estimate:
    """Mean of one long, stationary, autocorrelated run, by means of equal batches.

    Student's t is corrected for the skewness of the batch means (`skewed_student`). What does not
    fill the last batch is dropped from the start. Batches that are still positively correlated (von
    Neumann's ratio test at 1 %) give a warning: the interval is then too narrow and the run too
    short. So few batches see only strong correlation; `steady_state_mean` has the sharper test.

    Parameters
    ----------
    values : ``(n,)`` observations in order of time, the warm-up left out, ``n >= 2 * batches``.
    """
    x = observations(values)
    if batches < 2 or len(x) < 2 * batches:
        raise InputError(
            f"{batches} batches of {len(x)} observations, expected 2 batches or more, each of 2 "
            "observations or more"
        )
    means = _means(x, batches)
    if _von_neumann_score(means) > float(scipy.special.ndtri(0.99)):
        warnings.warn("batch means are correlated: the run is too short", stacklevel=2)
    return _of_batches(means, level)


def steady_state_mean(
    values: npt.ArrayLike, level: float = LEVEL, *, relaxation: float | None = None
) -> Estimate:
    """Mean of a long run after its warm-up, with an interval for its autocorrelated observations.

    The run is cut in equal parts: the first is the warm-up, the others are the batches of
    `batch_means`.

    Whether the run is long enough for that is not left to so few batches. N-Skart's test decides
    (Tafazzoli, Steiger and Wilson, IEEE Trans. Automatic Control 56, 2011, steps 1 to 4; Skart:
    Tafazzoli, Wilson, Lada and Steiger, INFORMS J. Computing 23, 2011): many batches, and spacers
    between them, grow until the means of spaced batches pass von Neumann's test of independence. A
    run that ends before, or has fewer than `FEWEST` observations, has the mean of all of it and
    infinite ends, and a warning says why.

    Parameters
    ----------
    values : ``(n,)`` observations in order of time.
    relaxation : where it is known, observations in which the autocorrelation falls by 1/e. It takes
        the place of the test, which refuses most runs with a long busy period, so that the means of
        the others are too low: the length has to be chosen before the run, as by
        `simulator.theory.RunLength.jobs`. The variance is corrected for the correlation ``c`` of
        neighbouring batches of an exponential decay, by ``(1 + c) / (1 - c)``.

    Returns
    -------
    The estimate; ``n`` is the number of batches.

    Raises InputError: batches that are shorter than two relaxation times.
    """
    x = observations(values)
    check_level(level)
    if len(x) < FEWEST:
        return _too_short(x, level, f"{len(x)} observations, expected at least {FEWEST}")
    size = len(x) // (BATCHES + 1)
    if relaxation is None:
        if not _long_enough(x):
            return _too_short(x, level, "its batch means are still correlated")
        correlation = 0.0
    elif 0 <= relaxation <= size / 2:
        correlation = relaxation / (2 * (size - relaxation))
    else:
        raise InputError(f"relaxation is {relaxation:g}, expected 0 to {size / 2:g}, half a batch")
    return _of_batches(_means(x, BATCHES + 1)[1:], level, correlation)


def _means(x: FloatArray, batches: int) -> FloatArray:
    """``(batches,)`` means of equal batches, the last of which ends with the run."""
    size = len(x) // batches
    return np.asarray(x[len(x) - batches * size :].reshape(batches, size).mean(axis=1))


def _of_batches(means: FloatArray, level: float, correlation: float = 0.0) -> Estimate:
    variance = float(means.var(ddof=1)) * (1 + correlation) / (1 - correlation)
    error = math.sqrt(variance / len(means))
    return skewed_student(float(means.mean()), error, skewness(means), len(means), level)


def _long_enough(x: FloatArray) -> bool:
    """True where some batches pass the test of independence before the run ends."""
    size = min(16, len(x) // FEWEST) if abs(skewness(x[len(x) // 5 :])) > 4 else 1
    count, accepted = FEWEST, float(scipy.special.ndtri(1 - SIGNIFICANCE / 2))
    while count * size <= len(x):
        means = x[: count * size].reshape(count, size).mean(axis=1)
        most = 3 if abs(skewness(means[count // 5 :])) > 0.5 else 10
        scores = (_von_neumann_score(means[d :: d + 1]) for d in range(most + 1))
        if any(abs(score) <= accepted for score in scores):
            return True
        size, count = math.ceil(math.sqrt(2) * size), math.ceil(0.9 * count)
    return False


def _von_neumann_score(x: FloatArray) -> float:
    """Standard normal score of "no lag-1 correlation" (von Neumann 1941, normal approximation)."""
    n = len(x)
    spread = float(((x - x.mean()) ** 2).sum())
    if spread == 0 or n < 3:
        return 0.0
    # 1 - ratio/2, up to end effects the lag-1 correlation; its variance is (n-2)/(n^2-1).
    score = 1 - float((np.diff(x) ** 2).sum()) / (2 * spread)
    return score / math.sqrt((n - 2) / (n * n - 1))


def _too_short(x: FloatArray, level: float, why: str) -> Estimate:
    warnings.warn(f"the run is too short for an interval: {why}", stacklevel=3)
    return Estimate(float(x.mean()), -math.inf, math.inf, len(x), level)
