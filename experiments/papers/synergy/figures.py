"""The figures of averages over jobs. Each prints its window: under overload the mean depends on it.

Figures 2a, 3, 5, 10, Table 5 and the time of a round are in `experiments.papers.synergy.details`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.papers.synergy.details import (
    figure_2a,
    figure_3,
    figure_5,
    figure_10,
    figure_round_times,
    figure_table_5,
)
from experiments.papers.synergy.draw import figure_draws
from experiments.papers.synergy.panels import (
    COLOURS,
    NAMES,
    PAIR,
    Table,
    bars,
    cdf_panel,
    cells,
    gains,
    grouped,
    jobs_of,
    jobs_table,
    legend_under,
    lines_over_load,
    load_panel,
    paper_marks,
    plain_ticks,
    runs_of,
    save,
    seed_line,
    window_of,
)
from experiments.papers.synergy.runs import SHORT_H, W1, W2
from experiments.report.contents import Figure
from experiments.sweep.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

W1_NAME = "-".join(map(str, W1))
SEEDS_SHOWN = 10
"""Of the lines that differ from seed to seed."""
FIFO_SINGLE: dict[str, Any] = {"ordering": "fifo", "multi_gpu": False, "split": W1_NAME}


def figures(results: Results, out_dir: Path) -> list[Figure]:
    """Draw all figures."""
    makers: Sequence[Callable[[Results, Path], Figure]] = (
        _figure_1,
        figure_2a,
        figure_3,
        figure_5,
        _figure_6,
        _figure_7,
        _figure_8,
        _figure_9,
        _windows,
        figure_draws,
        figure_10,
        _figure_11,
        _figure_12,
        _figure_13,
        figure_table_5,
        figure_round_times,
    )
    return [make(results, out_dir) for make in makers]


def _figure_1(results: Results, out_dir: Path) -> Figure:
    import pandas as pd

    from experiments.pictures.plots import canvas

    drawing, axes = canvas(1, 2)
    single = _pair(cells(results, **FIFO_SINGLE, ratio=3))
    multi = _pair(cells(results, ordering="srtf", multi_gpu=True, split=W1_NAME, ratio=3))
    load_panel(axes[0], single, "FIFO, single-GPU jobs", {"tune": "up to 3.4"})
    load_panel(axes[1], multi, "SRTF, jobs of up to 16 GPUs", {"tune": "up to 1.6"})
    return save(
        results,
        out_dir,
        "figure_1",
        "Figure 1: average JCT over load",
        "Average job completion time over load, GPU-proportional and tuned. In the paper the two "
        "lines part as load grows, by up to 3.4 times with single-GPU jobs and 1.6 times with jobs "
        "of several GPUs.",
        drawing,
        pd.concat([single, multi])[["ordering", "mechanism", "load", "seed", "mean_jct_h"]],
        part=runs_of(results, **FIFO_SINGLE, ratio=3, mechanism="proportional"),
    )


def _pair(table: Table) -> Table:
    """GPU-proportional and tune, at the loads that both ran."""
    table = table[table["mechanism"].isin(PAIR)]
    both = table.groupby("load")["mechanism"].nunique() == len(PAIR)
    return table[table["load"].isin(both.index[both])]


PHILLY_COLUMNS = ["short_mean_h", "short_p99_h", "long_mean_h", "long_p99_h"]
PHILLY_ORDERS = ["srtf", "las", "fifo"]
PHILLY_PAPER = {
    "proportional": ((30, 32, 71), (2, 9, 80, 660)),
    "tune": ((26, 28, 62), (1.7, 4, 68, 641)),
}
"""The paper's hours, by mechanism: of `PHILLY_ORDERS`, of `PHILLY_COLUMNS`."""


