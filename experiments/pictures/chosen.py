"""One run of a sweep, chosen by its labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.campaign.store import Store
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.campaign.task import Task

KEEP = 'expected `tables = ["jobs", "schedule"]` in the scenario of the sweep'


def one_run(folder: Path, where: Mapping[str, str]) -> tuple[str, DataFrame, DataFrame]:
    """Name, schedule and jobs of the one finished run with these labels.

    Raises
    ------
    InputError
        No such run, several, or one that kept no schedule; the message names the labels.
    """
    with Store(folder) as store:
        found = {
            key: task
            for key, task in zip(store.planned_keys(), store.tasks(), strict=True)
            if all(str(task.columns().get(name)) == value for name, value in where.items())
        }
        if len(found) != 1:
            raise InputError(f"{folder}: {_which(store.tasks(), len(found))}")
        ((key, task),) = found.items()
        name = ", ".join(f"{label} {value}" for label, value in task.columns().items())
        run = store.run(key)
        if run is None or run.status != "done":
            raise InputError(f"{folder}: the run {name} is not finished, see `schedlab status`")
        for table in ("schedule", "jobs"):
            if table not in run.tables:
                raise InputError(f"{folder}: the run {name} kept no table {table!r}, {KEEP}")
        return name, store.table(key, "schedule"), store.table(key, "jobs")


def _which(tasks: list[Task], count: int) -> str:
    """The question, with the labels and an answer to it."""
    if not tasks:
        return "a sweep without runs, expected a finished run"
    example = " ".join(f"--where {name}={value}" for name, value in tasks[0].columns().items())
    chosen = "no run has these labels" if count == 0 else f"a sweep, {count} runs to choose from"
    return f"{chosen}; which one? For example {example}"
