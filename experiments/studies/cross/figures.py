"""The figures of the cross experiment: the comparison, and one for each study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.pictures.plots import canvas, intervals
from experiments.report.experiment import Drawn
from experiments.studies.cross.comparison import LOADS, METHODS, WORKLOADS
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import (
    COMMON,
    EVERYWHERE,
    POOLS,
    mean_ranks,
    methods_of_cells,
    rank_intervals,
    to_the_best,
)
from experiments.sweep.results import Results
from simulator.files.bundled import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MIDDLE = LOADS["quick"][0]
VALUES = {"total_cost": "total cost", "mean_jct_s": "mean completion time"}
COLUMNS = (
    "leasing_cost", "energy_cost", "tardiness_cost", "p99_jct_s", "mean_slowdown", "worst_slowdown",
    "mean_finish_time_fairness", "max_finish_time_fairness", "jain", "gpu_utilisation", "preemptions",
    "late_jobs", "mean_decision_cpu_s", "over_bound",
)  # fmt: skip
"""Columns of each method in the tables beside the figures, as means."""


@PAGE.figure("comparison", "Policies across workloads", "{caption}")
def _heat_map(results: Results) -> Drawn:
    """Ratio to the best, with the interval of the rank."""
    cells = methods_of_cells(results)
    figure, axes = canvas(1, 2, width=8.2, height=14.8)
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
    return Drawn(
        figure,
        pd.concat(parts),
        {
            "caption": "Geometric mean over seeds of each policy's total cost (left) and mean completion time "
            "(right) over that of the best policy on nodes; below it the ranks between which it lies in "
            "90 % of bootstrap samples of the seeds. All policies of a column have the same jobs on as "
            "many GPUs. Methods above FIFO choose the GPUs of each job, those from FIFO on get a fixed "
            "demand. The last four share a pool of as many GPUs in fractions, which nodes cannot, so "
            "they have no rank and no cost of nodes. Empty: the pair makes no sense (the nodes of ANDREAS "
            "are of two types, on which elastic jobs get no fixed demand; Optimus, AFS, Pollux, Sia and elastic EDF begin with one GPU a "
            "job, which not all elastic jobs can run on). No jobs here have tenants: hierarchical shares have one entity. GPUs of a workload "
            "have one price, so all shares give min-cost the same throughput for the money: it takes those that use most GPUs. "
            f"The CSV has {others}all columns of each pair: leasing, energy, "
            "tardiness, completion times, slowdown, fairness, utilisation, preemptions, CPU time of a decision, and of elastic jobs "
            f"the cost over a lower bound: {_which_bound(results)}."
        },
    )


def _which_bound(results: Results) -> str:
    """The lower bound, and how often it exceeds that of each job alone."""
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


@PAGE.figure("pareto", "Cost against completion time", "{caption}")
def _pareto(results: Results) -> Drawn:
    """Cost against completion time."""
    cells = methods_of_cells(results)
    table = _means(cells)
    return Drawn(
        None,
        table,
        {
            "caption": f"Geometric means of both ratios over the {len(EVERYWHERE)} workloads that all policies on "
            "nodes can run, and over all loads and seeds. All policies, the shares of a pool too, "
            "with slowdown, finish-time fairness (of Themis: above 1 is worse than fair) and Jain's index."
        },
    )


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


@PAGE.figure("ranks", "Which policies differ: mean ranks", "{caption}")
def _ranks(results: Results) -> Drawn:
    """Mean ranks with Nemenyi's critical difference."""
    cells = methods_of_cells(results)
    parts: list[pd.DataFrame] = []
    tests: list[str] = []
    for value, name in VALUES.items():
        table, difference, p = mean_ranks(cells, value)
        tests.append(f"{name}: critical difference {difference:.1f}, Friedman p = {p:.1g}")
        parts.append(table.assign(value=value, critical_difference=difference, p=p))
    return Drawn(
        None,
        pd.concat(parts),
        {
            "caption": f"Mean rank of {len(COMMON)} policies over settings (workload and load) of "
            f"{len(EVERYWHERE)} workloads, by geometric means over seeds. Two policies whose mean ranks differ by more than the critical "
            "difference differ at 5 % by Nemenyi's test. "
            + "; ".join(tests)
            + ". A setting counts once, however many seeds it has: seeds of one setting are alike."
        },
    )


@PAGE.figure(
    "lower_bounds",
    "Myopic against far-sighted: every policy on elastic jobs",
    "Total cost over a lower bound that no policy can beat, far-sighted or not, on the jobs of the comparison; "
    "geometric mean over seeds. The bound is the best of each job as if it were alone, and of jobs that share "
    "the nodes (a linear program). What lies above 1 is the most that looking ahead could gain, and a part of it "
    "is the bound's own distance from the optimum. The CSV has 95 % intervals. ANDREAS: low, mixed and high "
    "arrivals. Empty: the pair makes no sense.",
)
def lower_bounds(results: Results) -> Drawn:
    cells = methods_of_cells(results)
    part = cells[cells["method"].isin([m.label for m in METHODS if m.view == "elastic"])].dropna(
        subset=["over_bound"]
    )
    table = intervals(part, ["load", "workload", "method"], "over_bound", geometric=True)
    return Drawn(None, table)
