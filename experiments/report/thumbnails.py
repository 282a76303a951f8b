"""Small pictures of the figures for the first page: few colours each, a few kilobytes."""

from __future__ import annotations

import os
from pathlib import Path

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
    temporary = small.with_name(f"{small.name}.{os.getpid()}.tmp")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
        temporary, format="PNG", optimize=True
    )
    temporary.replace(small)
    return small
