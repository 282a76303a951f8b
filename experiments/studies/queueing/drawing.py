"""Points with intervals, and lines of formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.pictures.plots import MARKERS, PALETTE, draw_estimates, intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes


GRID = np.linspace(0.02, 0.96, 60)
"""Loads at which lines are drawn."""


def draw_points(
    ax: Axes, table: pd.DataFrame, by: str, value: str, index: int, scale: float = 1.0
) -> pd.DataFrame:
    """Means with intervals; the table behind them. Never moved apart: they belong to a line."""
    points = intervals(table, [by], value)
    error = np.array([points["mean"] - points["low"], points["high"] - points["mean"]])
    draw_estimates(
        ax, points[by], points["mean"] / scale, yerr=error / scale, linestyle="none",
        marker=MARKERS[index % len(MARKERS)], color=PALETTE[index % len(PALETTE)],
    )  # fmt: skip
    return points


def draw_formula(ax: Axes, x: object, y: object, label: str, index: int) -> None:
    """The line of a formula."""
    ax.plot(x, y, color=PALETTE[index % len(PALETTE)], label=label)  # type: ignore[arg-type]


def servers_text(count: int) -> str:
    """A number in words."""
    return f"{count} server{'s' if count > 1 else ''}"
