"""The figures of ANDREAS, its own values drawn beside ours."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.papers.andreas.runs import FAMILY, FIRST_PRINCIPLES, events_of_figure_4
from experiments.pictures.plots import (
    MARKERS,
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
    from matplotlib.axes import Axes

    from experiments.sweep.results import Results

LABELS = {
    "fifo-shared": "FIFO",
    "edf-shared": "EDF",
    "ps-shared": "PS",
    "fifo": "FIFO, one job a node",
    "edf": "EDF, one job a node",
    "ps": "PS, one job a node",
    "greedy": "greedy",
    "randomised-greedy": "RG (best 5 %)",
    "randomised-all": "RG, all configurations",
    "randomised-own": "RG, own finishes counted",
    "randomised-first": "RG, all configurations, released objective",
    "local-search": "local search",
    "path-relinking": "path relinking",
    "exact": "exact optimum of the proxy, every event",
}
SHOWN = ("fifo-shared", "edf-shared", "ps-shared", "greedy", "randomised-greedy", "randomised-all")
PREDICTED_EUR = 1.08438
PAPER_SAVING = {1: 62, 2: 30}
"""Per cent of the total cost, mixed arrivals."""
PAPER_SAVING_LABEL = "paper, mixed arrivals: 62 % (left), 30 % (right)"
SCENARIO = {1: "nodes of 2 V100 or 1 T4", 2: "nodes of 4 V100 or 2 T4"}


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures whose runs are there."""
    command = f"schedlab reproduce andreas --scale {results.scale or 'quick'}"
    drawn = [
        *(_scenario(results, out_dir, command, scenario) for scenario in (1, 2)),
        _savings_figure(results, out_dir, command),
        _floor(results, out_dir, command),
        _gaps(results, out_dir, command),
        _replay_gantt(results, out_dir, command),
        _replay_released(results, out_dir, command),
        _power(results, out_dir, command),
    ]
    return [figure for figure in drawn if figure is not None]


def savings(results: Results) -> pd.DataFrame:
    """Saving of the methods over each first-principle method on the same jobs, %.

    By scenario, rates, arrivals, size, seed, method and the method that it is compared with. Seeds
    that ran at some of the sizes alone are left out: the saving follows the size.
    """
    runs = results.where("run_scenario").scalars()
    if runs.empty:
        return runs
    keys = ["scenario", "rates", "arrivals", "num_nodes", "seed"]
    wide = runs.pivot(index=keys, columns="method", values="total_cost")
    tables = []
    for method in ("randomised-greedy", "randomised-all"):
        for over in FIRST_PRINCIPLES:
            if method in wide and over in wide:
                saving = 100 * (1 - wide[method] / wide[over])
                table = _at_all_sizes(saving.dropna().rename("saving").reset_index())
                tables.append(table.assign(method=method, over=over))
    return pd.concat(tables) if tables else pd.DataFrame()


def _at_all_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """The seeds that have every size of their scenario, rates and arrivals."""
    which = ["scenario", "rates", "arrivals"]
    sizes = table.groupby([*which, "seed"])["num_nodes"].transform("nunique")
    return table[sizes == table.groupby(which)["num_nodes"].transform("nunique")]


def _seeds_by_method(runs: pd.DataFrame) -> str:
    """How many seeds, and which methods have fewer at some size: "20 seeds (greedy: 3)"."""
    least = runs.groupby(["method", "num_nodes"])["seed"].nunique().groupby("method").min()
    most = runs["seed"].nunique()
    fewer = [f"{LABELS[m]}: {least[m]}" for m in SHOWN if m in least and least[m] < most]
    return f"{most} seeds" + (f" (at some sizes {', '.join(fewer)})" if fewer else "")


