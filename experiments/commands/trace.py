"""`schedlab trace`: what a file of jobs holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def trace(
    file: Annotated[
        Path, typer.Argument(help="File of jobs, or a folder of the authors' formats.")
    ],
    kind: Annotated[
        str | None,
        typer.Option(help="Format: philly, helios, swf, csv, .. Default: the one that fits."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, help="Also print the load on so many nodes."),
    ] = None,
    gpus_per_node: Annotated[
        int, typer.Option(min=1, max=10_000, help="GPUs of each of these nodes.")
    ] = 8,
    out: Annotated[
        Path, typer.Option(help="Picture to write: PNG, SVG or PDF. Default: trace.png.")
    ] = Path("trace.png"),
) -> None:
    """Contents of a trace: jobs, span, load, laws of demand, duration and arrival, with a picture.

    Example: schedlab trace examples/philly_like.csv --nodes 8
    """
    from experiments.analysis.trace import describe, lines, read_trace
    from experiments.pictures.jobs import draw_jobs
    from experiments.text import printable

    workload, own, found = read_trace(file, kind)
    made = describe(workload, found, own, None if nodes is None else (nodes, gpus_per_node))
    for note in workload.notes:
        print(f"schedlab: note: {printable(note)}", file=sys.stderr)
    total = None if made.cluster is None or not len(made.gpus) else made.cluster.total_gpus
    picture = draw_jobs(
        out, f"{file.name}: {len(workload)} jobs", workload.submit_s, made.gpus, made.duration_s,
        made.by_hour, total,
    )  # fmt: skip
    print("\n".join(printable(line) for line in lines(made)))
    print(f"picture    {picture}")
