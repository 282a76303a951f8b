"""A figure for each study of what the papers left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from experiments.pictures.plots import (
    PALETTE,
    PAPER,
    canvas,
    draw_line,
    intervals,
    legend_below,
    lines,
    log_ticks,
)
from experiments.report.experiment import Drawn
from experiments.studies.cross.controllers import HOUR, NO_TIME, TIMES
from experiments.studies.cross.page import PAGE
from experiments.studies.cross.ratios import over_bounds, study
from experiments.studies.cross.studies import (
    BLIND,
    BOUNDED,
    DISPATCHERS,
    EVENTS,
    FIXED_OR_ELASTIC,
    MOVED,
    MOVED_ELASTIC,
    ON_TABLES,
    ON_TIMES,
)
from experiments.studies.same_jobs import relative
from experiments.sweep.results import NoRuns, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _at_one(ax: Axes) -> None:
    ax.axhline(1.0, color=PAPER, linewidth=1.0, linestyle="--")


def _near_the_means(ax: Axes, means: pd.Series) -> None:
    """Limits by the means: a very wide interval does not flatten the others, and has an arrow."""
    margin = max(0.1, float(means.max() - means.min()))
    ax.set_ylim(float(means.min()) - margin, float(means.max()) + margin)


def _at_minutes(ax: Axes, minutes: pd.Series) -> None:
    """A logarithmic axis with a tick at each value, so that short ones are told apart."""
    ax.set_xscale("log")
    ticks = sorted(set(minutes))
    ax.set_xticks(ticks, [f"{m:g}" for m in ticks])
    ax.minorticks_off()


@PAGE.figure(
    "dispatching",
    "Which rule sends jobs to controllers",
    "Total cost over that of round robin on the same jobs, geometric mean and 95 % interval. The "
    "hierarchical paper uses round robin and names the others as future work. Two rules are new: "
    "size intervals (small jobs to one controller, large ones to another, the same work in each) "
    "and the least estimated tardiness. The MILP (paper scale) decides on 8 nodes, and its panels have an axis of their own. Where an interval holds "
    "1, no difference is shown.",
)
def dispatching(results: Results) -> Drawn:
    """Rules by load and controllers, over round robin."""
    table = study(results, "dispatching")
    keys = ["load", "controllers", "policy", "seed"]
    ratios = relative(table, "total_cost", {"rule": "round-robin"}, keys)
    panels = sorted({(p, load) for p, load in zip(ratios["policy"], ratios["load"], strict=True)})
    policies = sorted(set(ratios["policy"]))
    columns = len(panels) // len(policies)
    figure, axes = canvas(len(policies), columns, width=5.6, height=3.9, sharey="row")
    rows = []
    for ax, (policy, load) in zip(axes, panels, strict=True):
        part = ratios[(ratios["policy"] == policy) & (ratios["load"] == load)]
        for i, (count, of_count) in enumerate(part.groupby("controllers")):
            line = intervals(of_count, ["rule"], "ratio", geometric=True)
            line = line.set_index("rule").loc[list(DISPATCHERS)].reset_index()
            places = pd.Series(range(len(line))) + 0.12 * (2 * i - 1)
            draw_line(ax, places, line, f"{count} controllers", i, linestyle="none")
            rows.append(line.assign(policy=policy, load=load, controllers=count))
        _at_one(ax)
        ax.set_xticks(range(len(DISPATCHERS)), DISPATCHERS, rotation=40, ha="right", fontsize=8)
        ax.set(xlabel="rule", title=f"{policy}, load {load:g}")
    for ax in axes[::columns]:
        ax.set_ylabel("total cost over round robin")
    legend_below(figure, axes[0], 2)
    return Drawn(figure, pd.concat(rows))


def _with_names_of_servers(ratios: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A column ``named`` beside the number of servers, and its values; the most is one server each."""
    most = ratios["servers"].max()
    names = {
        c: "a server each" if c == most else f"{c} server{'s' if c > 1 else ''}"
        for c in sorted(set(ratios["servers"]))
    }
    return ratios.assign(named=ratios["servers"].map(names)), list(names.values())


