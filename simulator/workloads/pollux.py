"""Workloads and tables in the format of Pollux's simulator (petuum/adaptdl).

A workload has one job a line, ``name,time,application,num_replicas,batch_size``: when it is submitted (s), what it
trains, and on how many GPUs with which batch size its user would run it. A folder of tables has for each
application:

    APPLICATION_placements.csv    placement,local_bsz,step_time,sync_time      placement 124: 1, 2 and 4 GPUs of 3 nodes
    APPLICATION_scalability.csv   num_nodes,num_replicas,local_bsz,step_time,sync_time
    APPLICATION_validation-B.csv  progress,iteration,metric,grad_sqr,grad_var  one line an epoch, at batch size B

or, as released, a folder ``APPLICATION`` with ``placements.csv``, ``scalability.csv`` and ``validation-B.csv``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, cast

import numpy as np
from pydantic import Field

from simulator.errors import InputError
from simulator.files.bundled import read_table
from simulator.files.keys import InputFile, KeyedError, PositiveInt
from simulator.model.cluster import FloatArray
from simulator.model.goodput import Application, Goodput, Ring, canonical
from simulator.model.workload import Workload
from simulator.workloads.machines import StandingServers
from simulator.workloads.selection import Selected
from simulator.workloads.table import Setting
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import by_submission

JOBS = (
    InputColumn("name", "", "name of the job", "text", unique=True),
    InputColumn("time", "s", "time of submission", "number", at_least=0),
    InputColumn("application", "", "trained network, with tables beside the file", "text"),
    InputColumn("num_replicas", "", "GPUs that the user asks for", "integer", at_least=1),
    InputColumn(
        "batch_size", "samples", "batch size that the user asks for", "integer", at_least=1
    ),
)
_LOCAL = InputColumn("local_bsz", "samples", "batch size of a GPU", "number", more_than=0)
_STEP = InputColumn("step_time", "s", "time of a step", "number", more_than=0)
_SYNC = InputColumn("sync_time", "s", "time of the exchange of gradients", "number", at_least=0)
PLACEMENTS = (
    InputColumn("placement", "", "GPUs of each node, a digit a node", "text"), _LOCAL, _STEP, _SYNC
)  # fmt: skip
SCALABILITY = (
    InputColumn("num_nodes", "", "nodes", "number", at_least=0),
    InputColumn("num_replicas", "", "GPUs", "number", at_least=0),
    _LOCAL, _STEP, _SYNC,
)  # fmt: skip
VALIDATION = (
    InputColumn("progress", "", "share of the training that is done", "number", at_least=0),
    InputColumn("iteration", "", "steps until then", "number", at_least=0),
    InputColumn("grad_sqr", "", "squared norm of the gradient", "number", at_least=0),
    InputColumn("grad_var", "", "variance of the gradient", "number", at_least=0),
)

MAX_LOCAL = {"yolov3": 8}
"""Largest local batch sizes below those of the tables: yolov3's spread over nodes was measured up to 8 only,
and the published results follow from 8."""
KEPT_BATCH = ("ncf",)
"""Applications whose jobs keep their users' batch sizes: under Pollux every published job of ncf runs for 47 s at
its user's batch size, from its first second on."""


TABLES_OF = "T4"
"""The type of GPU that the released tables were measured on."""


