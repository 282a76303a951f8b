"""One look for all figures: readable at the size of a report, safe for colour-blind eyes.

Lines are told apart by colour and by marker. Intervals are drawn wherever there are replications,
and the paper's own value, where it gives one, in dark grey beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from experiments.pictures.edges import RUNS
from simulator.statistics import mean_of_skewed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from simulator.statistics import Estimate

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
"""Okabe and Ito's colours, told apart under all common colour deficiencies."""

Names = Mapping[str, str] | Sequence[str]
"""Names in the order of a legend, or with their labels."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PAPER = "#404040"
"""Colour of what the paper says."""

THEME: Any = {
    **sns.axes_style("whitegrid", {"grid.color": "#DDDDDD", "axes.edgecolor": "#000000"}),
    "font.size": 10,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "legend.framealpha": 0.9,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
}
"""The one theme of all figures."""

ENOUGH_RUNS = 5
"""Fewer runs get no interval in a picture: each of them is drawn."""


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = 5.6, height: float = 3.8, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of ``rows`` x ``columns`` panels, each ``width`` x ``height`` inches."""
    with mpl.rc_context(THEME):
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
    """Mean and 95 % interval (`mean_of_skewed`) of ``value`` over replications, one row a group.

    Columns: ``by``, ``mean``, ``low``, ``high``, ``n``. Less than `ENOUGH_RUNS` give no interval (NaN).
    ``geometric`` takes both of the logarithm, for positive values on a logarithmic axis.
    """
    rows = []
    for key, group in table.groupby(list(by), sort=True):
        names = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        rows.append({**names, **_interval(group[value], geometric)})
    return pd.DataFrame(rows)


def _interval(values: Any, geometric: bool) -> dict[str, float]:
    values = np.asarray(values, dtype=float)
    estimate: Estimate = mean_of_skewed(np.log(values) if geometric else values)
    back = np.exp if geometric else float
    enough = estimate.n >= ENOUGH_RUNS and np.isfinite(estimate.half_width)
    return {
        "mean": back(estimate.mean),
        "low": back(estimate.lower) if enough else np.nan,
        "high": back(estimate.upper) if enough else np.nan,
        "n": estimate.n,
    }


def by_hue(
    runs: DataFrame,
    x: str,
    value: str,
    hue: str,
    names: Names,
    *,
    geometric: bool = False,
) -> DataFrame:
    """`intervals` of ``value`` by ``x`` for each of ``names`` that has runs, one below the other."""
    parts = [
        intervals(part, [x], value, geometric=geometric).assign(**{hue: name})
        for name in names
        if not (part := runs[runs[hue] == name]).empty
    ]
    return pd.concat(parts)


def lines(
    ax: Axes,
    runs: DataFrame,
    x: str,
    value: str,
    hue: str,
    names: Names,
    *,
    geometric: bool = False,
    dashed: Sequence[str] = (),
    pair: str = "",
) -> DataFrame:
    """A line of means over a number ``x`` for each of ``names``, with intervals; the numbers drawn.

    Parameters
    ----------
    runs : one row a run.
    names : values of ``hue`` in the order of the legend, or with their labels. Each keeps its colour
        where others have no runs.
    geometric : means and intervals of the logarithm.
    dashed : which of them are dotted lines.
    pair : column that names the jobs of a run, its seed; see `on_all_runs`. Empty: runs as they are.
    """
    given = runs
    if pair:
        runs = on_all_runs(runs, x, value, hue, names, pair, geometric)
    drawn = by_hue(runs, x, value, hue, names, geometric=geometric)
    if pair:
        drawn = drawn.join(runs.groupby([hue, x])["moved_by"].first(), on=[hue, x])
        given = given[(runs["moved_by"] == (1.0 if geometric else 0.0)).to_numpy()]
    here = list(dict.fromkeys(drawn[hue]))
    looks = _looks(names, geometric)
    shown = runs[runs[hue].isin(here)]
    sns.lineplot(
        shown, x=x, y=value, hue=hue, hue_order=here, style=hue, style_order=here,
        markers=looks.pop("markers"), dashes={n: (1, 1.5) if n in dashed else "" for n in here},
        err_style="bars", err_kws={"capsize": 2.5}, markeredgewidth=0, ax=ax, **looks,
    )  # fmt: skip
    _named(ax, names)
    _few(ax, given[given[hue].isin(here)], x, value, hue, looks["palette"])
    return drawn


