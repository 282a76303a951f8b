"""`schedlab gantt`: a picture of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def gantt(
    folder: Annotated[Path, typer.Argument(help="Folder that `schedlab run --out` wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF to write; FOLDER/gantt.png.")
    ] = None,
) -> None:
    """A Gantt chart of a run: what ran where and when, and how many jobs waited."""
    from experiments.pictures.gantt import gantt as draw

    print(draw(folder, out))
