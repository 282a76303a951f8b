"""A result as files: summary.json, jobs.csv, decisions.csv, schedule.csv, machines.json."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.campaign.store import LEDGER
from experiments.scenario.facts import machines_of
from experiments.scenario.run import summarise
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator import Result


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make the folder for what the block writes, and take it away again where the block fails.

    Raises
    ------
    InputError
        It cannot be written, or holds a sweep; before any work.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError:
        raise InputError(f"--out {folder}: is a file, expected a folder") from None
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be written ({error.strerror})") from None
    if (folder / LEDGER).exists():
        raise InputError(f"--out {folder}: holds a sweep ({LEDGER}), expected another folder")
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # Something is in it.
            for path in made:
                path.rmdir()
        raise


def write_result(result: Result, folder: Path, window: Sequence[int] | None = None) -> None:
    """Write the five files, each whole or not at all.

    A folder with a ``summary.json`` holds one whole result: an old one goes first, the new one
    comes last.
    """
    summary = json.dumps(summarise(result, window), indent=2) + "\n"
    (folder / "summary.json").unlink(missing_ok=True)
    tables = {
        "jobs.csv": result.jobs_table(),
        "decisions.csv": result.decisions_table(),
        "schedule.csv": result.schedule_table(),
    }
    for name, table in tables.items():
        _write(folder / name, table.to_csv(index=False, lineterminator="\n"))
    machines = json.dumps(machines_of(result.workload, result.cluster), separators=(",", ":"))
    _write(folder / "machines.json", machines + "\n")
    _write(folder / "summary.json", summary)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def one_paragraph(result: Result, folder: Path, window: Sequence[int] | None = None) -> str:
    """What the command says at its end."""
    s = summarise(result, window)
    hours = 3600.0
    of = "" if window is None else f" of jobs {window[0]}:{window[1]}"
    return (
        f"{s['policy']}: {s['jobs']} jobs, mean completion time{of} "
        f"{s['mean_jct_s'] / hours:.2f} h, makespan {result.makespan_s / hours:.2f} h, "
        f"total cost {result.total_cost:.2f} {s['currency']} "
        f"({s['late_jobs']} jobs late), {s['decisions']} decisions -> {folder}"
    )