def _scenario(results: Results, out_dir: Path, command: str, scenario: int) -> Figure | None:
    runs = results.where(
        "run_scenario", scenario=scenario, arrivals="mixed", rates="measured"
    ).scalars()
    runs = runs[runs["method"].isin(SHOWN)] if not runs.empty else runs
    if runs.empty:
        return None
    figure, axes = canvas(2, 2, width=5.2, height=3.3)
    panels = (
        ("energy_cost", "energy cost, EUR"),
        ("total_cost", "total cost, EUR"),
        ("makespan_s", "time to finish all, h"),
        ("mean_decision_cpu_s", "CPU time of a call, s"),
    )
    rows = []
    for ax, (value, what) in zip(axes, panels, strict=True):
        scale = 3600.0 if value == "makespan_s" else 1.0
        for index, method in enumerate(SHOWN):
            part = runs[runs["method"] == method]
            if part.empty:
                continue
            part = part.assign(value=part[value] / scale)
            line = intervals(part, ["num_nodes"], "value", geometric=value == "total_cost")
            x = beside(line["num_nodes"], index, len(SHOWN))
            draw_line(ax, x, line, LABELS[method], index)
            rows.append(line.assign(method=method, quantity=value))
        ax.set(xlabel="nodes N", ylabel=what)
        ax.set_xticks(sorted(set(runs["num_nodes"])))
    log_ticks(axes[1])
    axes[3].set_yscale("log")
    limit_s = 0.1 if scenario == 1 else 0.01
    paper_line(axes[3], limit_s, f"paper: below {limit_s:g} s")
    legend_below(figure, axes[3], 4)
    return save_figure(
        out_dir,
        f"figure_{4 - scenario}",
        f"Figure {4 - scenario}: scenario {scenario}, {SCENARIO[scenario]}",
        f"Energy cost, total cost, time to finish and time of a call; J = 10 N, mixed arrivals, "
        f"means and 95 % intervals over {_seeds_by_method(runs)}. FIFO, EDF and PS lie on each "
        f"other where nothing is late. The text of the paper assigns this scenario to its Figure {4 - scenario}, "
        f"the caption there is that of the other scenario.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=tuple(sorted(set(runs["seed"]))),
    )


def _savings_figure(results: Results, out_dir: Path, command: str) -> Figure | None:
    table = savings(results)
    if table.empty:
        return None
    figure, axes = canvas(1, 2, width=5.6, height=3.8)
    rows = []
    arrivals = ("low", "mixed", "mixed, main branch", "high")
    other = table["rates"] == "node"
    table = table.assign(arrivals=table["arrivals"].where(~other, "mixed, main branch"))
    for ax, scenario in zip(axes, (1, 2), strict=True):
        place = 0
        for method in ("randomised-greedy", "randomised-all"):
            for over in FIRST_PRINCIPLES:
                part = table[
                    (table["scenario"] == scenario)
                    & (table["method"] == method)
                    & (table["over"] == over)
                ]
                line = intervals(part, ["arrivals"], "saving").set_index("arrivals")
                line = line.reindex([a for a in arrivals if a in line.index]).reset_index()
                x = np.array([arrivals.index(a) for a in line["arrivals"]]) + 0.13 * (place - 2.5)
                label = f"{LABELS[method]}, over {LABELS[over]}"
                ax.plot(x, line["mean"], MARKERS[place], color=PALETTE[place], label=label, ms=7)
                each = part["arrivals"].map(arrivals.index) + 0.13 * (place - 2.5)
                ax.plot(each, part["saving"], "_", color=PALETTE[place], ms=9)
                rows.append(line.assign(scenario=scenario, method=method, over=over))
                place += 1
        paper_line(ax, PAPER_SAVING[scenario], PAPER_SAVING_LABEL)
        ax.set_xticks(range(4), [name.replace(", ", ",\n") for name in arrivals])
        ax.set_xlim(-0.5, 3.5)
        ax.set(xlabel="arrivals", ylabel="saving of total cost, %", title=SCENARIO[scenario])
    legend_below(figure, axes[0], 3)
    return save_figure(
        out_dir,
        "savings",
        "Savings over first-principle methods",
        "Saving of total cost by the randomised greedy on the same jobs: mean over sizes and seeds, "
        "and each of them as a dash. The main branch of the authors' program draws other rates in "
        "scenario 2. The saving follows the load: it is near 100 % once the "
        "first-principle methods are late, because one late job costs more than the energy of all.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=tuple(sorted(set(table["seed"]))),
    )