class PolluxJobs(Selected):
    """Jobs whose speed comes from tables of goodput, in the format of Pollux's simulator.

    On servers with a ``gpu_type`` times are the tables' over the speed of the type (`speeds`). They are in order of submission; `Workload.num_gpus` is what the user asks for, `Workload.model` the
    application, and the performance model a `Goodput`.
    """

    kind: Literal["pollux"] = "pollux"
    path: InputFile = Field(examples=["workload.csv"])
    """workload in the format of Pollux's simulator, or a folder with one"""
    tables: InputFile | None = Field(default=None, examples=["traces"])
    """folder of the tables of step times and gradient noise, flat or a folder for each application; left out: that of the workload, or `traces` in it or beside it"""
    max_local: dict[str, PositiveInt] | None = Field(default=None, examples=[{"yolov3": 8}])
    """largest local batch size of an application; left out: the largest measured"""
    kept_batch: list[str] | None = Field(default=None, examples=[["ncf"]])
    """applications whose jobs keep their users' batch sizes under every policy"""

    file_keys = ("tables",)
    of_machines = True

    def make(self, setting: Setting) -> Workload:
        """The jobs.

        Raises InputError: the first thing wrong with a file, an application without tables, or a type of GPU without
        speeds.
        """
        path = _one_workload(Path(self.path))
        own = path.absolute().parent
        folders = (
            [own, own / "traces", own.parent / "traces"]
            if self.tables is None
            else [Path(self.tables)]
        )
        rows = Table.of_file(path, JOBS)
        jobs, notes = rows.readable(lambda table: self._jobs(table, folders), self.skip)
        jobs = self.selected(jobs.noted(*notes))
        return (
            on_servers(jobs, setting.machines)
            if isinstance(setting.machines, StandingServers)
            else jobs
        )

    def _jobs(self, table: Table, folders: Sequence[Path]) -> Workload:
        limits = MAX_LOCAL if self.max_local is None else self.max_local
        kept = KEPT_BATCH if self.kept_batch is None else self.kept_batch
        names = table.texts("application")
        gpus, batch = table.whole_numbers("num_replicas"), table.whole_numbers("batch_size")
        submit_s = table.numbers("time")
        found: dict[str, Application] = {}
        for row, name in enumerate(names):
            if name not in found:
                folder = _folder_of(table, row, name, folders)
                found[name] = read_application(folder, name, limits.get(name), name in kept)
        for row, name in enumerate(names):
            _check_batch(table, row, found[name], int(gpus[row]), int(batch[row]))
        index = {name: i for i, name in enumerate(found)}
        application = np.array([index[name] for name in names])
        times = Goodput(list(found.values()), application, batch, num_gpus=gpus)
        known = ", ".join(sorted(found))
        notes = (
            f"workload.{key}: no job trains {name!r}; the applications are {known}"
            for key, given in (("max_local", self.max_local), ("kept_batch", self.kept_batch))
            for name in given or ()
            if name not in found
        )
        ids = table.texts("name")
        return by_submission(table.path, "time", submit_s, times, [*notes], job_id=ids, model=names)

    @property
    def is_fixed(self) -> bool:
        """Always."""
        return True


@cache
def speeds() -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """Speeds of gradients and of their synchronisation over those on a T4, by type of GPU and application.

    Ratios of measured steps on 4 GPUs of 2 nodes, ``data/goodput_gpu_times.csv``: geometric means over batch sizes.
    """
    times = read_table("goodput_gpu_times.csv")
    times["gradient_s"] = times["step_s"] - times["sync_s"]
    times = times.set_index(["gpu_type", "application"])[["gradient_s", "sync_s"]].map(math.log)
    mean = times.groupby(level=[0, 1]).mean()
    found: dict[str, dict[str, tuple[float, float]]] = {}
    rows: dict[tuple[str, str], tuple[float, float]] = {r[0]: r[1:] for r in mean.itertuples()}
    for (gpu_type, name), here in rows.items():
        gradient, sync = (a - b for a, b in zip(rows[TABLES_OF, name], here, strict=True))
        found.setdefault(gpu_type, {})[name] = math.exp(gradient), math.exp(sync)
    return found


def on_servers(jobs: Workload, servers: StandingServers) -> Workload:
    """Jobs of goodput with tables for each kind of servers that names its GPUs; without, the tables are of them.

    Raises InputError: a type, or an application on it, without `speeds`.
    """
    groups = servers.groups_by_key()
    if not any(group.gpu_type for group in groups.values()):
        return jobs
    model = cast(Goodput, jobs.performance)
    by_type = []
    for key, group in groups.items():
        of = speeds().get(group.gpu_type or TABLES_OF)
        if of is None:
            known = ", ".join(speeds())
            raise KeyedError(f"{key}.gpu_type", f"got {group.gpu_type!r}, expected one of {known}")
        if without := [app.name for app in model.applications if app.name not in of]:
            raise KeyedError(
                f"{key}.gpu_type", f"no speed of {without[0]} is known, expected no gpu_type"
            )
        by_type.append([app.on_gpus(*of[app.name]) for app in model.applications])
    node_type_of = servers.cluster().node_type_of or ()
    first, *others = by_type
    times = replace(
        model,
        applications=first,
        on_other_types=others,
        node_type_of=node_type_of if others else (),
    )
    return replace(jobs, performance=times)


