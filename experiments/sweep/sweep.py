"""The commands of sweeps: run, look, export, try again.

They print what they do and return an exit code: 0; 1 where runs failed, the disk is full or the
folder was taken away; 128 + signal where they were stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.files import expect_writable, write_whole
from experiments.sweep.chosen import scenario_text
from experiments.sweep.export import expect_no_part, message_of, write_export
from experiments.sweep.runner import RunSummary, exit_code, run_tasks
from experiments.sweep.store import DATABASE, Store, is_sweep, store_to_write
from experiments.sweep.summary import Summary
from experiments.sweep.sweepfile import PolicySpec, read_sweep
from experiments.sweep.task import Scalar, Task
from experiments.sweep.trust import expect_trusted
from experiments.text import printable
from simulator.errors import InputError

FAILURES_SHOWN = 5


def sweep(
    file: Path,
    out: Path,
    *,
    policies: Sequence[PolicySpec] = (),
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    progress: bool = True,
    allow_code: bool = False,
) -> int:
    """Run a sweep into the folder ``out``, or go on with it; returns the exit code.

    The same sweep in the same folder always goes on. Another one, or this one after the code has
    changed, is refused unless ``resume`` is given: then what still fits is kept. ``policies`` take the
    place of the file's.
    """
    spec, tasks = read_sweep(file, allow_code=allow_code, policies=policies)
    if (out / "summary.json").exists() and not is_sweep(out):
        raise InputError(f"{out}: holds a run (summary.json), expected another folder")

    def work() -> int:
        with store_to_write(out) as store:
            return _run(
                tasks,
                store,
                workers=workers,
                dask=dask,
                resume=resume,
                progress=progress,
                time_limit_s=spec.time_limit_s,
                notes={"file": file.name, "time_limit_s": spec.time_limit_s},
            )

    return exit_code(work)


def retry(
    folder: Path,
    *,
    failed: bool = True,
    workers: int | None = None,
    dask: str | None = None,
    progress: bool = True,
    allow_code: bool = False,
) -> int:
    """Run again what failed in the folder, and what is left; returns the exit code.

    Raises
    ------
    InputError
        No sweep there, or the code has changed since: ``sweep --resume`` then.
    """
    folder = store_folder(folder)
    with Store(folder) as store:  # It has to be there already.
        functions = [task.function for task in store.tasks()]
    expect_trusted(functions, str(folder), allow_code=allow_code)

    def work() -> int:
        with Store(folder, create=True) as store:
            return _run(
                store.tasks(),
                store,
                workers=workers,
                dask=dask,
                resume=False,
                retry_failed=failed,
                progress=progress,
                time_limit_s=store.note("time_limit_s"),
            )

    return exit_code(work)


def store_folder(folder: Path) -> Path:
    """The folder of a sweep, or the store of a reproduction: results/quick -> results/quick/store."""
    inner = folder / "store"
    return inner if is_sweep(inner) and not is_sweep(folder) else folder


def _run(tasks: list[Task], store: Store, **options: Any) -> int:
    summary = run_tasks(tasks, store, **options)
    print(closing_lines(summary, store))
    return 1 if summary.failed else 0


def closing_lines(summary: RunSummary, store: Store) -> str:
    """Last line of a command."""
    lines = [
        f"{summary.done} of {summary.total} runs done, {summary.failed} failed; "
        f"{summary.computed} computed now in {summary.wall_s:.1f} s "
        f"({summary.cpu_s:.1f} s of CPU)"
    ]
    if summary.failed:
        lines += _failures(store, limit=FAILURES_SHOWN)
        lines.append(
            f"tracebacks: schedlab sweep status {store.folder} --tracebacks; "
            f"again: schedlab sweep retry {store.folder} --failed"
        )
    lines += _remarks(store)
    lines.append(f"one table of all: schedlab sweep export {store.folder}")
    return "\n".join(lines)


def _remarks(store: Store) -> list[str]:
    """Lines about runs that a reader would not expect."""
    counts, same, lines = store.counts(), store.same_under_all_seeds(), []
    if same:
        lines.append(
            f"note: the seed changes nothing in {len(same)} of {counts.total} runs, because their jobs come "
            "from a file and nothing else is random. Each of their settings was computed once: its "
            "seeds are one run, without an interval. workload.block_bootstrap = 100 in the scenario "
            "draws another trace for each seed, in blocks of 100 jobs"
        )
    if counts.kept:
        lines.append(
            f"note: {counts.kept} runs that are not in the sweep file any more, or were made by other "
            f"code, are kept in {store.folder / DATABASE}; they are in no table, and are taken up "
            "when the file and the code are as they were"
        )
    return lines


def _failures(store: Store, *, limit: int | None = None, tracebacks: bool = False) -> list[str]:
    """The failed runs, those with the same error together."""
    by_error: dict[str, list[tuple[dict[str, Scalar], str]]] = {}
    for labels, error in store.failures():
        error = printable(error)
        by_error.setdefault(message_of(error), []).append((labels, error))
    lines = []
    for error, runs in list(by_error.items())[:limit]:
        labels, trace = runs[0]
        named = printable(", ".join(f"{name}={value}" for name, value in labels.items()))
        more = f" (and {len(runs) - 1} more)" if len(runs) > 1 else ""
        lines.append(f"  failed: {named}{more}: {error}")
        lines += [f"    {line}" for line in trace.splitlines()] if tracebacks else []
    if limit is not None and len(by_error) > limit:
        lines.append(f"  and {len(by_error) - limit} other errors")
    return lines


def status(folder: Path, *, tracebacks: bool = False) -> int:
    """Print how far the sweep in the folder is, and which runs failed; returns the exit code."""
    folder = store_folder(folder)
    with Store(folder) as store:
        counts = store.counts()
        running = "a sweep is running on it" if store.is_locked() else "no sweep is running"
        print(
            f"{folder}: {counts.total} runs, {counts.done} done, {counts.failed} failed, "
            f"{counts.left} left; {running}"
        )
        for line in _failures(store, tracebacks=tracebacks) + _remarks(store):
            print(line)
    return 0


def export(
    folder: Path,
    *,
    format: str = "csv",
    out: Path | None = None,
    table: str | None = None,
    timings: bool = False,
    raw: bool = False,
    summary: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> int:
    """Write one tidy table of the sweep in the folder, one row a run; returns the exit code.

    Parameters
    ----------
    format : "csv", "parquet", "json" or "latex".
    out : the file; ``folder``/runs.csv (or the table's name, or summary) where None.
    table : instead, all rows of this table of every run ("jobs").
    timings : with the scalars that measure this machine; without, the same bytes anywhere.
    raw : texts in CSV as they are; without, those that a spreadsheet takes for formulas are marked.
    summary : scalars, of which means and paired differences by cell are written instead of the runs.
    columns : of the table, behind those that name its runs, in this order; empty: all.
    """
    with Store(store_folder(folder)) as store:
        found = Summary.of(store, summary) if summary else None
        path, rows = write_export(
            store,
            format=format,
            out=out,
            table=table,
            timings=timings,
            raw=raw,
            columns=columns,
            summary=None if found is None else found.table,
        )
    print(f"{path}: {rows} rows" + (f" from {found.runs} finished runs" if found else ""))
    return 0


def export_scenario(
    folder: Path, out: Path, where: Mapping[str, str], planned: Sequence[Task] = ()
) -> int:
    """Write the run with these labels as a scenario file; returns the exit code.

    Parameters
    ----------
    planned : the runs, where the folder has no run database.
    """
    folder = store_folder(folder)
    text, files = scenario_text(folder, where, planned)
    expect_no_part(out, folder, "--scenario")
    expect_writable(out, files, "--scenario")
    write_whole(out, text)
    print(out)
    return 0
