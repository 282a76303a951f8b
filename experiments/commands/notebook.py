"""`schedlab notebook`: open one of the notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NAMES = ("first_steps", "own_policy", "queueing_laboratory")


def notebook(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")],
    folder: Annotated[Path, typer.Option(help="Where the notebooks are.")] = Path(
        "examples/notebooks"
    ),
) -> None:
    """Open a live notebook in the browser; needs the extra 'notebook' (marimo).

    Example: schedlab notebook first_steps
    """
    import importlib.util
    import subprocess
    import sys

    from simulator.errors import InputError

    if name not in NAMES:
        raise InputError(f"notebook: got {name!r}, expected one of {', '.join(NAMES)}")
    path = folder / f"{name}.py"
    if not path.exists():
        raise InputError(f"{path}: is not there; --folder says where the notebooks are")
    if importlib.util.find_spec("marimo") is None:
        raise InputError(
            "notebook: marimo is not installed, expected: pip install 'schedlab[notebook]'"
        )
    raise typer.Exit(subprocess.run([sys.executable, "-m", "marimo", "edit", str(path)]).returncode)
