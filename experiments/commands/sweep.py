"""`schedlab sweep run`, `status`, `export`, `retry`: many runs in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import POLICY, AllowCode, Columns, Dask, Where, Workers, in_words
from simulator.errors import InputError

app = typer.Typer(
    help="Make many runs in one folder, read them, or export them.", no_args_is_help=True
)


@app.command()
@in_words
def run(
    file: Annotated[Path, typer.Argument(help="Sweep file (TOML), see examples/sweep_small.toml.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results. Default: out/NAME for NAME.toml.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help=f"{POLICY} It replaces the policies of the file; give the option once for each.",
        ),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="The file or the code has changed: keep the runs that still fit."
        ),
    ] = False,
    allow_code: AllowCode = False,
) -> None:
    """Make many runs: a grid over any parameter, policies and seeds. After a stop the same command resumes.

    Example: schedlab sweep run examples/sweep_small.toml --out sweep --workers 2
    """
    from experiments.scenario.options import labelled, parse_policy
    from experiments.sweep import sweep as sweeps
    from experiments.sweep.sweepfile import PolicySpec

    folder = out or Path("out") / file.stem
    given = []
    for text in policy or []:
        (label, _), (name, options) = labelled(text), parse_policy(text)
        own = label if label != text else None
        given.append(PolicySpec(name=name, options=options, label=own))
    code = sweeps.sweep(
        file, folder, policies=given, workers=workers, dask=dask, resume=resume,
        allow_code=allow_code,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command()
@in_words
def status(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    tracebacks: Annotated[
        bool, typer.Option("--tracebacks", help="Print the traceback of each kind of failure.")
    ] = False,
) -> None:
    """Count the runs that are done, failed and left.

    Example: schedlab sweep status sweep --tracebacks
    """
    from experiments.sweep import sweep as sweeps

    raise typer.Exit(sweeps.status(folder, tracebacks=tracebacks))


@app.command()
@in_words
def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    format: Annotated[
        str | None, typer.Option(help="csv, parquet, json or latex.", show_default="csv")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write.")] = None,
    table: Annotated[
        str | None, typer.Option(help="Export this table of all runs instead, e.g. jobs.")
    ] = None,
    timings: Annotated[
        bool,
        typer.Option(
            "--timings", help="Also export measured times. They differ from machine to machine."
        ),
    ] = False,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="Means and paired differences with 95 % intervals instead, for each setting.",
        ),
    ] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            help="With --summary: scalars with commas between them.", show_default="mean_jct_s"
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="With --summary: also draw it (.png, .svg or .pdf).")
    ] = None,
    columns: Columns = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Keep texts in CSV files as they are; otherwise texts like '=1+1' are escaped.",
        ),
    ] = False,
    scenario: Annotated[
        Path | None,
        typer.Option(
            help="Write one run as a scenario file instead, for `schedlab run`; FOLDER may be a page of results, e.g. results/paper/clusters."
        ),
    ] = None,
    where: Where = None,
) -> None:
    """Export all runs of a sweep as one tidy table or a summary, or one run as a scenario file.

    Example: schedlab sweep export sweep --format parquet --table jobs
    """
    from experiments.columns import names_of
    from experiments.papers.behind import runs_behind
    from experiments.scenario.options import labels_of
    from experiments.sweep import sweep as sweeps
    from experiments.sweep.store import is_sweep

    labels = labels_of(where)
    if labels and scenario is None:
        raise InputError("--where: was given without --scenario, expected both")
    if scenario is not None:
        of_tables = {"format": format, "out": out, "table": table, "timings": timings, "raw": raw}
        of_tables |= {"summary": summary, "columns": columns}
        for name, value in of_tables.items():
            if value:
                raise InputError(f"--{name}: was given with --scenario, expected one of them")
        planned = [] if is_sweep(sweeps.store_folder(folder)) else runs_behind(folder)
        raise typer.Exit(sweeps.export_scenario(folder, scenario, labels, planned))
    for name, value in {"metric": metric, "figure": figure}.items():
        if value is not None and not summary:
            raise InputError(f"--{name}: was given without --summary, expected both")
    if summary and table is not None:
        raise InputError("--table: was given with --summary, expected one of them")
    if summary and columns is not None:
        raise InputError(
            "--columns: was given with --summary, expected --metric, which names its rows"
        )
    metrics = names_of("mean_jct_s" if metric is None else metric, "--metric") if summary else []
    code = sweeps.export(
        folder,
        format=format or "csv",
        out=out,
        table=table,
        timings=timings,
        raw=raw,
        summary=metrics,
        columns=names_of(columns, "--columns"),
    )
    if figure is not None:
        from experiments.pictures.estimates import sweep_estimates

        sweep_estimates(sweeps.store_folder(folder), metrics, figure)
        print(figure)
    raise typer.Exit(code)


@app.command()
@in_words
def retry(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    failed: Annotated[bool, typer.Option("--failed", help="Run failed runs again.")] = False,
    workers: Workers = None,
    dask: Dask = None,
    allow_code: AllowCode = False,
) -> None:
    """Finish a sweep; with --failed, run what failed again as well.

    Example: schedlab sweep retry sweep --failed
    """
    from experiments.sweep import sweep as sweeps

    code = sweeps.retry(folder, failed=failed, workers=workers, dask=dask, allow_code=allow_code)
    raise typer.Exit(code)
