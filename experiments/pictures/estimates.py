"""A picture of estimates: means of policies, and differences from the first one, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.pictures.plots import ENOUGH_RUNS, canvas
from experiments.pictures.saving import check_kind, save_picture
from experiments.sweep.store import Store
from experiments.sweep.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

OF_AN_ESTIMATE = ("minus", "metric", "mean", "lower", "upper", "replications", "failed", "value")
ROW_INCHES = 0.28
LETTER_INCHES = 0.08


def sweep_estimates(folder: Path, metrics: Sequence[str], out: Path) -> None:
    """Draw the summary of the sweep in a folder.

    Raises
    ------
    InputError
        No finished run, no such metric, or a picture that cannot be written; one line.
    """
    check_kind(out, "--figure")
    with Store(folder) as store:
        found = Summary.of(store, metrics)
    save_picture(draw_estimates(found.table, found.values), out)


def draw_estimates(table: DataFrame, values: DataFrame) -> Figure:
    """A row of panels for each metric: the means, and beside them the differences.

    An estimate is a point with its 95 % interval, or, from fewer than five runs, its runs.

    Parameters
    ----------
    table : one row an estimate, columns ``minus``, ``metric``, ``mean``, ``lower``, ``upper``,
        ``replications``; all other columns together name it.
    values : the numbers behind it, with the column ``value``.
    """
    table = table[table["replications"] > 0]
    metrics = list(dict.fromkeys(table["metric"]))
    same = [n for n in _names(table) if n != "policy" and len(set(table[n])) == 1]
    table, values = table.drop(columns=same), values.drop(columns=same)
    differences = bool((table["minus"] != "").any())
    most = max(len(table[(table["metric"] == m) & (table["minus"] == "")]) for m in metrics)
    longest = max(map(len, _labels(table, _names(table))))
    width = 4.0 + LETTER_INCHES * longest
    figure, axes = canvas(
        len(metrics), 1 + differences, width=width, height=1.2 + ROW_INCHES * most
    )
    for row, metric in enumerate(metrics):
        for column in range(1 + differences):
            ax = axes[row * (1 + differences) + column]
            of_panel = (table["metric"] == metric) & ((table["minus"] != "") == bool(column))
            behind = (values["metric"] == metric) & ((values["minus"] != "") == bool(column))
            _panel(ax, table[of_panel], values[behind])
            minus = table[of_panel]["minus"].max() if column else ""
            ax.set_xlabel(f"{metric}, minus {minus}" if column else metric)
    return figure


def _panel(ax: Axes, table: DataFrame, values: DataFrame) -> None:
    names = _names(table)
    labels = _labels(table, names)
    of = values["value"].groupby(_labels(values, names)).apply(list)
    for place, (label, (_, row)) in enumerate(zip(labels, table.iterrows(), strict=True)):
        if row["replications"] < ENOUGH_RUNS:
            ax.plot(of[label], [place] * len(of[label]), "o", color="C0", mfc="none")
        else:
            ends = [[row["mean"] - row["lower"]], [row["upper"] - row["mean"]]]
            ax.errorbar([row["mean"]], [place], xerr=ends, fmt="o", color="C0", capsize=3)
    if (table["minus"] != "").any():
        ax.axvline(0, color="0.5", linewidth=0.8)
    ax.set_yticks(range(len(labels)), labels)
    ax.locator_params(axis="x", nbins=6)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def _names(table: DataFrame) -> list[str]:
    """The columns that name an estimate."""
    return [name for name in table.columns if name not in OF_AN_ESTIMATE]


def _labels(table: DataFrame, names: list[str]) -> list[str]:
    """The names of the rows; of a key its last part."""
    rows = table[names].to_dict("records")
    return [
        ", ".join(
            str(value) if name == "policy" else f"{str(name).split('.')[-1]} = {value}"
            for name, value in row.items()
        )
        for row in rows
    ]