@PAGE.figure(
    "controllers",
    "How many controllers",
    "Total cost of the greedy by the number of controllers, over one controller that decides at "
    "once. Above: a decision takes no time; as long as our MILP takes on the nodes of a controller "
    "(a table of CPU times that were measured once, so that runs stay the same); 40 s, the paper's solver; "
    "40 s for five nodes and more with the square of the nodes; an hour. One server computes all of "
    "them. Below: decisions of an hour, on more servers. Splitting costs where the curve of no time "
    "rises; deciding costs what lies between it and the others. Of lines that lie on each other the last in "
    "the legend is on top.",
)
def controllers(results: Results) -> Drawn:
    """From one controller to one a node: above by times of a decision, below by servers."""
    table = study(results, "controllers")
    one = {"solver": NO_TIME, "controllers": 1}
    ratios = relative(table, "total_cost", one, ["load", "seed"])
    if ratios.empty:
        raise NoRuns("no finished run of this figure")
    loads = sorted(set(ratios["load"]))
    figure, axes = canvas(2, len(loads), width=5.0, height=3.7, sharex=True)
    ratios, servers = _with_names_of_servers(ratios)
    rows = []
    for column, load in enumerate(loads):
        part = ratios[ratios["load"] == load]
        hour = part[part["solver"] == HOUR]
        at_one = part[part["servers"] == 1]
        for ax, own, names, by in (
            (axes[column], at_one, TIMES, "solver"),
            (axes[len(loads) + column], hour, servers, "named"),
        ):
            drawn = lines(ax, own, "controllers", "ratio", by, names, geometric=True)
            rows.append(drawn.assign(load=load))
            ax.set_xscale("log", base=2)
            ticks = sorted(set(part["controllers"]))
            ax.set_xticks(ticks, [str(k) for k in ticks])
            log_ticks(ax)
            _at_one(ax)
            ax.set(xlabel="", ylabel="total cost over K = 1, no time")
        axes[column].set_title(f"load {load:g}, one server")
        axes[len(loads) + column].set_title(f"load {load:g}, an hour a decision")
        axes[len(loads) + column].set_xlabel("controllers K")
    for row in (0, 1):
        axes[(row + 1) * len(loads) - 1].legend(
            fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5)
        )
    return Drawn(figure, pd.concat(rows))


@PAGE.figure(
    "predictions",
    "Wrong predictions of execution times",
    "Policies see predicted times, the engine runs the true ones. Noise is a lognormal factor by "
    "job, times another by job and configuration; bias makes all times too long. Above: mean "
    "completion time on Synergy's jobs over SRTF with exact times; LAS, Gittins (the law is "
    "known) and history (finished jobs of the same model) never see a job's duration, so LAS and history "
    "are level. Below: total cost "
    "on the hierarchical paper's jobs over the same policy with exact times. The papers state "
    "errors of 10 and 11 %. Learned: what is observed of a running job corrects its predictions.",
)
def predictions(results: Results) -> Drawn:
    """Errors of predicted times."""
    table = study(results, "predictions")
    on_times = relative(
        table[table["method"].isin(list(ON_TIMES))], "mean_jct_s",
        {"method": "SRTF", "error": 0.0, "kind": "noise"}, ["seed"],
    )  # fmt: skip
    tables = table[table["method"].isin(list(ON_TABLES))]
    on_tables = relative(tables[tables["error"] >= 0], "total_cost", {"error": 0.0},
                         ["method", "kind", "seed"])  # fmt: skip
    figure, axes = canvas(2, 2, width=5.4, height=3.7, sharex=True)
    rows = []
    for column, kind in enumerate(("noise", "bias")):
        for row, (part, names) in enumerate(((on_times, ON_TIMES), (on_tables, ON_TABLES))):
            ax = axes[2 * row + column]
            own = part[part["kind"] == kind].assign(percent=100 * part["error"])
            seeing = [n for n in names if n not in BLIND]
            drawn = lines(ax, own, "percent", "ratio", "method", seeing, geometric=True)
            rows.append(drawn.assign(kind=kind, value=("mean_jct_s", "total_cost")[row]))
            for i, blind in enumerate(BLIND if row == 0 else ()):
                level = intervals(
                    part[part["method"] == blind], ["method"], "ratio", geometric=True
                )
                ax.axhline(level["mean"].iloc[0], color=PALETTE[4 + i], linestyle=":", label=blind)
                rows.append(level.assign(kind=kind, value="mean_jct_s", percent=0.0))
            _at_one(ax)
            if column == 1:
                ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
        axes[column].set_title(f"{kind} of predicted times")
        axes[2 + column].set_xlabel(f"{kind}, %")
    for column in (0, 1):
        axes[column].set_ylabel("mean JCT over exact SRTF")
        axes[2 + column].set_ylabel("total cost over exact times")
    return Drawn(figure, pd.concat(rows))


