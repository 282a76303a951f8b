"""The figures of the cross experiment: the comparison, and one for each question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.cross import asked
from experiments.papers.cross.comparison import LOADS, METHODS, WORKLOADS
from experiments.papers.cross.floors import floors
from experiments.papers.cross.ratios import (
    COMMON,
    EVERYWHERE,
    POOLS,
    mean_ranks,
    rank_intervals,
    to_the_best,
)
from experiments.pictures.plots import MARKERS, PALETTE, canvas, legend_below
from experiments.report.contents import Figure, save_figure
from simulator.datafiles import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.sweep.results import Results

MIDDLE = LOADS["quick"][0]
VALUES = {"total_cost": "total cost", "mean_jct_s": "mean completion time"}
COLUMNS = (
    "leasing_cost", "energy_cost", "tardiness_cost", "p99_jct_s", "mean_slowdown", "worst_slowdown",
    "mean_finish_time_fairness", "max_finish_time_fairness", "jain", "gpu_utilisation", "preemptions",
    "late_jobs", "mean_decision_cpu_s", "over_bound",
)  # fmt: skip
"""What the tables beside the figures have of each method, as means."""
VIEWS = {"elastic": "elastic jobs", "fixed": "fixed demands", "pool": "shares of a pool"}


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce cross --scale {results.scale or 'quick'}"
    cells = results.where("run_cell").table("methods")
    drawn: list[Figure | None] = []
    if not cells.empty:
        drawn += [draw(cells, results, out_dir, command) for draw in (_heat_map, _pareto, _ranks)]
    drawn += [draw(results, out_dir, command) for draw in asked.FIGURES]
    if not cells.empty:
        drawn.append(floors(cells, results, out_dir, command))
    return [figure for figure in drawn if figure is not None]


def _heat_map(cells: pd.DataFrame, results: Results, out_dir: Path, command: str) -> Figure:
    """Ratio to the best, with the interval of the rank."""
    figure, axes = canvas(1, 2, width=8.2, height=10.5)
    parts = []
    methods = [m.label for m in METHODS]
    for ax, (value, name) in zip(axes, VALUES.items(), strict=True):
        table = rank_intervals(cells[cells["load"] == MIDDLE], value)
        if value == "total_cost":
            table = table[~table["method"].isin(POOLS)]
        _draw_cells(ax, table, methods)
        ax.set_title(f"{name} over the best on nodes", fontsize=11)
        parts.append(_all_columns(table.assign(value=value, load=MIDDLE), cells))
        for load in sorted(set(cells["load"]) - {MIDDLE}):  # not drawn, and in the CSV
            other = rank_intervals(cells[cells["load"] == load], value)
            if value == "total_cost":
                other = other[~other["method"].isin(POOLS)]
            parts.append(_all_columns(other.assign(value=value, load=load), cells))
    others = "the other loads too, and " if set(cells["load"]) - {MIDDLE} else ""
    figure.suptitle(f"Offered load {MIDDLE:g}: ratio to the best, and ranks between which it lies")
    return save_figure(
        out_dir,
        "comparison",
        "Every policy on every workload",
        "Geometric mean over seeds of each policy's total cost (left) and mean completion time "
        "(right) over that of the best policy on nodes; below it the ranks between which it lies in "
        "90 % of bootstrap samples of the seeds. All policies of a column have the same jobs on as "
        "many GPUs. Methods above FIFO choose the GPUs of each job, those from FIFO on get a fixed "
        "demand. The last four share a pool of as many GPUs in fractions, which nodes cannot, so "
        "they have no rank and no cost of nodes. Empty: the pair makes no sense (the nodes of ANDREAS "
        f"are of two types). The CSV has {others}all columns of each pair: leasing, energy, "
        "tardiness, completion times, slowdown, fairness, utilisation, preemptions, CPU time of a decision, and of elastic jobs "
        f"the cost over a lower bound: {_which_bound(results)}.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.seeds,
    )


def _which_bound(results: Results) -> str:
    """What the lower bound is, and how often it is more than that of each job alone."""
    told = "the best of each job as if it were alone, and of jobs that share the nodes (a linear program)"
    table = results.where("run_cell").scalars()
    if not {"bound", "bound_alone"} <= set(table):
        return told
    more = int((table["bound"] > table["bound_alone"] * (1 + 1e-9)).sum())
    return f"{told}, which is more in {more} of {len(table)} cells"


def _all_columns(table: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The table with means over the seeds of all that is compared, by workload, load and method."""
    keys = ["workload", "load", "method"]
    means = cells.groupby(keys)[[*VALUES, *COLUMNS]].mean().add_prefix("mean_of_")
    return table.join(means, on=keys)


def _draw_cells(ax: Axes, table: pd.DataFrame, methods: list[str]) -> None:
    wide = table.pivot_table(index="method", columns="workload", values="ratio")
    wide = wide.reindex(index=methods, columns=list(WORKLOADS))
    ax.imshow(np.log2(wide), cmap="cividis_r", vmin=0, vmax=3, aspect="auto")
    for row in records(table):
        method, ratio, low, high = (row[k] for k in ("method", "ratio", "low", "high"))
        y, x = methods.index(method), WORKLOADS.index(row["workload"])
        ranks = "" if method in POOLS else f"\n{low}" if low == high else f"\n{low}–{high}"
        dark = np.log2(ratio) > 1.5
        ax.text(x, y, f"{ratio:.2f}{ranks}", ha="center", va="center", fontsize=6.5,
                color="white" if dark else "black")  # fmt: skip
    ax.set_xticks(range(len(WORKLOADS)), [w.replace(", ", ",\n") for w in WORKLOADS], fontsize=8,
                  rotation=45, ha="right")  # fmt: skip
    ax.set_yticks(range(len(methods)), methods, fontsize=8)
    ax.set(xlabel="workload", ylabel="policy")
    ax.grid(False)


