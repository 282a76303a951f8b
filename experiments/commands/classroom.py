"""`schedlab classroom`: the page for a class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import Workers


def classroom(
    scale: Annotated[
        str, typer.Option(help="quick (two minutes) or paper (ten minutes).")
    ] = "quick",
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write. Default: results/SCALE/classroom.html.")
    ] = None,
    workers: Workers = None,
) -> None:
    """An interactive page for a class: ten panels, formulas beside simulations. Resumes when killed.

    Example: schedlab classroom --out classroom.html
    """
    from experiments.classroom import classroom as make

    raise typer.Exit(make(scale, out=out, workers=workers))
