"""`schedlab reproduce`: the papers' figures and claims."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scale(StrEnum):
    """Of a reproduction."""

    quick = "quick"
    paper = "paper"


def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(help="hierarchical, andreas, ..; all where none is named.")
    ] = None,
    scale: Annotated[
        Scale, typer.Option(help="quick (minutes) or paper (the full sizes).")
    ] = Scale.quick,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; all cores by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="results/<scale> by default.")] = None,
) -> None:
    """Every figure and claim of the papers, with a report; resumes where it was stopped."""
    from experiments.papers.reproduce import reproduce as reproduce_papers

    code = reproduce_papers(papers or [], scale=scale.value, workers=workers, out=out)
    raise typer.Exit(code)
