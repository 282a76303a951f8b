"""`schedlab reproduce`: the papers' figures and claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.commands.options import Workers


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names, e.g. hierarchical andreas; all: our studies, too. Default: the five papers."
        ),
    ] = None,
    scale: Annotated[
        Literal["quick", "paper"],
        typer.Option(help="quick (minutes), or paper (the papers' full sizes, hours)."),
    ] = "quick",
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results. Default: results/SCALE.")
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Folder of results, e.g. results/paper: draw the pages again from what it keeps of "
            "their runs; nothing is run.",
        ),
    ] = None,
) -> None:
    """Every figure and claim of the papers, with a report; goes on where it was stopped.

    Example: schedlab reproduce hierarchical --scale quick
    """
    from experiments.papers import reproduce as pages

    if kept is not None:
        if workers is not None:
            print("schedlab: note: --workers has no effect: --from runs nothing", file=sys.stderr)
        raise typer.Exit(pages.redraw(papers or [], scale=scale, kept=kept, out=out))
    raise typer.Exit(pages.reproduce(papers or [], scale=scale, workers=workers, out=out))