def _pareto(cells: pd.DataFrame, results: Results, out_dir: Path, command: str) -> Figure:
    """Cost against completion time."""
    table = _means(cells)
    figure, (ax,) = canvas(1, 1, width=8.0, height=5.6)
    for i, (view, label) in enumerate(VIEWS.items()):
        mine = table[table["view"] == view]
        if view != "pool":
            ax.plot(mine["mean_jct_s"], mine["total_cost"], MARKERS[i], color=PALETTE[i],
                    label=label, markersize=7)  # fmt: skip
    on_nodes = table[table["view"] != "pool"]
    best = _efficient(on_nodes)
    ax.plot(best["mean_jct_s"], best["total_cost"], "o", color="#000000", fillstyle="none", markersize=13,
            label="no policy is better in both")  # fmt: skip
    fixed = table[table["view"] == "fixed"]
    named = {str(records(fixed.sort_values(value).head(1))[0]["method"]) for value in VALUES}
    named |= {str(row["method"]) for row in records(best)} | set(NAMED)
    rows = records(on_nodes[on_nodes["method"].isin(named)].sort_values("total_cost"))
    for place, row in enumerate(rows):  # in a column at the right, where names are never crowded
        ax.annotate(
            row["method"],
            (row["mean_jct_s"], row["total_cost"]),
            xytext=(1.01, 0.02 + 0.96 * place / max(1, len(rows) - 1)),
            textcoords="axes fraction",
            fontsize=8,
            arrowprops={"arrowstyle": "-", "color": "#888888", "linewidth": 0.6},
        )
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([1.25, 1.5, 2, 3, 4], labels=["1.25", "1.5", "2", "3", "4"])
        axis.set_ticks([], minor=True)
    ax.set(xlabel="mean completion time over the best, geometric mean",
           ylabel="total cost over the best, geometric mean")  # fmt: skip
    ax.margins(0.12)
    legend_below(figure, ax, 3)
    return save_figure(
        out_dir,
        "pareto",
        "Cost against completion time",
        f"Geometric means of both ratios over the {len(EVERYWHERE)} workloads that all policies on "
        "nodes can run, and over all loads and seeds. Named: the policies that no other beats in "
        "both (with a ring), the best with fixed demands, and well-known ones. The CSV has all of them, the shares of a pool too, "
        "with slowdown, finish-time fairness (of Themis: above 1 is worse than fair) and Jain's index.",
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


NAMED = (
    "FIFO, a job a node", "EDF, a job a node", "PS, a job a node", "greedy", "MILP, two controllers",
    "rental widths on nodes",
    "FIFO", "FIFO, backfill", "SRTF, proportional",
)  # fmt: skip
"""What users know, beside the best."""


def _means(cells: pd.DataFrame) -> pd.DataFrame:
    view = {m.label: m.view for m in METHODS}
    part = cells[cells["workload"].isin(EVERYWHERE)]
    columns = {
        value: np.exp(
            np.log(to_the_best(part, value).set_index("method")["ratio"]).groupby("method").mean()
        )
        for value in VALUES
    }
    others = part.groupby("method")[list(COLUMNS)].mean()
    table = pd.DataFrame(columns).join(others).reset_index()
    return table.assign(view=table["method"].map(view))


def _efficient(table: pd.DataFrame) -> pd.DataFrame:
    """Rows that no other row beats in cost and completion time, by completion time."""
    ordered = table.sort_values(["mean_jct_s", "total_cost"])
    least = ordered["total_cost"].cummin().shift(fill_value=np.inf)
    return ordered[ordered["total_cost"] < least]


def _ranks(cells: pd.DataFrame, results: Results, out_dir: Path, command: str) -> Figure:
    """Mean ranks with Nemenyi's critical difference."""
    figure, axes = canvas(1, 2, width=6.6, height=6.6)
    parts: list[pd.DataFrame] = []
    tests: list[str] = []
    for ax, (value, name) in zip(axes, VALUES.items(), strict=True):
        table, difference, p = mean_ranks(cells, value)
        y = np.arange(len(table))[::-1]
        ax.errorbar(table["rank"], y, xerr=difference / 2, fmt="o", color=PALETTE[0],
                    ecolor="#888888", capsize=2.5)  # fmt: skip
        ax.set_yticks(y, table["method"], fontsize=8)
        ax.set(xlabel="mean rank (1 is best)", ylabel="policy", title=name)
        tests.append(f"{name}: critical difference {difference:.1f}, Friedman p = {p:.1g}")
        parts.append(table.assign(value=value, critical_difference=difference, p=p))
    return save_figure(
        out_dir,
        "ranks",
        "Which policies differ: mean ranks",
        f"Mean rank of {len(COMMON)} policies over settings (workload and load) of "
        f"{len(EVERYWHERE)} workloads, by geometric means over seeds. Two policies whose bars do not overlap differ "
        "at 5 % by Nemenyi's test (bars are half the critical difference to each side). "
        + "; ".join(tests)
        + ". A setting counts once, however many seeds it has: seeds of one setting are alike.",
        figure,
        pd.concat(parts),
        command=command,
        seeds=results.seeds,
    )
