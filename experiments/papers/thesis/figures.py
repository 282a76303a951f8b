"""The figures of the thesis, its own values drawn beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.thesis.runs import CENTRAL
from experiments.pictures.plots import (
    PALETTE,
    PAPER,
    beside,
    canvas,
    draw_line,
    intervals,
    legend_below,
    log_ticks,
    paper_line,
)
from experiments.report.contents import Figure, save_figure

if TYPE_CHECKING:
    from experiments.campaign.results import Results

LABELS = {
    "fifo": "FIFO",
    "edf": "EDF",
    "ps": "PS",
    "greedy": "greedy",
    "randomised-greedy": "RG, all configurations",
    "randomised-few": "RG, 5 % of the configurations",
    "randomised-own": "RG, own finishes counted",
    "local-search": "local search",
    "path-relinking": "path relinking",
    "hierarchical-greedy": "hierarchical greedy",
    "hierarchical-randomised": "hierarchical RG",
    "hierarchical-milp": "hierarchical, exact MILP",
}
TIMES_S = {"greedy": 0.0038, "randomised-greedy": 3.04, "local-search": 3.15}
KEYS = ["study", "num_nodes", "mean_gap_s", "trace"]


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce thesis --scale {results.scale or 'quick'}"
    drawn = [
        draw(results, out_dir, command)
        for draw in (_figure_4_2, _figure_4_3, _figure_4_4, _figure_4_5, _figure_4_6, _decisions)
    ]
    return [figure for figure in drawn if figure is not None]


def costs(results: Results, study: str) -> pd.DataFrame:
    """One row a trace and setting, a column a method: mean total cost over its random seeds."""
    runs = results.where("run_cost", study=study).scalars()
    if runs.empty:
        return runs
    return runs.pivot_table(index=KEYS[1:], columns="method", values="total_cost")


def gains(results: Results, study: str, over: str, methods: tuple[str, ...]) -> pd.DataFrame:
    """Gain of methods over another one on the same jobs, %; one row a trace and method."""
    wide = costs(results, study)
    if wide.empty or over not in wide:
        return pd.DataFrame()
    table = pd.DataFrame({m: 100 * (1 - wide[m] / wide[over]) for m in methods if m in wide})
    return table.reset_index().melt(KEYS[1:], var_name="method", value_name="gain").dropna()


def _lines(
    table: pd.DataFrame, x: str, methods: tuple[str, ...], value: str, ax: object, log: bool = False
) -> list[pd.DataFrame]:
    rows = []
    for index, method in enumerate(methods):
        part = table[table["method"] == method]
        if not part.empty:
            line = intervals(part, [x], value, geometric=log)
            places = beside(line[x], index, len(methods))
            draw_line(ax, places, line, LABELS[method], index)  # type: ignore[arg-type]
            rows.append(line.assign(method=method))
    return rows


def _figure_4_2(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_cost", study="gap").scalars()
    if runs.empty:
        return None
    figure, (ax,) = canvas(1, 1, width=7.0, height=4.2)
    methods = ("hierarchical-milp", "randomised-greedy", "randomised-own", "greedy")
    rows = _lines(runs, "mean_gap_s", methods, "total_cost", ax, log=True)
    ax.set(xlabel="mean time between submissions x N, s", ylabel="total cost, $")
    log_ticks(ax)
    legend_below(figure, ax, 2)
    return save_figure(
        out_dir,
        "figure_4_2",
        "Hierarchical model and randomised greedy",
        "Total cost against the mean time between submissions. The hierarchical method solves its "
        "MILP exactly here, which the thesis could not; geometric means over traces and seeds.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=results.seeds,
    )


def _figure_4_3(results: Results, out_dir: Path, command: str) -> Figure | None:
    table = gains(results, "gap", "edf", CENTRAL)
    if table.empty:
        return None
    figure, (ax,) = canvas(1, 1, width=7.0, height=4.2)
    rows = _lines(table, "mean_gap_s", CENTRAL, "gain", ax)
    paper_line(ax, 95.05, "thesis: greedy 95.05 %, RG 95.99 %")
    ax.set(xlabel="mean time between submissions x N, s", ylabel="gain over EDF, %")
    legend_below(figure, ax, 3)
    return save_figure(
        out_dir,
        "figure_4_3",
        "Gain over EDF",
        "Share of EDF's total cost that each method saves on the same jobs, mean over traces.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=results.seeds,
    )


def _figure_4_4(results: Results, out_dir: Path, command: str) -> Figure | None:
    table = gains(results, "size", "greedy", CENTRAL[1:])
    if table.empty:
        return None
    figure, (ax,) = canvas(1, 1, width=7.0, height=4.2)
    rows = _lines(table, "num_nodes", CENTRAL[1:], "gain", ax)
    paper_line(ax, 3.0, "thesis: RG 3 %")
    ax.axhline(0.0, color=PAPER, linewidth=0.8)
    ax.set(xlabel="nodes N", ylabel="gain over the greedy, %")
    ax.set_xticks(sorted(set(table["num_nodes"])))
    legend_below(figure, ax, 3)
    return save_figure(
        out_dir,
        "figure_4_4",
        "Central greedy and its improvements",
        "Share of the greedy's total cost that each method saves; 30,000 s / N between submissions.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=results.seeds,
    )


def _figure_4_5(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_cost", study="size").scalars()
    if runs.empty:
        return None
    figure, (ax,) = canvas(1, 1, width=7.0, height=4.2)
    methods = ("greedy", "hierarchical-greedy", "randomised-greedy", "hierarchical-randomised")
    rows = _lines(runs, "num_nodes", methods, "decision_cpu_s", ax, log=True)
    ax.set(xlabel="nodes N", ylabel="CPU time of a decision in a run, s", yscale="log")
    ax.set_xticks(sorted(set(runs["num_nodes"])))
    legend_below(figure, ax, 2)
    return save_figure(
        out_dir,
        "figure_4_5",
        "Time of a decision, central and hierarchical",
        "Mean CPU time of the decisions of whole runs, from the view to the placements.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=results.seeds,
    )


def _figure_4_6(results: Results, out_dir: Path, command: str) -> Figure | None:
    methods = ("hierarchical-randomised", "hierarchical-greedy", "hierarchical-milp", "greedy")
    table = gains(results, "size", "randomised-greedy", methods)
    if table.empty:
        return None
    figure, (ax,) = canvas(1, 1, width=7.0, height=4.2)
    rows = _lines(table, "num_nodes", methods, "gain", ax)
    paper_line(ax, -15.0, "thesis: hierarchical RG -15 %")
    ax.axhline(0.0, color=PAPER, linewidth=0.8)
    ax.set(xlabel="nodes N", ylabel="gain over the central RG, %")
    ax.set_xticks(sorted(set(table["num_nodes"])))
    legend_below(figure, ax, 3)
    return save_figure(
        out_dir,
        "figure_4_6",
        "Hierarchical against central",
        "Gain over the central randomised greedy (negative: dearer) of methods that split the nodes "
        "among controllers of five.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=results.seeds,
    )


def _decisions(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_decision").scalars()
    if runs.empty:
        return None
    figure, axes = canvas(1, 2, width=5.4, height=4.0)
    rows = []
    methods = ("greedy", "randomised-greedy", "local-search", "path-relinking")
    for ax, homogeneous in zip(axes, (False, True), strict=True):
        part = runs[runs["homogeneous"] == homogeneous]
        for index, method in enumerate(methods):
            line = intervals(part, ["num_nodes"], f"{method} cpu_s", geometric=True)
            draw_line(ax, line["num_nodes"], line, LABELS[method], index)
            rows.append(line.assign(method=method, homogeneous=homogeneous))
            if method in TIMES_S:
                ax.plot([100], [TIMES_S[method]], "*", color=PALETTE[index], markersize=11)
        title = "equal nodes" if homogeneous else "VMs of the catalogue"
        ax.set(xlabel="nodes N, jobs 10 N", ylabel="CPU time of a decision, s", title=title)
        ax.set(xscale="log", yscale="log")
        said = "thesis, greedy: 0.0038 s"
        ax.text(105, 0.3 * TIMES_S["greedy"], said, ha="right", va="center", fontsize=8)
        said = "thesis, RG: 3.04 s, local search: 3.15 s"
        ax.text(85, TIMES_S["local-search"], said, ha="right", va="center", fontsize=8)
        sizes = sorted(set(part["num_nodes"]))
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
    legend_below(figure, axes[0], 4)
    return save_figure(
        out_dir,
        "decisions",
        "CPU time of a decision by size",
        "One decision with all 10 N jobs in the queue, 1,000 iterations, one thread, compiled code "
        "already loaded. Stars: the thesis's averages, drawn at 100 nodes.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=results.seeds,
    )


def decision_table(results: Results) -> pd.DataFrame:
    """CPU seconds of one decision at the largest size up to 100 nodes, VMs of the catalogue."""
    runs = results.where("run_decision", homogeneous=False).scalars()
    if runs.empty:
        return runs
    largest = int(np.max([n for n in runs["num_nodes"] if n <= 100]))
    return runs[runs["num_nodes"] == largest]
