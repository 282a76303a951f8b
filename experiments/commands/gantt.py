"""`schedlab gantt`: a picture of a run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer


def gantt(
    folder: Annotated[
        Path, typer.Argument(help="Folder that `schedlab run --out` or `schedlab sweep` wrote.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF to write. Default: FOLDER/gantt.png.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Of a sweep: the run with this label, e.g. seed=1. Can be given more than once."
        ),
    ] = None,
) -> None:
    """A Gantt chart of a run: what ran where and when, and how many jobs waited.

    Example: schedlab gantt out --out gantt.svg
    """
    from experiments.pictures.gantt import gantt as draw
    from experiments.scenario.options import parse_options

    labels = {name: str(value) for name, value in parse_options(where or [], "--where").items()}
    print(draw(folder, out, labels))
    chosen = "".join(f" --where {shlex.quote(f'{k}={v}')}" for k, v in labels.items())
    print(
        f"schedlab: watch it: schedlab replay {shlex.quote(str(folder))}{chosen}", file=sys.stderr
    )