def _folder_of(table: Table, row: int, name: str, folders: Sequence[Path]) -> Path:
    """The first of the folders that has the tables of an application."""
    if re.fullmatch(r"[\w.-]*\w", name):
        for folder in folders:
            if _file(folder, name, "placements").is_file():
                return folder
    expected = f"one with tables {name}_placements.csv or {name}/placements.csv in {folders[0]}"
    raise table.error(row, "application", expected)


def _one_workload(path: Path) -> Path:
    """The file, or the only workload of a folder."""
    if not path.is_dir():
        return path
    found = sorted(path.glob("workload*.csv"))
    if len(found) != 1:
        raise InputError(
            f"{path}: {len(found)} files workload*.csv, expected one, or a file's name"
        )
    return found[0]


def read_application(
    folder: str | Path, name: str, max_local: int | None = None, keeps_batch: bool = False
) -> Application:
    """The tables of one application.

    Raises
    ------
    InputError
        The first thing wrong with a file, none of batch sizes, or batch sizes of different epochs.
    """
    folder = Path(folder)
    sizes, tables = [], []
    flat = _file(folder, name, "validation-*")
    for path in sorted(flat.parent.glob(flat.name)):
        number = re.fullmatch(r".*-(\d+)\.csv", path.name)
        if number is not None:
            sizes.append(int(number.group(1)))
            tables.append(Table.read(path, VALIDATION))
    if not sizes:
        raise InputError(f"{flat.parent}: no {flat.name}, expected one a batch size")
    epochs = {len(table) for table in tables}
    if len(epochs) > 1:
        raise InputError(
            f"{folder}: {name}_validation files have {min(epochs)} to {max(epochs)} rows, expected "
            "the same number of epochs in all"
        )
    order = np.argsort(sizes)

    def rows(column: str) -> FloatArray:
        return np.array([tables[i].numbers(column) for i in order])

    spread = Table.read(_file(folder, name, "scalability"), SCALABILITY)
    return Application(
        name=name,
        batch_sizes=np.array(sizes)[order],
        progress=rows("progress"),
        iterations=rows("iteration"),
        grad_sqr=rows("grad_sqr"),
        grad_var=rows("grad_var"),
        by_ring=_placements(_file(folder, name, "placements")),
        spread=np.column_stack([spread.numbers(column.name) for column in SCALABILITY]),
        max_local=max_local,
        keeps_batch=keeps_batch,
    )


def _file(folder: Path, name: str, kind: str) -> Path:
    """A table beside those of other applications, or in the application's own folder."""
    is_flat = (folder / f"{name}_placements.csv").is_file()
    return folder / (f"{name}_{kind}.csv" if is_flat else f"{name}/{kind}.csv")


def _placements(path: Path) -> dict[Ring, tuple[FloatArray, FloatArray]]:
    """Local batch sizes and times of each ring of nodes."""
    table = Table.read(path, PLACEMENTS)
    rings = table.texts("placement")
    good = np.array([re.fullmatch("[1-9]+", ring) is not None for ring in rings])
    table.require("placement", good, "one digit 1 to 9 a node")
    local = table.numbers("local_bsz")
    times = np.column_stack([table.numbers("step_time"), table.numbers("sync_time")])
    found = {}
    for text in dict.fromkeys(rings):
        mine = np.array([ring == text for ring in rings])
        order = np.argsort(local[mine], kind="stable")
        found[canonical(tuple(map(int, text)))] = (local[mine][order], times[mine][order])
    return found


def _check_batch(table: Table, row: int, app: Application, gpus: int, batch: int) -> None:
    """`InputError` unless the batch size was measured, and fits the GPUs."""
    if not app.initial <= batch <= app.largest:
        raise table.error(row, "batch_size", f"{app.initial} to {app.largest}, what was measured")
    most = batch // app.smallest_local
    if gpus > most:
        raise table.error(
            row,
            "num_replicas",
            f"at most {most} GPUs for a batch size of {batch}, at least {app.smallest_local} a GPU",
        )
