"""One run of a sweep, chosen by its labels: its tables, or its scenario as a file."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config import path_of, toml_text
from experiments.sweep.store import Run, Store
from experiments.sweep.sweepfile import RUN_SCENARIO
from experiments.sweep.task import resolve
from experiments.text import printable
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.sweep.task import Task

KEEP = (
    'expected a run that kept its schedule: `tables = ["jobs", "schedule"]` in the scenario of the '
    "sweep"
)


def one_run(folder: Path, where: Mapping[str, str]) -> tuple[str, DataFrame, DataFrame]:
    """Name, schedule and jobs of the one finished run with these labels.

    Raises
    ------
    InputError
        No such run, several, or one that kept no schedule; the message names the labels.
    """
    with Store(folder) as store:
        key, name, _ = _chosen(store, where)
        with_schedule(store, key, name)
        return name, store.table(key, "schedule"), store.table(key, "jobs")


def scenario_text(folder: Path, where: Mapping[str, str]) -> tuple[str, list[Path]]:
    """The one run with these labels as a scenario file, which `schedlab run` repeats; its input files.

    These have absolute paths in it.

    Raises
    ------
    InputError
        No such run, several, or one that is no scenario but Python code; the message names the labels.
    """
    with Store(folder) as store:
        _, name, task = _chosen(store, where)
    if task.function != RUN_SCENARIO:
        raise InputError(
            f"{folder}: the run {name} is a call of {task.function}, expected a run of a scenario"
        )
    config, files = copy.deepcopy(dict(task.config)), []
    for table, key in resolve(task.function).config_files(config):  # type: ignore[attr-defined]
        table[key] = str(Path(table[key]).absolute())
        files.append(path_of(table[key]))
    title = " ".join(printable(name).split())
    return f"# {title}\n{toml_text(config)}", files


def runs_with(store: Store, where: Mapping[str, str]) -> dict[str, Task]:
    """The planned runs with these labels, by key."""
    return {
        key: task
        for key, task in zip(store.planned_keys(), store.tasks(), strict=True)
        if all(str(task.columns().get(name)) == value for name, value in where.items())
    }


def with_schedule(store: Store, key: str, name: str) -> Run:
    """A finished run that kept schedule and jobs; raises InputError where it did not."""
    run = store.run(key)
    if run is None or run.status != "done":
        raise InputError(
            f"{store.folder}: the run {name} is not finished, see `schedlab sweep status`"
        )
    for table in ("schedule", "jobs"):
        if table not in run.tables:
            raise InputError(f"{store.folder}: the run {name} has no {table} table, {KEEP}")
    return run


def _chosen(store: Store, where: Mapping[str, str]) -> tuple[str, str, Task]:
    """Key, name and task of the one run with these labels, finished or not."""
    found = runs_with(store, where)
    if len(found) != 1:
        raise InputError(f"{store.folder}: {_which(store.tasks(), len(found))}")
    ((key, task),) = found.items()
    return key, ", ".join(f"{label} {value}" for label, value in task.columns().items()), task


def _which(tasks: list[Task], count: int) -> str:
    """The question, with the labels and an answer to it."""
    if not tasks:
        return "a sweep without runs, expected a finished run"
    labels = tasks[0].columns().items()
    example = " ".join(f"--where {shlex.quote(f'{name}={value}')}" for name, value in labels)
    chosen = "no run has these labels" if count == 0 else f"a sweep, {count} runs to choose from"
    return f"{chosen}; which one? For example {example}"
