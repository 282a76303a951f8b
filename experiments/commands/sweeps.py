"""`schedlab sweep`, `status`, `export`, `retry`: many runs in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import Dask, Workers


def sweep(
    file: Annotated[Path, typer.Argument(help="Sweep file (TOML), see examples/sweep_small.toml.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; out/<the file's name> by default.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what still fits after the file or code changed.")
    ] = False,
) -> None:
    """Many runs: a grid over any parameter, policies and seeds. Killed, it goes on where it was."""
    from experiments.campaign import sweep as sweeps

    folder = out or Path("out") / file.stem
    raise typer.Exit(sweeps.sweep(file, folder, workers=workers, dask=dask, resume=resume))


def status(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    tracebacks: Annotated[bool, typer.Option("--tracebacks", help="Of failed runs.")] = False,
) -> None:
    """How many runs are done, failed and left."""
    from experiments.campaign import sweep as sweeps

    raise typer.Exit(sweeps.status(folder, tracebacks=tracebacks))


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    format: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write.")] = None,
    table: Annotated[
        str | None, typer.Option(help="A table of the runs instead of their scalars.")
    ] = None,
    timings: Annotated[bool, typer.Option("--timings", help="Measured times as well.")] = False,
) -> None:
    """All runs of a sweep as one tidy table."""
    from experiments.campaign import sweep as sweeps

    raise typer.Exit(sweeps.export(folder, format=format, out=out, table=table, timings=timings))


def retry(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    failed: Annotated[bool, typer.Option("--failed", help="Run the failed ones again.")] = False,
    workers: Workers = None,
    dask: Dask = None,
) -> None:
    """Finish a sweep; with --failed, run what failed again as well."""
    from experiments.campaign import sweep as sweeps

    raise typer.Exit(sweeps.retry(folder, failed=failed, workers=workers, dask=dask))
