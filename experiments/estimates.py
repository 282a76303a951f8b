"""Estimates of metrics from finished runs: one rule for tables of sweeps, comparisons and pages.

- The *mean of replications* has Student's interval corrected for skewness (`mean_of_skewed`); docs/statistics.md has its measured
  coverage. Ratios have the same of their logarithms (`geometric`).
- A *range on redrawn traces* is no such interval: there is one trace, and it says how far the result would differ on another
  of the same kind (`on_redrawn_traces`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.statistics import Estimate, bootstrap_interval, mean_of_skewed

if TYPE_CHECKING:
    from pandas import DataFrame

INTERVAL = "95 % interval"
RANGE = "range on redrawn traces"
"""What the ends of an estimate are called."""

NO_MEAN = {"mean": math.nan, "lower": math.nan, "upper": math.nan, "replications": 0}


def estimate_of(values: Sequence[float], is_difference: bool = False) -> Estimate:
    """The mean of one number a run, or of differences, with its interval.

    Where no run has a negative number and the mean is of no difference, the interval has no negative part:
    times, costs, counts and shares have none.
    """
    found = mean_of_skewed(values)
    return found if is_difference or min(values) < 0 else found.at_least(0.0)


def on_redrawn_traces(value: float, redrawn: Sequence[float]) -> Estimate:
    """The result on a trace itself, with its range on traces drawn from it in blocks (without the outer 5 %)."""
    return bootstrap_interval(value, redrawn)


def row_of(found: Estimate) -> dict[str, float]:
    """An estimate as columns of a table; one observation has no interval."""
    ends = (found.lower, found.upper) if found.n > 1 else (math.nan, math.nan)
    return {"mean": found.mean, "lower": ends[0], "upper": ends[1], "replications": found.n}


def geometric(ratios: Any) -> Estimate:
    """Geometric mean of positive numbers with its interval, so that neither side is favoured; of one number: no interval."""
    found = mean_of_skewed(np.log(np.asarray(ratios, dtype=float)))
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
