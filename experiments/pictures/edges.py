"""Marks where something drawn goes on outside its axes.

An interval, a mean with an interval, or a single run that does not fit into the axes is cut off by
matplotlib without a sign. Here an arrow at the edge says so: full for the end of an interval and
for a run, hollow for the mean itself. Example: a lower end below 0 on a logarithmic axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure

    from simulator.model.cluster import FloatArray

NOTE = "An arrow at an edge: an interval goes on outside, or a run lies there."
"""Sentence for captions of figures with such arrows."""

MARKED = "marked at the edge"
"""Id of lines whose points outside the axes have arrows."""

RUNS = "single runs"
"""Id of lines whose points are single runs."""

OUTSIDE = 0.005
"""Part of an axis by which an end may lie outside and still count as on the edge."""

ARROWS = ("<", ">", "v", "^")


def mark_edges(figure: Figure) -> int:
    """Put an arrow where an interval or a run lies outside its axes, and take away its cap; how many arrows.

    Call it when all limits are set. Caps and ends are those of ``Axes.errorbar``.
    """
    from matplotlib.container import ErrorbarContainer

    count = 0
    for axes in figure.axes:
        axes.get_xlim(), axes.get_ylim()  # matplotlib works out the limits here
        for container in axes.containers:
            if isinstance(container, ErrorbarContainer):
                count += _mark(axes, container)
        for line in [line for line in axes.lines if line.get_gid() == RUNS]:
            ends = places(axes, line.get_xydata())
            count += sum(_arrow(axes, end, line.get_color(), True) for end in ends)
            line.set_gid(MARKED)
    return count


def places(axes: Axes, points: Any) -> FloatArray:
    """Points of the data, (n, 2), as parts of the axes: 0 to 1 is inside; NaN where there is none."""
    data = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    inside = axes.transAxes.inverted().transform(axes.transData.transform(data))
    found: FloatArray = np.where(np.isfinite(data), inside, np.nan)
    return found


def _mark(axes: Axes, container: ErrorbarContainer) -> int:
    line, caps, bars = container.lines
    arrows: list[tuple[FloatArray, bool]] = []
    for bar in bars:
        for segment in bar.get_segments():
            arrows += [(end, True) for end in places(axes, segment)]
    for cap in caps:
        x, y = (np.array(v, dtype=np.float64) for v in cap.get_data(orig=False))
        away = _outside(places(axes, np.column_stack([x, y]))).any(axis=1)
        cap.set_data(np.where(away, np.nan, x), np.where(away, np.nan, y))
    colour = bars[0].get_color() if bars else "#000000"
    if line is not None and str(line.get_marker()) not in ("None", "none", "", " "):
        arrows += [(point, False) for point in places(axes, line.get_xydata())]
        line.set_gid(MARKED)
    return sum(_arrow(axes, place, colour, full) for place, full in arrows)


def _outside(place: FloatArray) -> Any:
    return (place < -OUTSIDE) | (place > 1 + OUTSIDE)


def _arrow(axes: Axes, place: FloatArray, colour: Any, full: bool) -> bool:
    """An arrow at the edge that the way to this place crosses; False where it is inside.

    A place beyond a corner has none: the axes end both ways.
    """
    from matplotlib.lines import Line2D

    out = _outside(place)
    if not np.isfinite(place).all() or out.sum() != 1:
        return False
    way = int(np.argmax(out))
    marker = ARROWS[2 * way + int(place[way] > 1)]
    x, y = np.clip(place, 0.0, 1.0)
    axes.add_line(
        Line2D(
            [x], [y], marker=marker, markersize=5.5 if full else 8, color=colour, linestyle="none",
            markerfacecolor=None if full else "white", transform=axes.transAxes, clip_on=False,
            zorder=6, label="_edge",
        )
    )  # fmt: skip
    return True
