"""Faults of legibility of a drawn figure, found by matplotlib itself.

Texts that cover each other, texts outside the picture, points that lie outside their axes without a
mark (`experiments.pictures.edges` makes the marks), axes without a name, units in two styles, and
what hides what (`tests.pictures.hiding`). Example: ``faults(figure) == []``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.pictures.edges import MARKED
from tests.pictures.hiding import hidden, letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

TOUCHING_PX = 1.5
"""Boxes that share less than this in either direction only touch."""

OUTSIDE = 0.01
"""Part of an axis by which a point may lie outside: half a marker."""

UPRIGHT = (0.0, 90.0, 180.0, 270.0)
"""Rotations for which the box around a text is the text."""


def faults(figure: Figure) -> list[str]:
    """Faults of legibility, one line each; empty if there are none.

    The figure is drawn for it once more, which does not change it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [(text, letters(text, renderer)) for text in _texts(figure)]
    return [
        *_overlaps(texts),
        *_over_texts(figure, texts, renderer),
        *_beyond_the_picture(texts, figure, renderer),
        *(fault for axes in figure.axes for fault in _clipped(axes)),
        *_nameless(figure),
        *hidden(figure, renderer),
    ]


def _texts(figure: Figure) -> Iterator[Text]:
    """The texts that can be seen."""
    found = [*figure.texts, getattr(figure, "_suptitle", None)]
    for legend in figure.legends:
        found += [*legend.get_texts(), legend.get_title()]
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        found += axes.texts
        if not axes.axison:
            continue
        found += [axes.title, axes.xaxis.label, axes.yaxis.label]
        found += [*_tick_labels(axes.xaxis), *_tick_labels(axes.yaxis)]
        legend_of_axes = axes.get_legend()
        if legend_of_axes is not None:
            found += [*legend_of_axes.get_texts(), legend_of_axes.get_title()]
    unique = {id(text): text for text in found if text is not None}
    for text in unique.values():
        if text.get_visible() and text.get_text().strip() and text.get_rotation() in UPRIGHT:
            yield text


def _tick_labels(axis: Axis) -> list[Text]:
    """Labels of the ticks inside the axis: matplotlib keeps others, and does not draw them."""
    if not axis.get_visible():
        return []
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    inside = [t for t in ticks if low - room <= t.get_loc() <= high + room and t.get_visible()]
    return [label for t in inside for label in (t.label1, t.label2)]


def _overlaps(texts: list[tuple[Text, Bbox]]) -> Iterator[str]:
    for (one, a), (other, b) in itertools.combinations(texts, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > TOUCHING_PX and high > TOUCHING_PX:
            yield f"text {_shown(one)} overlaps {_shown(other)}"


def _over_texts(
    figure: Figure, texts: list[tuple[Text, Bbox]], renderer: RendererAgg
) -> Iterator[str]:
    """Texts that the frame of a legend covers."""
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    for legend in (one for one in legends if one is not None):
        box = legend.get_window_extent(renderer)
        own = {id(text) for text in [*legend.get_texts(), legend.get_title()]}
        for text, other in texts:
            wide = min(box.x1, other.x1) - max(box.x0, other.x0)
            high = min(box.y1, other.y1) - max(box.y0, other.y0)
            if id(text) not in own and wide > TOUCHING_PX and high > TOUCHING_PX:
                yield f"a legend covers the text {_shown(text)}"


def _beyond_the_picture(
    texts: list[tuple[Text, Bbox]], figure: Figure, renderer: RendererAgg
) -> Iterator[str]:
    """Texts that a picture cut to its content (``bbox_inches="tight"``) would not show whole."""
    tight = figure.get_tightbbox(renderer).transformed(figure.dpi_scale_trans)
    whole = figure.bbox
    x0, x1 = min(tight.x0, whole.x0), max(tight.x1, whole.x1)
    y0, y1 = min(tight.y0, whole.y0), max(tight.y1, whole.y1)
    for text, box in texts:
        inside = x0 - 1 <= box.x0 and box.x1 <= x1 + 1 and y0 - 1 <= box.y0 and box.y1 <= y1 + 1
        if not inside:
            yield f"text {_shown(text)} lies outside the picture"


def _clipped(axes: Axes) -> Iterator[str]:
    """Points with a marker that lie outside the axes and are cut off."""
    for points, label in _marked_points(axes):
        places = axes.transData.transform(points)
        places = axes.transAxes.inverted().transform(places[np.isfinite(places).all(axis=1)])
        outside = ((places < -OUTSIDE) | (places > 1 + OUTSIDE)).any(axis=1)
        if outside.any():
            yield f"{int(outside.sum())} points of {label!r} lie outside the axes"


def _marked_points(axes: Axes) -> Iterator[tuple[np.ndarray, str]]:
    for line in axes.lines:
        own = line.get_transform() == axes.transData
        own = own and line.get_gid() != MARKED
        if line.get_visible() and own and line.get_marker() not in (None, "", " ", "None", "none"):
            yield np.asarray(line.get_xydata(), dtype=float), str(line.get_label())
    for collection in axes.collections:
        offsets: Any = np.ma.filled(np.ma.asarray(collection.get_offsets(), dtype=float), np.nan)
        if collection.get_visible() and len(offsets) > 1:
            yield offsets, str(collection.get_label())


def _nameless(figure: Figure) -> Iterator[str]:
    """Axes without a name that share none with others, and units in brackets: "time, h" is the style."""
    for axes in figure.axes:
        if not (axes.get_visible() and axes.axison):
            continue
        for way in ("x", "y"):
            shared = getattr(axes, f"get_shared_{way}_axes")().get_siblings(axes)
            names = [getattr(other, f"get_{way}label")() for other in shared]
            whole = getattr(figure, f"get_sup{way}label")()
            if not any(names) and not whole and getattr(axes, f"get_{way}ticklabels")() != []:
                yield f"an axis {way} without a name"
        for text in (axes.get_xlabel(), axes.get_ylabel()):
            if "[" in text:
                yield f"the axis {text!r} has its unit in brackets"


def _shown(text: Text) -> str:
    return repr(" ".join(text.get_text().split())[:40])
