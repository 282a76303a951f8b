"""Pictures of a comparison: forest, lines over a swept key, heat maps over two, and a front of two metrics."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.comparison.answer import Comparison, order_of
from experiments.comparison.entrants import GIVEN
from experiments.comparison.estimating import by_setting, chosen
from experiments.comparison.metrics import Metric, metric_of
from experiments.pictures.plots import MARKERS, PALETTE, canvas, draw_estimates, draw_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

ROW_INCHES, LETTER_INCHES = 0.26, 0.075
MOST_LINES = len(PALETTE)
PANELS = 4
"""So many metrics a forest and lines show, and so many policies heat maps."""
LOG_FROM = 8
"""Ratio of the largest value of a swept key to the least from which on its axis is logarithmic."""
APART = 0.008
"""Part of the axis between two lines' marks at one value, so that no interval hides another."""


APART_ALONE = 0.12
"""Part of the axis between the first and the last mark where they are not joined."""


def pictures_of(
    found: Comparison, words: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[str, Figure]]:
    """The pictures that these settings and metrics allow, by name.

    ``words`` : what lines write in place of a policy, a swept key or one of its values.
    """
    cells = [labels for labels, _ in by_setting(found.runs, found.settings)]
    swept = [name for name in found.settings if len({labels[name] for labels in cells}) > 1]
    if len(cells) == 1:
        yield "forest", forest(found, cells[0])
        if len(found.metrics) > 1:
            yield "front", front(found, cells[0])
    elif len(swept) == 1:
        yield "lines", lines(found, swept[0], words)
    elif len(swept) == 2:
        yield "heat", heat_maps(found, swept[0], swept[1])


def forest(found: Comparison, labels: Mapping[str, Any]) -> Figure:
    """A row for each policy, the best first: means with 95 % intervals, a panel for each metric.

    The marker tells the view. A dashed line is a bound that no schedule is below. Policies that failed stand below.
    """
    metrics = [metric_of(name) for name in found.metrics[:PANELS]]
    order = order_of(found, labels)
    # Where none was named, those that cannot run are too many to show.
    failed = [*dict.fromkeys(chosen(found.excluded, labels)["policy"])] if found.base else []
    rows = [*order, *failed]
    names = [*order, *(f"{name} (cannot run)" for name in failed)]
    width = 2.6 + LETTER_INCHES * max(map(len, names)) / len(metrics)
    figure, axes = canvas(
        1, len(metrics), width=width, height=1.5 + ROW_INCHES * len(rows), sharey=True
    )
    views = list(dict.fromkeys(found.runs["view"]))
    for ax, metric in zip(axes, metrics, strict=True):
        known = _means(found, labels, metric.name)
        table = known.loc[[name for name in order if name in known.index]]
        by, _ = _scale(metric, table, found.currency)
        for index, view in enumerate(views):
            part = table[table["view"] == view]
            places = [order.index(name) for name in part.index]
            ends = [part["mean"] - part["lower"], part["upper"] - part["mean"]]
            draw_estimates(
                ax, part["mean"] / by, places, xerr=np.array(ends) / by, marker=MARKERS[index], color=PALETTE[index],
                linestyle="none", label=f"jobs {view}" if view == GIVEN else f"view: {view}",
            )  # fmt: skip
        bounds = chosen(found.bounds, {**labels, "metric": metric.name})["bound"]
        if len(bounds):
            ax.axvline(
                bounds.min() / by, color="0.3", linestyle="--", linewidth=1.0, label="lower bound"
            )
        ax.set_xlabel(_title(metric, table, found.currency))
        ax.locator_params(axis="x", nbins=5)
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    handles = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    if len(handles) > 1:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    figure.suptitle(_heading(found, labels))
    return figure


