"""`schedlab replay`: watch runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Folders of `schedlab run`; or a sweep that kept its schedules."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="HTML file to write. Default: replay.html in the folder, or beside the folders."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Of a sweep: only runs with this label, e.g. seed=1. Can be given more than once."
        ),
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
) -> None:
    """A page that plays one run, or several on the same jobs side by side.

    Example: schedlab replay out --out replay.html
    """
    from experiments.replay.folders import default_out, replay_folders
    from experiments.scenario.options import parse_options

    labels = {name: str(value) for name, value in parse_options(where or [], "--where").items()}
    print(replay_folders(folders, out or default_out(folders), labels, title))