FEWER = (
    " A method with fewer than five {runs} has no interval. Its point is the mean of the closest method among those "
    "with the most {runs}, plus the mean difference between the two on the same {runs} (column moved_by of the file)."
)
"""What `on_all_runs` does, for captions."""


def on_all_runs(
    runs: DataFrame, x: str, value: str, hue: str, names: Names, pair: str, geometric: bool
) -> DataFrame:
    """The runs; those of a name with too few for an interval at an ``x`` are moved, see the column ``moved_by``.

    At each ``x`` one with fewer than `ENOUGH_RUNS` and than the base is moved by the difference between the base's
    means over all its runs and over those of the same ``pair``; if ``geometric``, it is multiplied by their ratio. So
    means of different seeds can stand side by side: if the base is cheaper on the three seeds of the other, the other
    is moved up as much. The base is that of the names with the most runs whose runs are the closest to theirs: seeds
    in which it alone is late tell nothing of the others.
    """
    scale = np.log if geometric else np.positive

    def apart(few: dict[str, Any], base: Any) -> float:
        differences = [d for own in few.values() for d in (own - base).abs().dropna()]
        return float(np.mean(differences)) if differences else np.inf

    moved = runs.reset_index(drop=True).astype({value: float})
    moved["moved_by"] = 1.0 if geometric else 0.0
    for _, at in moved.groupby(x):
        of = {
            n: scale(at.loc[at[hue] == n].set_index(pair)[value].dropna())
            for n in names
            if n in set(at[hue])
        }
        most = max(map(len, of.values()), default=0)
        few = {n: own for n, own in of.items() if len(own) < min(most, ENOUGH_RUNS)}
        if not few:
            continue
        base = min((own for own in of.values() if len(own) == most), key=lambda b: apart(few, b))
        for name, own in few.items():
            common = base[base.index.isin(own.index)]
            if 0 < len(common) < most:
                by = float(base.mean() - common.mean())
                by = float(np.exp(by)) if geometric else by
                rows = at.index[at[hue] == name]
                moved.loc[rows, "moved_by"] = by
                given = moved.loc[rows, value]
                moved.loc[rows, value] = given * by if geometric else given + by
    return moved


def points(
    ax: Axes,
    runs: DataFrame,
    x: str,
    value: str,
    hue: str,
    names: Names,
    *,
    order: Sequence[Any],
    geometric: bool = False,
    dodge: float = 0.4,
) -> DataFrame:
    """A mean with its interval at each category ``x``, ``names`` side by side; the numbers drawn.

    Parameters are those of `lines`; ``order`` : the categories from left to right.
    """
    drawn = by_hue(runs, x, value, hue, names, geometric=geometric)
    here = list(dict.fromkeys(drawn[hue]))
    looks = _looks(names, geometric)
    markers = looks.pop("markers")
    sns.pointplot(
        runs[runs[hue].isin(here)], x=x, y=value, order=list(order), hue=hue, hue_order=here,
        markers=[markers[n] for n in here], linestyle="none", capsize=0.05, markersize=5,
        dodge=dodge if len(here) > 1 else False, err_kws={"linewidth": 1.4}, ax=ax, **looks,
    )  # fmt: skip
    _named(ax, names)
    shifts = np.linspace(-dodge / 2, dodge / 2, len(here)) if len(here) > 1 else np.zeros(1)
    shown = runs[runs[hue].isin(here) & runs[x].isin(list(order))]
    at = shown[x].map([*order].index) + shown[hue].map(dict(zip(here, shifts, strict=True)))
    _few(ax, shown.assign(place=at.astype(float)), "place", value, hue, looks["palette"])
    return drawn


def _looks(names: Names, geometric: bool) -> dict[str, Any]:
    """Colours, markers, estimator and interval of the plots of seaborn."""

    def mean(values: Any) -> float:
        return _interval(values, geometric)["mean"]

    def interval(values: Any) -> tuple[float, float]:
        found = _interval(values, geometric)
        return found["low"], found["high"]

    return {
        "palette": {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(names)},
        "markers": {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(names)},
        "estimator": mean,
        "errorbar": interval,
    }


def _named(ax: Axes, names: Names) -> None:
    """The labels of ``names`` for the legend that the figure makes; seaborn's own goes."""
    handles, labels = ax.get_legend_handles_labels()
    for handle, label in zip(handles, labels, strict=True):
        handle.set_label(names.get(label, label) if isinstance(names, Mapping) else label)
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()


