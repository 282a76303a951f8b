"""Figures 10 to 13, Table 5 and one round: what mechanisms make of the servers."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from experiments.pages import Drawn, NoRuns, Results, plots
from experiments.papers.synergy.panels import (
    AVERAGES,
    COLOURS,
    LOAD,
    NAMES,
    from_zero,
    load_panel,
    marks,
    over_load,
    their_stars,
)
from experiments.papers.synergy.runs import OVERLOAD, PAGE, PAIR, PAPER_DRAW, W1, W2
from experiments.papers.synergy.tables import (
    Table,
    cells,
    deployment,
    gains,
    peaks,
    their_draw,
    their_servers,
    timeline,
    together,
    windows,
)
from experiments.pictures.plots import PALETTE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@PAGE.figure(
    "figure_10",
    "Figure 10: use of the cluster over time, and over load",
    "FIFO, split 50-0-50, jobs of up to 16 GPUs, {gpus} GPUs, seed 1, while jobs arrive; means of 12 hours. A CPU beyond what its job "
    "can use counts as not used. Left: GPUs, where greedy leaves some idle throughout, as in the paper. Middle: CPUs at a low load. Right: "
    "CPUs over load, mean and peak of the whole run, where the rows leave out the warm-up. The paper has 60 % of the CPUs with "
    "proportional shares and up to 90 % tuned, and does not print the load. The peaks of both mechanisms come near 90 %, so the peak "
    "does not tell them apart.",
)
def figure_10(results: Results) -> Drawn:
    table = timeline(results, "timelines")
    loads = sorted(set(table["load"]))
    figure, axes = plots.canvas(1, 3, width=4.6, height=4.2)
    for ax, column, load, what, drawn in (
        (axes[0], "gpus", loads[-1], "GPUs given", ("greedy", "proportional", "tune")),
        (axes[1], "cpus_used", loads[0], "CPUs used", PAIR),
    ):
        for mechanism in drawn:
            part = table[(table["mechanism"] == mechanism) & (table["load"] == load)]
            used = peaks(part.set_index("hour")[column])
            # Tune often lies on greedy, whose line is wider.
            ax.plot(used.index + 6, used, color=COLOURS[mechanism], label=NAMES[mechanism],
                    linewidth=4.5 if mechanism == "greedy" else 1.6)  # fmt: skip
        ax.set(
            xlabel="time, h",
            ylabel="% of the cluster",
            title=f"{what}, {load:g} jobs/h",
            ylim=(0, 105),
        )
    _cpus_over_load(axes[2], table, loads)
    plots.legends_below(figure, axes[0], axes[2], (3, 2))
    kept = ["mechanism", "load", "seed", "hour", "gpus", "cpus_used"]
    return Drawn(figure, table[kept], {"gpus": 8 * int(table["nodes"].iloc[0])})


def _cpus_over_load(ax: Axes, table: Table, loads: list[float]) -> None:
    """CPUs in use over load: mean and peak of each mechanism, and what the paper prints of them."""
    for name in PAIR:
        of = table[table["mechanism"] == name]
        used = [of[of["load"] == load].set_index("hour")["cpus_used"] for load in loads]
        colour, number = COLOURS[name], PAGE[f"cpus-used.{name}"]
        ax.plot(loads, [u.mean() for u in used], "o-", color=colour, label=f"{NAMES[name]}: mean")
        ax.plot(
            loads, [peaks(u).max() for u in used], "^:", color=colour, label=f"{NAMES[name]}: peak"
        )
        label = f"paper, {name}: {number.printed or format(number.low, 'g')} %"
        ax.axhline(number.low, color=colour, linestyle="--", linewidth=1, label=label)
    ax.set(xlabel=LOAD, ylabel="% of the cluster", title="CPUs used, over load", ylim=(0, 105))
    ax.set_xticks(loads)


@PAGE.figure(
    "figure_11",
    "Figure 11: splits of image, language and speech",
    "FIFO, jobs of up to 16 GPUs, shares of image, language and speech jobs: lines over our own draws, stars the authors' draw with the "
    "released rules. As in the paper, greedy breaks down if "
    "all jobs need CPUs and memory (50-0-50), because it leaves GPUs idle, and tune is never worse than "
    "GPU-proportional." + AVERAGES,
)
def figure_11(results: Results) -> Drawn:
    table = cells(results, "splits")
    figure, axes = plots.canvas(1, 3, width=4.6)
    theirs = []
    for ax, split in zip(axes, (W1, "33-33-33", W2), strict=True):
        load_panel(ax, table[table["split"] == split], f"split {split}")
        theirs.append(their_stars(ax, results, "draws_splits", split=split))
    plots.legend_below(figure, axes[0], 3)
    kept = ["split", "mechanism", "load", "seed", "mean_jct_h"]
    data = together(
        table[kept], *(of.reindex(columns=kept).assign(seed=PAPER_DRAW) for of in theirs)
    )
    return Drawn(figure, data, {"windows": windows(results, "splits")})


READINGS = {False: "durations drawn at each ratio", True: "durations of ratio 3 at every ratio"}
"""Of Figure 12, by whether the durations are fixed."""


@PAGE.figure(
    "figure_12",
    "Figure 12: CPUs per GPU",
    "FIFO, single-GPU jobs, split 20-70-10, two readings. Left: durations are drawn at the proportional share of "
    "each ratio, as in the released simulator, so GPU-proportional is the same line for all, and tune gets "
    "slower as less is left to gain. Middle: each job has the iterations of ratio 3 at every ratio, so both get "
    "faster; at 9 jobs/h, over the seeds that ran at every ratio. "
    "Right: the average of GPU-proportional divided by that of tune at 9 jobs/h. With 3 CPUs both readings of a trace "
    "are the same runs." + AVERAGES,
)
def figure_12(results: Results) -> Drawn:
    base, swept = cells(results, "single_gpu"), cells(results, "cpu_ratios")
    figure, axes = plots.canvas(1, 3, width=4.6, height=4.2)
    tables = {fixed: together(base, swept[swept["fixed"] == fixed]) for fixed in READINGS}
    _over_loads(axes[0], tables[False])
    _over_ratios(axes[1], tables[True])
    ratio = _ratios(results, base, swept)
    _gain_by_ratio(axes[2], ratio)
    printed = [PAGE[f"cpus.of-{r}"].low for r in (3, 4, 5, 6)]
    axes[2].plot((3, 4, 5, 6), printed, "*--", color=PAPER, label="paper")
    axes[2].set(xlabel="CPUs per GPU", ylabel="average JCT, proportional / tune")
    axes[2].set_title("gain of tune, 9 jobs/h")
    axes[2].set(xticks=(3, 4, 5, 6), ylim=(0, 1.05 * axes[2].get_ylim()[1]))
    for ax in axes:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))
    own = windows(results, "cpu_ratios"), windows(results, "single_gpu")
    words = {"windows": f"{own[0]} at 4 to 6 CPUs, {own[1]} at 3, one released draw"}
    kept = ["ratio", "fixed", "mechanism", "load", "seed", "mean_jct_h"]
    parts = [table.assign(fixed=fixed)[kept] for fixed, table in tables.items()]
    gained = ratio.rename(columns={"ratio": "gain", "cpus": "ratio"})
    return Drawn(figure, together(*parts, gained).drop_duplicates(), words)


def _over_loads(ax: Axes, table: Table) -> None:
    """Average JCT over load, a line of tune for each number of CPUs per GPU."""
    names = ["proportional, any ratio", *(f"tune, {r} CPUs per GPU" for r in (3, 4, 5, 6))]
    table = table.assign(
        line=[
            names[0] if m == "proportional" else f"{m}, {r} CPUs per GPU"
            for m, r in zip(table["mechanism"], table["ratio"], strict=True)
        ]
    )
    drawn = plots.lines(
        ax, table, "load", "mean_jct_h", "line", {x: x for x in names}, dashed=names[:1]
    )
    over_load(ax, drawn, "average JCT, h", READINGS[False])


def _over_ratios(ax: Axes, table: Table) -> None:
    """Average JCT over CPUs per GPU at 9 jobs/h, of the seeds that ran at every ratio."""
    table = table[table["load"] == OVERLOAD]
    ratios = table.groupby("seed")["ratio"].transform("nunique")
    shown = table[ratios == ratios.max()]
    plots.lines(ax, shown, "ratio", "mean_jct_h", "mechanism", NAMES)
    ax.set(xlabel="CPUs per GPU", ylabel="average JCT, h", title=f"{READINGS[True]}, 9 jobs/h")
    ax.set_xticks((3, 4, 5, 6))
    from_zero(ax)


def _gain_by_ratio(ax: Axes, table: Table) -> None:
    """Gain of tune over CPUs per GPU, a line for each reading; at 3 two readings of a draw are the same runs, drawn once."""
    table = table.reset_index(drop=True)
    names = {name: name for name in dict.fromkeys(table["reading"])}
    twice = table.duplicated(["cpus", "seed", "ratio"])
    drawn = plots.lines(ax, table[~twice], "cpus", "ratio", "reading", names, geometric=True)
    first = plots.intervals(table[twice], ["cpus", "reading"], "ratio", geometric=True)
    for start in first.to_dict("records"):
        end = drawn[(drawn["reading"] == start["reading"]) & (drawn["cpus"] == 4)]
        colour = plots.PALETTE[list(names).index(start["reading"])]
        ax.plot([3, *end["cpus"]], [start["mean"], *end["mean"]], color=colour)


def _ratios(results: Results, base: Table, swept: Table) -> Table:
    """Gain of tune at 9 jobs/h by CPUs per GPU and reading, one row a trace."""
    ours = together(base, swept)
    ours = ours[ours["load"] == OVERLOAD]
    released = cells(results, "draws", seed=PAPER_DRAW, nodes=their_servers(results))
    parts: list[Table] = []
    for draw, table in (("ours", ours), (their_draw(results, "released draw"), released)):
        three = table[table["ratio"] == 3]
        alone = three[three["mechanism"] == "proportional"]
        more = table[table["ratio"] > 3]
        # Where no other ratio was run, both readings are the same point.
        readings = {f: READINGS[f] for f in sorted(set(more["fixed"]))} or {False: "both readings"}
        for fixed, reading in readings.items():
            for cpus in (3, 4, 5, 6):
                part = (
                    table[(table["ratio"] == cpus) & (table["fixed"] == fixed)]
                    if cpus > 3
                    else three
                )
                if "proportional" not in set(part["mechanism"]):  # the same at every ratio
                    part = together(part, alone)
                if "tune" in set(part["mechanism"]):
                    parts.append(gains(part, []).assign(cpus=cpus, reading=f"{draw}, {reading}"))
    return together(*parts)


@PAGE.figure(
    "figure_13",
    "Figure 13: big-data schedulers",
    "DRF and Tetris with whole demands held to the end, and with demands tuned in each round; "
    "single-GPU jobs, 9 per hour. Right: the average with static demands divided by that with tuned ones. Stars, with "
    "their loads: the pair of the released simulator on its own trace with the split 50-0-50, greedy (placed anew in each round) "
    "divided by tune. Load and GPU demands of the paper's "
    "figure are not printed; its ratios are those of 50-0-50." + AVERAGES,
)
def figure_13(results: Results) -> Drawn:
    table = cells(results, "big_data")
    figure, axes = plots.canvas(1, 3, width=4.2)
    titles = {"drf": "DRF", "tetris": "Tetris"}
    for ax, split in zip(axes, (W1, W2), strict=False):
        part = table[table["split"] == split]
        plots.points(ax, part, "ordering", "mean_jct_h", "mechanism", NAMES, order=list(titles))
        ax.set(title=f"split {split}", xlabel="ordering", ylabel="average JCT, h")
        from_zero(ax)
    ratio = gains(table, ["ordering", "split"], base="static")
    plots.points(axes[2], ratio, "ordering", "ratio", "split", {W1: f"split {W1}", W2: f"split {W2}"},
                 order=list(titles))  # fmt: skip
    _their_pairs(axes[2], results, list(titles))
    marks(axes[2], [0.2, 1.2], ["big-data.drf", "big-data.tetris"])
    axes[2].set(title="slower than tune", xlabel="ordering", ylabel="ratio of average JCT")
    from_zero(axes[2])
    for ax in axes:
        ax.set_xticks((0, 1), list(titles.values()))
    plots.legends_below(figure, axes[0], axes[2], (2, 3))
    kept = ["ordering", "mechanism", "split", "seed", "mean_jct_h"]
    return Drawn(figure, table[kept], {"windows": windows(results, "big_data")})


def _their_pairs(ax: Axes, results: Results, orderings: list[str]) -> None:
    """Greedy over tune on the authors' draw, as far as it ran."""
    try:
        tables = {o: cells(results, "released", ordering=o, split=W2) for o in orderings}
    except NoRuns:
        return
    for i, (x, table) in enumerate(enumerate(tables.values())):
        ratio = gains(table, ["load"], base="greedy")
        ax.plot([x - 0.3] * len(ratio), ratio["ratio"], "*", color=PALETTE[5], markersize=10,
                label=None if i else f"greedy / tune, authors' draw, {W2}")  # fmt: skip
        points = zip(ratio["load"], ratio["ratio"], cycle([(7, -3), (-3, 7), (-3, -13)]))
        for load, value, beside in points:
            ax.annotate(
                f"{load:g}/h", (x - 0.3, value), beside, textcoords="offset points", fontsize=7
            )


