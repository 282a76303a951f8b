"""Common code of the figures: names, runs behind a panel, lines and bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.report.contents import Figure, save_figure
from experiments.sweep.results import Results
from experiments.sweep.task import Task

Table = Any
"""A pandas DataFrame; its stubs know too little of what a column holds to be of help here."""

NAMES = {
    "proportional": "GPU-proportional",
    "greedy": "Synergy-Greedy",
    "tune": "Synergy-Tune",
    "opt": "Synergy-Opt",
    "static": "static demands",
    "tune-by-gpus": "tune, sorted by GPUs (ours)",
}
LIGHT = ("#CC79A7", "#E69F00", "#56B4E9")
"""Colours of the palette on which white letters cannot be read."""

SEED_COLOURS = (1, 3, 4, 5, 6)
"""Colours of lines of single seeds: those of no mechanism in the same figure."""
SEED_DASHES = ("-", "--", ":")
COLOURS = {name: i for i, name in enumerate(NAMES)}
PAIR = ("proportional", "tune")


def cells(results: Results, **labels: Any) -> Table:
    """Scalars of the runs on derived traces with these labels, released behaviour aside."""
    labels.setdefault("released", False)
    table: Table = runs_of(results, **labels).scalars()
    for name in ("mean", "p95", "p99"):
        if f"{name}_jct_s" in table:
            plain = table[f"{name}_jct_s"] / 3600
            own = table.get(f"{name}_jct_h")
            table[f"{name}_jct_h"] = plain if own is None else own.fillna(plain)
    return table


def runs_of(results: Results, **labels: Any) -> Results:
    """Runs on derived traces with these labels, plain scenarios or not."""
    return results.where(study="derived", **labels)


def jobs_table(part: Results) -> Table:
    """Each job of some runs: its number ``job``, ``gpus``, ``duration_h`` and ``jct_h``."""
    table: Table = part.table("jobs")
    if "arrival_s" not in table:
        return table
    return table.assign(
        job=table["job_id"].astype(int),
        duration_h=table["ideal_s"] / 3600,
        jct_h=(table["completion_s"] - table["arrival_s"]) / 3600,
    )


def window_of(task: Task) -> tuple[int, int, int]:
    """First job of the window of a run, one after the last, and the servers."""
    config = task.config
    if "window" in config:
        begin, end = config["window"]
        return begin, end, config["cluster"]["num_nodes"]
    _, begin, end = config["jobs"]
    return begin, end, config["nodes"]


def jobs_of(results: Results, **labels: Any) -> Table:
    """The jobs in the window, of runs on derived traces with these labels."""
    part = runs_of(results, released=False, **labels)
    begin, end, _ = window_of(part.tasks[0])
    table = jobs_table(part)
    return table[(table["job"] >= begin) & (table["job"] < end)]


def windows_of(part: Results) -> str:
    """Jobs, GPUs and repetitions over which these runs average, in words."""
    loads: dict[tuple[int, int], set[float]] = {}
    seeds: dict[tuple[float, Any], set[Any]] = {}
    for task in part.tasks:
        begin, end, nodes = window_of(task)
        load = float(task.columns().get("load") or 0.0)
        loads.setdefault((begin, end), set()).add(load)
        labels = task.columns()
        seeds.setdefault((load, labels.get("mechanism")), set()).add(labels.get("seed"))
    texts = [
        f"jobs {begin} to {end - 1}"
        + (f" at {', '.join(f'{x:g}' for x in sorted(at))} jobs/h" if len(loads) > 1 else "")
        for (begin, end), at in sorted(loads.items())
    ]
    counts = sorted({len(found) for found in seeds.values()})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    return f"{'; '.join(texts)}; {8 * nodes} GPUs; {runs} seeds, 95 % intervals"


def save(
    results: Results,
    out_dir: Path,
    name: str,
    title: str,
    caption: str,
    drawing: Any,
    data: Table,
    *,
    part: Results | None = None,
    seeds: tuple[int, ...] | None = None,
) -> Figure:
    """Write a figure; the window of the runs ``part`` stands on it and in its caption."""
    if part is not None:
        text = windows_of(part)
        drawing.suptitle(f"averages over {text}", fontsize=9, color="#404040")
        caption = (
            f"{caption} Averages over {text}: they are wide because traces differ from seed to seed; "
            "all mechanisms meet the same traces."
        )
    return save_figure(
        out_dir,
        name,
        title,
        caption,
        drawing,
        data,
        command=f"schedlab reproduce synergy --scale {results.scale or 'quick'}",
        seeds=(part or results).seeds if seeds is None else seeds,
    )


def seed_line(i: int) -> dict[str, Any]:
    """Colour and dashes of the line of the i-th seed; each colour comes again with other dashes."""
    from experiments.pictures.plots import PALETTE

    again, which = divmod(i, len(SEED_COLOURS))
    dashes = SEED_DASHES[again % len(SEED_DASHES)]
    return {"color": PALETTE[SEED_COLOURS[which]], "linestyle": dashes}


def load_panel(ax: Any, table: Table, title: str, paper: Mapping[str, str] | None = None) -> None:
    """Average JCT over load, a line for each mechanism.

    The legend, below the panel, has how many times the average of GPU-proportional is each mechanism's
    at the highest load, trace by trace, with its interval: traces differ more than mechanisms.

    Parameters
    ----------
    paper : that number as the paper prints it, by mechanism.
    """
    from experiments.pictures.plots import intervals

    top = table[table["load"] == table["load"].max()]
    lines = []
    printed = paper or {}
    for m in (m for m in NAMES if m in set(table["mechanism"])):
        rows = intervals(table[table["mechanism"] == m], ["load"], "mean_jct_h")
        name = NAMES[m]
        if m != "proportional" and m in set(top["mechanism"]):
            r = intervals(gains(top, ["load"], over=m), ["load"], "gain", geometric=True).iloc[0]
            name += f": {r['mean']:.2f}"
            if r["n"] > 1:
                name += f" ({r['low']:.2f} to {r['high']:.2f})"
        if m in printed:
            name += f", paper: {printed[m]}"
        lines.append((name, COLOURS[m], rows))
    lines_over_load(ax, lines)
    legend_under(ax, f"GPU-proportional over each, at {table['load'].max():g} jobs/h")
    ax.set(title=title)


def legend_under(ax: Any, title: str = "", columns: int = 1) -> None:
    """A legend below its panel, where it hides nothing."""
    from matplotlib.transforms import offset_copy

    under = offset_copy(ax.transAxes, fig=ax.figure, y=-38, units="points")
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=under, fontsize=8, title=title, title_fontsize=8,
        alignment="left", ncols=columns,
    )  # fmt: skip


def lines_over_load(ax: Any, lines: Sequence[tuple[str, int, Table]]) -> None:
    """Means with intervals over load, side by side; intervals may leave the panel, with an arrow.

    Parameters
    ----------
    lines : name, colour and table (columns load, mean, low, high) of each.
    """
    from experiments.pictures.plots import draw_line

    loads = sorted({x for *_, rows in lines for x in rows["load"]})
    step = 0.012 * (loads[-1] - loads[0])
    for i, (name, colour, rows) in enumerate(lines):
        draw_line(ax, rows["load"] + step * (i - (len(lines) - 1) / 2), rows, name, colour)
    ax.set(xlabel="jobs per hour (for 128 GPUs)", ylabel="average JCT, h")
    ax.set_xticks(loads, [f"{x:g}" for x in loads])
    ax.set_ylim(0, 1.7 * max(float(rows["mean"].max()) for *_, rows in lines))
    ax.margins(x=0.1)
    legend_under(ax, columns=2)


def cdf_panel(ax: Any, jobs: Table, title: str) -> None:
    """CDF of JCT, a line for each mechanism, on the traces that all of them ran."""
    import numpy as np

    from experiments.pictures.plots import PALETTE

    runs_of_seed = jobs.groupby("seed")["mechanism"].nunique()
    jobs = jobs[jobs["seed"].isin(runs_of_seed.index[runs_of_seed == runs_of_seed.max()])]
    for mechanism in (m for m in NAMES if m in set(jobs["mechanism"])):
        hours = np.sort(jobs.loc[jobs["mechanism"] == mechanism, "jct_h"].to_numpy())
        ax.step(
            hours,
            np.arange(1, len(hours) + 1) / len(hours),
            where="post",
            color=PALETTE[COLOURS[mechanism]],
            label=NAMES[mechanism],
        )
    ax.set(xscale="log", xlabel="JCT, h", ylabel="part of the jobs", title=title)
    plain_ticks(ax.xaxis)
    ax.legend(loc="upper left", fontsize=8)
    ax.set_ylim(-0.05, 1.45)
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])


def plain_ticks(axis: Any) -> None:
    """1, 2, 5, 10, .. on a logarithmic axis, and nothing in between."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1e4 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(NullLocator())