FEW = "single runs, where fewer than five"


def _few(
    ax: Axes, runs: DataFrame, x: str, value: str, hue: str, palette: Mapping[str, str]
) -> None:
    """The runs themselves where there are several, but too few for an interval."""
    count = runs.groupby([hue, x])[value].transform("count")
    few = runs[(count > 1) & (count < ENOUGH_RUNS)]
    if not few.empty:
        ax.plot([], [], "_", color=PAPER, markersize=7, label=FEW)
    for name, part in few.groupby(hue):
        ax.plot(
            part[x], part[value], "_", color=palette[str(name)], markersize=7, alpha=0.6, gid=RUNS
        )


def draw_line(ax: Axes, x: Any, table: DataFrame, label: str, index: int, **options: Any) -> None:
    """One line of means with its interval as error bars (columns mean, low, high)."""
    mean, low, high = (table[c].to_numpy(dtype=float) for c in ("mean", "low", "high"))
    looks = {"color": PALETTE[index % len(PALETTE)], "marker": MARKERS[index % len(MARKERS)]}
    draw_estimates(ax, x, mean, yerr=[mean - low, high - mean], label=label, **(looks | options))


def draw_estimates(ax: Axes, x: Any, y: Any, **options: Any) -> None:
    """Means with bars from ``xerr`` or ``yerr``, two rows each; where they are NaN there is no bar, nor in the legend."""
    bars = {
        name: np.asarray(options.pop(name), float) for name in ("xerr", "yerr") if name in options
    }
    known = {name: np.maximum(ends, 0.0) for name, ends in bars.items() if np.isfinite(ends).any()}
    ax.errorbar(x, y, capsize=2.5, **known, **options)


def paper_line(
    ax: Axes, value: float, label: str, within: tuple[float, float] | None = None
) -> None:
    """A horizontal line at the paper's value; ``within`` what counts as it is a band."""
    ax.axhline(value, color=PAPER, linestyle="--", linewidth=1.2, label=label)
    if within is not None:
        paper_band(ax, *within, "what counts as the printed value")


def paper_band(ax: Axes, low: float, high: float, label: str, *, alpha: float = 0.12) -> None:
    """A horizontal band where the paper claims to be."""
    ax.axhspan(low, high, color=PAPER, alpha=alpha, linewidth=0, label=label)


def log_ticks(ax: Axes, which: Literal["x", "y"] = "y") -> None:
    """A logarithmic axis of values with 1, 2, 5, 10, .. written out.

    Over less than a factor of 2 the ticks are spaced evenly instead, over less than 4 there are 1, 1.2, 1.5, 2, ..,
    over less than 10 1, 1.5, 2, 3, 5, 7, over more than 100 1, 3, 10, ..; over more than 1,000, or below 0.001, they
    stay powers of ten.
    """
    axis: Any = ax.yaxis if which == "y" else ax.xaxis
    getattr(ax, f"set_{which}scale")("log")
    low, high = axis.get_view_interval()
    if high / low < 2:
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    elif low >= 1e-3 and high / low < 1e3:
        wide = (1.0, 2.0, 5.0) if high / low < 100 else (1.0, 3.0)
        near = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
        subs = (
            near if high / low < 4 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high / low < 10 else wide
        )
        axis.set_major_locator(LogLocator(subs=subs))
    else:
        return
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}"))
    axis.set_minor_locator(NullLocator())


def thousands(axis: Any) -> None:
    """Ticks as 10,000 instead of 10000."""
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}"))


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """The legend of one panel under the whole figure, where it covers nothing; single runs of any panel are told."""
    own = _entries(ax)
    for panel in figure.axes:
        own |= {label: handle for label, handle in _entries(panel).items() if label == FEW}
    figure.legend(own.values(), own, loc="outside lower center", ncols=columns)


def legends_below(
    figure: Figure, left: Axes, right: Axes, columns: tuple[int, int] = (1, 1)
) -> None:
    """The legends of two panels under the figure, one on each side; single runs are told on the left where it has some."""
    own, other = _entries(left), _entries(right)
    if FEW in own:
        other.pop(FEW, None)
    for entries, side, count in ((own, "left", columns[0]), (other, "right", columns[1])):
        place: Any = f"outside lower {side}"
        figure.legend(entries.values(), entries, loc=place, ncols=count)


def _entries(ax: Axes) -> dict[str, Any]:
    """Handles of the legend of a panel by label."""
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))