# -- Table 5, and one round ----------------------------------------------------------------------


@PAGE.figure(
    "table_5",
    "Table 5: the two deployment traces",
    "100 jobs on 32 GPUs, all of them counted; the traces are fixed, so there is no interval. The dynamic trace that is "
    "shipped has another mix of jobs than the paper prints, but gives its averages of tune and opt by the released rules. Opt was not deployed. "
    "The released simulator gives {released} h on the static trace that it ships.",
)
def table_5(results: Results) -> Drawn:
    table = deployment(results)
    figure, axes = plots.canvas(1, 3, width=4.6)
    mechanisms = [*PAIR, "opt"]
    titles = {
        "makespan": "FIFO: makespan", "mean": "SRTF: average JCT", "p99": "SRTF: 99th percentile of JCT",
    }  # fmt: skip
    for ax, (metric, title) in zip(axes, titles.items(), strict=True):
        part = table[table["metric"] == metric].set_index(["released", "mechanism"])["hours"]
        series = (
            (
                "paper, simulated",
                [PAGE[f"table-5.{metric}.simulated.{m}"].low for m in mechanisms],
                PAPER,
            ),
            (
                "paper, deployed",
                [
                    getattr(PAGE.numbers.get(f"table-5.{metric}.deployed.{m}"), "low", np.nan)
                    for m in mechanisms
                ],
                PALETTE[6],
            ),
            ("ours, released rules", part[True].loc[mechanisms], PALETTE[5]),
            ("ours, the paper's rules", part[False].loc[mechanisms], PALETTE[2]),
        )
        for i, (label, values, colour) in enumerate(series):
            drawn = ax.bar(np.arange(3) + 0.22 * (i - 1.5), values, 0.21, label=label, color=colour)
            names = ["" if np.isnan(value) else f"{value:.2f}" for value in values]
            ax.bar_label(drawn, names, fontsize=6)
        ax.set_xticks(range(3), mechanisms)
        ax.set(title=title, xlabel="mechanism", ylabel=f"{title.partition(': ')[2]}, h")
    plots.legend_below(figure, axes[0], 4)
    released = ", ".join(f"{PAGE[f'released.makespan.{m}'].low:.2f}" for m in mechanisms)
    return Drawn(figure, table, {"released": released})


