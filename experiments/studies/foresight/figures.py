"""Figures of the held-out evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.pages import Drawn, NoRuns, Results
from experiments.pictures.plots import (
    MARKERS,
    PALETTE,
    PAPER,
    canvas,
    draw_estimates,
    legend_below,
    log_ticks,
)
from experiments.studies.foresight.families import FAMILIES
from experiments.studies.foresight.runs import PAGE, RIVALS
from experiments.studies.foresight.tables import (
    ablation,
    costs,
    geometric,
    haste,
)
from experiments.studies.foresight.when import ENOUGH, when

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from simulator.statistics import Estimate

METHODS = ("foresight", *RIVALS)
KINDS = (
    " Kinds of instances: 2021 and 2020 are the laws of the authors' generators (2021 overloaded with tight due dates, "
    "2020 loose), "
    "hierarchical that of the paper; andreas-1 and -2 are the scenarios of ANDREAS, energy is the first at its high "
    "rate. N is the "
    "number of nodes, K that of controllers."
)
WIDE = 5.0
"""Ratio of the largest value to the least from which on an axis is logarithmic."""


@PAGE.figure(
    "methods",
    "Beyond the papers: every method over the lower bound",
    "Geometric means over the same instances, {least} to {most} a family, with 95 % intervals. No schedule can be "
    "cheaper than the dashed line. A part of the distance is the bound's own weakness." + KINDS,
)
def _methods(results: Results) -> Drawn:
    """Every method over the bound, by family."""
    wide = costs(results)
    names = [name for name in FAMILIES if name in wide.index.get_level_values("family")]
    drawing, (ax,) = canvas(width=8.5, height=1.4 + 0.62 * len(names))
    ax.grid(visible=False, axis="y")
    _stripes(ax, len(names))
    rows = []
    for i, method in enumerate(METHODS):
        for y, name in enumerate(names):
            part = wide.xs(name, level="family")
            mean = geometric(part[method] / part["bound"])
            low = max(mean.lower, 1.0)  # no schedule is below the bound
            rows.append((name, method, mean.mean, low, mean.upper, len(part)))
            ax.errorbar(
                mean.mean, y + 0.12 * (i - 3), xerr=[[mean.mean - low], [mean.upper - mean.mean]],
                fmt=MARKERS[i], color=PALETTE[i], markersize=8 if i == 0 else 5.5, elinewidth=0.9,
                label=legend_name(method) if not y else None,
            )  # fmt: skip
    ax.axvline(1.0, color=PAPER, linestyle="--", linewidth=1.2, label="lower bound")
    log_ticks(ax, "x")
    ax.set_ylabel("family of instances")
    ax.set_yticks(range(len(names)), [FAMILIES[name].label for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel("total cost over the best lower bound, geometric mean")
    legend_below(drawing, ax, 4)
    table = pd.DataFrame(rows, columns=["family", "method", "mean", "low", "high", "instances"])
    counts = {"least": table["instances"].min(), "most": table["instances"].max()}
    return Drawn(drawing, table, counts)


def _stripes(ax: Axes, rows: int) -> None:
    """Every other row on a ground of its own, so that marks above each other are told apart by row."""
    for y in range(0, rows, 2):
        ax.axhspan(y - 0.5, y + 0.5, color="#F3F3F3", linewidth=0, zorder=0)


def _written(e: Estimate) -> str:
    """A mean as text, with its interval where there are enough instances."""
    digits = 2 if e.mean < 100.0 else 0
    mean, low, high = (f"{value:.{digits}f}" for value in (e.mean, e.lower, e.upper))
    return mean if e.n < ENOUGH else f"{mean} ({low} to {high})"


def _bars(rows: list[tuple[str, pd.Series]], label: str, what: str) -> tuple[Drawing, pd.DataFrame]:
    """Every instance, geometric means, and intervals where there are enough instances, one a row; a line at 1.

    ``label`` is that of the values, ``what`` says what a row is.
    """
    means = [geometric(values) for _, values in rows]
    table = pd.DataFrame(
        [(row[0], e.mean, e.lower, e.upper, e.n) for row, e in zip(rows, means, strict=True)],
        columns=["row", "mean", "low", "high", "instances"],
    )
    drawing, (ax,) = canvas(width=9.5, height=1.3 + 0.38 * len(rows))
    ax.grid(visible=False, axis="y")
    _stripes(ax, len(rows))
    y = np.arange(len(rows))
    for i, (_, values) in enumerate(rows):
        ax.plot(
            values, np.full(len(values), i), "|", color=PAPER, markersize=9, zorder=1,
            label="an instance" if not i else None,
        )  # fmt: skip
    error = np.vstack([table["mean"] - table["low"], table["high"] - table["mean"]])
    error[:, table["instances"] < ENOUGH] = np.nan
    draw_estimates(
        ax, table["mean"], y, xerr=error, marker=MARKERS[0], color=PALETTE[0], linestyle="none",
        label="geometric mean",
    )  # fmt: skip
    ax.axvline(1.0, color=PAPER, linestyle="--", linewidth=1.2)
    found = pd.concat([values for _, values in rows])
    if found.max() > WIDE * found.min():  # a narrow logarithmic axis is as good as a linear one
        log_ticks(ax, "x")
    ax.set_ylabel(f"{what} (number of instances)")
    ax.set_yticks(y, [f"{r[0]} ({len(r[1])})" for r in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    beside: dict[str, Any] = {
        "fontsize": 8.5,
        "transform": ax.get_yaxis_transform(),
        "va": "center",
    }
    for i, mean in enumerate(means):
        ax.text(1.015, i, _written(mean), **beside)
    ax.text(1.015, -0.75, "mean (95 % interval)", **{**beside, "va": "bottom"})
    ax.set_xlabel(label)
    legend_below(drawing, ax, 2)
    return drawing, table


@PAGE.figure(
    "parts",
    "Beyond the papers: foresight without one of its parts",
    "To the right of the dashed line the part saves cost. Number of instances in brackets; intervals from five "
    "instances on. docs/foresight.md explains the parts and their signs, c and eta." + KINDS,
)
def _parts(results: Results) -> Drawn:
    """Value of each part."""
    table = ablation(results)
    if table.empty:
        raise NoRuns("no pair of runs to compare")
    rows = [
        (f"{part}: {FAMILIES[str(family)].label}", of["ratio"])
        for (part, family), of in table.groupby(["without", "family"], sort=True)
    ]
    return Drawn(
        *_bars(
            rows, "cost without the part over cost with it", "what is changed: kind of instances"
        )
    )


def legend_name(method: str) -> str:
    """The name of a policy as a legend has it."""
    return "MILP" if method == "milp" else method.replace("-", " ")


@PAGE.figure(
    "haste",
    "Beyond the papers: what shorter completion times cost",
    "Four servers of eight GPUs, leased to the end of the last job, load 0.8: geometric means over the same "
    "{instances} instances, too few for an interval that says much, relative to the greedy (1, 1). Lower and further left is "
    "better. The line is foresight with haste {values}." + KINDS,
)
def _haste(results: Results) -> Drawn:
    """Cost and completion time of foresight's values of haste, and of other policies."""
    table = haste(results)
    families = table["family"].unique()
    drawing, panels = canvas(columns=len(families), width=4.6)
    for ax, family in zip(panels, families, strict=True):
        means = table[table["family"] == family].set_index("method")
        ours = means[means.index.str.startswith("haste ")]
        ax.plot(
            ours["mean_jct_s"], ours["total_cost"], f"{MARKERS[0]}-", color=PALETTE[0],
            label="foresight",
        )  # fmt: skip
        for method, place in (("haste 0", (9, 3)), ("haste 1", (6, -13))):
            at = ours.loc[method, ["mean_jct_s", "total_cost"]]
            ax.annotate(method, at, xytext=place, textcoords="offset points")
        ax.margins(x=0.2, y=0.1)
        for i, (method, row) in enumerate(means.drop(ours.index).iterrows(), start=1):
            ax.plot(
                row["mean_jct_s"], row["total_cost"], MARKERS[i], color=PALETTE[i], label=legend_name(str(method)),
                linestyle="none",
            )  # fmt: skip
        log_ticks(ax, "x")
        log_ticks(ax, "y")
        ax.set_title(FAMILIES[str(family)].kind)
        ax.set_xlabel("mean completion time over the greedy's")
        ax.set_ylabel("total cost over the greedy's")
    legend_below(drawing, panels[0], 7)
    values = sorted({float(m.partition(" ")[2]) for m in table["method"] if m.startswith("haste ")})
    listed = ", ".join(f"{value:g}" for value in values)
    return Drawn(drawing, table, {"values": listed, "instances": int(table["instances"].max())})


@PAGE.figure(
    "when_it_pays",
    "Beyond the papers: when foresight pays, when not",
    "It pays where the whole 95 % interval of the geometric mean is left of the dashed line, from "
    "five instances on. Wrong predictions, moves, other due dates and two controllers have three "
    "rivals (greedy, local search, MILP), the others six. Number of instances in brackets: several "
    "errors, or several delays, of one instance count once, by their geometric mean.",
)
def _when(results: Results) -> Drawn:
    """For users: the conditions under which foresight is the cheapest."""
    found = when(results)
    if not found:
        raise NoRuns("no finished run of this figure")
    rows = [(f"{condition}: {word}", values) for condition, word, values, _ in found]
    return Drawn(
        *_bars(rows, "cost of foresight over the best rival of each instance", "condition")
    )
