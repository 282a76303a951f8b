"""Contents of the folder of a page beside its figures, so that it can be drawn again without its runs.

    runs.parquet            one row a run: function, labels, scalars
    measured.parquet        the same rows: what was measured on the machine that ran them
    tables/<name>.parquet   what figures and rows need of tables of runs (`experiments.sweep.results.kept`)

Numbers have nine digits.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.files import replacing, write_whole
from experiments.report.contents import RUNS
from experiments.sweep.export import MEASURED
from experiments.sweep.results import NotKept, Results
from experiments.sweep.store import Run
from experiments.sweep.task import Scalar, Task
from simulator.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

MEASURED_RUNS = "measured.parquet"
TABLES = "tables"


class KeptRuns:
    """The kept runs of a page, by the keys of the tasks that they are runs of.

    A row is the run of a task with its function and its labels. A label that the file has no column
    for is passed over; where it tells tasks apart, none of them has a run.

    Raises
    ------
    InputError
        A file cannot be read as Parquet.
    """

    def __init__(self, folder: Path, tasks: Sequence[Task]) -> None:
        runs, measured = _read(folder / RUNS), folder / MEASURED_RUNS
        if measured.exists():
            runs = runs.join(_read(measured))
        rows: list[Any] = runs.to_dict("records")
        self._runs = {
            task.key: _run(task, rows[position])
            for task, position in _matched(rows, set(runs.columns), tasks)
        }

    def run(self, key: str) -> Run | None:
        """The run of a task; None where it is not kept."""
        return self._runs.get(key)

    def table(self, key: str, name: str) -> DataFrame:
        """Tables of single runs are not kept: raises `NotKept`."""
        raise NotKept(f"table {name!r} of the run {key[:12]} is not kept")


def kept_results(folder: Path, tasks: Sequence[Task], scale: str) -> Results:
    """Numbers that a page's folder keeps of the runs of these tasks; raises as `KeptRuns`."""
    tables = {path.stem: _read(path) for path in sorted((folder / TABLES).glob("*.parquet"))}
    return Results(KeptRuns(folder, tasks), tasks, scale, tables)


def write_results(results: Results, folder: Path) -> None:
    """Keep the runs of a page and what was made of their tables.

    Measurements of the machine have a file of their own: the rest is the same wherever it is computed.
    """
    table = results.scalars()
    if "function" not in table:
        table.insert(0, "function", [_name(task) for task in results.tasks])
    measured = [name for name in table.columns if name.endswith(MEASURED)]
    _write(table.drop(columns=measured), folder / RUNS)
    _write(table[measured].copy(), folder / MEASURED_RUNS)
    shutil.rmtree(folder / TABLES, ignore_errors=True)
    for name, made in results.tables.items():
        _write(made.copy(), folder / TABLES / f"{name}.parquet")


def digest(folder: Path) -> str:
    """Twelve hex digits of the kept runs, without what was measured on the machine: the same wherever they are computed."""
    return hashlib.sha256(_read(folder / RUNS).to_csv(index=False).encode()).hexdigest()[:12]


def copy_kept(folder: Path, to: Path) -> None:
    """Copy what a page's folder keeps of its runs into another."""
    shutil.rmtree(to / TABLES, ignore_errors=True)
    for path in folder.rglob("*.parquet"):
        copied = to / path.relative_to(folder)
        copied.parent.mkdir(exist_ok=True)
        write_whole(copied, path.read_bytes())


def _write(table: DataFrame, path: Path) -> None:
    for name in table.select_dtypes("float"):
        table[name] = [float(f"{value:.9g}") for value in table[name]]
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as file:
        table.to_parquet(file, index=False, compression="zstd")


def _read(path: Path) -> DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read as Parquet ({why})") from None


def _run(task: Task, row: Mapping[str, Any]) -> Run:
    hidden = {"function", *task.columns()}
    scalars = {k: v for k, v in row.items() if k not in hidden and _rounded(v) is not None}
    cpu_s = float(scalars.pop("run_cpu_s", math.nan))
    return Run(task.key, "done", scalars, {}, "", True, cpu_s, math.nan)


def _matched(
    rows: Sequence[Mapping[str, Any]], columns: Set[str], tasks: Sequence[Task]
) -> Iterator[tuple[Task, int]]:
    """Tasks and the positions of their rows."""
    alike: dict[tuple[str, ...], dict[tuple[Scalar, ...], list[Task]]] = {}
    for task in tasks:
        names = ("function", *(name for name in task.columns() if name in columns))
        labels = {"function": _name(task)} | task.columns()
        group = alike.setdefault(names, defaultdict(list))
        group[tuple(_rounded(labels[name]) for name in names)].append(task)
    for names, of_labels in alike.items():
        for position, row in enumerate(rows):
            fitting = of_labels.get(tuple(_rounded(row.get(name)) for name in names), [])
            if len(fitting) == 1:
                yield fitting[0], position


def _name(task: Task) -> str:
    return task.function.partition(":")[2]


def _rounded(value: Scalar) -> Scalar:
    """A label as it is kept: nine digits, None where there is none."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.9g}")
    return value