OF_OPT = {
    "tune_by_gpus": ("tune, sorted by GPUs (ours)", 5, 13, 5.0),
    "tune": ("tune, sorted as in Section 4.2", 2, 9, 2.5),
    "tune_released": ("tune, as released", 7, 5, 1.0),
}
"""Mechanisms of `run_round_times` beside opt: label, colour, and widths of marker and interval."""


@PAGE.figure(
    "figure_round_times",
    "A round of tune and of opt over cluster size",
    "One round of a full cluster from scratch, split 20-70-10; twenty queues each, with 95 % "
    "intervals. The paper has tune {within} of opt at 128 GPUs, and opt {slower:g} times "
    "slower; stated in counts of alike jobs the ILP is small. Sorting jobs by CPU demand, as Section 4.2 says, costs "
    "throughput; the released simulator does not sort. The times are those of this machine, so the table has only the "
    "throughputs.",
)
def figure_round_times(results: Results) -> Drawn:
    table: Table = results.runs("run_round_times").sort_values("nodes")
    table["gpus"] = 8 * table["nodes"]
    figure, axes = plots.canvas(1, 3, width=4.6)
    for panel, (multi_gpu, style, of) in enumerate(
        ((False, "o-", "single-GPU jobs"), (True, "s--", "up to 16 GPUs a job")), 1
    ):
        part = table[table["multi_gpu"] == multi_gpu]
        for mechanism in ("tune", "opt"):
            axes[0].plot(part["gpus"], 1000 * part[f"{mechanism}_round_cpu_s"], style,
                         markerfacecolor="none" if multi_gpu else None, color=COLOURS[mechanism],
                         label=f"{NAMES[mechanism]}, {of}")  # fmt: skip
        for column, (name, colour, marker, interval) in OF_OPT.items():
            of_opt = 100 * part[[f"{column}_of_opt{end}" for end in ("", "_low", "_high")]]
            of_opt.columns = ["mean", "low", "high"]
            plots.draw_line(
                axes[panel], part["gpus"], of_opt, name, colour, linestyle="none", marker="o",
                markerfacecolor="none", markersize=marker, elinewidth=interval,
            )  # fmt: skip
        plots.paper_line(axes[panel], 100 - PAGE["round"].high, "paper: within 10 %")
        axes[panel].set(ylabel="throughput, % of opt's", title=of, ylim=(80, 101))
    plots.log_ticks(axes[0])
    at_16 = table[(table["nodes"] == 16) & ~table["multi_gpu"].astype(bool)].iloc[0]
    slower = at_16["opt_round_cpu_s"] / at_16["tune_round_cpu_s"]
    title = f"time of a round\nopt / tune at 128 GPUs: {slower:.0f}; paper: {PAGE['slower'].low:g}"
    axes[0].set(ylabel="CPU time of a round, ms", title=title)
    sizes = sorted(set(table["gpus"]))
    for ax in axes:
        ax.set(xscale="log", xlabel="GPUs of the cluster")
        ax.minorticks_off()
        ax.set_xticks(sizes, [str(g) for g in sizes])
    plots.legends_below(figure, axes[0], axes[1], (2, 2))
    columns = [c for c in table if "_of_opt" in c and not c.startswith("opt")]
    words = {"within": PAGE["round"].printed, "slower": PAGE["slower"].low}
    return Drawn(figure, table[["nodes", "multi_gpu", "seed", *columns]], words)