def _figure_6(results: Results, out_dir: Path) -> Figure:
    import pandas as pd

    from experiments.pictures.plots import canvas

    part = results.where("run_philly")
    table: Table = part.scalars()
    drawing, axes = canvas(1, 3, width=5.2)
    _philly_orders(axes[0], table)
    _philly_lengths(axes[1], table)
    speedup = _speedups(part)
    _philly_speedups(axes[2], speedup)
    kept = ["ordering", "mechanism", "seed", "mean_jct_h", *PHILLY_COLUMNS]
    return save(
        results,
        out_dir,
        "figure_6",
        "Figure 6: a trace like Philly's",
        "GPU demands and durations drawn from the law of the Philly trace, Poisson arrivals that ask "
        "for 1.1 times the GPUs, split 20-70-10. The paper runs 8,000 jobs of the trace itself with "
        "its arrivals: those submitted 2400 to 3000 h after the first. Your own copy of the trace runs with `schedlab "
        "run` and a scenario of the format philly or philly-table.",
        drawing,
        pd.concat([table[kept], speedup]),
        part=part,
    )


def _philly_orders(ax: Axes, table: Table) -> None:
    """Panel a: the average under each ordering."""
    import numpy as np

    from experiments.pictures.plots import PALETTE

    for i, mechanism in enumerate(PAIR):
        rows = grouped(
            table[table["mechanism"] == mechanism], "ordering", PHILLY_ORDERS, "mean_jct_h"
        )
        at = np.arange(3) + 0.38 * i - 0.19
        bars(ax, at, rows, NAMES[mechanism], PALETTE[COLOURS[mechanism]])
        paper_marks(ax, at, PHILLY_PAPER[mechanism][0], "" if i else "paper (Philly's arrivals)")
    ax.set_xticks(range(3), [o.upper() for o in PHILLY_ORDERS])
    ax.set(title="average JCT", xlabel="ordering", ylabel="average JCT, h", ylim=(0, 105))
    legend_under(ax, columns=3)


def _philly_lengths(ax: Axes, table: Table) -> None:
    """Panel b: short and long jobs under SRTF."""
    import numpy as np

    from experiments.pictures.plots import PALETTE

    long = table[table["ordering"] == "srtf"].melt(["mechanism", "seed"], PHILLY_COLUMNS)
    for i, mechanism in enumerate(PAIR):
        rows = grouped(long[long["mechanism"] == mechanism], "variable", PHILLY_COLUMNS, "value")
        at = np.arange(4) + 0.38 * i - 0.19
        bars(ax, at, rows, NAMES[mechanism], PALETTE[COLOURS[mechanism]])
        paper_marks(ax, at, PHILLY_PAPER[mechanism][1], "" if i else "paper")
    ax.set_xticks(range(4), ["short, mean", "short, p99", "long, mean", "long, p99"], fontsize=9)
    title = f"SRTF: jobs below and above {SHORT_H:g} h"
    ax.set(title=title, xlabel="jobs and value", ylabel="JCT, h")
    ax.set_yscale("log")
    ax.set_ylim(0.5, 20_000)
    plain_ticks(ax.yaxis)
    legend_under(ax, columns=3)


def _philly_speedups(ax: Axes, speedup: Table) -> None:
    """Panel c: the speed-up of each job under SRTF, one curve a seed."""
    import numpy as np

    for i, (seed, values) in enumerate(speedup.groupby("seed")["speedup"]):
        ordered = np.sort(values)
        parts = np.arange(1, len(ordered) + 1) / len(ordered)
        ax.plot(ordered, parts, label=f"seed {seed}", **seed_line(i))
    ax.axvline(9, color="#404040", linestyle="--", linewidth=1.2, label="paper: up to 9")
    ax.set(xscale="log", xlabel="speed-up (JCT proportional / tune)", title="SRTF: each job")
    ax.set(ylabel="part of the jobs")
    plain_ticks(ax.xaxis)
    legend_under(ax, columns=2)


def _speedups(part: Results) -> Table:
    jobs: Table = part.where(ordering="srtf").table("jobs")
    wide = jobs.pivot_table(index=["seed", "job"], columns="mechanism", values="jct_h")
    return (wide["proportional"] / wide["tune"]).rename("speedup").reset_index()


def _figure_7(results: Results, out_dir: Path) -> Figure:
    return _ordering_figure(results, out_dir, "figure_7", "las", 4.0)


def _figure_8(results: Results, out_dir: Path) -> Figure:
    return _ordering_figure(results, out_dir, "figure_8", "srtf", 5.5)


