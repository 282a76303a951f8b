"""The figures of the thesis, its own values drawn beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.papers.thesis.runs import CENTRAL, DUE_LAWS, MORE_TRACES
from experiments.pictures.plots import (
    PALETTE,
    PAPER,
    beside,
    beside_log,
    canvas,
    draw_line,
    intervals,
    legend_below,
    log_ticks,
    paper_line,
    thousands,
)
from experiments.report.contents import Figure, save_figure

if TYPE_CHECKING:
    from experiments.sweep.results import Results

LABELS = {
    "fifo": "FIFO",
    "edf": "EDF",
    "ps": "PS",
    "greedy": "greedy",
    "randomised-greedy": "RG (best 5 %)",
    "randomised-all": "RG, all configurations",
    "randomised-own": "RG, own finishes counted",
    "randomised-no-h": "RG, without H",
    "local-search": "local search",
    "path-relinking": "path relinking",
    "hierarchical-greedy": "hierarchical greedy",
    "hierarchical-randomised": "hierarchical RG",
    "hierarchical-milp": "hierarchical, exact MILP",
}
TIMES_S = {"greedy": 0.0038, "randomised-greedy": 3.04, "local-search": 3.15}
SMALL_UP_TO = 20
"""Nodes that end the first regime of Figure 4.6."""
KEYS = ["study", "num_nodes", "mean_gap_s", "trace"]


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce thesis --scale {results.scale or 'quick'}"
    drawn = [
        draw(results, out_dir, command)
        for draw in (
            _figure_4_2,
            _figure_4_3,
            _figure_4_4,
            _figure_4_5,
            _figure_4_6,
            _proxies,
            _decisions,
        )
    ]
    return [figure for figure in drawn if figure is not None]


def costs(
    results: Results, study: str, due: str = "min-2max", *, more: bool = False
) -> pd.DataFrame:
    """One row a trace and setting, a column a method: mean total cost over its random seeds.

    ``more``: with the further traces, on which some methods ran.
    """
    studies = (study, MORE_TRACES[study]) if more else (study,)
    runs = pd.concat(
        [results.where("run_scenario", study=name, due=due).scalars() for name in studies]
    )
    if runs.empty:
        return runs
    return runs.pivot_table(index=KEYS[1:], columns="method", values="total_cost")


def gains(
    results: Results,
    study: str,
    over: str,
    methods: tuple[str, ...],
    due: str = "min-2max",
    *,
    more: bool = False,
) -> pd.DataFrame:
    """Gain of methods over another one on the same jobs, %; one row a trace and method."""
    wide = costs(results, study, due, more=more)
    if wide.empty or over not in wide or not set(methods) & set(wide.columns):
        return pd.DataFrame()
    table = pd.DataFrame({m: 100 * (1 - wide[m] / wide[over]) for m in methods if m in wide})
    return table.reset_index().melt(KEYS[1:], var_name="method", value_name="gain").dropna()


def _by_law(
    tables: dict[str, pd.DataFrame],
    x: str,
    methods: tuple[str, ...],
    value: str,
    labels: tuple[str, str],
    log: bool = False,
) -> tuple[Any, list[Any], pd.DataFrame]:
    """A panel for each law of due dates: drawing, axes, and the numbers; ``labels`` of x and y."""
    figure, axes = canvas(1, 2, width=5.8, height=4.2, sharey=True)
    rows = []
    for ax, (due, table) in zip(axes, tables.items(), strict=True):
        here = [method for method in methods if method in set(table["method"])]
        span = float(np.ptp(table[x]))
        for place, method in enumerate(here):
            line = intervals(table[table["method"] == method], [x], value, geometric=log)
            places = beside(line[x], place, len(here), span)
            draw_line(ax, places, line, LABELS[method], methods.index(method))
            rows.append(line.assign(method=method, due=due))
        ax.set(xlabel=labels[0], title=DUE_LAWS[due])
        if x == "num_nodes":
            ax.set_xticks(sorted(set(table[x])))
        else:
            thousands(ax.xaxis)
    axes[0].set(ylabel=labels[1])
    return figure, list(axes), pd.concat(rows)


def _over_traces(table: pd.DataFrame) -> str:
    """What the intervals of a figure rest on, in words."""
    return (
        f" Intervals are 95 %, over {table['n'].max()} traces; the seeds are those of the random methods on each "
        "trace."
    )


def _trace_means(results: Results, study: str, value: str) -> dict[str, pd.DataFrame]:
    """For each law one row a trace, setting and method: ``value``, the mean over random seeds.

    Seeds on one trace are no further observations of the method: an interval counts traces.
    """
    tables = {}
    for due in DUE_LAWS:
        runs = results.where("run_scenario", study=study, due=due).scalars()
        if not runs.empty:
            runs = runs.pivot_table(index=[*KEYS[1:], "method"], values=value).reset_index()
        tables[due] = runs
    return tables


GAP = "mean time between submissions x N, s"


def _figure_4_2(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = _trace_means(results, "gap", "total_cost")
    if any(part.empty for part in runs.values()):
        return None
    methods = ("hierarchical-milp", "randomised-greedy", "randomised-all", "greedy")
    labels = (GAP, "total cost, $")
    figure, axes, table = _by_law(runs, "mean_gap_s", methods, "total_cost", labels, log=True)
    log_ticks(axes[0])
    legend_below(figure, axes[0], 4)
    return save_figure(
        out_dir,
        "figure_4_2",
        "Figure 4.2: hierarchical model and randomised greedy",
        "Total cost against the mean time between submissions. The hierarchical method solves its "
        "MILP exactly here, which the thesis could not; geometric means over traces, of each the mean "
        "over random seeds." + _over_traces(table),
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _figure_4_3(results: Results, out_dir: Path, command: str) -> Figure | None:
    tables = {due: gains(results, "gap", "edf", CENTRAL, due) for due in DUE_LAWS}
    if any(table.empty for table in tables.values()):
        return None
    labels = (GAP, "gain over EDF, %")
    figure, axes, table = _by_law(tables, "mean_gap_s", CENTRAL, "gain", labels)
    for ax in axes:
        paper_line(ax, 95.05, "thesis: greedy 95.05 %, RG 95.99 %")
    legend_below(figure, axes[0], 4)
    return save_figure(
        out_dir,
        "figure_4_3",
        "Figure 4.3: gain over EDF",
        "Share of EDF's total cost that each method saves on the same jobs, mean over traces. The "
        "variants of ours run under the first law alone." + _over_traces(table),
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _figure_4_4(results: Results, out_dir: Path, command: str) -> Figure | None:
    tables = {due: gains(results, "size", "greedy", CENTRAL[1:], due) for due in DUE_LAWS}
    if any(table.empty for table in tables.values()):
        return None
    labels = ("nodes N", "gain over the greedy, %")
    figure, axes, table = _by_law(tables, "num_nodes", CENTRAL[1:], "gain", labels)
    for ax in axes:
        paper_line(ax, 3.0, "thesis: RG 3 %")
        ax.axhline(0.0, color=PAPER, linewidth=0.8)
    legend_below(figure, axes[0], 4)
    return save_figure(
        out_dir,
        "figure_4_4",
        "Figure 4.4: central greedy and its improvements",
        "Share of the greedy's total cost that each method saves; 30,000 s / N between submissions."
        + _over_traces(table),
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _figure_4_5(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = _trace_means(results, "size", "mean_decision_cpu_s")
    if any(part.empty for part in runs.values()):
        return None
    methods = ("greedy", "hierarchical-greedy", "randomised-greedy", "hierarchical-randomised")
    labels = ("nodes N", "CPU time of a decision in a run, s")
    figure, axes, table = _by_law(
        runs, "num_nodes", methods, "mean_decision_cpu_s", labels, log=True
    )
    axes[0].set_yscale("log")
    legend_below(figure, axes[0], 4)
    return save_figure(
        out_dir,
        "figure_4_5",
        "Figure 4.5: time of a decision, central and hierarchical",
        "Mean CPU time of the decisions of whole runs, from the view to the placements."
        + _over_traces(table),
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _figure_4_6(results: Results, out_dir: Path, command: str) -> Figure | None:
    methods = ("hierarchical-randomised", "hierarchical-greedy", "hierarchical-milp", "greedy")
    tables = {due: gains(results, "size", "randomised-greedy", methods, due) for due in DUE_LAWS}
    if any(table.empty for table in tables.values()):
        return None
    labels = ("nodes N", "gain over the central RG, %")
    figure, axes, table = _by_law(tables, "num_nodes", methods, "gain", labels)
    for ax, part in zip(axes, tables.values(), strict=True):
        paper_line(ax, -15.0, "thesis: hierarchical RG -15 %")
        ax.axhline(0.0, color=PAPER, linewidth=0.8)
        if part["num_nodes"].max() > SMALL_UP_TO:
            ax.axvspan(SMALL_UP_TO + 5, part["num_nodes"].max() + 3, color=PAPER, alpha=0.08)
    legend_below(figure, axes[0], 3)
    return save_figure(
        out_dir,
        "figure_4_6",
        "Figure 4.6: hierarchical against central",
        "Gain over the central randomised greedy (negative: dearer) of methods that split the nodes "
        f"among controllers of five. Two regimes, up to {SMALL_UP_TO} nodes and beyond (shaded), have rows "
        "of their own in the table of claims; the figure proxies shows at how many decisions the "
        "randomised greedy improves on the greedy's plan." + _over_traces(table),
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _proxies(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_proxies").scalars()
    if runs.empty:
        return None
    figure, axes = canvas(1, 2, width=5.4, height=3.6, sharey=True)
    rows = []
    for ax, due in zip(axes, DUE_LAWS, strict=True):
        for index, method in enumerate(("randomised-greedy", "randomised-all")):
            part = runs[(runs["due"] == due) & (runs["method"] == method)]
            part = part.assign(percent=100 * part["better_share"])
            line = intervals(part, ["num_nodes"], "percent")
            draw_line(ax, beside(line["num_nodes"], index, 2), line, LABELS[method], index)
            rows.append(line.assign(due=due, method=method))
        ax.set(xlabel="nodes N", title=DUE_LAWS[due])
        ax.set_ylim(-4, None)
        ax.set_xticks(sorted(set(runs["num_nodes"])))
    axes[0].set(ylabel="decisions with a better plan, %")
    legend_below(figure, axes[0], 2)
    return save_figure(
        out_dir,
        "proxies",
        "How often the randomised greedy improves on the greedy's plan",
        "At every decision of runs of RG, both plan the same jobs: the share of decisions at which RG's "
        "plan has the lower proxy objective. Means and intervals over traces; 30,000 s / N between "
        "submissions.",
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
            places = beside_log(line["num_nodes"], index, len(methods), 20)
            draw_line(ax, places, line, LABELS[method], index)
            rows.append(line.assign(method=method, homogeneous=homogeneous))
            if method in TIMES_S:
                label = f"thesis: {LABELS[method]}, {TIMES_S[method]:g} s"
                ax.plot(
                    [140 + 15 * index], [TIMES_S[method]], "*", color=PALETTE[index], markersize=11,
                    markeredgecolor=PAPER, label=label,
                )  # fmt: skip
        title = "equal nodes" if homogeneous else "VMs of the catalogue"
        ax.set(xlabel="nodes N, jobs 10 N", ylabel="CPU time of a decision, s", title=title)
        ax.set(xscale="log", yscale="log")
        sizes = sorted(set(part["num_nodes"]))
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
    legend_below(figure, axes[0], 4)
    return save_figure(
        out_dir,
        "decisions",
        "CPU time of a decision by size",
        "One decision with all 10 N jobs in the queue, 1,000 iterations, one thread, compiled code "
        "already loaded. Stars: the thesis's averages, drawn right of 100 nodes.",
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
