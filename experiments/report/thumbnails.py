"""Small pictures of the figures for the first page: few colours each, a few kilobytes."""

from __future__ import annotations

from pathlib import Path

from experiments.files import replacing

FOLDER = "thumbnails"
WIDTH_PX, HEIGHT_PX = 280, 150
"""The box that a thumbnail fits into; figures differ in shape."""
COLOURS = 96


def thumbnail(png: Path) -> Path:
    """The small picture of a figure, in the folder `FOLDER` beside it; made where it is not newer."""
    from PIL import Image

    small = png.parent / FOLDER / png.name
    if small.exists() and small.stat().st_mtime_ns >= png.stat().st_mtime_ns:
        return small
    small.parent.mkdir(exist_ok=True)
    with Image.open(png) as image:
        picture = image.convert("RGB")
    picture.thumbnail((WIDTH_PX, HEIGHT_PX), Image.Resampling.LANCZOS)
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    with replacing(small) as file:
        few.save(file, format="PNG", optimize=True)
    return small
