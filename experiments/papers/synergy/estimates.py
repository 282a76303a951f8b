"""Ratios of two mechanisms over seeds: on their logarithm, so that neither is favoured."""

from __future__ import annotations

import math
from typing import Any

from simulator.statistics import Estimate, student


def geometric(ratios: Any) -> Estimate:
    """Geometric mean of positive numbers with its 95 % interval; of one number: no interval."""
    found = student([math.log(r) for r in ratios])
    if len(list(ratios)) < 2:
        return Estimate(math.exp(found.mean), -math.inf, math.inf, 1)
    return Estimate(
        math.exp(found.mean), math.exp(found.lower), math.exp(found.upper), found.n, found.level
    )


def gain(
    table: Any, metric: str = "mean_jct_h", base: str = "proportional", over: str = "tune"
) -> Estimate:
    """``base`` over ``over``, seed by seed on the same jobs; seeds that lack one of them left out."""
    wide = table.pivot_table(index="seed", columns="mechanism", values=metric)
    return geometric((wide[base] / wide[over]).dropna())


def hours(table: Any, mechanism: str, metric: str = "mean_jct_h") -> Estimate:
    """Mean over seeds of one mechanism's hours."""
    return student(table.loc[table["mechanism"] == mechanism, metric].dropna().to_numpy())
