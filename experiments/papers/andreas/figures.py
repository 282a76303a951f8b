"""The figures of ANDREAS, its own values drawn beside ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.pages import Drawn, NoRuns, Results, kept, plots
from experiments.papers.andreas.runs import FAMILY, FIRST_PRINCIPLES, PAGE, events_of_figure_4
from simulator.statistics import RESAMPLES, Estimate, Streams, bootstrap_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
SCENARIO = {1: "nodes of 2 V100 or 1 T4", 2: "nodes of 4 V100 or 2 T4"}


RIVALS = "first-principle"
RG = "randomised-greedy"


def of_means(runs: pd.DataFrame, value: str, method: str = RG) -> Estimate:
    """Saving over the rivals by their mean costs at each N, mean over N; seeds are drawn again, whole."""
    sizes = runs.loc[runs["method"] == method, "num_nodes"]
    shown = runs[runs["num_nodes"].isin(sizes)]
    wide = shown.pivot_table(index="seed", columns=["method", "num_nodes"], values=value)
    costs = {name: wide[name].to_numpy() for name in (method, *FIRST_PRINCIPLES)}

    def saved(seeds: Any) -> Any:
        """Of each row of seeds."""
        ours = costs[method][seeds].mean(axis=1)
        rivals = [costs[name][seeds].mean(axis=1) for name in FIRST_PRINCIPLES]
        return 100 * np.mean([1 - ours / rival for rival in rivals], axis=(0, 2))

    rng, count = Streams(1).generator("bootstrap"), len(wide)
    again = saved(rng.integers(count, size=(RESAMPLES, count)))
    return replace(bootstrap_interval(float(saved(np.arange(count)[None])[0]), again), n=count)


def savings(results: Results) -> pd.DataFrame:
    """Saving of the methods over the first-principle methods on the same jobs, %, mean over the three.

    By scenario, rates, arrivals, size, seed and method. Seeds that ran at some of the sizes alone are
    left out: the saving follows the size.
    """
    runs = results.runs("run_scenario")
    keys = ["scenario", "rates", "arrivals", "num_nodes", "seed"]
    wide = runs.pivot(index=keys, columns="method", values="total_cost")
    if "randomised-greedy" not in wide or not set(FIRST_PRINCIPLES) <= set(wide):
        raise NoRuns("no run of the randomised greedy beside first-principle methods")
    tables = []
    for method in ("randomised-greedy", "randomised-all"):
        if method in wide:
            each = [100 * (1 - wide[method] / wide[rival]) for rival in FIRST_PRINCIPLES]
            saving = pd.concat(each, axis=1).mean(axis=1, skipna=False).dropna()
            table = at_all_sizes(saving.rename("saving").reset_index())
            tables.append(table.assign(method=method))
    return pd.concat(tables)


def at_all_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """The seeds that have every size of their scenario, rates and arrivals."""
    which = ["scenario", "rates", "arrivals"]
    sizes = table.groupby([*which, "seed"])["num_nodes"].transform("nunique")
    return table[sizes == table.groupby(which)["num_nodes"].transform("nunique")]


def _seeds_by_method(runs: pd.DataFrame) -> str:
    """Number of seeds, and the methods that have fewer at some size: "20 seeds (greedy: 3)"."""
    least = runs.groupby(["method", "num_nodes"])["seed"].nunique().groupby("method").min()
    most = runs["seed"].nunique()
    fewer = [f"{LABELS[m]}: {least[m]}" for m in SHOWN if m in least and least[m] < most]
    return f"{most} seeds" + (f" (at some sizes {', '.join(fewer)})" if fewer else "")


RATES = {"measured": "rates of the STS branch", "node": "rates of the main branch"}
PANELS = {
    "energy_cost": "energy cost, EUR",
    "total_cost": "total cost, EUR",
    "saved": "saving of total cost, %",
    "makespan_s": "time to finish all, h",
    "mean_decision_cpu_s": "CPU time of a call, s",
}


@PAGE.figure("figure_3", "Figure 3: {title}", "{caption}", scenario=1)
def figure_3(results: Results, scenario: int) -> Drawn:
    runs = results.runs("run_scenario", scenario=scenario, arrivals="mixed")
    caption = (
        "Energy cost, total cost, its saving by RG, time to finish and time of a call; J = 10 N, mixed arrivals, "
        f"means and 95 % intervals over {_seeds_by_method(runs[runs['method'].isin(SHOWN)])}, left at the "
        f"{RATES['measured']}, right at the {RATES['node']}. One line shows the mean of FIFO, EDF and PS, since they "
        f"cost the same in {_share_of_equal_rivals(runs)} runs.{plots.FEWER.format(runs='seeds')} "
        "The saving compares mean costs at each N. The paper prints its mean over N (dash-dotted), and the rows "
        "compare with it, over the seeds that have every N. The text of the paper assigns this scenario to its Figure "
        f"{4 - scenario}, the caption there is that of the other scenario."
    )
    alone, runs = runs, _rivals_as_one(runs)
    figure, axes = plots.canvas(5, 2, width=5.2, height=2.4, sharex=True, sharey="row")
    names = {RIVALS: "FIFO, EDF and PS", **{method: LABELS[method] for method in SHOWN[3:]}}
    rows: list[pd.DataFrame] = []
    for k, ((value, what), rates) in enumerate(itertools.product(PANELS.items(), RATES)):
        ax, part = axes[k], runs[runs["rates"] == rates]
        ax.set(xlabel="", ylabel=what if rates == "measured" else "")
        if value == "saved":
            own = alone[alone["rates"] == rates]
            own = own[own["method"].isin((*FIRST_PRINCIPLES, RG))]
            rows.append(_saved(ax, rows[-2], own, PAGE[f"saving.{scenario}"].low))
            continue
        shown = part.assign(value=part[value] / (3600.0 if value == "makespan_s" else 1.0))
        pair = "" if value == "mean_decision_cpu_s" else "seed"
        drawn = plots.lines(ax, shown, "num_nodes", "value", "method", names, pair=pair)
        rows.append(drawn.assign(quantity=value, rates=rates))
        ax.set(xlabel="", ylabel=what if rates == "measured" else "")
        if value == "mean_decision_cpu_s":
            limit_s = PAGE[f"call-time.{scenario}"].high
            plots.paper_line(ax, limit_s, f"paper: below {limit_s:g} s")
        elif value != "total_cost":
            ax.set_ylim(0, None)
    for ax in (*axes[2:4], *axes[8:]):  # means are of costs: seaborn would take logarithms
        plots.log_ticks(ax)
    means = pd.concat(rows).query("quantity == 'total_cost'")["mean"]
    axes[2].set_ylim(0.5 * float(means.min()), 2 * float(means.max()))
    saved = pd.concat(rows).query("quantity == 'saved'")["mean"]
    axes[4].set_ylim(min(0.0, 1.1 * float(saved.min())), 104)
    for ax, rates in zip(axes[:2], RATES.values(), strict=True):
        ax.set_title(rates)
    for ax in axes[-2:]:
        ax.set(xlabel="nodes N")
        ax.set_xticks(sorted(set(runs["num_nodes"])))
    handles = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)
    title = f"scenario {scenario}, {SCENARIO[scenario]}"
    return Drawn(figure, pd.concat(rows), {"title": title, "caption": caption})


def _saved(ax: Axes, costs: pd.DataFrame, runs: pd.DataFrame, printed: float) -> pd.DataFrame:
    """Saving of RG by mean total costs at each N, its mean over N with its interval, and the paper's."""
    means = costs.pivot(index="num_nodes", columns="method", values="mean")
    saved = 100 * (1 - means[RG] / means[RIVALS])
    ax.plot(saved, "^-", color=plots.PALETTE[2])
    e = of_means(at_all_sizes(runs.assign(arrivals="mixed")), "total_cost")
    mean = "saving, mean over N"
    ax.axhline(
        e.mean, color=plots.PALETTE[2], linestyle=":", label=f"{mean} (shaded: its interval)"
    )
    ax.axhspan(e.lower, e.upper, color=plots.PALETTE[2], alpha=0.12, linewidth=0)
    ax.annotate(
        f"{e.mean:.1f} %", (saved.index[-1], e.mean), (0, 3), ha="right",
        textcoords="offset points", fontsize=8,
    )  # fmt: skip
    own = {"quantity": mean, "mean": e.mean, "low": e.lower, "high": e.upper}
    label = f"paper: {printed:g} % saved on average"
    ax.axhline(printed, color=plots.PAPER, linestyle="-.", label=label)
    each = pd.DataFrame({"num_nodes": saved.index, "mean": saved.to_numpy(), "quantity": "saved"})
    found = pd.concat([each, pd.DataFrame([own])])
    return found.assign(method=RG, rates=costs["rates"].iloc[0])


