"""The figures of the thesis, its own values drawn beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from experiments.pages import Drawn, NoRuns, Results, plots
from experiments.papers.thesis.runs import CENTRAL, DUE_LAWS, MODELS, PAGE

LABELS = {
    "fifo": "FIFO",
    "edf": "EDF",
    "ps": "PS",
    "greedy": "greedy",
    "greedy-released": "the authors' greedy",
    "greedy-released-1": "the authors' greedy, version 1",
    "randomised-greedy": "RG (best 5 %)",
    "randomised-all": "RG, all configurations",
    "randomised-own": "RG, own finishes counted",
    "randomised-no-h": "RG, without H",
    "local-search": "local search",
    "path-relinking": "path relinking",
    "hierarchical-greedy": "hierarchical greedy",
    "hierarchical-randomised": "hierarchical RG",
    "hierarchical-milp": "hierarchical, exact MILP",
    "hierarchical-milp-5": "hierarchical, MILP at a 5 % gap",
}
SMALL_UP_TO = 20
"""Nodes up to which a row of its own sums up Figure 4.6; another row sums up the larger sizes."""
KEYS = ["study", "num_nodes", "mean_gap_s", "trace"]


def costs(results: Results, study: str, due: str = "min-2max") -> pd.DataFrame:
    """One row a trace and setting, a column a method: mean total cost over its random seeds."""
    runs = results.runs("run_scenario", study=study, due=due)
    return runs.pivot_table(index=KEYS[1:], columns="method", values="total_cost")


def gains(
    results: Results,
    study: str,
    over: str,
    methods: tuple[str, ...],
    due: str = "min-2max",
) -> pd.DataFrame:
    """Gain of methods over another one on the same jobs, %; one row a trace and method."""
    wide = costs(results, study, due)
    if over not in wide or not set(methods) & set(wide.columns):
        raise NoRuns(f"no run of {over} beside one of {', '.join(methods)}")
    table = pd.DataFrame({m: 100 * (1 - wide[m] / wide[over]) for m in methods if m in wide})
    return table.reset_index().melt(KEYS[1:], var_name="method", value_name="gain").dropna()


OVER_TRACES = (
    " Intervals are 95 %, over {traces} traces; fewer than five are drawn one by one, without an interval. "
    "The seeds are those of the random methods on each trace."
)
"""Basis of the intervals of a figure, in words."""
FEWER = plots.FEWER.format(runs="traces")
GAP = "mean time between submissions x N, s"


def _by_law(
    tables: Mapping[str, pd.DataFrame],
    x: str,
    methods: tuple[str, ...],
    value: str,
    labels: tuple[str, str],
    log: bool = False,
    sharey: bool = True,
    rows: int = 1,
    pair: str = "",
) -> tuple[Drawn, list[Any]]:
    """A panel for each law of due dates, and its axes; ``labels`` of x and y. Further ``rows`` of panels stay empty."""
    share: Any = "row" if sharey else False
    figure, axes = plots.canvas(rows, 2, width=5.8, height=4.2 if rows == 1 else 3.4, sharey=share)
    names = {method: LABELS[method] for method in methods}
    found = []
    for ax, (due, table) in zip(axes[:2], tables.items(), strict=True):
        drawn = plots.lines(ax, table, x, value, "method", names, geometric=log, pair=pair)
        found.append(drawn.assign(due=due))
        ax.set(xlabel=labels[0], ylabel=labels[1], title=DUE_LAWS[due])
        if sharey:
            ax.label_outer()
        if x == "num_nodes":
            ax.set_xticks(sorted(set(table[x])))
        else:
            plots.thousands(ax.xaxis)
    numbers = pd.concat(found)
    return Drawn(figure, numbers, {"traces": numbers["n"].max()}), axes


def _gains_by_law(
    results: Results, study: str, over: str, methods: tuple[str, ...]
) -> dict[str, pd.DataFrame]:
    return {due: gains(results, study, over, methods, due) for due in DUE_LAWS}


def _trace_means(results: Results, study: str, value: str) -> dict[str, pd.DataFrame]:
    """For each law one row a trace, setting and method: ``value``, the mean over random seeds.

    Seeds on one trace are no further observations of the method: an interval counts traces.
    """
    index = [*KEYS[1:], "method"]
    return {
        due: results.runs("run_scenario", study=study, due=due)
        .pivot_table(index=index, values=value)
        .reset_index()
        for due in DUE_LAWS
    }


@PAGE.figure(
    "figure_4_2",
    "Figure 4.2: hierarchical model and randomised greedy",
    "Above: total cost against the mean time between submissions. Below: the same cost divided by that of the exact "
    "model on the same jobs. The hierarchical "
    "method solves its MILP exactly here, which the thesis could not, or stops at a gap of 5 %; geometric means over "
    "traces, of "
    "each the mean over random seeds. Shaded: within {near:.0f} %, our measure of the thesis's 'almost the same'."
    + FEWER
    + OVER_TRACES,
)
def figure_4_2(results: Results) -> Drawn:
    methods = (*MODELS, "randomised-greedy", "randomised-all", "greedy")
    runs = _trace_means(results, "gap", "total_cost")
    labels = (GAP, "total cost, $")
    drawn, axes = _by_law(
        runs, "mean_gap_s", methods, "total_cost", labels, log=True, rows=2, pair="trace"
    )
    plots.log_ticks(axes[0])
    near, names, rows = PAGE["almost-equal"].margin or 0.0, {m: LABELS[m] for m in methods}, []
    for above, ax, (due, table) in zip(axes[:2], axes[2:], runs.items(), strict=True):
        wide = table.pivot(index=KEYS[1:], columns="method", values="total_cost")
        if MODELS[0] not in wide:  # at quick scale under the second law
            ax.remove()
            above.tick_params(labelbottom=True)
            above.set_xlabel(GAP)
            continue
        ratio = wide.div(wide[MODELS[0]], axis=0).reset_index()
        ratio = ratio.melt(KEYS[1:], var_name="method", value_name="ratio").dropna()
        ax.axhspan(
            1 - near,
            1 + near,
            color=plots.PAPER,
            alpha=0.2,
            label=f"thesis: almost the same (ours: within {100 * near:.0f} %)",
        )
        below = plots.lines(ax, ratio, "mean_gap_s", "ratio", "method", names, geometric=True)
        rows.append(below.assign(due=due, over=MODELS[0]))
        ax.set(xlabel=GAP, ylabel="cost over the exact model's", xlim=above.get_xlim())
        ax.label_outer()
        plots.thousands(ax.xaxis)
    plots.log_ticks(axes[2])
    plots.legend_below(axes[0].figure, axes[2], 3)
    data = pd.concat([drawn.data.assign(over=""), *rows])
    return replace(drawn, data=data, words={**drawn.words, "near": 100 * near})


@PAGE.figure(
    "figure_4_3",
    "Figure 4.3: gain over EDF",
    "Above: share of EDF's total cost that each method saves on the same jobs, mean over traces. Below: the same for "
    "the greedy's total cost. Our variants run only under the first law." + FEWER + OVER_TRACES,
)
def figure_4_3(results: Results) -> Drawn:
    over_edf = _gains_by_law(results, "gap", "edf", CENTRAL)
    over_greedy = _gains_by_law(results, "gap", "greedy", ("randomised-greedy",))
    labels = (GAP, "gain over EDF, %")
    drawn, axes = _by_law(over_edf, "mean_gap_s", CENTRAL, "gain", labels, rows=2, pair="trace")
    names = {method: LABELS[method] for method in CENTRAL}
    rows = []
    for above, ax, (due, table) in zip(axes[:2], axes[2:], over_greedy.items(), strict=True):
        for name, style, what in (
            ("greedy-over-edf", ":", "greedy"), ("rg-over-edf", "--", "RG"), ("rg-by-gap", "--", "RG"),
        ):  # fmt: skip
            value, below = PAGE[f"gain.{name}"].low, name == "rg-by-gap"
            label = f"thesis: {what} {value:g} %{', over the greedy' if below else ''}"
            (ax if below else above).axhline(value, color=plots.PAPER, linestyle=style, label=label)
        rows.append(plots.lines(ax, table, "mean_gap_s", "gain", "method", names).assign(due=due))
        ax.axhline(0.0, color=plots.PAPER, linewidth=0.8)
        ax.set(xlabel=GAP, ylabel="RG over the greedy, %")
        ax.label_outer()
        plots.thousands(ax.xaxis)
    plots.legends_below(axes[0].figure, axes[0], axes[2], (3, 1))
    data = pd.concat([drawn.data.assign(over="edf"), pd.concat(rows).assign(over="greedy")])
    return replace(drawn, data=data)


@PAGE.figure(
    "figure_4_4",
    "Figure 4.4: central greedy and its improvements",
    "Share of the greedy's total cost that each method saves; 30,000 s / N between submissions. Two methods lie so far below the "
    "axis that they are listed here. {far}" + OVER_TRACES,
)
def figure_4_4(results: Results) -> Drawn:
    far = ("randomised-all", "greedy-released")
    methods = tuple(method for method in CENTRAL[1:] if method not in far)
    tables = _gains_by_law(results, "size", "greedy", methods)
    below = pd.concat(
        plots.by_hue(
            gains(results, "size", "greedy", far, due), "num_nodes", "gain", "method", far
        ).assign(due=due)
        for due in DUE_LAWS
    )
    listed = [
        f"{LABELS[str(method)]}, {DUE_LAWS[str(due)]}: "
        + ", ".join(
            f"{gain:.0f} % at {n} nodes"
            for n, gain in zip(of["num_nodes"], of["mean"], strict=True)
        )
        for (due, method), of in below.groupby(["due", "method"], sort=False)
    ]
    told = " ".join(f"{each[0].upper()}{each[1:]}." for each in listed)
    labels = ("nodes N", "gain over the greedy, %")
    drawn, axes = _by_law(tables, "num_nodes", methods, "gain", labels)
    printed = PAGE["gain.rg-by-size"]
    for ax in axes:
        plots.paper_line(ax, printed.low, f"thesis: RG {printed.low:g} %", printed.accepted)
        ax.axhline(0.0, color=plots.PAPER, linewidth=0.8)
    plots.legend_below(axes[0].figure, axes[0], 4)
    data = pd.concat([drawn.data, below])
    return replace(drawn, data=data, words={**drawn.words, "far": told})


@PAGE.figure(
    "figure_4_5",
    "Figure 4.5: time of a decision, central and hierarchical",
    "Mean CPU time of the decisions of whole runs, from the view to the placements." + OVER_TRACES,
)
def figure_4_5(results: Results) -> Drawn:
    value = "mean_decision_cpu_s"
    methods = ("greedy", "hierarchical-greedy", "randomised-greedy", "hierarchical-randomised")
    labels = ("nodes N", "CPU time of a decision in a run, s")
    runs = _trace_means(results, "size", value)
    drawn, axes = _by_law(runs, "num_nodes", methods, value, labels, log=True)
    axes[0].set_yscale("log")
    plots.legend_below(axes[0].figure, axes[0], 4)
    return drawn


@PAGE.figure(
    "figure_4_6",
    "Figure 4.6: hierarchical against central",
    "Total cost over that of the central greedy, as the thesis's caption has it, on a logarithmic axis, for methods that split "
    "the nodes among controllers of five nodes. The figure has geometric means, the rows have arithmetic means of gains in per "
    "cent. The axes "
    "of the two panels differ. The thesis's loss is a "
    f"cost of {1 - PAGE['gain.hierarchical'].low / 100:g} times. Sizes up to {SMALL_UP_TO} nodes and above (shaded) are two further "
    "readings of the number, over the central RG; the figure proxies shows at how many decisions the "
    "randomised greedy improves on the greedy's plan." + OVER_TRACES,
)
def figure_4_6(results: Results) -> Drawn:
    methods = (
        "hierarchical-randomised",
        "hierarchical-greedy",
        "hierarchical-milp",
        "randomised-greedy",
    )
    tables = {
        due: table.assign(ratio=1 - table["gain"] / 100)
        for due, table in _gains_by_law(results, "size", "greedy", methods).items()
    }
    labels = ("nodes N", "cost over the central greedy's")
    drawn, axes = _by_law(tables, "num_nodes", methods, "ratio", labels, log=True, sharey=False)
    printed, (low, high) = PAGE["gain.hierarchical"].low, PAGE["gain.hierarchical"].accepted
    for ax, part in zip(axes, tables.values(), strict=True):
        ratio = 1 - printed / 100
        label = f"thesis: hierarchical RG {ratio:g} times, a gain of {printed:g} %"
        plots.paper_line(ax, ratio, label, (1 - high / 100, 1 - low / 100))
        ax.axhline(1.0, color=plots.PAPER, linewidth=0.8)
        plots.log_ticks(ax)
        if part["num_nodes"].max() > SMALL_UP_TO:
            ends = SMALL_UP_TO + 5, part["num_nodes"].max() + 3
            label = f"above {SMALL_UP_TO} nodes: a reading of its own"
            ax.axvspan(*ends, color=plots.PAPER, alpha=0.08, label=label)
    plots.legend_below(axes[0].figure, axes[0], 3)
    return drawn


@PAGE.figure(
    "proxies",
    "How often the randomised greedy improves on the greedy's plan",
    "At every decision of runs of RG, both methods plan the same jobs. The figure shows the share of decisions at "
    "which RG's plan has the lower proxy objective. Means over traces; each dash is a trace; 30,000 s / N between "
    "submissions.",
)
def proxies(results: Results) -> Drawn:
    runs = results.runs("run_proxies")
    runs = runs.assign(percent=100 * runs["better_share"])
    figure, axes = plots.canvas(1, 2, width=5.4, height=3.6, sharey=True)
    names = {method: LABELS[method] for method in ("randomised-greedy", "randomised-all")}
    rows = []
    for ax, due in zip(axes, DUE_LAWS, strict=True):
        part = runs[runs["due"] == due]
        line = plots.lines(ax, part, "num_nodes", "percent", "method", names)
        rows.append(
            line[["num_nodes", "mean", "low", "high", "n"]].assign(due=due, method=line["method"])
        )
        ax.set(xlabel="nodes N", title=DUE_LAWS[due])
        ax.set_ylim(-4, None)
        ax.set_xticks(sorted(set(runs["num_nodes"])))
    axes[0].set(ylabel="decisions with a better plan, %")
    plots.legend_below(figure, axes[0], 2)
    return Drawn(figure, pd.concat(rows))


@PAGE.figure(
    "decisions",
    "CPU time of a decision by size",
    "One decision with all 10 N jobs in the queue, 1,000 iterations, one thread, compiled code "
    "already loaded; geometric means, and the axes of the panels differ. Stars: the thesis's averages over all "
    "instances up to 100 nodes, whose sizes it does not print. The star of local search lies inside that of RG.",
)
def decisions(results: Results) -> Drawn:
    runs = results.runs("run_decision")
    figure, axes = plots.canvas(1, 2, width=5.4, height=4.0)
    methods = ("greedy", "randomised-greedy", "local-search", "path-relinking")
    names = {method: LABELS[method] for method in methods}
    rows = []
    for ax, homogeneous in zip(axes, (False, True), strict=True):
        part = runs[runs["homogeneous"] == homogeneous]
        long = pd.concat(
            part[["num_nodes"]].assign(method=method, cpu_s=part[f"{method} cpu_s"])
            for method in methods
        )
        line = plots.lines(ax, long, "num_nodes", "cpu_s", "method", names, geometric=True)
        rows.append(line.assign(homogeneous=homogeneous))
        for index, method in enumerate(methods):
            if f"call-time.{method}" in PAGE.numbers and not homogeneous:
                printed_s = PAGE[f"call-time.{method}"].low
                ax.plot(
                    [100], [printed_s], "*", color=plots.PALETTE[index], markerfacecolor="none",
                    markersize=17 if method == "randomised-greedy" else 9,
                    label=f"thesis: {LABELS[method]}, {printed_s:g} s",
                )  # fmt: skip
        title = "equal nodes" if homogeneous else "VMs of the catalogue"
        ax.set(xlabel="nodes N, jobs 10 N", ylabel="CPU time of a decision, s", title=title)
        ax.set(xscale="log", yscale="log")
        sizes = sorted(set(part["num_nodes"]))
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
    plots.legend_below(figure, axes[0], 4)
    return Drawn(figure, pd.concat(rows))


def decision_table(results: Results) -> pd.DataFrame:
    """CPU seconds of one decision at the largest size up to 100 nodes, VMs of the catalogue."""
    runs = results.runs("run_decision", homogeneous=False)
    largest = int(np.max([n for n in runs["num_nodes"] if n <= 100]))
    return runs[runs["num_nodes"] == largest]
