"""Gantt chart of a run: which job held which GPUs of which node, and when.

Time counts from the first submission. One row a node, as high as the most of its GPUs that were in
use at once; nodes without any job are left out. A job keeps its colour and, where a bar is wide enough, its
name; late jobs end in a red edge. Below it, how many jobs run and how many wait. With hundreds of
nodes the rows get thin but stay apart; on a rental pool, where there are no nodes to draw, there is
one row a job. Where most jobs would be narrower than a pixel, shades show how many GPUs of each node
are in use instead.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pictures.lanes import lanes_of
from experiments.pictures.saving import check_kind, save_picture
from experiments.scenario.reading import SHARE_COLUMNS, read_run
from simulator.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from pandas import DataFrame, Series

    from simulator.model.cluster import FloatArray

LATE = "#C00000"
MORE_COLOURS = ("#F0E442", "#A6761D", "#B2DF8A", "#CAB2D6", "#FB9A99")
"""Beside the palette of all figures, light enough for names on them."""
WIDTH_INCHES = 13.0
PIXELS = 1700
"""Width of the chart at 150 dots an inch."""
NODE_LABELS = 40
"""More nodes than this have every so many of them named."""


def gantt(
    folder: Path,
    out: Path | None = None,
    where: Mapping[str, str] | None = None,
    begin_h: float | None = None,
    end_h: float | None = None,
    nodes: str | None = None,
) -> Path:
    """Draw the run in a folder that ``schedlab run`` wrote; returns the picture's path.

    Parameters
    ----------
    where : of a sweep's folder, the labels of the run.
    begin_h, end_h : hours since the first submission that are shown; None: all.
    nodes : numbers and ranges of nodes that are shown, "0-9,20"; None: all.

    Raises
    ------
    InputError
        No schedule there, columns missing, values that are no numbers, nothing to show, or a picture
        that cannot be written; one line.
    """
    path = out or folder / "gantt.png"
    check_kind(path)
    name, jobs, schedule, machines = read_run(folder, where=where)
    if schedule.empty:
        raise InputError(f"{folder / 'schedule.csv'}: no rows, expected at least one")
    window_s = (3600 * (begin_h or 0.0), math.inf if end_h is None else 3600 * end_h)
    count = machines["num_nodes"] if machines else int(schedule["node"].max()) + 1
    drawing = draw(
        schedule, jobs, name, window_s, None if nodes is None else _numbers(nodes, count)
    )
    save_picture(drawing, path)
    return path


def _numbers(text: str, count: int) -> set[int]:
    """Numbers and ranges, "0-9,20", of so many nodes."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise InputError(f"--nodes: got {text!r}, expected numbers and ranges such as 0-9,20")
        if int(last) >= count:
            raise InputError(f"--nodes: got {text!r}, expected nodes from 0 to {count - 1}")
        found |= set(range(int(first), int(last) + 1))
    return found


def draw(
    schedule: DataFrame,
    jobs: DataFrame | None = None,
    title: str = "",
    window_s: tuple[float, float] = (0.0, math.inf),
    nodes: Collection[int] | None = None,
) -> Drawing:
    """The chart of a schedule; raises InputError where the window holds nothing of it.

    Parameters
    ----------
    schedule : one row a share and stretch of time: job_id, node, node_type, gpus, start_s, end_s.
    jobs : one row a job: job_id, arrival_s, completion_s, tardiness_s; None: no queue below.
    window_s : first and last second that are shown, since the first submission.
    nodes : those that are shown; None: all. The queue is that of all.
    """
    import matplotlib.pyplot as plt

    from experiments.pictures.plots import THEME

    first_s = _first_s(schedule, jobs)
    schedule = _merged(_since(first_s, schedule, ("start_s", "end_s")))
    if jobs is not None:
        jobs = _since(first_s, jobs, ("arrival_s", "completion_s"))
    begin_s, end_s = _window(schedule, window_s)
    scale, unit = _time_unit(end_s)
    span = f"{begin_s / scale:.3g} to {end_s / scale:.3g} {unit}"
    inside = _inside(schedule, begin_s, end_s, nodes)
    whole = bool((schedule["gpus"] % 1 == 0).all())
    narrow = float((inside["end_s"] - inside["start_s"]).median()) < (end_s - begin_s) / PIXELS
    dense = whole and narrow
    bars = _bars_by_node(inside) if whole else _bars_by_job(inside)
    rows = max(bar.row + bar.height for bar in bars)
    height = min(24.0, max(2.2, 0.16 * rows + 1.2))
    with plt.rc_context(THEME):
        ratios = [height, 1.6] if jobs is not None else [height]
        figure, axes = plt.subplots(
            len(ratios),
            1,
            figsize=(WIDTH_INCHES, sum(ratios)),
            sharex=True,
            squeeze=False,
            height_ratios=ratios,
            layout="constrained",
        )
        top = axes[0, 0]
        late = set(jobs.loc[jobs["tardiness_s"] > 0, "job_id"]) if jobs is not None else set()
        top.set_xlim(begin_s / scale, end_s / scale)
        top.set_ylim(rows, 0)
        if dense:
            _draw_density(top, inside, bars, (begin_s / scale, end_s / scale), scale)
        else:
            _draw_bars(top, bars, scale, late, figure)
        _name_rows(top, bars, whole)
        if dense:
            top.set_ylabel("node")
        top.set_title(_titled(title, inside, span, whole, dense), parse_math=False)
        if jobs is not None:
            _draw_queue(axes[1, 0], schedule, jobs, scale)
        axes[-1, 0].set_xlabel(f"time since the first submission, {unit}")
    return figure


