"""The figures of the hierarchical paper, its own values drawn beside ours."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.hierarchical.runs import (
    DUE_LAWS,
    HEURISTICS,
    LITERAL_LIMIT_S,
    METHODS,
    OTHER_LAW,
    VARIANTS,
)
from experiments.pictures.plots import (
    MARKERS,
    PALETTE,
    PAPER,
    beside,
    beside_log,
    canvas,
    draw_line,
    intervals,
    legend_below,
    paper_band,
    paper_line,
)
from experiments.report.contents import Figure, save_figure
from simulator.laws import Deterministic, Exponential, LogNormal
from simulator.theory import mg1_mean_response_s, size_servers

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from experiments.sweep.results import Results

LABELS = {
    "fifo": "FIFO",
    "edf": "EDF",
    "ps": "PS",
    "hierarchical": "hierarchical (K = N/5)",
    "central": "central, the paper's objective (exact)",
    "central-2019": "central, the 2019 model",
}
IN_SYSTEM = {
    "full hour": "whole system, H at the full hour",
    "last decision": "whole system, H since the last decision",
}
STUDY_OF_LAW = {"min-2max": "size", "min-3min": OTHER_LAW}
PAPER_RATE_PER_S = 2 / 450
"""Requests per second at 100 nodes, Section V-B."""


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce hierarchical --scale {results.scale or 'quick'}"
    drawn = []
    for draw in (_figure_2, _figure_3, _savings, _variants, _server, _servers_needed):
        figure = draw(results, out_dir, command)
        if figure is not None:
            drawn.append(figure)
    return drawn


def relative_costs(results: Results) -> pd.DataFrame:
    """Cost of each method over the best heuristic on the same jobs; one row a run."""
    runs = results.where("run_scenario", study="size").scalars()
    if runs.empty:
        return runs
    best = (
        runs[runs["method"].isin(HEURISTICS)]
        .groupby(["num_nodes", "seed"])["total_cost"]
        .min()
        .rename("best_heuristic")
    )
    runs = runs.join(best, on=["num_nodes", "seed"])
    runs["relative"] = runs["total_cost"] / runs["best_heuristic"]
    return runs


def savings(results: Results, method: str = "hierarchical", study: str = "size") -> pd.DataFrame:
    """Saving of a method over each heuristic on the same jobs, %; one row a run and heuristic."""
    runs = results.where("run_scenario", study=study).scalars()
    if runs.empty:
        return runs
    wide = runs.pivot(index=["num_nodes", "seed"], columns="method", values="total_cost")
    table = pd.DataFrame({h: 100 * (1 - wide[method] / wide[h]) for h in HEURISTICS})
    return table.reset_index().melt(["num_nodes", "seed"], var_name="method", value_name="saving")


def _figure_2(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_scenario", study="size").scalars()
    literal = results.where("run_literal").scalars()
    if runs.empty or literal.empty or "mean_columns" not in runs:
        return None
    solve, decide = "solve_cpu_s", "mean_decision_cpu_s"
    of_model, of_method = literal["model"], runs["method"]
    parts = [
        ("literal model a controller (P2)", literal[of_model == "hierarchical"], solve),
        ("literal 2019 central model", literal[of_model == "central-2019"], solve),
        ("exact patterns a controller", runs[of_method == "hierarchical"], decide),
        ("exact patterns, central", runs[of_method == "central"], decide),
    ]
    figure, (left, right) = canvas(1, 2, width=5.6, height=4.2)
    rows = []
    for index, (label, part, cpu) in enumerate(parts):
        for ax, value, what in ((left, cpu, "CPU seconds"), (right, "mean_columns", "columns")):
            line = intervals(part, ["num_nodes"], value, geometric=True)
            draw_line(ax, beside_log(line["num_nodes"], index, len(parts), 20), line, label, index)
            rows.append(line.assign(model=label, quantity=what))
    limit_s = LITERAL_LIMIT_S["paper" if results.scale == "paper" else "quick"]
    left.axhline(limit_s, color="#999999", linestyle=":", label=f"time limit here, {limit_s:g} s")
    paper_line(left, 40, "paper: 40 s a controller")
    right.plot(
        [5, 100], [5000, 5000], color=PAPER, linestyle="--", label="paper: 5,000 a controller"
    )
    right.plot(
        [40], [300_000], "*", color=PAPER, markersize=11, label="paper: > 300,000, out of memory"
    )
    for ax, what in ((left, "CPU time of a decision, s"), (right, "variables of the model")):
        ax.set(xlabel="nodes N", ylabel=what, xscale="log", yscale="log")
        ax.set_xticks([5, 10, 20, 40, 100], ["5", "10", "20", "40", "100"])
        ax.minorticks_off()
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8)
    return save_figure(
        out_dir,
        "figure_2",
        "Figure 2: time and size of one decision",
        "The models as the paper wrote them (5 % gap, HiGHS, stopped at the time limit), and the "
        "exact pattern form of the same objective solved to 1e-6. Means over decisions, geometric over "
        "seeds.",
        figure,
        pd.concat(rows, ignore_index=True),
        command=command,
        seeds=results.where("run_scenario").seeds,
    )


def _figure_3(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = relative_costs(results)
    if runs.empty:
        return None
    figure, (ax,) = canvas(width=7.2, height=4.2)
    rows = []
    span = float(np.ptp(runs["num_nodes"]))
    for index, method in enumerate((*METHODS, *HEURISTICS)):
        line = intervals(runs[runs["method"] == method], ["num_nodes"], "relative")
        dashes = {"linestyle": ":"} if method in HEURISTICS else {}
        places = beside(line["num_nodes"], index, len(METHODS) + len(HEURISTICS), span)
        draw_line(ax, places, line, LABELS[method], index, **dashes)
        rows.append(line.assign(method=method))
    paper_band(ax, 0.3, 0.5, "paper: 50-70 % below the heuristics")
    ax.set(
        xlabel="nodes N (J = 10 N jobs)",
        ylabel="total cost / cost of the best heuristic",
        ylim=(0, 1.15 * max(float(line["mean"].max()) for line in rows)),
    )
    ax.set_xticks(sorted(set(runs["num_nodes"])))
    legend_below(figure, ax, 2)
    return save_figure(
        out_dir,
        "figure_3",
        "Figure 3: cost against the best heuristic",
        "Leasing and tardiness cost of whole runs over that of the best of FIFO, EDF and PS on the "
        "same jobs; mean and 95 % interval over seeds, of central methods over seeds 1 to 3. The paper "
        "draws the first and third line.",
        figure,
        pd.concat(rows, ignore_index=True),
        command=command,
        seeds=results.where("run_scenario").seeds,
    )


def _savings(results: Results, out_dir: Path, command: str) -> Figure | None:
    tables = {law: savings(results, study=study) for law, study in STUDY_OF_LAW.items()}
    if any(table.empty for table in tables.values()):
        return None
    figure, axes = canvas(1, 2, width=5.6, height=4.0, sharex=True, sharey=True)
    rows = []
    sizes = sorted({n for table in tables.values() for n in table["num_nodes"]})
    for ax, (law, table) in zip(axes, tables.items(), strict=True):
        for index, method in enumerate(HEURISTICS):
            line = intervals(table[table["method"] == method], ["num_nodes"], "saving")
            x = beside(line["num_nodes"], index, len(HEURISTICS), sizes[-1] - sizes[0])
            draw_line(ax, x, line, f"over {LABELS[method]}", index)
            rows.append(line.assign(method=method, due=law))
        paper_band(ax, 45, 80, "paper, conclusions: 45-80 %")
        paper_band(ax, 50, 70, "paper, abstract: 50-70 %", alpha=0.25)
        ax.set(xlabel="nodes N", ylim=(None, 102), title=DUE_LAWS[law])
        ax.set_xticks(sizes)
    axes[0].set(ylabel="saving of the hierarchical method, %")
    legend_below(figure, axes[0], 3)
    return save_figure(
        out_dir,
        "savings",
        "Saving over the first-principle methods",
        "1 - cost of the hierarchical method / cost of the heuristic, job by job the same workload; "
        "mean and 95 % interval over seeds. Left with the due dates that the paper prints, right with "
        "those of the authors' generator of 2021, under which EDF is late.",
        figure,
        pd.concat(rows, ignore_index=True),
        command=command,
        seeds=results.where("run_scenario").seeds,
    )


def variant_savings(results: Results) -> pd.DataFrame:
    """Saving over each heuristic under each reading of the paper, %; one row a run."""
    runs = results.where("run_scenario").scalars()
    runs = runs[runs["study"].isin(list(VARIANTS))] if not runs.empty else runs
    if runs.empty:
        return runs
    wide = runs.pivot(index=["study", "num_nodes", "seed"], columns="method", values="total_cost")
    table = pd.DataFrame({h: 100 * (1 - wide["hierarchical"] / wide[h]) for h in HEURISTICS})
    return table.reset_index().melt(
        ["study", "num_nodes", "seed"], var_name="method", value_name="saving"
    )


def _wrapped(name: str) -> str:
    """Lines of a name; a number keeps its sign of per cent."""
    return fill(name.replace(" %", "\N{NO-BREAK SPACE}%"), 12)


def _variants(results: Results, out_dir: Path, command: str) -> Figure | None:
    table = variant_savings(results)
    if table.empty:
        return None
    figure, (ax,) = canvas(width=10.0, height=4.2)
    line = intervals(table, ["study", "method"], "saving")
    names = list(VARIANTS)
    for index, method in enumerate(HEURISTICS):
        part = line[line["method"] == method].set_index("study").loc[names]
        x = np.arange(len(names)) + (index - 1) * 0.18
        draw_line(ax, x, part, f"over {LABELS[method]}", index, linestyle="none")
    paper_band(ax, 50, 70, "paper, abstract: 50-70 %")
    num_nodes = int(table["num_nodes"].iloc[0])
    ax.set_xticks(range(len(names)), [_wrapped(name) for name in names], fontsize=8)
    ax.set(xlabel="reading of the setup", ylabel="saving of the hierarchical method, %")
    legend_below(figure, ax, 4)
    return save_figure(
        out_dir,
        "variants",
        f"What the readings of the setup change ({num_nodes} nodes)",
        "The printed setup and the released data differ in the law of the arrival gaps, the size of "
        "the tardiness weights, the due dates and the periodic decisions; each difference alone, and all "
        "together. Two more show what wrong predictions of the execution times do.",
        figure,
        line,
        command=command,
        seeds=results.where("run_scenario").seeds,
    )


def _server(results: Results, out_dir: Path, command: str) -> Figure | None:
    alone = results.where("run_queue").scalars()
    system = results.where("run_server").scalars()
    if alone.empty or system.empty:
        return None
    table = _response_times(alone, system)
    figure = _draw_response_times(table)
    return save_figure(
        out_dir,
        "server",
        "One optimization server",
        "Mean time from a controller's request to its decision: the formula, the queue simulated by "
        "itself at two requests every 450 s, and the server inside the whole system while jobs both "
        "come and finish. Where H ends at each full hour all controllers ask at once, so requests come in "
        "batches and wait longer than Poisson requests of the same rate; where it counts from a "
        "controller's last decision, as in the authors' program, they spread.",
        figure,
        table,
        command=command,
        seeds=results.seeds,
    )


def _response_times(alone: pd.DataFrame, system: pd.DataFrame) -> pd.DataFrame:
    """One row a law of service and source: the formula, the queue alone, the whole system."""
    rows: list[dict[str, object]] = []
    for service, law in (
        ("exponential:40", Exponential(40.0)),
        ("deterministic:40", Deterministic(40.0)),
    ):
        theory = mg1_mean_response_s(PAPER_RATE_PER_S, law)
        name = service.partition(":")[0]
        rows.append({"service": name, "source": "Pollaczek-Khinchine", "mean": theory})
        of_law = alone[alone["service"] == service]
        rows.append(_estimate_row(name, "simulated queue", of_law, "mean_response_s"))
    for service in ("exponential:40", "deterministic:40", "measured"):
        for h, source in IN_SYSTEM.items():
            part = system[(system["service"] == service) & (system["h"] == h)]
            if not part.empty:
                name = service.partition(":")[0]
                rows.append(_estimate_row(name, source, part, "middle_mean_response_s"))
    return pd.DataFrame(rows)


def _draw_response_times(table: pd.DataFrame) -> Drawing:
    figure, (ax,) = canvas(width=7.2, height=3.8)
    services = ["exponential", "deterministic", "measured"]
    for index, source in enumerate(table["source"].unique()):
        part = table[table["source"] == source]
        x = np.array([services.index(s) for s in part["service"]]) + (index - 1.5) * 0.22
        draw_line(ax, x, part, source, index, linestyle="none")
        for xi, mean in zip(x, part["mean"], strict=True):
            ax.annotate(
                f"{mean:.3g}",
                (xi, mean),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            )
    paper_line(ax, 48.65, "paper: 48.65 s")
    ax.set_xticks(range(3), ["exponential, 40 s", "deterministic, 40 s", "our solver, measured"])
    ax.set(xlabel="time of a decision", ylabel="mean response time, s", yscale="log")
    top = float(np.nanmax(table[["mean", "high"]].to_numpy(dtype=float)))
    ax.set(xlim=(-0.5, 2.6), ylim=(float(table["mean"].min()) / 5, 3 * max(48.65, top)))
    legend_below(figure, ax, 2)
    return figure


def _estimate_row(service: str, source: str, runs: pd.DataFrame, value: str) -> dict[str, object]:
    """Mean and interval over the replications of one kind of run; one run gives no interval."""
    ours = intervals(runs.assign(service=service), ["service"], value).iloc[0]
    return {"source": source, **ours.drop("n")}


def _servers_needed(results: Results, out_dir: Path, command: str) -> Figure | None:
    sizes = np.array([100, 200, 300, 500, 750, 1000, 1500, 2000])
    laws = {
        "exponential, 40 s (the paper's)": Exponential(40.0),
        "deterministic, 40 s": Deterministic(40.0),
        "lognormal, 40 s, CV 2": LogNormal(40.0, 2.0),
    }
    figure, (ax,) = canvas(width=7.0, height=3.8)
    rows = []
    for index, (name, law) in enumerate(laws.items()):
        servers = [size_servers(int(n // 5), 2 / 45_000 * 5, law, 50.0).servers for n in sizes]
        ax.step(
            sizes,
            np.array(servers) + 0.06 * (index - 1),
            where="mid",
            label=name,
            color=PALETTE[index],
            marker=MARKERS[index],
        )
        rows += [
            {"service": name, "num_nodes": int(n), "servers": s}
            for n, s in zip(sizes, servers, strict=True)
        ]
    ax.plot(
        [100], [1], "*", color=PAPER, markerfacecolor="none", markersize=15,
        label="paper: 1 server at 100 nodes",
    )  # fmt: skip
    ax.set(xlabel="nodes N (K = N/5 controllers)", ylabel="optimization servers needed")
    ax.legend()
    return save_figure(
        out_dir,
        "servers_needed",
        "How many optimization servers K controllers need",
        "Least number with a mean response time of at most 50 s, when every submission and every "
        "completion asks for a decision (2 N / 45,000 s). Exponential: exact (M/M/c); the others "
        "approximate (Allen-Cunneen). Lines are drawn a little apart.",
        figure,
        pd.DataFrame(rows),
        command=command,
    )