PAGE.figure("figure_2", "Figure 2: {title}", "{caption}", scenario=2)(figure_3)


def _rivals_as_one(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with FIFO, EDF and PS as one method, whose values are the mean of the three."""
    keys = ["rates", "num_nodes", "seed"]
    rivals = runs[runs["method"].isin(FIRST_PRINCIPLES)]
    values = [name for name in PANELS if name != "saved"]
    one = rivals.groupby(keys)[values].mean().reset_index().assign(method=RIVALS)
    return pd.concat([one, runs[runs["method"].isin(SHOWN[3:])]])


def _share_of_equal_rivals(runs: pd.DataFrame) -> str:
    rivals = runs[runs["method"].isin(FIRST_PRINCIPLES)]
    costs = rivals.groupby(["rates", "num_nodes", "seed"])["total_cost"]
    return f"{(costs.max() == costs.min()).sum()} of {costs.ngroups}"


@PAGE.figure(
    "savings",
    "Savings over first-principle methods",
    "Saving of total cost by the randomised greedy on the same jobs, mean over FIFO, EDF and PS: of mean costs at each "
    "size, averaged over sizes, as in Figures 2 and 3 and the rows, with 95 % intervals (bootstrap over seeds). Each "
    "dash is a run. The branches of the authors' program draw different rates. The saving depends on the load: it is "
    "near 100 % once the "
    "first-principle methods are late, because one late job costs more than the energy of all.",
)
def figure_savings(results: Results) -> Drawn:
    table, runs = savings(results), results.runs("run_scenario")
    figure, axes = plots.canvas(1, 2, width=5.6, height=3.8, sharey=True)
    rows = []
    arrivals = ("low", "mixed", "mixed, main branch", "high")
    other = table["rates"] == "node"
    table = table.assign(arrivals=table["arrivals"].where(~other, "mixed, main branch"))
    for ax, scenario in zip(axes, (1, 2), strict=True):
        for place, method in enumerate(("randomised-greedy", "randomised-all")):
            part = table[(table["scenario"] == scenario) & (table["method"] == method)]
            line = _by_arrivals(runs, part, method)
            at, each = (
                t["arrivals"].map(arrivals.index) + 0.3 * (place - 0.5) for t in (line, part)
            )
            ax.plot(each, part["saving"], "_", color=plots.PALETTE[place], alpha=0.4)
            plots.draw_line(ax, at, line, LABELS[method], place, linestyle="none", markersize=8)
            for x, mean in zip(at, line["mean"], strict=True):
                ax.annotate(
                    f"{mean:.0f}", (x, mean), (7, -3), textcoords="offset points", fontsize=8
                )
            rows.append(line.assign(scenario=scenario, method=method))
        printed = [PAGE[f"saving.{s}"] for s in (1, 2)]
        label = f"paper, mixed arrivals: {printed[0].low:g} % (left), {printed[1].low:g} % (right)"
        of = printed[scenario - 1]
        plots.paper_line(ax, of.low, label, of.accepted)
        ax.set_xticks(range(4), [name.replace(", ", ",\n") for name in arrivals])
        ax.set_xlim(-0.5, 3.5)
        ax.set(xlabel="arrivals", title=SCENARIO[scenario])
    axes[0].set_ylabel("saving of total cost, %")
    plots.legend_below(figure, axes[0], 3)
    return Drawn(figure, pd.concat(rows))


def _by_arrivals(runs: pd.DataFrame, shown: pd.DataFrame, method: str) -> pd.DataFrame:
    """Savings by mean costs of the runs of ``shown``, a row for each kind of arrivals."""
    keys = ["scenario", "rates", "num_nodes", "seed"]
    rows = []
    for arrivals, part in shown.groupby("arrivals"):
        of = runs.merge(part[keys]).query("arrivals == @arrivals.partition(',')[0]")
        e = of_means(of, "total_cost", method)
        low, high = (e.lower, e.upper) if e.n >= plots.ENOUGH_RUNS else (np.nan, np.nan)
        rows.append({"arrivals": arrivals, "mean": e.mean, "low": low, "high": high, "n": e.n})
    return pd.DataFrame(rows)


def _means_and_runs(
    ax: Axes,
    means: tuple[pd.Series, pd.Series],
    runs: tuple[pd.Series, pd.Series],
    index: int,
    dash: str,
) -> None:
    """Points of means, and each run as a dash."""
    colour = plots.PALETTE[index]
    ax.plot(*means, plots.MARKERS[index], color=colour, markersize=7)
    ax.plot(*runs, dash, color=colour, markersize=8, alpha=0.6)


@PAGE.figure(
    "lower_bound",
    "How far from the lower bound, N = {smallest}",
    "Total cost over the least that the jobs could cost if each were alone (see "
    "experiments/analysis/bounds.py): geometric mean over seeds with a 95 % interval. Each dash is a seed. No schedule "
    "lies to the left of the dashed line.",
)
def lower_bound(results: Results) -> Drawn:
    runs = results.runs("run_scenario", rates="measured")
    keys = ["scenario", "arrivals", "num_nodes", "seed"]
    bounds = results.runs("run_floor").set_index(keys)["floor"]
    runs = runs.join(bounds, on=keys).dropna(subset=["floor"])
    smallest = runs["num_nodes"].min()
    runs = runs[(runs["num_nodes"] == smallest) & runs["method"].isin(LABELS)]
    runs = runs.assign(ratio=runs["total_cost"] / runs["floor"])
    figure, axes = plots.canvas(1, 2, width=6.0, height=4.6)
    rows = []
    methods = [m for m in LABELS if m in set(runs["method"])]
    for ax, scenario in zip(axes, (1, 2), strict=True):
        for index, arrivals in enumerate(("low", "mixed", "high")):
            part = runs[(runs["scenario"] == scenario) & (runs["arrivals"] == arrivals)]
            if part.empty:
                continue
            line = plots.intervals(part, ["method"], "ratio", geometric=True).set_index("method")
            line = line.reindex([m for m in methods if m in line.index]).reset_index()
            at = line["method"].map(methods.index) + 0.2 * (index - 1)
            each = part["method"].map(methods.index) + 0.2 * (index - 1)
            _means_and_runs(ax, (line["mean"], at), (part["ratio"], each), index, "|")
            ax.lines[-2].set_label(f"{arrivals} arrivals")
            rows.append(line.assign(scenario=scenario, arrivals=arrivals))
        ax.axvline(1.0, color=plots.PAPER, linestyle="--")
        ax.set(xlabel="total cost over the lower bound", ylabel="method", title=SCENARIO[scenario])
        plots.log_ticks(ax, "x")
        ax.set_yticks(range(len(methods)), [LABELS[m] for m in methods])
        ax.invert_yaxis()
    plots.legend_below(figure, axes[0], 3)
    return Drawn(figure, pd.concat(rows), {"smallest": smallest})


@PAGE.figure(
    "gaps",
    "Optimality gap at each decision",
    "Proxy objective of each method against the exact optimum at decisions of runs of the "
    "randomised greedy, among plans that open as many nodes; the gap is relative to the optimum "
    "without the part that no decision changes. Means over seeds and sizes; bars go from the "
    "lowest to the highest run. The axis on the right is linear below 1 % and logarithmic above.",
)
def gaps(results: Results) -> Drawn:
    runs = results.runs("run_gaps")
    methods = ("greedy", "randomised-greedy", "randomised-all", *FAMILY[2:])
    figure, axes = plots.canvas(1, 2, width=5.6, height=3.6)
    rows = []
    settings = [(s, a) for s in (1, 2) for a in ("mixed", "high")]
    panels = (
        ("optimal_share", "decisions at the exact optimum, %"),
        ("median_gap", "median gap, %"),
    )
    for ax, (value, what) in zip(axes, panels, strict=True):
        for index, method in enumerate(methods):
            line = plots.intervals(runs, ["scenario", "arrivals"], f"{method} {value}")
            line = line.set_index(["scenario", "arrivals"])
            each = runs.groupby(["scenario", "arrivals"])[f"{method} {value}"]
            line = line.assign(low=each.min(), high=each.max()).reindex(settings).reset_index()
            line[["mean", "low", "high"]] *= 100
            x = np.arange(len(settings)) + 0.12 * (index - 2)
            plots.draw_line(ax, x, line, LABELS[method], index, linestyle="none")
            rows.append(line.assign(quantity=value, method=method))
        ax.set_xticks(range(len(settings)), [f"{s}, {a}" for s, a in settings])
        ax.set(xlabel="scenario, arrivals", ylabel=what)
    axes[1].set_yscale("symlog", linthresh=1.0)
    axes[1].set_ylim(-0.3, None)
    axes[1].set_yticks([0, 1, 10, 100, 1000, 10000], ["0", "1", "10", "100", "1,000", "10,000"])
    axes[0].set_ylim(-4, 104)
    plots.legend_below(figure, axes[0], 5)
    return Drawn(figure, pd.concat(rows))


NODES = {0: "armida-05 (1 V100)", 1: "armida-06 (2 V100)", 2: "armida-07 (1 T4)"}


@PAGE.figure(
    "figure_4",
    "Figure 4: ARMIDA, who ran where, with the papers' proxy",
    "The replay of Table V under the randomised greedy with the proxy objective as printed, a "
    "decision every 300 s. Each job on armida-06 has both its GPUs, so that none share it, unlike in the paper: J9, which "
    "cannot be on time, has them when J10 comes, in turn with J6. Red: the end of a job that is late, J9 and J6.",
)
def figure_4(results: Results) -> Drawn:
    return _replay(results, "randomised-greedy", 1)


@PAGE.figure(
    "figure_4_events",
    "Figure 4: the same with the released objective",
    "As above, but the plan of least cost and tardiness until the first job ends is taken, "
    "as in the authors' program, from draws of all configurations. J10 starts beside J6 on "
    "armida-06 at 2400 s, and J2 displaces J7 on armida-07 at 7200 s, both as in the paper; "
    "seed {seed} is the first in which both come about. Red: the end of a job that is late, J9.",
)
def figure_4_events(results: Results) -> Drawn:
    method = "randomised-first"
    return _replay(results, method, int(_with_events(results, method)["seed"][0]))


@kept
def _with_events(results: Results, method: str) -> pd.DataFrame:
    """The first ``seed`` in which both events come about."""
    for task in results.where("run_armida", method=method).tasks:
        if all(events_of_figure_4(results.noting().outcome(task).tables["schedule"])):
            return pd.DataFrame({"seed": [task.columns()["seed"]]})
    raise NoRuns("no seed in which both events come about")


@kept
def _table_of_replay(results: Results, name: str, method: str, seed: int) -> pd.DataFrame:
    found = results.where("run_armida", method=method, seed=seed).tasks
    if not found:
        raise NoRuns(f"no replay of {method} with seed {seed}")
    return results.outcome(found[0]).tables[name]


def _replay(results: Results, method: str, seed: int) -> Drawn:
    from experiments.pictures.gantt import draw

    tables = {
        name: _table_of_replay(results, name, method, seed)
        for name in ("schedule", "jobs", "decisions")
    }
    schedule = tables["schedule"].assign(node=tables["schedule"]["node"].map(NODES))
    spent = results.runs("run_armida", method=method, seed=seed)["energy_cost"].iloc[0]
    printed = PAGE["predicted-cost"].low
    title = f"ARMIDA: {spent:.3f} EUR (paper, predicted: {printed:.3f} EUR)"
    drawing = draw(schedule, tables["jobs"], title)
    return Drawn(drawing, schedule, {"seed": seed}, _film(tables, title))


def _film(tables: dict[str, pd.DataFrame], title: str) -> Callable[[Path], Path]:
    """Writes the page that plays the run of a Gantt chart."""
    from experiments.replay import Recording, facts_of, replay
    from experiments.scenario.output import machines_of
    from simulator.workloads.andreas import armida

    decisions = tables["decisions"]
    run = Recording(
        "ARMIDA", tables["schedule"], tables["jobs"], decisions["time_s"].tolist(),
        machines_of(*armida()), facts_of(decisions),
    )  # fmt: skip
    return lambda path: replay(run, path, title)


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


@PAGE.figure(
    "figure_5",
    "Figure 5: ARMIDA, power",
    "Power of the three nodes over the replay, with a PUE of 1.33, and what it costs together; a node without a job "
    "draws nothing "
    "here. The paper draws metered power without numbers; its energy costs {real:g} EUR (dotted), {predicted:g} EUR predicted "
    "(dashed).",
)
def figure_5(results: Results) -> Drawn:
    table = power_over_time(_table_of_replay(results, "schedule", "randomised-greedy", 1))
    runs = results.runs("run_armida", method="randomised-greedy", seed=1)
    figure, axes = plots.canvas(4, 1, width=9.0, height=1.6, sharex=True)
    for index, (_, part) in enumerate(table.groupby("node")):
        time_h, power_w = part["start_s"] / 3600, 1000 * part["kw"]
        axes[index].fill_between(
            time_h, power_w, step="post", color=plots.PALETTE[index], alpha=0.8
        )
        axes[index].set_title(NODES[index], fontsize=10)
        axes[index].set(ylabel="power, W", ylim=(0, 1150 * table["kw"].max()))
    spent = _energy_so_far(table)
    axes[3].plot(spent.index / 3600, runs["energy_cost"].iloc[0] * spent, color=plots.PALETTE[3])
    words = {"real": PAGE["real-cost"].low, "predicted": PAGE["predicted-cost"].low}
    for name, value in words.items():
        axes[3].axhline(value, color=plots.PAPER, linestyle="--" if name == "predicted" else ":",
                        label=f"paper, {name}: {value:.3f} EUR")  # fmt: skip
    axes[3].set_title("all nodes", fontsize=10)
    axes[3].set(xlabel="time since the first submission, h", ylabel="cost, EUR", xlim=(0, None))
    axes[3].set_ylim(0, None)
    axes[3].legend(loc="lower right")
    cost = pd.DataFrame({
        "node": "all", "start_s": spent.index, "cost_eur": runs["energy_cost"].iloc[0] * spent.to_numpy(),
    })  # fmt: skip
    named = table.assign(node=table["node"].map(NODES), power_w=1000 * table["kw"]).drop(
        columns="kw"
    )
    return Drawn(figure, pd.concat([named, cost]), words)


def _energy_so_far(power: pd.DataFrame) -> pd.Series:
    """Part of all energy drawn, by the times in s at which the power of a node changes."""
    wide = power.pivot_table(index="start_s", columns="node", values="kw").ffill().fillna(0.0)
    steps = np.diff(wide.index.to_numpy())
    energy = np.concatenate([[0.0], np.cumsum(wide.sum(axis=1).to_numpy()[:-1] * steps)])
    return pd.Series(energy / energy[-1], wide.index)
