"""Ratios over replications: taken on their logarithm, so that neither side is favoured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.statistics import Estimate, student

if TYPE_CHECKING:
    from pandas import DataFrame


def geometric(ratios: Any) -> Estimate:
    """Geometric mean of positive numbers with its interval; of one number: no interval."""
    found = student(np.log(np.asarray(ratios, dtype=float)))
    low, high = -math.inf, math.inf
    if found.n > 1:
        low, high = math.exp(found.lower), math.exp(found.upper)
    return Estimate(math.exp(found.mean), low, high, found.n, found.level)


def percent_over(ratio: Estimate) -> Estimate:
    """A ratio as per cent above 1."""
    mean, lower, upper = (100 * (x - 1) for x in (ratio.mean, ratio.lower, ratio.upper))
    return Estimate(mean, lower, upper, ratio.n, ratio.level)


def paired(
    runs: DataFrame,
    column: str,
    base: str,
    over: str,
    value: str,
    by: str | Sequence[str] = "seed",
) -> DataFrame:
    """Ratios of ``base`` to ``over``, two values of ``column``, on the same jobs: one row a pair.

    Columns: ``by`` and ``ratio``. What lacks one of the two is left out.
    """
    wide = runs.pivot_table(index=by, columns=column, values=value).reindex(columns=[base, over])
    return (wide[base] / wide[over]).dropna().rename("ratio").reset_index()
