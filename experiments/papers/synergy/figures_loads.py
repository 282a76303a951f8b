"""Figures 6 to 9: averages and distributions of the JCT by ordering.

Each prints its window: under overload the mean depends on it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from experiments.estimates import paired
from experiments.pages import Drawn, NoRuns, Results, plots
from experiments.papers.synergy.panels import (
    AVERAGES,
    COLOURS,
    NAMES,
    cdf_panel,
    from_zero,
    load_panel,
    marks,
    note,
    stars,
    their_stars,
)
from experiments.papers.synergy.runs import OVERLOAD, PAGE, PAIR, PAPER_DRAW
from experiments.papers.synergy.tables import (
    FIFO_SINGLE,
    SHORT_H,
    Table,
    began,
    by_length,
    by_share,
    cells,
    draws,
    fifo,
    largest,
    load_of_several,
    long_p95,
    overload,
    scale_of_draws,
    speedups,
    their_distribution,
    their_draw,
    their_hours,
    their_jobs,
    windows,
)
from experiments.pictures.plots import PALETTE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORT = f"jobs with a JCT below {SHORT_H:g} h in that run"

# -- Figure 6 --------------------------------------------------------------------------------

PHILLY = {"srtf": "SRTF", "las": "LAS", "fifo": "FIFO"}
FAR_APART_DAYS = 10.0
"""Starts of the log between which nothing was tried; no line joins them."""


@PAGE.figure(
    "figure_6",
    "Figure 6: the Philly log, over the day on which it began",
    "The jobs of the log that were submitted 2,400 to 3,000 h after its first, at most 8,000, split 20-70-10, the released rules: "
    "{windows}. The day of the first submission is not published, so every value is drawn over it: 7 August 2017 is the first day that "
    "the log's page names, 6 to 8 July give the printed 8,000 jobs, and about 10 July the longest runs on average; LAS and FIFO ran from fewer days than SRTF. Dashed: the paper's values. Jobs are short where their JCT "
    "under tune is below 4 h. No day gives all values: hardly a queue forms on 512 GPUs.",
)
def figure_6(results: Results) -> Drawn:
    figure, axes = plots.canvas(2, 3, width=4.2)
    table = cells(results, "philly_window")
    starts = sorted(set(table["start"]), reverse=True)
    for ax, ordering in zip(axes[:3], PHILLY, strict=True):
        part = table[table["ordering"] == ordering]
        names = {m: f"philly.{ordering}.{m}" for m in PAIR}
        _over_starts(
            ax, part, starts, "mean_jct_h", names, f"{PHILLY[ordering]}: average JCT, all jobs"
        )
    long = by_length(results)
    for ax, value, title in zip(
        axes[3:5], ("mean", "p99"), ("average JCT", "99th percentile"), strict=True
    ):
        for length, style in (("short", "s:"), ("long", "o-")):
            kind = f"{length}-{value}"
            names = {m: f"philly-srtf.{kind}.{m}" for m in PAIR}
            _over_starts(
                ax,
                long[long["kind"] == kind],
                starts,
                "hours",
                names,
                f"SRTF: {title}",
                style,
                f", {length} jobs",
            )
        plots.log_ticks(ax)
    most = speedups(results).groupby("start")["ratio"].max()
    axes[5].plot(
        *_apart(starts, most),
        "o-",
        color=PALETTE[2],
        label="largest speed-up of a job",
    )
    plots.paper_line(
        axes[5], PAGE["philly-speedup"].low, f"paper: {PAGE['philly-speedup'].printed}"
    )
    axes[5].set(ylabel="JCT, proportional / tune", title="SRTF: largest speed-up of a job")
    from_zero(axes[5])
    for ax in axes:
        ax.set_xlabel("day on which the log began (not to scale)")
        ax.set_xticks(range(len(starts)), [began(s) for s in starts], rotation=30, fontsize=8)
    plots.legends_below(figure, axes[3], axes[5], (3, 2))
    data = pd.concat(
        [table[["ordering", "mechanism", "start", "mean_jct_h"]], long, most.reset_index()]
    )
    return Drawn(figure, data, {"windows": windows(results, "philly_window")})


def _over_starts(
    ax: Axes,
    table: Table,
    starts: list[float],
    value: str,
    printed: dict[str, str],
    title: str,
    style: str = "o-",
    of: str = "",
) -> None:
    """One line a mechanism over the day on which the log began, the earliest first, and the paper's value of each."""
    for mechanism, name in printed.items():
        part = table[table["mechanism"] == mechanism].set_index("start")[value].sort_index()
        colour = COLOURS[mechanism]
        wide = mechanism == "proportional"  # what lies below another stays visible
        ax.plot(*_apart(starts, part), style, color=colour, label=f"{NAMES[mechanism]}{of}",
                linewidth=4.5 if wide else 1.6, markersize=10 if wide else 5)  # fmt: skip
        if name in PAGE.numbers:
            label = f"paper, {NAMES[mechanism]}" if "long" in of else None
            ax.axhline(PAGE[name].low, color=colour, linestyle="--", linewidth=1, label=label)
    ax.set(ylabel="JCT, h", title=title)
    if not of:
        from_zero(ax)