def _inside(
    schedule: DataFrame, begin_s: float, end_s: float, nodes: Collection[int] | None
) -> DataFrame:
    """The parts of shares in the window, on these nodes; raises InputError where there are none."""
    inside = schedule[(schedule["end_s"] > begin_s) & (schedule["start_s"] < end_s)]
    if nodes is not None:
        inside = inside[inside["node"].isin(nodes)]
    if inside.empty:
        raise InputError(
            "nothing ran on these nodes at that time, expected another --from, --to or --nodes"
        )
    return inside.assign(
        start_s=inside["start_s"].clip(lower=begin_s), end_s=inside["end_s"].clip(upper=end_s)
    )


def _window(schedule: DataFrame, window_s: tuple[float, float]) -> tuple[float, float]:
    """The window, up to the end of the schedule where it has none."""
    begin_s, end_s = window_s
    end_s = min(end_s, float(schedule["end_s"].max())) if len(schedule) else end_s
    if not 0 <= begin_s < end_s:
        raise InputError(
            f"--from and --to: got {begin_s / 3600:g} to {end_s / 3600:g} h, expected hours within the run"
        )
    return begin_s, end_s


def _titled(title: str, inside: DataFrame, span: str, whole: bool, dense: bool) -> str:
    """The title: whose run, how much of it, and what shades mean."""
    jobs, nodes = inside["job_id"].nunique(), inside["node"].nunique()
    on = f" on {nodes} node{'s' if nodes > 1 else ''}" if whole else ""
    meaning = "; darker: more of the node's GPUs in use" if dense else "; one colour a job"
    return f"{title}: {jobs:,} jobs{on}, {span}{meaning}"