def _ordering_figure(
    results: Results, out_dir: Path, name: str, ordering: str, load: float
) -> Figure:
    """Load sweep, and CDFs of short and long jobs at the paper's load."""
    from experiments.pictures.plots import canvas

    table = cells(results, ordering=ordering, multi_gpu=True, split=W1_NAME)
    jobs = jobs_of(results, ordering=ordering, multi_gpu=True, split=W1_NAME, load=load)
    short = jobs["duration_h"] < SHORT_H
    drawing, axes = canvas(1, 3, width=4.8)
    title = f"{ordering.upper()}, jobs of up to 16 GPUs"
    load_panel(axes[0], table, title, {"tune": "up to 1.6"})
    cdf_panel(axes[1], jobs[short], f"jobs below {SHORT_H:g} h, {load:g} jobs/h")
    cdf_panel(axes[2], jobs[~short], f"jobs above {SHORT_H:g} h, {load:g} jobs/h")
    return save(
        results,
        out_dir,
        name,
        f"Figure {name.removeprefix('figure_')}: {ordering.upper()} with jobs of several GPUs",
        f"Average JCT over load, split 20-70-10, and its distribution for jobs below and above "
        f"{SHORT_H:g} h at the proportional share, at the paper's load of {load:g} jobs/h. The paper: "
        "up to 1.6 times over both orderings, and tune within 10 % of opt.",
        drawing,
        table[["ordering", "mechanism", "load", "seed", "mean_jct_h", "long_p95_h"]],
        part=runs_of(results, ordering=ordering, multi_gpu=True, split=W1_NAME),
    )


def _figure_9(results: Results, out_dir: Path) -> Figure:
    import numpy as np

    from experiments.pictures.plots import PALETTE, canvas

    table = cells(results, **FIFO_SINGLE, ratio=3)
    jobs = jobs_of(results, **FIFO_SINGLE, ratio=3, load=9.0)
    drawing, axes = canvas(1, 3, width=4.8)
    load_panel(axes[0], _pair(table), "FIFO, single-GPU jobs", {"tune": "up to 3.4"})
    at_9 = table[table["load"] == 9]
    shown = ["proportional", "tune", "opt", "greedy", "tune-by-gpus"]
    for i, mechanism in enumerate(shown):
        row = grouped(at_9, "mechanism", [mechanism], "mean_jct_h")
        bars(axes[1], [i], row, "", PALETTE[COLOURS[mechanism]], width=0.7)
    paper_marks(axes[1], np.arange(3), (81, 22, 20), width=0.7)
    axes[1].set_xticks(range(5), ["prop.", "tune", "opt", "greedy", "by GPUs\n(ours)"])
    axes[1].set(xlabel="mechanism", ylabel="average JCT, h", title="all mechanisms, 9 jobs/h")
    top = float(at_9.groupby("mechanism")["mean_jct_h"].mean().max())
    axes[1].set_ylim(0, 1.5 * max(81, top))
    axes[1].legend()
    cdf_panel(axes[2], jobs, "9 jobs/h")
    return save(
        results,
        out_dir,
        "figure_9",
        "Figure 9: FIFO with single-GPU jobs",
        "Average JCT over load and its distribution, split 20-70-10. 9 jobs/h ask for 118 % of the "
        "GPUs at proportional shares and still 103 % if every job had its whole demand, so every "
        "queue grows for as long as jobs come, and the averages with it: wide intervals. The paper "
        "prints 81, 22 and 20 h at 9 jobs/h.",
        drawing,
        table[["mechanism", "load", "seed", "mean_jct_h", "p95_jct_h", "p99_jct_h"]],
        part=runs_of(results, **FIFO_SINGLE, ratio=3, mechanism="proportional"),
    )


