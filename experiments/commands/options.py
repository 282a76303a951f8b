"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path, typer.Option(help="Folder for the results. It is made if it does not exist.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Worker processes. Default: one for each core.")
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="The file may name functions of your own. They run with your rights: see SECURITY.md.",
    ),
]
Dask = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, or local; needs the extra 'dask'.")
]