def _apart(starts: list[float], values: pd.Series) -> tuple[list[float], list[float]]:
    """Places and values of a line over the starts, in parts where more than `FAR_APART_DAYS` lie between two of them."""
    at: list[float] = []
    drawn: list[float] = []
    before = math.inf
    for start, value in zip(values.index.tolist(), values.tolist(), strict=True):
        if start - before > FAR_APART_DAYS:
            at.append(math.nan)
            drawn.append(math.nan)
        before = start
        at.append(starts.index(start))
        drawn.append(value)
    return at, drawn


# -- averages over load ----------------------------------------------------------------------


@PAGE.figure(
    "figure_8", "Figure 8: SRTF with jobs of several GPUs",
    "As Figure 7, distributions at the paper's load of 5.5 jobs/h. The paper: {printed} times over orderings "
    "and loads, and tune within 10 % of opt." + AVERAGES,
    ordering="srtf", load=5.5,
)  # fmt: skip
@PAGE.figure(
    "figure_7", "Figure 7: LAS with jobs of several GPUs",
    "Average JCT over load, split 20-70-10: lines over our own draws, stars the authors' draw with the GPUs of the log and the released rules. "
    "Distribution at the paper's load of 4 jobs/h ({of}) for "
    f"{SHORT} (short) and the others (long). The paper: {{printed}} times over orderings and loads, and tune "
    "within 10 % of opt. The ratio in the panel of long jobs is of these; the rows and the next figure take the jobs of 4 h and "
    "more under tune as long." + AVERAGES,
    ordering="las", load=4.0,
)  # fmt: skip
def several_gpus(results: Results, ordering: str, load: float) -> Drawn:
    table = cells(results, "orderings", ordering=ordering)
    every, of = their_jobs(results, ordering, load)
    figure, axes = plots.canvas(1, 3, width=4.6)
    load_panel(axes[0], table, f"{ordering.upper()}, jobs of up to 16 GPUs")
    theirs = their_stars(axes[0], results, "draws_several", ordering=ordering, first_run=False)
    _, most = largest(table)
    printed = PAGE["multi"].printed
    told = f"proportional over tune, largest over loads:\n{most.mean:.2f} on our draws"
    if not theirs.empty:
        wide = theirs.pivot(index="load", columns="mechanism", values="mean_jct_h")
        told += f", {(wide['proportional'] / wide['tune']).max():.2f} on theirs"
    note(axes[0], f"{told}; paper: {printed}")
    short = every["jct_h"] < SHORT_H
    for ax, length, which in zip(axes[1:], ("short", "long"), (short, ~short), strict=True):
        cdf_panel(ax, every[which], f"{length} jobs, {load:g} jobs/h")
        if ordering == "las" and length == "long":
            p95 = every[which].groupby("mechanism")["jct_h"].quantile(0.95)
            ratio = p95["proportional"] / p95["tune"]
            ax.axhline(0.95, color=PAPER, linestyle="--", linewidth=0.8)
            note(
                ax,
                f"95th percentile, proportional over tune:\n{ratio:.2f}; paper: {PAGE['las-p95'].low:g}",
            )
        else:
            note(ax, "paper: no number")
    plots.legends_below(figure, axes[0], axes[1], (3, 3))
    words = {
        "windows": windows(results, "orderings", ordering=ordering),
        "printed": printed,
        "of": of,
    }
    kept = ["ordering", "mechanism", "load", "seed", "mean_jct_h", "p95_jct_h"]
    data = pd.concat([table[kept], theirs.reindex(columns=kept).assign(seed=PAPER_DRAW)])
    return Drawn(figure, data, words)


