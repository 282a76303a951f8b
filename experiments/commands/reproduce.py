"""`schedlab reproduce`: the papers' figures and claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.commands.options import Workers
from simulator.errors import InputError


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
            help="Folder of results, e.g. results/paper: draw the pages again from the runs that it "
            "keeps; no run is made.",
        ),
    ] = None,
    again: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="With --from: instead of drawing, repeat this share of the runs, e.g. 0.05, and compare "
            "their numbers with the kept ones.",
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Draw only this figure of one page, given by its number or name, from its own runs, into --out "
            "(out/PAGE-FIGURE).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="With --figure: set a key in the scenarios of its runs, e.g. cluster.num_nodes=8. Can be given "
            "more than once.",
        ),
    ] = None,
) -> None:
    """Reproduce every figure and claim of the papers, and write a report. Resumes after a stop.

    Example: schedlab reproduce hierarchical --scale quick

    Example: schedlab reproduce synergy --figure 9 --set cluster.num_nodes=8
    """
    from experiments.papers import reproduce as pages

    if settings and figure is None:
        raise InputError("--set: was given without --figure, expected both")
    if figure is not None:
        from experiments.papers.one_figure import draw_figure

        for name, value in {"from": kept, "again": again}.items():
            if value is not None:
                raise InputError(f"--{name}: was given with --figure, expected one of them")
        raise typer.Exit(
            draw_figure(
                papers or [], figure, scale=scale, settings=settings or [], workers=workers, out=out
            )
        )
    if again is not None:
        from experiments.papers.again import make_again

        if kept is None:
            raise InputError("--again: got no --from, expected a folder of results to compare with")
        raise typer.Exit(
            make_again(papers or [], scale=scale, kept=kept, share=again, workers=workers, out=out)
        )
    if kept is not None:
        if workers is not None:
            print("schedlab: note: --workers has no effect: --from runs nothing", file=sys.stderr)
        raise typer.Exit(pages.redraw(papers or [], scale=scale, kept=kept, out=out))
    raise typer.Exit(pages.reproduce(papers or [], scale=scale, workers=workers, out=out))
