"""Comparisons of runs on the same jobs: ratios to a partner, and their geometric means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from simulator.statistics import Estimate, student


def rows_with(table: pd.DataFrame, labels: Mapping[str, Any]) -> pd.DataFrame:
    """The rows with these values in these columns."""
    for name, wanted in labels.items():
        table = table[table[name] == wanted]
    return table


def relative(
    table: pd.DataFrame, value: str, to: Mapping[str, Any], by: Sequence[str]
) -> pd.DataFrame:
    """The table with a column ``ratio``: value over that of the rows ``to`` with the same ``by``.

    Rows without a partner are left out, for example where a run failed.
    """
    base = rows_with(table, to).groupby(list(by))[value].mean().rename("base")
    joined = table.join(base, on=list(by))
    return joined.assign(ratio=joined[value] / joined["base"]).dropna(subset=["ratio"])


def change_percent(
    table: pd.DataFrame, value: str, one: Mapping[str, Any], other: Mapping[str, Any]
) -> Estimate:
    """Mean change of a value in percent, of ``one`` against ``other``, over the seeds that both have."""
    top, bottom = (rows_with(table, rows).set_index("seed")[value] for rows in (one, other))
    return student((100 * (top / bottom - 1)).dropna().to_numpy(dtype=float))


def paired(
    table: pd.DataFrame,
    value: str,
    one: Mapping[str, Any],
    other: Mapping[str, Any],
    by: Sequence[str] = ("seed",),
) -> Estimate:
    """Geometric mean of one / other over replications that have the same jobs.

    Of several settings (loads, controllers) the mean is taken within each seed first: the settings of a seed
    have the same jobs, so a seed is one observation, however many settings it has.
    """
    top = rows_with(table, one).groupby(list(by))[value].mean()
    bottom = rows_with(table, other).groupby(list(by))[value].mean()
    logs: pd.Series = (top / bottom).dropna().map(math.log)
    if "seed" in by and len(by) > 1:
        logs = logs.groupby("seed").mean()
    return of_logs(logs)


def geometric(values: pd.Series) -> Estimate:
    """Geometric mean with its 95 % interval, whose ends are NaN where there is one value."""
    return of_logs(values.astype(float).map(math.log))


def of_logs(logs: pd.Series) -> Estimate:
    """The geometric mean of values by their logarithms; see `geometric`."""
    e = student(logs.to_numpy(dtype=float))
    if not math.isfinite(e.half_width):
        return Estimate(math.exp(e.mean), math.nan, math.nan, e.n)
    return Estimate(math.exp(e.mean), math.exp(e.lower), math.exp(e.upper), e.n)


def differs(ratio: Estimate) -> bool:
    """True where the interval leaves 1 out; no interval shows nothing."""
    return math.isfinite(ratio.half_width) and not ratio.lower <= 1 <= ratio.upper
