"""Common panels of the figures: lines over load, distributions, printed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.pages import NoRuns, Results, plots
from experiments.papers.synergy.runs import PAGE
from experiments.papers.synergy.tables import Table, cells
from experiments.pictures.plots import PALETTE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {
    "proportional": "GPU-proportional",
    "greedy": "Synergy-Greedy",
    "tune": "Synergy-Tune",
    "opt": "Synergy-Opt",
    "static": "static demands",
    "tune-by-gpus": "tune, sorted by GPUs (ours)",
}
COLOURS = {name: PALETTE[i] for i, name in enumerate(NAMES)}
LOAD = "jobs per hour (for 128 GPUs)"
AVERAGES = (
    " Averages over {windows}; intervals of 95 % are wide because traces differ from seed to seed."
    + plots.FEWER.format(runs="seeds")
)


def load_panel(ax: Axes, table: Table, title: str) -> Table:
    """Average JCT over load, a line for each mechanism."""
    drawn = plots.lines(ax, table, "load", "mean_jct_h", "mechanism", NAMES, pair="seed")
    over_load(ax, drawn, "average JCT, h", title)
    return drawn


def over_load(ax: Axes, drawn: Table, ylabel: str, title: str = "") -> None:
    """The axes of a panel over load."""
    loads = sorted(set(drawn["load"]))
    ax.set(xlabel=LOAD, ylabel=ylabel, title=title)
    from_zero(ax)
    ax.set_xticks(loads, [f"{x:g}" for x in loads])


def from_zero(ax: Axes) -> None:
    """A value axis that begins at zero, with room above the largest mark."""
    ax.set_ylim(0, 1.04 * ax.get_ylim()[1])


def cdf_panel(ax: Axes, table: Table, title: str) -> None:
    """CDF of JCT, a line for each mechanism, on the traces that all of them ran."""
    ran = table.groupby("seed")["mechanism"].nunique()
    table = table[table["seed"].isin(ran.index[ran == ran.max()])]
    drawn = [m for m in NAMES if m in set(table["mechanism"])]
    widths = np.linspace(1.5 * len(drawn), 1.5, len(drawn))  # what lies below another stays visible
    for mechanism, width in zip(drawn, widths, strict=True):
        hours = np.sort(table.loc[table["mechanism"] == mechanism, "jct_h"].to_numpy())
        part = np.arange(1, len(hours) + 1) / len(hours)
        ax.step(hours, part, where="post", color=COLOURS[mechanism], label=NAMES[mechanism],
                linewidth=width)  # fmt: skip
    ax.set(xlabel="JCT, h", ylabel="part of the jobs", title=title, yticks=np.linspace(0, 1, 6))
    plots.log_ticks(ax, "x")


def note(ax: Axes, text: str) -> None:
    """Text of the paper on a panel, above what is drawn there."""
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.15 * (high - low))
    ax.text(0.02, 0.98, text, transform=ax.transAxes, va="top", fontsize=8, color=PAPER)


def stars(
    ax: Axes, x: Sequence[float], values: Sequence[float], label: str, words: Sequence[str] = (), *,
    below: bool = False,
) -> None:  # fmt: skip
    """Values of the authors' own draw, with their numbers ``below`` or beside; ``words`` before each of up to three at one ``x``."""
    ax.plot(x, values, "*", color=PALETTE[5], markeredgecolor="black", markersize=12, label=label)
    for i, (at, value) in enumerate(zip(x, values, strict=True)):
        text, place = f"{value:.3g}", {"xytext": (-18.0, 0.0), "va": "center", "ha": "right"}
        if below:
            place = {"xytext": (0.0, -7.0), "va": "top", "ha": "center"}
        if words:
            text = f"{words[i]} {text}"
            place = {"xytext": (8.0, 0.0), "va": ("center", "bottom", "top")[i], "ha": "left"}
        options: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, **place}
        ax.annotate(text, (at, value), **options)


def marks(ax: Axes, at: Sequence[float], names: Sequence[str], *, beside: bool = False) -> None:
    """Printed values, by name, as short dark lines with their numbers above, or ``beside`` them."""
    for x, name in zip(at, names, strict=True):
        value = PAGE[name].low
        place: dict[str, Any] = {"xy": (x, value), "xytext": (0, 3), "ha": "center"}
        if beside:
            place = {"xy": (x + 0.15, value), "xytext": (5, 0), "va": "center"}
        ax.hlines(value, x - 0.15, x + 0.15, color=PAPER, linewidth=2.2)
        ax.annotate(f"{value:g}", **place, textcoords="offset points", fontsize=8, color=PAPER)
    ax.plot([], [], color=PAPER, linewidth=2.2, label="paper")


def their_stars(ax: Axes, results: Results, study: str, **labels: Any) -> Table:
    """Averages of the authors' own draw as stars of each mechanism's colour; returns them, none where they did not run."""
    try:
        table = cells(results, study, **labels)
    except NoRuns:
        return pd.DataFrame(columns=["mechanism", "load", "mean_jct_h"])
    for mechanism in (m for m in NAMES if m in set(table["mechanism"])):
        part = table[table["mechanism"] == mechanism].sort_values("load")
        ax.plot(part["load"], part["mean_jct_h"], "*", color=COLOURS[mechanism], markeredgecolor="black", markersize=11,
                label=f"{NAMES[mechanism]}, authors' draw")  # fmt: skip
    low, high = ax.get_ylim()
    ax.set_ylim(low, max(high, float(table["mean_jct_h"].max())))
    from_zero(ax)
    loads = sorted({*ax.get_xticks(), *table["load"]})
    ax.set_xticks(loads, [f"{x:g}" for x in loads])
    return table
