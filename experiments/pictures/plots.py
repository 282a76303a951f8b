"""One look for all figures: readable at the size of a report, safe for colour-blind eyes.

Lines are told apart by colour and by marker. Intervals are drawn wherever there are replications,
and the paper's own value, where it gives one, in dark grey beside ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from simulator.statistics import student

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame, Series

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
"""Okabe and Ito's colours, told apart under all common colour deficiencies."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PAPER = "#404040"
"""Colour of what the paper says."""

STYLE: Any = {
    "figure.dpi": 100,
    "font.size": 10,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.hashsalt": "schedlab",
}


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = 5.6, height: float = 3.8, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of ``rows`` x ``columns`` panels, each ``width`` x ``height`` inches."""
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows,
            columns,
            figsize=(width * columns, height * rows),
            squeeze=False,
            layout="constrained",
            **options,
        )
    return figure, list(axes.ravel())


def intervals(
    table: DataFrame, by: Sequence[str], value: str, *, geometric: bool = False
) -> DataFrame:
    """Mean and 95 % Student interval of ``value`` over replications, one row a group.

    Columns: ``by``, ``mean``, ``low``, ``high``, ``n``. One replication gives no interval (NaN).
    ``geometric`` takes both of the logarithm, for positive values on a logarithmic axis.
    """
    import pandas as pd

    rows = []
    for key, group in table.groupby(list(by), sort=True):
        values = group[value].to_numpy(dtype=float)
        estimate = student(np.log(values) if geometric else values)
        back = np.exp if geometric else float
        finite = np.isfinite(estimate.half_width)
        rows.append(
            {
                **dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True)),
                "mean": back(estimate.mean),
                "low": back(estimate.lower) if finite else np.nan,
                "high": back(estimate.upper) if finite else np.nan,
                "n": estimate.n,
            }
        )
    return pd.DataFrame(rows)


def draw_line(ax: Axes, x: Any, table: DataFrame, label: str, index: int, **options: Any) -> None:
    """One line of means with its interval as error bars (columns mean, low, high)."""
    mean, low, high = (table[c].to_numpy(dtype=float) for c in ("mean", "low", "high"))
    error = np.nan_to_num(np.vstack([mean - low, high - mean]))
    looks: dict[str, Any] = {
        "color": PALETTE[index % len(PALETTE)], "marker": MARKERS[index % len(MARKERS)],
        "capsize": 2.5,
    }  # fmt: skip
    ax.errorbar(x, mean, yerr=np.maximum(error, 0.0), label=label, **(looks | options))


def paper_line(ax: Axes, value: float, label: str) -> None:
    """A horizontal line at the paper's value."""
    ax.axhline(value, color=PAPER, linestyle="--", linewidth=1.2, label=label)


def paper_band(ax: Axes, low: float, high: float, label: str, *, alpha: float = 0.12) -> None:
    """A horizontal band where the paper claims to be."""
    ax.axhspan(low, high, color=PAPER, alpha=alpha, linewidth=0, label=label)


def log_ticks(ax: Axes, which: Literal["x", "y"] = "y") -> None:
    """A logarithmic axis of values with 1, 2, 5, 10, .. written out.

    Over less than a factor of 4 the ticks are spaced evenly instead; over more than 1,000, or below
    0.001, they stay powers of ten.
    """
    axis: Any = ax.yaxis if which == "y" else ax.xaxis
    getattr(ax, f"set_{which}scale")("log")
    low, high = axis.get_view_interval()
    if high / low < 4:
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    elif low >= 1e-3 and high / low < 1e3:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    else:
        return
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}"))
    axis.set_minor_locator(NullLocator())


def thousands(axis: Any) -> None:
    """Ticks as 10,000 instead of 10000."""
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}"))


def beside(x: Series, index: int, of: int, span: float | None = None) -> Series:
    """Places a little apart, so that equal lines and their intervals are all seen.

    Parameters
    ----------
    span : how long the axis is; None: as long as these places are.
    """
    apart = 0.015 * (float(x.max() - x.min()) if span is None else span)
    return x.astype(float).add(apart * (index - (of - 1) / 2))


def beside_log(x: Series, index: int, of: int, span: float | None = None) -> Series:
    """The same on a logarithmic axis, ``span`` a factor."""
    wide = float(x.max() / x.min()) if span is None else span
    return beside(x.astype(float).map(math.log), index, of, math.log(wide)).map(math.exp)


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """The legend of one panel under the whole figure, where it covers nothing."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
