"""One run of a sweep, chosen by its labels: its tables, or its scenario as a file."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config import path_of, toml_text
from experiments.sweep.store import Run, Store
from experiments.sweep.sweepfile import RUN_SCENARIO
from experiments.sweep.task import resolve
from experiments.text import printable
from simulator.errors import InputError, meant

if TYPE_CHECKING:
    from pandas import DataFrame

    from experiments.sweep.task import Scalar, Task

KEEP = (
    'expected a run that kept its schedule: `tables = ["jobs", "schedule"]` in the scenario of the '
    "sweep"
)

MOST_LABELS, MOST_VALUES = 4, 6
"""A message lists the values of so many labels, and so many of each."""


def one_run(folder: Path, where: Mapping[str, str]) -> tuple[str, DataFrame, DataFrame]:
    """Name, schedule and jobs of the one finished run with these labels.

    Raises
    ------
    InputError
        No such run, several, or one that kept no schedule; the message names the labels.
    """
    with Store(folder) as store:
        found = runs_with(store, where)
        task = _only(folder, store.tasks(), [*found.values()], where)
        key, name = next(key for key, one in found.items() if one is task), _named(task)
        with_schedule(store, key, name)
        return name, store.table(key, "schedule"), store.table(key, "jobs")


def scenario_text(
    folder: Path, where: Mapping[str, str], planned: Sequence[Task] = ()
) -> tuple[str, list[Path]]:
    """The one run with these labels as a scenario file, which `schedlab run` repeats; its input files.

    These have absolute paths in it. Runs that are no scenarios but Python code are passed over.

    Parameters
    ----------
    planned : the runs, where the folder has no run database.

    Raises
    ------
    InputError
        No such run, or several; the message names the labels in which they differ.
    """
    if not planned:
        with Store(folder) as store:
            planned = store.tasks()
    found = with_labels(planned, where)
    scenarios = [task for task in found if task.function == RUN_SCENARIO]
    if found and not scenarios:
        raise InputError(
            f"{folder}: the run {_named(found[0])} is a call of {found[0].function}, expected a run of a scenario"
        )
    task = _only(folder, planned, scenarios, where)
    name = _named(task)
    config, files = copy.deepcopy(dict(task.config)), []
    for table, key in resolve(task.function).config_files(config):  # type: ignore[attr-defined]
        table[key] = str(Path(table[key]).absolute())
        files.append(path_of(table[key]))
    title = " ".join(printable(name).split())
    return f"# {title}\n{toml_text(config)}", files


def runs_with(store: Store, where: Mapping[str, str]) -> dict[str, Task]:
    """The planned runs with these labels, by key."""
    planned = store.tasks()
    keys = dict(zip(map(id, planned), store.planned_keys(), strict=True))
    return {keys[id(task)]: task for task in with_labels(planned, where)}


def with_labels(tasks: Sequence[Task], where: Mapping[str, str]) -> list[Task]:
    """The runs with these labels; 9 is the number 9.0, too."""

    def has(columns: Mapping[str, Scalar], name: str) -> bool:
        value = columns.get(name)
        if isinstance(value, float) and where[name] == f"{value:g}":
            return True
        return str(value) == where[name]

    return [
        task
        for task in tasks
        for columns in (task.columns(),)
        if all(has(columns, name) for name in where)
    ]


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


def _named(task: Task) -> str:
    return ", ".join(f"{label} {value}" for label, value in task.columns().items())


def _only(
    folder: Path, planned: Sequence[Task], found: Sequence[Task], where: Mapping[str, str]
) -> Task:
    """The one run that was found; raises InputError that tells how to choose one."""
    if len(found) == 1:
        return found[0]
    if not planned:
        raise InputError(f"{folder}: a sweep without runs, expected a finished run")
    if not found:
        raise InputError(f"{folder}: no run has these labels; {_unmatched(planned, where)}")
    values = _values(found)
    differ = {name: texts for name, texts in values.items() if len(texts) > 1}
    if not differ:
        raise InputError(f"{folder}: {len(found)} runs have these labels, and differ in none")
    listed = [f"{name}: {_listed([*texts])}" for name, texts in differ.items()]
    told = "; ".join([*listed[:MOST_LABELS], *([*differ][MOST_LABELS:])])
    raise InputError(
        f"{folder}: {len(found)} runs to choose from; which one? They differ in {told}. For example {_example(found, [*differ])}"
    )


def _example(tasks: Sequence[Task], names: Sequence[str]) -> str:
    """Labels that choose the first run, as options; those that are not needed for it are left out."""
    own, options = tasks[0].columns(), []
    for name in names:
        alike = [task for task in tasks if task.columns().get(name) == own.get(name)]
        if len(alike) < len(tasks):
            options.append(f"--where {shlex.quote(f'{name}={own.get(name)}')}")
            tasks = alike
    return " ".join(options)


def _unmatched(planned: Sequence[Task], where: Mapping[str, str]) -> str:
    """The label that no run has, or the values of one that those with the other labels have."""
    known = _values(planned)
    for name in where:
        if name not in known:
            return f"{name}: {meant(name, [*known])}"
    for name in where:
        others = with_labels(planned, {key: value for key, value in where.items() if key != name})
        if others:
            return f"{name} is {_listed([*_values(others)[name]])} in those with the others"
    return "each label alone has some"


def _values(tasks: Sequence[Task]) -> dict[str, dict[str, None]]:
    """Labels of runs, each with its values as texts, in the order of the runs."""
    columns = [task.columns() for task in tasks]
    names = dict.fromkeys(name for each in columns for name in each)
    return {name: dict.fromkeys(str(each.get(name)) for each in columns) for name in names}


def _listed(texts: Sequence[str]) -> str:
    texts = [repr(text) if "," in text else text for text in texts]
    shown = ", ".join(texts[:MOST_VALUES])
    return f"{shown}, .. {texts[-1]}" if len(texts) > MOST_VALUES else shown