@PAGE.figure(
    "figure_7_shares", "Figures 7 and 8 by share of the GPUs asked for",
    "Gain of tune in average JCT (left) and in the 95th percentile of long jobs (right), jobs of several GPUs, released "
    "rules, under {laws}. Long jobs are those "
    "of 4 h and more under tune. Stars: the authors' draw, with the GPUs in the log's own order. Dashed: the paper's value. Below all GPUs there is hardly a queue. {windows}.",
)  # fmt: skip
def figure_7_shares(results: Results) -> Drawn:
    table = by_share(results)
    figure, axes = plots.canvas(1, 2)
    titles = {"mean_jct_h": "average JCT", "long_p95_h": "95th percentile of long jobs"}
    names = {
        f"{o}, {law}": f"{o.upper()}, {law.title()}'s law"
        for law in ("philly", "gavel")
        for o in ("las", "srtf")
    }
    for ax, (value, title), printed in zip(axes, titles.items(), ("multi", "las-p95"), strict=True):
        ratio = paired(
            table, "mechanism", *PAIR, value, by=["share", "seed", "ordering", "gpu_law"]
        )
        ratio = ratio.assign(line=ratio["ordering"] + ", " + ratio["gpu_law"])
        shown = ratio if value == "mean_jct_h" else ratio[ratio["ordering"] == "las"]
        plots.lines(ax, shown, "share", "ratio", "line", names, geometric=True)
        _their_gains(ax, results, value)
        of, label = PAGE[printed], f"paper: {PAGE[printed].printed or '2'}"
        plots.paper_line(ax, of.low, label, of.accepted)
        ax.set(xlabel="GPUs asked for, % of all", ylabel="proportional / tune", title=title)
        from_zero(ax)
    plots.legends_below(figure, axes[0], axes[1], (2, 2))
    kept = ["gpu_law", "share", "ordering", "mechanism", "seed", "mean_jct_h", "long_p95_h"]
    laws = "the law of GPUs of the Philly log (1.45 GPUs a job)"
    if "gavel" in set(table["gpu_law"]):
        laws = "two laws of GPUs: of the Philly log (1.45 GPUs a job) and of Gavel's extract of it (2.13)"
    return Drawn(figure, table[kept], {"laws": laws, "windows": windows(results, "overload")})


def _their_gains(ax: Axes, results: Results, value: str) -> None:
    """Stars of the authors' draw, as far as it ran."""
    try:
        table = cells(results, "draws_several", first_run=False)
        table = table.merge(long_p95(results, "draws_several"), how="left")
    except NoRuns:
        return
    for i, ordering in enumerate(("las", "srtf") if value == "mean_jct_h" else ("las",)):
        ratio = paired(table[table["ordering"] == ordering], "mechanism", *PAIR, value, by=["load"])
        shares = [load_of_several(load, first_run=False) for load in ratio["load"]]
        ax.plot(shares, ratio["ratio"], "*", color=PALETTE[i], markeredgecolor="black", markersize=11,
                label=f"{ordering.upper()}, the authors' draw")  # fmt: skip


def _overload() -> dict[str, float]:
    """Words of captions: the load of 9 jobs/h in both readings, %."""
    return dict(zip(("proportional", "met"), overload(), strict=True))