def _draw_density(
    ax: Axes, shares: DataFrame, bars: list[_Bar], span: tuple[float, float], scale: float
) -> None:
    """For each node, the part of its GPUs that is in use, by time."""
    import numpy as np

    edges = np.linspace(*span, PIXELS // 2) * scale
    for node, (low, high) in _rows_of(bars).items():
        own = shares[shares["node"].astype(str) == node]
        times = np.concatenate([own["start_s"], own["end_s"]])
        by = np.concatenate([own["gpus"], -own["gpus"]])
        order = np.argsort(times)
        upto = np.searchsorted(times[order], edges, side="right")
        held = np.concatenate([[0.0], np.cumsum(by[order])])[upto]
        begun = np.concatenate([[0.0], np.cumsum((by * times)[order])])[upto]
        used = np.diff(edges * held - begun) / np.diff(edges) / (high - low)
        ax.pcolormesh(
            edges / scale,
            [low, high],
            used[np.newaxis],
            cmap="Blues",
            vmin=0,
            vmax=1,
            rasterized=True,
        )


def _first_s(schedule: DataFrame, jobs: DataFrame | None) -> float:
    """Begin of the time axis: the first submission, or the first start where none is known."""
    return float(schedule["start_s"].min() if jobs is None else jobs["arrival_s"].min())


def _since(first_s: float, table: DataFrame, times: tuple[str, ...]) -> DataFrame:
    """The table with times counted from ``first_s``."""
    return table.assign(**{name: table[name] - first_s for name in times})


@dataclass(frozen=True)
class _Bar:
    """One rectangle: GPUs ``row`` to ``row + height`` counted from the top of the chart."""

    job: str
    row: float
    height: float
    start_s: float
    end_s: float
    group: str


def _merged(schedule: DataFrame) -> DataFrame:
    """Stretches that follow each other without a change become one."""
    table = schedule.sort_values(["job_id", "node", "start_s"], kind="stable")
    same = (
        (table["job_id"] == table["job_id"].shift())
        & (table["node"] == table["node"].shift())
        & (table["gpus"] == table["gpus"].shift())
        & (table["node_type"] == table["node_type"].shift())
        & (table["start_s"] <= table["end_s"].shift() + 1e-9)
    )
    return (
        table.groupby((~same).cumsum(), sort=False)
        .agg({**dict.fromkeys(SHARE_COLUMNS[:5], "first"), "end_s": "last"})
        .sort_values(["start_s", "node"], kind="stable")
        .reset_index(drop=True)
    )


def _bars_by_node(schedule: DataFrame) -> list[_Bar]:
    """Lines of its node for each share, one line a GPU."""
    bars: list[_Bar] = []
    row = 0.0
    for node, part in schedule.groupby("node", sort=True):
        jobs, start_s, end_s = (part[name].tolist() for name in ("job_id", "start_s", "end_s"))
        pieces, lines = lanes_of(start_s, end_s, part["gpus"].astype(int).tolist())
        bars += [
            _Bar(job, row + first, height, start, end, str(node))
            for job, start, end, of_job in zip(jobs, start_s, end_s, pieces, strict=True)
            for first, height in of_job
        ]
        row += lines + 0.6
    return bars


def _bars_by_job(schedule: DataFrame) -> list[_Bar]:
    """One row a job, in order of first start: where GPUs are shares of a pool."""
    place = {job: float(k) for k, job in enumerate(dict.fromkeys(schedule["job_id"]))}
    rows = zip(schedule["job_id"], schedule["start_s"], schedule["end_s"], strict=True)
    return [_Bar(job, place[job], 1.0, start, end, str(job)) for job, start, end in rows]


def _draw_bars(ax: Axes, bars: list[_Bar], scale: float, late: set[str], figure: Drawing) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    color = _colours(bars)
    last = {bar.job: bar.end_s for bar in sorted(bars, key=lambda b: b.end_s)}
    boxes = [
        Rectangle((b.start_s / scale, b.row), (b.end_s - b.start_s) / scale, b.height) for b in bars
    ]
    thin = 0.3 if len(bars) > 500 else 0.6
    ax.add_collection(
        PatchCollection(
            boxes,
            facecolors=[color[b.job] for b in bars],
            edgecolors="white",
            linewidths=thin,
            alpha=0.85,
        )
    )
    for bar in bars:
        if bar.job in late and bar.end_s == last[bar.job]:
            x = bar.end_s / scale
            ax.plot([x, x], [bar.row, bar.row + bar.height], color=LATE, linewidth=1.6)
    begin, end = ax.get_xlim()
    _label_bars(ax, bars, scale, end - begin, figure)


def _colours(bars: list[_Bar]) -> dict[str, tuple[float, ...]]:
    """A colour for each job: of the 24, the one whose last job ended the longest ago.

    So two jobs share one only where more than 24 have come, and never while both run, unless more
    than 24 do.
    """
    from matplotlib.colors import to_rgb

    from experiments.pictures.plots import PALETTE

    full = [to_rgb(colour) for colour in (*PALETTE[:-1], *MORE_COLOURS)]
    light = [tuple(0.5 + 0.5 * part for part in colour) for colour in full]
    colours = [*full, *light]
    last: dict[str, float] = {}
    for bar in bars:
        last[bar.job] = max(bar.end_s, last.get(bar.job, bar.end_s))
    busy_until = [-math.inf] * len(colours)
    found: dict[str, tuple[float, ...]] = {}
    for bar in sorted(bars, key=lambda b: b.start_s):
        if bar.job not in found:
            k = busy_until.index(min(busy_until))
            found[bar.job], busy_until[k] = colours[k], last[bar.job]
    return found


def _label_bars(ax: Axes, bars: list[_Bar], scale: float, span: float, figure: Drawing) -> None:
    """Names where there is room for them: about 0.07 inches a letter."""
    rows = ax.get_ylim()[0]
    inches_per_row = 0.8 * figure.get_figheight() / rows
    for bar in bars:
        width = (bar.end_s - bar.start_s) / scale / span * (WIDTH_INCHES - 1.5)
        if width > 0.075 * len(bar.job) + 0.05 and inches_per_row * bar.height > 0.11:
            middle = (bar.start_s + bar.end_s) / 2 / scale
            ax.text(
                middle,
                bar.row + bar.height / 2,
                bar.job,
                ha="center",
                va="center",
                fontsize=6.5,
                parse_math=False,  # a job may be called "$x$"
                clip_on=True,
            )


def _name_rows(ax: Axes, bars: list[_Bar], by_node: bool) -> None:
    groups = _rows_of(bars)
    every = -(-len(groups) // NODE_LABELS)
    shown = list(groups.items())[::every]
    ax.set_yticks([(low + high) / 2 for _, (low, high) in shown], [name for name, _ in shown])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.tick_params(axis="y", labelsize=7, length=0)
    ax.set_ylabel("node (one line a GPU)" if by_node else "job")
    ax.grid(axis="y", visible=False)


def _rows_of(bars: list[_Bar]) -> dict[str, tuple[float, float]]:
    """First and last row of each node, or job."""
    groups: dict[str, tuple[float, float]] = {}
    for bar in bars:
        low, high = groups.get(bar.group, (bar.row, bar.row))
        groups[bar.group] = (min(low, bar.row), max(high, bar.row + bar.height))
    return groups


def _draw_queue(ax: Axes, schedule: DataFrame, jobs: DataFrame, scale: float) -> None:
    """Jobs in the system, split into those that run and those that wait."""
    from experiments.pictures.plots import PALETTE

    at, in_system, running = _queue(schedule, jobs)
    ax.fill_between(at / scale, running, step="post", color=PALETTE[0], alpha=0.7, label="running")
    ax.fill_between(
        at / scale, running, in_system, step="post", color=PALETTE[1], alpha=0.7, label="waiting"
    )
    ax.set_ylim(0, 1.35 * max(1.0, float(in_system.max())))  # the legend stands above
    ax.set_ylabel("jobs")
    ax.legend(loc="upper right", fontsize=8, ncols=2)


def _queue(schedule: DataFrame, jobs: DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Instants, s; how many jobs are in the system from each on; and how many of these run.

    A job runs once, on however many nodes.
    """
    import numpy as np

    shares = _changes(schedule["job_id"], schedule["start_s"], schedule["end_s"])
    held = shares.groupby("job_id")["by"].cumsum()
    shares["by"] = (held > 0).astype(int) - (held - shares["by"] > 0).astype(int)
    system = _changes(jobs["job_id"], jobs["arrival_s"], jobs["completion_s"])
    at, index = np.unique(np.concatenate([system["at"], shares["at"]]), return_inverse=True)
    count, ones = len(at), len(system)
    in_system = np.cumsum(np.bincount(index[:ones], system["by"], count))
    running = np.cumsum(np.bincount(index[ones:], shares["by"], count))
    return at, in_system.astype(np.float64), np.minimum(running, in_system).astype(np.float64)


def _changes(job_id: Series[str], start_s: Series[float], end_s: Series[float]) -> DataFrame:
    """One row a start (+1) or an end (-1), in order of time, starts before ends."""
    import pandas as pd

    starts = pd.DataFrame({"job_id": job_id, "at": start_s, "by": 1})
    ends = pd.DataFrame({"job_id": job_id, "at": end_s, "by": -1})
    both = pd.concat([starts, ends], ignore_index=True)
    return both.sort_values("at", kind="stable", ignore_index=True)


def _time_unit(end_s: float) -> tuple[float, str]:
    """Seconds of the unit in which the axis is easy to read, and its name."""
    units: Any = (
        (3 * 86400.0, 86400.0, "days"),
        (3 * 3600.0, 3600.0, "h"),
        (180.0, 60.0, "min"),
        (0.0, 1.0, "s"),
    )
    return next((scale, name) for least, scale, name in units if end_s >= least)