def bars(
    ax: Any,
    at: Any,
    rows: Table,
    label: str,
    colour: str,
    *,
    width: float = 0.36,
    digits: str = "%.1f",
) -> None:
    """Bars of means (columns mean, low, high) with their intervals, and their values at the foot."""
    import numpy as np

    mean, low, high = (rows[c].to_numpy(dtype=float) for c in ("mean", "low", "high"))
    error = np.nan_to_num(np.vstack([mean - low, high - mean])).clip(min=0)
    ax.bar(at, mean, width, yerr=error, capsize=2.5, label=label, color=colour, ecolor="#555555")
    for x, value in zip(np.asarray(at, dtype=float), mean, strict=True):
        ax.annotate(  # at the foot, away from the paper's values
            digits % value, (x, 0), (0, 7), xycoords=ax.get_xaxis_transform(),
            textcoords="offset points", ha="center", fontsize=8,
            color="black" if colour in LIGHT else "white",
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6},
        )  # fmt: skip


def paper_marks(
    ax: Any, at: Any, values: Sequence[float], label: str = "paper", width: float = 0.36
) -> None:
    """The paper's own values as short dark lines across the bars."""
    import numpy as np

    from experiments.pictures.plots import PAPER

    at = np.asarray(at, dtype=float)
    ax.hlines(
        values, at - 0.55 * width, at + 0.55 * width, color="#000000", linewidth=2.2, label=label
    )
    for x, y in zip(at, values, strict=True):
        ax.annotate(
            f"{y:g}",
            (x, y),
            (0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=PAPER,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8},
        )


def grouped(table: Table, key: str, order: Sequence[Any], value: str) -> Table:
    """Mean and interval of ``value`` for each of ``order``, in that order."""
    from experiments.pictures.plots import intervals

    return intervals(table, [key], value).set_index(key).loc[list(order)]


def gains(table: Table, by: Sequence[str], over: str = "tune", base: str = "proportional") -> Table:
    """Ratio of average JCT ``base`` to ``over``, run by run: columns ``by``, seed, gain."""
    wide = table.pivot_table(index=[*by, "seed"], columns="mechanism", values="mean_jct_h")
    return (wide[base] / wide[over]).dropna().rename("gain").reset_index()
