"""`schedlab classroom`: the page for a class; `schedlab notebook`: open one of the notebooks."""

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
    """Make an interactive page for a class: ten panels, formulas beside simulations. Resumes after a stop.

    Example: schedlab classroom --out classroom.html
    """
    from experiments.classroom import classroom as make

    raise typer.Exit(make(scale, out=out, workers=workers))


NAMES = ("first_steps", "own_policy", "queueing_laboratory")


def notebook(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(NAMES)}.")],
) -> None:
    """Open a live notebook in the browser: a copy of yours, NAME.py here. Needs marimo.

    Example: schedlab notebook first_steps
    """
    import importlib.util
    import shutil
    import subprocess
    import sys

    from simulator.errors import InputError

    if name not in NAMES:
        raise InputError(f"notebook: got {name!r}, expected one of {', '.join(NAMES)}")
    if importlib.util.find_spec("marimo") is None:
        raise InputError(
            f"notebook: marimo is not installed; get it by: {sys.executable} -m pip install marimo"
        )
    path = Path(f"{name}.py")
    if not path.exists():
        shutil.copyfile(_originals() / path, path)
    raise typer.Exit(subprocess.run([sys.executable, "-m", "marimo", "edit", str(path)]).returncode)


def _originals() -> Path:
    """The folder of the notebooks: in an installed package, or in a checkout."""
    package = Path(__file__).parents[1]
    packaged = package / "notebooks"
    return packaged if packaged.is_dir() else package.parent / "examples" / "notebooks"
