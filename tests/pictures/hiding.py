"""Overlaps in a drawn figure: legends, texts and series that lie on others.

matplotlib knows where everything is drawn. Example of a fault: a legend over the paper's line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox

NONE = (None, "", " ", "None", "none")
NEAR_PX = 2.0
"""Points nearer than this lie on each other."""


def hidden(figure: Figure, renderer: RendererAgg) -> Iterator[str]:
    """One line a fault."""
    legends = [*figure.legends, *(a.get_legend() for a in figure.axes)]
    for legend in legends:
        if legend is not None and legend.get_visible():
            yield from _same_looks(figure, legend)
            for axes in figure.axes:
                yield from _under(axes, legend.get_window_extent(renderer))
    for axes in figure.axes:
        yield from _under_texts(axes, renderer)
        yield from _under_lines(axes)


def _under(axes: Axes, box: Bbox) -> Iterator[str]:
    """Parts of these axes that a legend covers."""
    from matplotlib.transforms import Bbox

    common = Bbox.intersection(box, axes.bbox)
    if common is None or common.width < 1 or common.height < 1:
        return
    inner = Bbox.from_extents(common.x0 + 1, common.y0 + 1, common.x1 - 1, common.y1 - 1)
    for name, path, filled in _drawn(axes):
        if path.intersects_bbox(inner, filled):
            yield f"a legend covers {name}"


def _drawn(axes: Axes) -> Iterator[tuple[str, Any, bool]]:
    """Lines, intervals, bars and bands of the axes as paths in pixels, and whether filled.

    Spans over a whole axis are left out: they are backgrounds.
    """
    from matplotlib.container import BarContainer

    for line in axes.lines:
        if line.get_visible() and line.get_linestyle() not in NONE:
            path = line.get_transform().transform_path(line.get_path())
            yield f"the line {line.get_label()!r}", path, False
        if line.get_visible() and line.get_marker() not in NONE:
            for path in _dots(line):
                yield f"points of {line.get_label()!r}", path, True
    for collection in axes.collections:
        label = collection.get_label()
        shift = collection.get_transform()
        for path in collection.get_paths() if collection.get_visible() else ():
            filled = len(collection.get_facecolor()) > 0
            yield (
                f"{'a band' if filled else 'an interval'} {label!r}",
                path.transformed(shift),
                filled,
            )
    for container in axes.containers:
        if isinstance(container, BarContainer):
            for bar in container.patches:
                path = bar.get_transform().transform_path(bar.get_path())
                yield f"bars of {container.get_label()!r}", path, True


def _pixels(line: Line2D) -> np.ndarray:
    """The points of a line in pixels, those that are none left out."""
    points = np.asarray(line.get_xydata(), dtype=float).reshape(-1, 2)
    return line.get_transform().transform(points[np.isfinite(points).all(axis=1)])


def _dots(line: Line2D) -> Iterator[Any]:
    from matplotlib.path import Path

    for x, y in _pixels(line):
        yield Path([(x - 1, y - 1), (x + 1, y - 1), (x + 1, y + 1), (x - 1, y + 1), (x - 1, y - 1)])


def _under_texts(axes: Axes, renderer: RendererAgg) -> Iterator[str]:
    """Points and intervals that a text in the axes covers; a text on a ground of its own may."""
    from matplotlib.container import ErrorbarContainer

    texts = [t for t in axes.texts if t.get_visible() and t.get_bbox_patch() is None]
    if not texts:
        return
    boxes = [(t, letters(t, renderer).padded(-1)) for t in texts if t.get_text().strip()]
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            line, _, bars = container.lines
            for text, box in boxes:
                points = _pixels(line) if line is not None else np.empty((0, 2))
                on_point = any(box.contains(x, y) for x, y in points)
                paths = [axes.transData.transform_path(p) for bar in bars for p in bar.get_paths()]
                if on_point or any(path.intersects_bbox(box, False) for path in paths):
                    yield f"text {text.get_text()!r} covers {container.get_label()!r}"


def letters(text: Any, renderer: RendererAgg) -> Bbox:
    """The box of the letters alone: that of an annotation has its arrow too."""
    from matplotlib.text import Text

    if hasattr(text, "update_positions"):
        text.update_positions(renderer)
    return Text.get_window_extent(text, renderer)


def _under_lines(axes: Axes) -> Iterator[str]:
    """Series all of whose points lie under those of a later one that are at least as large."""
    from matplotlib.container import ErrorbarContainer

    named = {id(line): str(line.get_label()) for line in axes.lines}
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None:
            named[id(container.lines[0])] = str(container.get_label() or "_")
    series = [
        (named[id(line)], line, _pixels(line))
        for line in axes.lines
        if line.get_visible() and not named[id(line)].startswith("_")
        if line.get_marker() not in NONE and str(line.get_markerfacecolor()) != "none"
    ]
    series = [entry for entry in series if len(entry[2]) > 1]
    for (name, low, under), (other, high, over) in itertools.combinations(series, 2):
        if low.get_markersize() > high.get_markersize() or low.get_zorder() > high.get_zorder():
            continue
        apart = np.hypot(*(under[:, None, :] - over[None, :, :]).transpose(2, 0, 1))
        if (apart.min(axis=1) < NEAR_PX).all():
            yield f"{name!r} lies under {other!r}"


def _same_looks(figure: Figure, legend: Legend) -> Iterator[str]:
    """Entries of a legend that cannot be told apart."""
    names = {text.get_text() for text in legend.get_texts()}
    looks: dict[str, tuple[Any, ...]] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if label in names:
                looks.setdefault(label, _look(handle))
    for (one, a), (other, b) in itertools.combinations(looks.items(), 2):
        if a == b:
            yield f"{one!r} and {other!r} look the same in the legend"


def _look(handle: Any) -> tuple[Any, ...]:
    """Colours, dashes and marker: what tells one entry of a legend from another."""
    from matplotlib.colors import to_hex
    from matplotlib.container import BarContainer, ErrorbarContainer
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if isinstance(handle, ErrorbarContainer):
        handle = handle.lines[0]
    if isinstance(handle, BarContainer):
        handle = handle.patches[0]
    if isinstance(handle, Line2D):
        face = handle.get_markerfacecolor()
        return (
            to_hex(handle.get_color()),
            handle.get_linestyle(),
            str(handle.get_marker()),
            str(face),
        )
    if isinstance(handle, Patch):
        return to_hex(handle.get_facecolor(), keep_alpha=True), handle.get_hatch()
    return (id(handle),)