def _windows(results: Results, out_dir: Path) -> Figure:
    """Effect of the window on the ratio of the averages."""
    from experiments.pictures.plots import (
        MARKERS,
        canvas,
        draw_line,
        intervals,
        paper_line,
    )

    rows = by_window(results)
    length = int(rows["first_job"].drop_duplicates().sort_values().diff().dropna().iloc[0])
    gpus = 8 * window_of(runs_of(results, **FIFO_SINGLE).tasks[0])[2]
    drawing, axes = canvas(1, 2)
    for mechanism in PAIR:
        part = intervals(rows[rows["mechanism"] == mechanism], ["first_job"], "mean_jct_h")
        draw_line(axes[0], part["first_job"], part, NAMES[mechanism], COLOURS[mechanism])
    axes[0].set(ylabel="average JCT, h", title="mean of the seeds by window")
    axes[0].set_ylim(0, 1.35 * axes[0].get_ylim()[1])
    axes[0].legend(loc="upper left")
    ratio = gains(rows, ["first_job"])
    for i, (seed, part) in enumerate(list(ratio.groupby("seed"))[:SEEDS_SHOWN]):
        axes[1].plot(
            part["first_job"], part["gain"], marker=MARKERS[i % len(MARKERS)], label=f"seed {seed}",
            **seed_line(i),
        )  # fmt: skip
    paper_line(axes[1], 3.4, "paper: up to 3.4")
    axes[1].set(ylabel="average JCT, proportional / tune", title="ratio by window and seed")
    axes[1].set_ylim(0.8 * float(ratio["gain"].min()), 1.1 * max(3.4, float(ratio["gain"].max())))
    legend_under(axes[1], columns=4)
    for ax in axes:
        ax.set_xlabel(f"first job of the window of {length} jobs")
    drawing.suptitle(f"9 jobs/h, FIFO, {gpus} GPUs, split 20-70-10", fontsize=9, color="#404040")
    return save(
        runs_of(results, **FIFO_SINGLE),
        out_dir,
        "figure_9_windows",
        "Figure 9: what the window makes of 3.4x",
        f"The runs of Figure 9 at 9 jobs/h, averaged over windows of {length} jobs on {gpus} GPUs. "
        "The load is 118 % of the GPUs at proportional shares: that queue grows by 0.18 h of work "
        "for each GPU and hour. It is 103 % even with every demand met, so tune's queue grows "
        "slowly or not at all, as the drawn durations have it. The ratio therefore rises with the "
        "window, and differs from seed to seed: 3.4 belongs to one window of one trace. On the right "
        f"the first {min(SEEDS_SHOWN, ratio['seed'].nunique())} seeds.",
        drawing,
        rows,
    )


