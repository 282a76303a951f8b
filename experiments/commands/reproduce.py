"""`schedlab reproduce`: the papers' figures and claims."""

from __future__ import annotations

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
) -> None:
    """Every figure and claim of the papers, with a report; goes on where it was stopped.

    Example: schedlab reproduce hierarchical --scale quick
    """
    from experiments.papers.reproduce import reproduce as reproduce_papers

    code = reproduce_papers(papers or [], scale=scale, workers=workers, out=out)
    raise typer.Exit(code)
