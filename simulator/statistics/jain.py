"""Jain's index of fairness."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def jain(values: npt.NDArray[np.float64]) -> float:
    """Jain's index: 1 where all are equal, 1/n where one has everything (Jain et al. 1984)."""
    good = values[np.isfinite(values)]
    square = float((good**2).sum())
    return float(good.sum()) ** 2 / (len(good) * square) if square else math.nan