def front(found: Comparison, labels: Mapping[str, Any]) -> Figure:
    """The first two metrics against each other: a point for each policy, and those that no other one beats in both."""
    x, y = metric_of(found.metrics[0]), metric_of(_other(found.metrics))
    across, up = (_means(found, labels, metric.name) for metric in (x, y))
    names = [name for name in across.index if name in up.index]
    of_x, of_y = _scale(x, across, found.currency)[0], _scale(y, up, found.currency)[0]
    points = [(across.loc[n, "mean"] / of_x, up.loc[n, "mean"] / of_y, n) for n in names]
    figure, (ax,) = canvas(1, 1, width=6.4, height=4.4)
    best = _front(points, x, y)
    ax.plot(*zip(*[(p[0], p[1]) for p in best], strict=True), color="0.6", linewidth=1.0, zorder=1)
    near: Counter[tuple[str, str]] = Counter()
    for right, high, name in points:
        on_it = any(name == p[2] for p in best)
        ax.plot(right, high, "o", color=PALETTE[0] if on_it else PALETTE[6], zorder=2)
        if on_it or len(points) <= 12:
            place = (
                f"{right:.2g}",
                f"{high:.2g}",
            )  # names of points that coincide stand below each other
            offset = (4, 4 - 10 * near[place])
            ax.annotate(name, (right, high), offset, textcoords="offset points", fontsize=8)
            near[place] += 1
    ax.set_xlabel(_title(x, across, found.currency))
    ax.set_ylabel(_title(y, up, found.currency))
    ax.set_title(f"{_heading(found, labels)}\nblue: no other policy is better in both", fontsize=9)
    return figure


def _other(metrics: tuple[str, ...]) -> str:
    """The second metric; the first one of another kind where that is only another quantile of the same."""
    kind = metrics[0].partition("_")[2]
    return next((name for name in metrics[1:] if name.partition("_")[2] != kind), metrics[1])


def lines(found: Comparison, key: str, words: Mapping[str, str] = MappingProxyType({})) -> Figure:
    """Metrics over a swept key: a line for each of the policies that are best in the first, with intervals.

    Values without an order, such as two files, are not joined. ``words`` : see `pictures_of`.
    """
    first = chosen(found.table, {"metric": found.metrics[0], "minus": ""})
    ranked = order_of(found, {})
    order = ranked[:MOST_LINES]
    values = list(dict.fromkeys(first[key]))
    numeric = all(isinstance(value, int | float) for value in values)
    values = sorted(values) if numeric else values
    joined = numeric or _differ_in_a_number(key, values)
    looks = {} if joined else {"linestyle": "none"}
    apart = APART if joined else APART_ALONE / max(1, len(order) - 1)
    metrics = [metric_of(name) for name in found.metrics[:PANELS]]
    low, high = (min(values), max(values)) if numeric else (0, len(values) - 1)
    is_log = numeric and low > 0 and high >= LOG_FROM * low
    figure, axes = canvas(1, len(metrics), width=5.6 if len(metrics) > 1 else 6.4, height=4.2)
    for ax, metric in zip(axes, metrics, strict=True):
        table = chosen(found.table, {"metric": metric.name, "minus": ""})
        by, _ = _scale(metric, table, found.currency)
        for index, name in enumerate(order):
            part = table[table["policy"] == name]
            part = part.sort_values(key) if numeric else part
            at = np.array(part[key] if numeric else [*map(values.index, part[key])], dtype=float)
            step = apart * (index - (len(order) - 1) / 2)
            places = at * (high / low) ** step if is_log else at + step * (high - low)
            drawn = part.rename(columns={"lower": "low", "upper": "high"})
            drawn = drawn.assign(**{c: drawn[c] / by for c in ("mean", "low", "high")})
            draw_line(ax, places, drawn, words.get(name, name), index, **looks)
        if is_log:
            ax.set_xscale("log")
            ax.minorticks_off()
        ticks = [words.get(str(value), str(value)).replace(":", "\n") for value in values]
        ax.set_xticks(values if numeric else range(len(values)), ticks)
        ax.set_xlabel(words.get(key) or key_words(key))
        ax.set_ylabel(_title(metric, table, found.currency))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    few = "" if len(ranked) <= MOST_LINES else f", the best {MOST_LINES} of {len(ranked)} policies"
    figure.suptitle(f"{_heading(found, {})}{few}")
    return figure


