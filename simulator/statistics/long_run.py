"""One long run: where its warm-up ends, and the mean of what follows."""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt
from scipy import special

from simulator.errors import InputError
from simulator.statistics.estimates import LEVEL, Estimate, FloatArray, observations, student

BATCHES = 20
"""Batches of `batch_means`: more would gain little (Schmeiser, Operations Research 30, 1982)."""


def mser5(values: npt.ArrayLike) -> int:
    """Observations to drop from the start of a run (MSER-5).

    Means of five are formed; the cut minimises the squared standard error of what remains, over
    the first half of the run (White, Cobb and Spratt, WSC 2000). A minimum at the very end of
    that half means that the run is too short to know, and gives a warning.

    Parameters
    ----------
    values : ``(n,)`` observations in order of time, n >= 10.

    Returns
    -------
    A multiple of 5, at most ``n / 2``.
    """
    x = observations(values)
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
    if cut == half and half > 0:
        warnings.warn("MSER-5 cuts half of the run: it is too short to tell", stacklevel=2)
    return 5 * cut


def batch_means(values: npt.ArrayLike, batches: int = BATCHES, level: float = LEVEL) -> Estimate:
    """Mean of one long, stationary, autocorrelated run, by means of equal batches.

    Drop the warm-up first (`mser5`). What does not fill the last batch is dropped from the start.
    Batches that are still positively correlated (von Neumann's ratio test at 1 %) give a warning:
    the interval is then too narrow and the run too short.

    Parameters
    ----------
    values : ``(n,)`` observations in order of time, ``n >= 2 * batches``.
    """
    x = observations(values)
    if batches < 2 or len(x) < 2 * batches:
        raise InputError(
            f"{batches} batches of {len(x)} observations, expected 2 batches or more, each of 2 "
            "observations or more"
        )
    size = len(x) // batches
    means = x[len(x) - size * batches :].reshape(batches, size).mean(axis=1)
    if _von_neumann_p(means) < 0.01:
        warnings.warn("batch means are correlated: the run is too short", stacklevel=2)
    return student(means, level)


def _von_neumann_p(x: FloatArray) -> float:
    """P-value of "no positive lag-1 correlation" (von Neumann 1941, normal approximation)."""
    n = len(x)
    spread = float(((x - x.mean()) ** 2).sum())
    if spread == 0:
        return 1.0
    # 1 - ratio/2, up to end effects the lag-1 correlation; its variance is (n-2)/(n^2-1).
    score = 1 - float((np.diff(x) ** 2).sum()) / (2 * spread)
    return float(special.ndtr(-score / math.sqrt((n - 2) / (n * n - 1)))) if n > 2 else 1.0