def by_window(results: Results, parts: int = 8) -> Table:
    """Mean JCT of jobs in equal stretches of the traces at 9 jobs/h, FIFO, single GPU."""
    part = runs_of(results, **FIFO_SINGLE, ratio=3, load=9.0, released=False)
    jobs = jobs_table(part)
    length = -(-window_of(part.tasks[0])[1] // parts)
    jobs = jobs[jobs["job"] < length * parts]
    jobs = jobs.assign(first_job=jobs["job"] // length * length)
    means = jobs.groupby(["mechanism", "seed", "first_job"])["jct_h"].mean()
    return means.rename("mean_jct_h").reset_index()


def _figure_11(results: Results, out_dir: Path) -> Figure:
    from experiments.pictures.plots import canvas

    drawing, axes = canvas(1, 3, width=4.8)
    table = cells(results, ordering="fifo", multi_gpu=True)
    for ax, split in zip(axes, ("20-70-10", "33-33-33", "50-0-50"), strict=True):
        load_panel(ax, table[table["split"] == split], f"split {split}")
    return save(
        results,
        out_dir,
        "figure_11",
        "Figure 11: splits of image, language and speech",
        "FIFO, jobs of up to 16 GPUs, shares of image, language and speech jobs. In the paper too "
        "greedy breaks down where all jobs want CPUs and memory (50-0-50), because it leaves GPUs "
        "idle, and tune is never behind GPU-proportional.",
        drawing,
        table[["split", "mechanism", "load", "seed", "mean_jct_h"]],
        part=runs_of(results, ordering="fifo", multi_gpu=True),
    )


def _figure_12(results: Results, out_dir: Path) -> Figure:
    import pandas as pd

    from experiments.pictures.plots import canvas, draw_line, intervals

    table = cells(results, **FIFO_SINGLE)
    table = table[table["mechanism"].isin(PAIR)]
    # Proportional shares come out the same at every ratio, so they are run at one.
    alike = [table[table["mechanism"] == "proportional"].assign(ratio=r) for r in (3, 4, 5, 6)]
    table = pd.concat([*alike, table[table["mechanism"] == "tune"]])
    drawing, axes = canvas(1, 2)
    # The same runs at every ratio: one of them, or seeds would count four times.
    base = table[(table["mechanism"] == "proportional") & (table["ratio"] == 3)]
    base = intervals(base, ["load"], "mean_jct_h")
    lines = [("GPU-proportional, any ratio", 0, base)]
    tuned = table[table["mechanism"] == "tune"]
    for i, ratio in enumerate((3, 4, 5, 6)):
        rows = intervals(tuned[tuned["ratio"] == ratio], ["load"], "mean_jct_h")
        lines.append((f"Synergy-Tune, {ratio} CPUs per GPU", i + 1, rows))
    lines_over_load(axes[0], lines)
    gain = intervals(gains(table[table["load"] == 9], ["ratio"]), ["ratio"], "gain", geometric=True)
    draw_line(axes[1], gain["ratio"], gain, "ours, 9 jobs/h", 2)
    axes[1].plot((3, 4, 5, 6), (3.4, 3, 2.2, 1.8), "s--", color="#404040", label="paper, 9 jobs/h")
    axes[1].set(xlabel="CPUs per GPU", ylabel="average JCT, proportional / tune")
    axes[1].set_ylim(0, 1.25 * max(3.4, float(gain["mean"].max())))
    axes[1].set_xticks((3, 4, 5, 6))
    legend_under(axes[1], columns=2)
    return save(
        results,
        out_dir,
        "figure_12",
        "Figure 12: CPUs per GPU",
        "FIFO, single-GPU jobs, split 20-70-10. Durations are those of the proportional share at "
        "every ratio, as in the paper, so GPU-proportional is the same line for all; with more CPUs "
        "in that share there is less left to gain. The paper has 3.4, 3, 2.2 and 1.8 times.",
        drawing,
        table[["ratio", "mechanism", "load", "seed", "mean_jct_h"]],
        part=runs_of(results, **FIFO_SINGLE, ratio=4),
    )


def _figure_13(results: Results, out_dir: Path) -> Figure:
    import numpy as np
    import pandas as pd

    from experiments.pictures.plots import PALETTE, canvas

    drawing, axes = canvas(1, 2)
    orderings = ["drf", "tetris"]
    tables = []
    for ax, split, paper in ((axes[0], W1, None), (axes[1], W2, (7.2, 1.8))):
        name = "-".join(map(str, split))
        table = cells(results, split=name, load=9.0, multi_gpu=False)
        table = table[table["ordering"].isin(orderings)]
        tables.append(table[["ordering", "mechanism", "split", "seed", "mean_jct_h"]])
        for i, mechanism in enumerate(("static", "tune")):
            rows = table[table["mechanism"] == mechanism]
            at = np.arange(2) + 0.38 * i - 0.19
            means = grouped(rows, "ordering", orderings, "mean_jct_h")
            bars(ax, at, means, NAMES[mechanism], PALETTE[COLOURS[mechanism]])
        gain = grouped(gains(table, ["ordering"], base="static"), "ordering", orderings, "gain")
        ticks = [
            f"{o.upper() if o == 'drf' else o.title()}\n{gain.loc[o, 'mean']:.1f} x"
            + (f" (paper {paper[k]} x)" if paper else "")
            for k, o in enumerate(orderings)
        ]
        ax.set_xticks([0, 1], ticks)
        ax.set(title=f"split {name}", ylabel="average JCT, h")
        ax.set_xlabel("ordering, and static over tuned")
        ax.set_ylim(0, 1.35 * ax.get_ylim()[1])
        ax.legend()
    return save(
        results,
        out_dir,
        "figure_13",
        "Figure 13: big-data schedulers",
        "DRF and Tetris with whole demands held to the end, and with demands tuned in each round; "
        "single-GPU jobs, 9 per hour. Below the bars, static "
        "over tuned. Load and GPU demands of the paper's figure are not printed.",
        drawing,
        pd.concat(tables),
        part=runs_of(results, ordering="drf"),
    )
