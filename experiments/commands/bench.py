"""`schedlab bench`: tasks of the benchmark, their runs, and the check of a schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import POLICY, AllowCode, Dask, Workers, in_words
from simulator.errors import InputError

app = typer.Typer(
    help="Run the benchmark's fixed tasks, and check schedules.", no_args_is_help=True
)

TaskName = Annotated[str, typer.Argument(metavar="TASK", help="A task, see `schedlab bench list`.")]
SizeName = Annotated[str, typer.Option("--size", help="s (minutes), m (hours) or l (days).")]
MOST_SHOWN = 5
"""Faults of a schedule that are printed."""
Trace = Annotated[
    Path | None,
    typer.Option(
        help="Own copy of the jobs, where their licence forbids to ship them. Its hash is checked."
    ),
]


@app.command("list")
@in_words
def list_tasks() -> None:
    """List the tasks with their metrics and licences, and the hash of the secret key that draws the official table's seeds.

    Example: schedlab bench list
    """
    from rich.console import Console
    from rich.table import Table

    from experiments.bench.task import KEY_HASH, VERSION, tasks

    table = Table("task", "jobs", "ranked by", "licence", "sizes", box=None, pad_edge=False)
    for name, task in tasks().items():
        own = " (--trace)" if task.trace_sha256 else ""
        table.add_row(
            name, task.title, ", ".join(task.rank), task.licence + own, " ".join(task.sizes)
        )
    console = Console(width=160, markup=False, emoji=False)
    console.print(table)
    console.print(
        f"{VERSION}; SHA-256 of the key of the official seeds: {KEY_HASH}", highlight=False
    )


@app.command()
@in_words
def run(
    task: TaskName,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help=f"{POLICY} It runs beside the task's own; give the option once for each policy.",
        ),
    ] = None,
    size: SizeName = "s",
    trace: Trace = None,
    key: Annotated[
        str | None, typer.Option(help="Key from which the seeds of the official table are drawn.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which a run is stopped.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[Path | None, typer.Option(help="Folder. Default: out/bench-SIZE/TASK.")] = None,
    allow_code: AllowCode = False,
) -> None:
    """Run a task under its own policies and yours; write the table and a schedule to submit for each of yours.

    After a stop the same command resumes. The schedules of all runs are checked: one that is wrong, or better than a
    bound, ends the command.

    Example: schedlab bench run philly-v1 --policy my_policy.py:my_policy --allow-code
    """
    import sys

    from experiments.bench.running import ScheduleChecks, run_task, submitted
    from experiments.bench.table import bounds_of, expect_above_bounds, sheet, standing
    from experiments.bench.task import changed, scenario_of_task, task_of
    from experiments.comparison.writing import write_comparison
    from experiments.files import write_whole
    from experiments.scenario.options import labelled
    from experiments.sweep.runner import exit_code
    from experiments.sweep.store import store_to_write
    from experiments.text import printable

    folder = out or Path("out") / f"bench-{size}" / task

    def work() -> int:
        scenario = scenario_of_task(task, size, trace)
        for line in changed(task, size, scenario):
            print(f"schedlab: note: {line}", file=sys.stderr)
        checks = ScheduleChecks()
        with store_to_write(folder) as store:
            found = run_task(
                task, size, policy or [], trace=trace, key=key, store=store, progress=True,
                check=checks, workers=workers, dask=dask, time_limit_s=time_limit,
            )  # fmt: skip
        bounds = bounds_of(scenario, found.runs["seed"])
        expect_above_bounds(found, task_of(task), bounds)
        list(write_comparison(found, folder))
        table = standing(found, task_of(task), bounds)
        write_whole(folder / "table.csv", table.to_csv(index=False, lineterminator="\n"))
        print(printable(sheet(table, task_of(task), found.currency).to_string(index=False)))
        for line in checks.unchecked:
            print(f"schedules checked; {line}")
        for name in policy or []:
            where = folder / "schedules" / labelled(name)[0].rpartition(":")[2]
            made = submitted(task, size, name, where, trace)
            print(
                f"to submit: {made}; check it: schedlab bench check {made} --task {task} --size {size}"
            )
        return 0

    raise typer.Exit(exit_code(work))


@app.command()
@in_words
def table(
    folder: Annotated[
        Path, typer.Argument(help="Folder that holds a folder of `bench run` for each task.")
    ],
) -> None:
    """Write pages and a picture of all tasks that were run: index.html, TASK.html, table.png.

    Example: schedlab bench table results/bench
    """
    from experiments.bench.pages import write_pages

    for path in write_pages(folder):
        print(path)


@app.command()
@in_words
def check(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder of a run, or a CSV file: job_id, node, gpus, start_s, end_s."),
    ],
    task: Annotated[str, typer.Option("--task", help="The task whose jobs the schedule serves.")],
    size: SizeName = "s",
    trace: Trace = None,
    policy: Annotated[
        str | None,
        typer.Option(
            help="With --allow-code: also check whether this policy sees later jobs, and whether it makes the same schedule again."
        ),
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Check that a schedule serves every job completely on the machines of a task; print metrics from its rows.

    The exit code is 1 if it does not. Nothing is simulated, so the schedule may come from any program.

    Example: schedlab bench check out/bench-s/philly-v1/schedules/srpt --task philly-v1
    """
    from experiments.bench.running import check_folder, checked_policy
    from experiments.text import printable

    if policy is not None and not allow_code:
        raise InputError("--policy: given without --allow-code, expected both")
    if policy is not None and not folder.is_dir():
        raise InputError(f"--policy: given with the file {folder}, expected the folder of a run")
    found = check_folder(folder, task, size, trace)
    faults = [str(fault) for fault in found.faults]
    if policy is not None and not faults:
        faults += checked_policy(folder, task, size, policy, trace)
    for fault in faults[:MOST_SHOWN]:
        print(f"wrong: {printable(' '.join(fault.split()))}")
    if len(faults) > MOST_SHOWN:
        print(f"and at least {len(faults) - MOST_SHOWN} more")
    if faults:
        raise typer.Exit(1)
    ran = "schedule checked" if folder.is_dir() else "schedule checked, program not run here"
    print("; ".join([f"{task} ({size}): {ran}", *found.unchecked]))
    if policy is not None:
        print(
            f"{policy}: makes the same schedule again, and its decisions do not depend on later jobs"
        )
    for name, value in found.metrics.items():
        print(f"{name:20} {value:.9g}")