@PAGE.figure(
    "figure_9",
    "Figure 9: FIFO with single-GPU jobs",
    "Average JCT over load, split 20-70-10, and on the right its distribution on the authors' draw with their rules. 9 jobs/h ask for {proportional:.0f} % of the "
    "GPUs at proportional shares and still {met:.0f} % if every job had its whole demand, so every "
    "queue grows for as long as jobs come, and the averages with it: wide intervals." + AVERAGES,
)
def figure_9(results: Results) -> Drawn:
    table = cells(results, FIFO_SINGLE)
    figure, axes = plots.canvas(1, 3, width=4.6)
    load_panel(axes[0], fifo(results), "FIFO, single-GPU jobs")
    order = ["proportional", "tune", "opt", "greedy", "tune-by-gpus"]
    at_9 = table[table["load"] == OVERLOAD]
    plots.points(axes[1], at_9, "mechanism", "mean_jct_h", "mechanism", NAMES, order=order, dodge=0)
    marks(axes[1], range(3), [f"figure-9.{m}" for m in order[:3]], beside=True)
    theirs = their_hours(results)
    stars(
        axes[1],
        [order.index(m) for m in theirs.index],
        list(theirs),
        their_draw(results, "authors' draw and rules"),
        below=True,
    )
    axes[1].set_xticks(range(5), ["prop.", "tune", "opt", "greedy", "by GPUs\n(ours)"])
    axes[1].set_xlim(-0.9, 4.5)
    axes[1].set(
        xlabel="mechanism",
        ylabel="average JCT, h",
        title="all mechanisms, 9 jobs/h",
    )
    from_zero(axes[1])
    cdf_panel(axes[2], their_distribution(results), f"9 jobs/h, the {their_draw(results)}")
    plots.legends_below(figure, axes[0], axes[2])
    plots.legend_below(figure, axes[1], 1)
    kept = ["mechanism", "load", "seed", "mean_jct_h", "p95_jct_h", "p99_jct_h"]
    drawn_by_them = theirs.reset_index().assign(load=OVERLOAD, seed=PAPER_DRAW)
    data = pd.concat([table[kept], drawn_by_them])
    return Drawn(figure, data, {"windows": windows(results, "single_gpu"), **_overload()})


@PAGE.figure(
    "figure_9_draws",
    "Figure 9: the paper's draw, and others",
    "Jobs {first} to {last}, {gpus} GPUs, FIFO, split 20-70-10, as released. Each point is one draw of the released "
    "generator at 9 jobs an hour (for 128 GPUs). The paper's own is seed 42 (star). The same rate of arrivals "
    "gives another load with each draw, because durations are long-tailed. With 16 servers and jobs 4000 to 4999 seed 42 gives {released} h with "
    "tune; the page of the released simulator prints the same to all digits.",
)
def figure_9_draws(results: Results) -> Drawn:
    first, end, nodes = scale_of_draws(results)
    table = draws(results, nodes)
    own = table["seed"] == PAPER_DRAW
    others = table[~own]
    figure, (left, right) = plots.canvas(1, 2)
    star: dict[str, Any] = {"markersize": 15, "markeredgecolor": "black"}
    for mechanism in PAIR:
        colour, printed = COLOURS[mechanism], PAGE[f"figure-9.{mechanism}"].low
        left.plot(
            others["load_percent"], others[mechanism], "o", color=colour, label=NAMES[mechanism]
        )
        left.plot(
            table.loc[own, "load_percent"], table.loc[own, mechanism], "*", color=colour, **star
        )
        left.axhline(
            printed, color=colour, linestyle="--", linewidth=1.2, label=f"paper: {printed:g} h"
        )
    right.plot(
        others["load_percent"],
        others["ratio"],
        "o",
        color=PALETTE[2],
        label=f"{len(others)} other draws",
    )
    right.plot(table.loc[own, "load_percent"], table.loc[own, "ratio"], "*", color=PALETTE[2],
               label="seed 42", **star)  # fmt: skip
    single = PAGE["single"]
    plots.paper_line(right, single.low, f"paper: {single.printed}", single.accepted)
    left.set(title="average JCT", ylabel="average JCT, h")
    right.set(title="ratio of the two", ylabel="average JCT, proportional / tune")
    for ax in (left, right):
        from_zero(ax)
        ax.set_xlabel("load of the draw, % of the GPUs at proportional shares")
    plots.legends_below(figure, left, right, (2, 2))
    released = f"{PAGE['released.default-run.mean'].low:.2f}"
    words = {"first": first, "last": end - 1, "gpus": 8 * nodes, "released": released}
    return Drawn(figure, table, words)