def _floor(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_scenario", rates="measured").scalars()
    floors = results.where("run_floor").scalars()
    if runs.empty or floors.empty:
        return None
    keys = ["scenario", "arrivals", "num_nodes", "seed"]
    runs = runs.join(floors.set_index(keys)["floor"], on=keys).dropna(subset=["floor"])
    smallest = runs["num_nodes"].min()
    runs = runs[(runs["num_nodes"] == smallest) & runs["method"].isin(LABELS)]
    runs = runs.assign(ratio=runs["total_cost"] / runs["floor"])
    figure, axes = canvas(1, 2, width=6.0, height=4.6)
    rows = []
    methods = [m for m in LABELS if m in set(runs["method"])]
    for ax, scenario in zip(axes, (1, 2), strict=True):
        for index, arrivals in enumerate(("low", "mixed", "high")):
            part = runs[(runs["scenario"] == scenario) & (runs["arrivals"] == arrivals)]
            if not part.empty:
                line = _over_floor(ax, part, methods, index, f"{arrivals} arrivals")
                rows.append(line.assign(scenario=scenario, arrivals=arrivals))
        ax.axvline(1.0, color=PAPER, linestyle="--")
        ax.set(xlabel="total cost over the floor", ylabel="method", title=SCENARIO[scenario])
        log_ticks(ax, "x")
        ax.set_yticks(range(len(methods)), [LABELS[m] for m in methods])
        ax.invert_yaxis()
    legend_below(figure, axes[0], 3)
    return save_figure(
        out_dir,
        "floor",
        f"How far from the floor, N = {smallest}",
        "Total cost over the least that the jobs could cost if each were alone (see "
        "experiments/analysis/bounds.py): geometric mean over seeds, and each seed as a dash; the numbers "
        "have 95 % intervals. No schedule is left of the dashed line.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=tuple(sorted(set(runs["seed"]))),
    )


def _over_floor(
    ax: Axes, runs: pd.DataFrame, methods: list[str], index: int, label: str
) -> pd.DataFrame:
    """Each run as a dash, each method's mean as a point; the means with their intervals."""
    line = intervals(runs, ["method"], "ratio", geometric=True).set_index("method")
    line = line.reindex([m for m in methods if m in line.index]).reset_index()
    y = np.array([methods.index(m) for m in line["method"]]) + 0.2 * (index - 1)
    place = dict(zip(line["method"], y, strict=True))
    each = runs[runs["method"].isin(list(place))]
    colour = PALETTE[index]
    ax.plot(each["ratio"], each["method"].map(place), "|", color=colour, alpha=0.45, ms=6)
    ax.plot(line["mean"], y, MARKERS[index], label=label, color=colour)
    return line


def _gaps(results: Results, out_dir: Path, command: str) -> Figure | None:
    runs = results.where("run_gaps").scalars()
    if runs.empty:
        return None
    methods = ("greedy", "randomised-greedy", "randomised-all", *FAMILY[2:])
    figure, axes = canvas(1, 2, width=5.6, height=3.6)
    rows = []
    settings = [(s, a) for s in (1, 2) for a in ("mixed", "high")]
    panels = (
        ("optimal_share", "decisions at the exact optimum, %"),
        ("median_gap", "median gap, %"),
    )
    for ax, (value, what) in zip(axes, panels, strict=True):
        for index, method in enumerate(methods):
            line = intervals(runs, ["scenario", "arrivals"], f"{method} {value}")
            line = line.set_index(["scenario", "arrivals"])
            each = runs.groupby(["scenario", "arrivals"])[f"{method} {value}"]
            line = line.assign(low=each.min(), high=each.max()).reindex(settings).reset_index()
            line[["mean", "low", "high"]] *= 100
            x = np.arange(len(settings)) + 0.12 * (index - 2)
            draw_line(ax, x, line, LABELS[method], index, linestyle="none")
            rows.append(line.assign(quantity=value, method=method))
        ax.set_xticks(range(len(settings)), [f"{s}, {a}" for s, a in settings])
        ax.set(xlabel="scenario, arrivals", ylabel=what)
    axes[1].set_yscale("symlog", linthresh=1.0)
    axes[1].set_ylim(-0.3, None)
    axes[1].set_yticks([0, 1, 10, 100, 1000, 10000], ["0", "1", "10", "100", "1,000", "10,000"])
    axes[0].set_ylim(-4, 104)
    legend_below(figure, axes[0], 5)
    return save_figure(
        out_dir,
        "gaps",
        "Optimality gap at each decision",
        "Proxy objective of each method against the exact optimum at decisions of runs of the "
        "randomised greedy, among plans that open as many nodes; the gap is relative to the optimum "
        "without the part that no decision changes. Means over seeds and sizes; bars go from the "
        "lowest to the highest run.",
        figure,
        pd.concat(rows),
        command=command,
        seeds=tuple(sorted(set(runs["seed"]))),
    )


def _replay_gantt(results: Results, out_dir: Path, command: str) -> Figure | None:
    found = results.where("run_armida", method="randomised-greedy", seed=1)
    if not found.tasks:
        return None
    return _replay(
        found,
        out_dir,
        "figure_4",
        "Figure 4: ARMIDA, who ran where, with the papers' proxy",
        "The replay of Table V under the randomised greedy with the proxy objective as printed, a "
        "decision every 300 s. Jobs get both GPUs of armida-06 when their due date is near, and are "
        "preempted, as in the paper; but another schedule comes out: J9, which cannot be on time, has "
        "both GPUs of armida-06 when J10 comes. Red: late.",
        command,
    )


def _replay_released(results: Results, out_dir: Path, command: str) -> Figure | None:
    """The replay in which the paper's events come about, if one of the seeds drawn has them."""
    found = results.where("run_armida", method="randomised-first")
    for task in found.tasks:
        if all(events_of_figure_4(found.outcome(task).tables["schedule"])):
            seed = int(str((task.labels or {})["seed"]))
            return _replay(
                found.where("run_armida", method="randomised-first", seed=seed),
                out_dir,
                "figure_4_events",
                "Figure 4: the same with the released objective",
                "As above, but the plan of least cost and tardiness until the first job ends is taken, "
                "as in the authors' program, from draws of all configurations. J10 starts beside J6 on "
                "armida-06 at 2400 s, and J2 displaces J7 on armida-07 at 7200 s, both as in the paper; "
                f"seed {seed} is the first in which both come about. Red: late.",
                command,
            )
    return None


def _replay(
    found: Results, out_dir: Path, name: str, heading: str, caption: str, command: str
) -> Figure:
    from experiments.pictures.gantt import draw

    tables = found.outcome(found.tasks[0]).tables
    names = {0: "armida-05 (1 V100)", 1: "armida-06 (2 V100)", 2: "armida-07 (1 T4)"}
    schedule = tables["schedule"].assign(node=tables["schedule"]["node"].map(names))
    spent = float(found.scalars()["energy_cost"].iloc[0])
    title = f"ARMIDA: {spent:.3f} EUR (paper, predicted: {PREDICTED_EUR:.3f} EUR)"
    seeds = tuple(int(seed) for seed in found.scalars()["seed"])
    drawing = draw(schedule, tables["jobs"], title)
    figure = save_figure(
        out_dir, name, heading, caption, drawing, schedule, command=command, seeds=seeds
    )
    return dataclasses.replace(figure, replay=_film(tables, out_dir / f"{name}_replay.html", title))


def _film(tables: dict[str, pd.DataFrame], path: Path, title: str) -> Path:
    """The page that plays the run of a Gantt chart."""
    from experiments.replay import Recording, facts_of, replay
    from experiments.scenario.facts import machines_of
    from simulator.workloads.andreas import armida

    decisions = tables["decisions"]
    run = Recording(
        "ARMIDA", tables["schedule"], tables["jobs"], decisions["time_s"].tolist(),
        machines_of(*armida()), facts_of(decisions),
    )  # fmt: skip
    return replay(run, path, title)


def power_over_time(schedule: pd.DataFrame) -> pd.DataFrame:
    """Power of each node by stretches of time, kW with PUE: node, start_s, kw."""
    from simulator.workloads.andreas import armida

    _, cluster = armida()
    rows = []
    for node, part in schedule.groupby("node"):
        changes = np.concatenate([part["gpus"], -part["gpus"]])
        times = np.concatenate([part["start_s"], part["end_s"]])
        at, place = np.unique(times, return_inverse=True)
        used = np.cumsum(np.bincount(place, changes))
        v = int(part["node"].iloc[0])  # one node of each type, in order
        kw = [cluster.rates(v, round(u)).power_kw for u in used]
        rows.append(pd.DataFrame({"node": node, "start_s": at, "kw": kw}))
    return pd.concat(rows)


def _power(results: Results, out_dir: Path, command: str) -> Figure | None:
    found = results.where("run_armida", method="randomised-greedy", seed=1)
    if not found.tasks:
        return None
    table = power_over_time(found.outcome(found.tasks[0]).tables["schedule"])
    figure, axes = canvas(3, 1, width=9.0, height=1.6, sharex=True, sharey=True)
    names = ("armida-05 (1 V100)", "armida-06 (2 V100)", "armida-07 (1 T4)")
    for index, (_, part) in enumerate(table.groupby("node")):
        time_h, power_w = part["start_s"] / 3600, 1000 * part["kw"]
        axes[index].fill_between(time_h, power_w, step="post", color=PALETTE[index], alpha=0.8)
        axes[index].set_title(names[index], fontsize=10)
    axes[0].set_ylim(0, 1150 * table["kw"].max())
    figure.supylabel("power with PUE 1.33, W", fontsize=10)
    axes[2].set(xlabel="time since the first submission, h", xlim=(0, None))
    return save_figure(
        out_dir,
        "figure_5",
        "Figure 5: ARMIDA, power",
        "Power of the three nodes over the replay; a node without a job draws nothing here.",
        figure,
        table,
        command=command,
        seeds=(1,),
    )