@PAGE.figure(
    "delays",
    "Who suffers from a reconfiguration delay",
    "{caption}",
)
def delays(results: Results) -> Drawn:
    """Reconfiguration delays."""
    table = study(results, "delays")
    table = table.assign(minutes=table["delay_s"] / 60)
    stuck = table[table["stuck"] == 1]
    never_ended = "; ".join(
        f"{len(part)} of {len(table[table['method'] == method])} runs of {method}"
        for method, part in stuck.groupby("method")
    )
    figure, axes = canvas(1, 2, width=5.4, height=4.2)
    rows = []
    pairs = (
        (MOVED, "mean_jct_s", "mean completion time"),
        (MOVED_ELASTIC, "total_cost", "total cost"),
    )
    for ax, (names, value, said) in zip(axes, pairs, strict=True):
        own = table[table["method"].isin(list(names))]
        ratios = relative(own, value, {"delay_s": 0.0}, ["method", "seed"])
        ratios = ratios[ratios["delay_s"] > 0]  # without a delay all are at 1
        drawn = lines(ax, ratios, "minutes", "ratio", "method", [*names], geometric=True)
        _at_minutes(ax, ratios["minutes"])
        rows.append(drawn.assign(value=value))
        ax.set(xlabel="reconfiguration delay, min", ylabel=f"{said} over no delay")
        _near_the_means(ax, drawn["mean"])
        _at_one(ax)
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return Drawn(
        figure,
        pd.concat(rows),
        {
            "caption": "A job that has run before loses this much progress whenever it is moved, resized or resumed. "
            "Left: Synergy's jobs at load 0.9. Right: the hierarchical paper's jobs. Deciding less often "
            "is the simplest hysteresis. With hysteresis (rounds of 5 min, every event), running jobs are "
            "stopped, moved or resized only where that saves more remaining time than the delays that it "
            "costs; so LAS with hysteresis knows remaining times. Each line is over the same method without "
            "a delay, where the hysteresis changes nothing. "
            + (
                f"Never ended, and left out: {never_ended}: jobs were moved in every round before the delay was "
                "over."
                if never_ended
                else ""
            )
        },
    )


@PAGE.figure(
    "periods",
    "Events against periods",
    "Decisions only every so often, over decisions at every arrival and completion on the same "
    "jobs: SRTF on Synergy's jobs at load 0.9, greedy and EDF on the hierarchical paper's.",
)
def periods(results: Results) -> Drawn:
    """Events or periods."""
    table = study(results, "periods")
    table = table.assign(
        value=table["mean_jct_s"].where(table["method"] == "SRTF", table["total_cost"])
    )
    ratios = relative(table, "value", {"period_s": EVENTS}, ["method", "seed"])
    ratios = ratios[ratios["period_s"] > 0].assign(minutes=ratios["period_s"] / 60)
    figure, (ax,) = canvas(1, 1, width=6.4, height=4.2)
    names = {"SRTF": "SRTF, mean completion time", "greedy": "greedy, total cost",
             "EDF": "EDF, total cost"}  # fmt: skip
    ratios = ratios.assign(method=ratios["method"].map(names))
    drawn = lines(ax, ratios, "minutes", "ratio", "method", [*names.values()], geometric=True)
    _at_minutes(ax, ratios["minutes"])
    _at_one(ax)
    ax.set(
        xlabel="period between decisions, min", ylabel="value over that with decisions at events"
    )
    ax.legend()
    return Drawn(figure, drawn)


@PAGE.figure(
    "bounds",
    "Myopic against far-sighted",
    "Total cost over a lower bound that no policy can beat, far-sighted or not, on the "
    "hierarchical paper's jobs and VMs. The bound is the best of each job as if it were alone, and of jobs "
    "that share the nodes (a linear program over 60 intervals of time). What is left to gain is at most "
    "what lies above 1.",
)
def bounds(results: Results) -> Drawn:
    """Distance to the lower bound by load."""
    table = over_bounds(results)
    figure, (ax,) = canvas(1, 1, width=6.4, height=4.4)
    drawn = lines(ax, table, "load", "ratio", "method", [*BOUNDED], geometric=True)
    ax.set(xlabel="offered load (0.5: jobs as often as in the paper)",
           ylabel="total cost over the lower bound")  # fmt: skip
    log_ticks(ax)
    _at_one(ax)
    legend_below(figure, ax, 3)
    return Drawn(figure, drawn)


@PAGE.figure(
    "elasticity",
    "What fixed demands cost",
    "The same trace (Synergy's derived jobs of several GPUs, on as many servers) with the demands "
    "that it states, and with GPUs chosen by the policy. Tune gives each job the CPUs and memory "
    "that it gains from; on elastic jobs it does so on each node, beside the GPUs that the policy "
    "chose. Without tune CPUs and memory go along with the GPUs.",
)
def elasticity(results: Results) -> Drawn:
    """Fixed demands against elastic ones."""
    table = study(results, "elasticity")
    figure, axes = canvas(1, 2, width=5.4, height=4.2)
    rows = []
    pairs = (("mean_jct_s", "mean completion time"), ("total_cost", "total cost"))
    for ax, (value, said) in zip(axes, pairs, strict=True):
        ratios = relative(table, value, {"method": "fixed, SRTF"}, ["load", "seed"])
        drawn = lines(ax, ratios, "load", "ratio", "method", [*FIXED_OR_ELASTIC], geometric=True)
        rows.append(drawn.assign(value=value))
        ax.set(xlabel="offered load of the trace's demands", yscale="log",
               ylabel=f"{said} over SRTF, fixed")  # fmt: skip
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.tick_params(axis="y", which="minor", labelsize=8)
        _at_one(ax)
    legend_below(figure, axes[0], 3)
    return Drawn(figure, pd.concat(rows))
