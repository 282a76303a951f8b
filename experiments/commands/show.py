"""`schedlab show gantt`, `replay`, `explain`, `jobs`, `trace`: pictures and words about a run or a trace."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import Where, in_words

app = typer.Typer(
    help="Look at a run, or at a trace: gantt, replay, explain, jobs, trace.", no_args_is_help=True
)
RunFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of `schedlab run --out`, or of a sweep.")
]


@app.command()
@in_words
def gantt(
    folder: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF to write. Default: FOLDER/gantt.png.")
    ] = None,
    begin: Annotated[
        float | None,
        typer.Option("--from", help="Beginning of the picture, hours since the first submission."),
    ] = None,
    end: Annotated[
        float | None,
        typer.Option("--to", help="End of the picture, hours since the first submission."),
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="NODES", help="Only these nodes, e.g. 0-9,20.")
    ] = None,
    where: Where = None,
) -> None:
    """Draw a Gantt chart of a run: what ran where and when, and how many jobs waited.

    Example: schedlab show gantt out --out gantt.svg
    """
    from experiments.pictures.gantt import gantt as draw
    from experiments.scenario.options import labels_of

    labels = labels_of(where)
    print(draw(folder, out, labels, begin, end, nodes))
    chosen = "".join(f" --where {shlex.quote(f'{k}={v}')}" for k, v in labels.items())
    watch = f"schedlab show replay {shlex.quote(str(folder))}{chosen}"
    print(f"schedlab: watch it: {watch}", file=sys.stderr)


@app.command()
@in_words
def replay(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDERS",
            help="Folders of `schedlab run`; or a sweep that kept its schedules.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="HTML file to write. Default: replay.html in the folder, or beside the folders."
        ),
    ] = None,
    where: Where = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
) -> None:
    """Make a page that plays one run, or several on the same jobs side by side.

    Example: schedlab show replay out --out replay.html
    """
    from experiments.replay.folders import default_out, replay_folders
    from experiments.scenario.options import labels_of

    print(replay_folders(folders, out or default_out(folders), labels_of(where), title))


@app.command()
@in_words
def explain(
    folder: RunFolder,
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job_id of the job.")],
    where: Where = None,
) -> None:
    """Tell the history of one job: when it waited, who passed it, where it ran.

    Example: schedlab show explain out j17
    """
    from experiments.analysis.explain import explain as history
    from experiments.scenario.options import labels_of

    for line in history(folder, job, labels_of(where)):
        print(line)


@app.command()
@in_words
def jobs(
    folder: RunFolder,
    out: Annotated[
        Path, typer.Option(help="File to write: .swf, or .csv in the columns of Batsim.")
    ] = Path("jobs.swf"),
    where: Where = None,
) -> None:
    """Write the jobs of a run as a file for other tools: SWF, or what Batsim writes.

    Example: schedlab show jobs out --out jobs.swf
    """
    from experiments.analysis.job_files import write_jobs
    from experiments.scenario.options import labels_of

    print(write_jobs(folder, out, labels_of(where)))


@app.command()
@in_words
def trace(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="File of jobs, or a folder of the authors' formats."),
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
        int, typer.Option("--gpus", min=1, max=10_000, help="GPUs of each of these nodes.")
    ] = 8,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Another value of a key of [workload], e.g. workload.columns.duration_s=Runtime. Can be given more than once.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Picture to write: PNG, SVG or PDF. Default: trace.png.")
    ] = Path("trace.png"),
) -> None:
    """Describe a trace: jobs, span, load, laws of demand, duration and arrival, what was recorded, what is empty or cannot run, with a picture.

    Example: schedlab show trace examples/philly_like.csv --nodes 8 --gpus 8
    """
    from experiments.analysis.record import record_lines
    from experiments.analysis.trace import describe, lines, read_trace
    from experiments.analysis.trace_checks import check_lines
    from experiments.pictures.jobs import draw_jobs
    from experiments.text import printable

    workload, own, found = read_trace(file, kind, settings or [])
    made = describe(workload, found, own, None if nodes is None else (nodes, gpus_per_node))
    for note in workload.notes:
        print(f"schedlab: note: {printable(note)}", file=sys.stderr)
    record = workload.record
    total = None if made.cluster is None or not len(made.gpus) else made.cluster.total_gpus
    picture = draw_jobs(
        out, f"{file.name}: {len(workload)} jobs", workload.submit_s, made.gpus, made.duration_s,
        made.by_hour, total, record if record is not None and record.has_starts else None,
    )  # fmt: skip
    print(
        "\n".join(
            printable(line) for line in (*lines(made), *record_lines(made), *check_lines(made))
        )
    )
    print(f"picture    {picture}")