def _differ_in_a_number(key: str, values: Sequence[Any]) -> bool:
    """Whether texts are alike but for their numbers, as ``exponential:60`` and ``exponential:3600``; names of files never."""
    alike = {re.sub(r"\d+(\.\d*)?(e-?\d+)?", "#", str(value)) for value in values}
    return key != "file" and len(alike) == 1


def heat_maps(found: Comparison, across: str, up: str) -> Figure:
    """The first metric over two swept keys: a panel for each of the best policies; empty where it failed."""
    import seaborn as sns

    metric = metric_of(found.metrics[0])
    table = chosen(found.table, {"metric": metric.name, "minus": ""})
    by, _ = _scale(metric, table, found.currency)
    order = order_of(found, {})[:PANELS]
    figure, axes = canvas(1, len(order), width=3.8, height=3.6)
    shown = table[table["policy"].isin(order)]["mean"] / by
    for ax, name in zip(axes, order, strict=True):
        grid = table[table["policy"] == name].pivot_table(
            index=up, columns=across, values="mean", sort=False
        )
        sns.heatmap(
            grid / by, annot=True, fmt=".3g", cmap="cividis", vmin=shown.min(), vmax=shown.max(), ax=ax,
            cbar=name == order[-1], cbar_kws={"label": _title(metric, table, found.currency)},
        )  # fmt: skip
        ax.set_xlabel(key_words(across))
        ax.set_ylabel(key_words(up))
        ax.set_title(name)
    figure.suptitle(f"{_name(found)}: {_title(metric, table, found.currency)}")
    return figure


def key_words(key: str) -> str:
    """A key of a scenario as the label of an axis: ``cluster.num_nodes`` is "number of nodes".

    Of a group of servers, ``cluster.groups.new.num_nodes``, it is "number of nodes, new".
    """
    *tables, name = key.split(".")
    words = (
        name.replace("num_", "number of ")
        .replace("_per_", " per ")
        .removesuffix("_s")
        .replace("_", " ")
    )
    words = words.replace("gpu", "GPU").replace("cpu", "CPU")
    words += f", {tables[-1]}" if "groups" in tables else ""
    return f"{words} (s)" if name.endswith("_s") else words


def _means(found: Comparison, labels: Mapping[str, Any], metric: str) -> DataFrame:
    return chosen(found.table, {**labels, "metric": metric, "minus": ""}).set_index("policy")


def _name(found: Comparison) -> str:
    """The names of the files, without their folders."""
    return ", ".join(Path(source).name for source in found.source.split(", "))


def _scale(metric: Metric, table: DataFrame, currency: str) -> tuple[float, str]:
    return metric.scaled(float(table["mean"].abs().max()), currency)


def _title(metric: Metric, table: DataFrame, currency: str) -> str:
    return metric.title(float(table["mean"].abs().max()), currency)


def _heading(found: Comparison, labels: Mapping[str, Any]) -> str:
    at = ", ".join(f"{key_words(name)} {value}" for name, value in labels.items())
    counts = chosen(found.table, labels)["replications"]
    runs = "1 run" if counts.max() == 1 else f"{counts.max()} runs"
    return f"{_name(found)}{f', {at}' if at else ''}, {runs} of each policy"


def _front(
    points: list[tuple[float, float, str]], x: Metric, y: Metric
) -> list[tuple[float, float, str]]:
    """The points that no other one beats in both metrics, from left to right; equal ones all."""
    signs = [-1.0 if metric.better == "more" else 1.0 for metric in (x, y)]
    best, least, last = [], math.inf, (math.nan, math.nan)
    for point in sorted(points, key=lambda p: (signs[0] * p[0], signs[1] * p[1])):
        if signs[1] * point[1] < least or point[:2] == last:
            best.append(point)
            least, last = signs[1] * point[1], point[:2]
    return best
