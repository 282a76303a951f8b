"""Instances in the public formats of the papers' authors: a folder of CSV files.

- 2020 and 2021 (GPUs as a service): job list, times by VM type and number of GPUs, number of
  nodes; the nodes may become any VM type that the times name.
- ANDREAS: nodes of fixed types, times by GPU type, energy cost by GPU type and GPUs in use.

Which one it is follows from the files. Deadlines are absolute, costs are per hour, weights per
second. Known flaws of the public files are mended and noted in `Workload.notes`: rows that occur
twice, keys with two times (the later one counts, as in the authors' own cleaning, or the shorter
one, as in what their program does with the file), names and columns that are spelt in several ways.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from simulator.arguments import MOST_GPUS, times_shape
from simulator.errors import InputError
from simulator.files.bundled import records
from simulator.files.keys import InputFile
from simulator.model.cluster import Cluster, FloatArray, NodeType
from simulator.model.performance import TimeTable
from simulator.model.workload import Workload
from simulator.workloads.energy import ENERGY_EUR_PER_KWH, PUE
from simulator.workloads.selection import Selected
from simulator.workloads.table import Redrawn, Setting
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import by_submission

_JOB_ID = InputColumn("UniqueJobsID", "", "name of the job", "text", unique=True, aliases=("ID",))
_GPU_TYPE = InputColumn("GpuType", "", "type of GPU", "text")
_GPUS = InputColumn(
    "GpuNumber", "", "GPUs", "integer", at_least=1, at_most=MOST_GPUS, aliases=("nGPUs",)
)
JOBS = (
    _JOB_ID,
    InputColumn("SubmissionTime", "s", "time of submission", "number", at_least=0),
    InputColumn("Deadline", "s", "due date on the same clock", "number",
                at_least=0, not_before="SubmissionTime"),
    InputColumn("Tardinessweight", "currency/s", "cost of a second of tardiness", "number", at_least=0),
    InputColumn("Application", "", "trained network", "text", required=False, empty=""),
)  # fmt: skip
TIMES = (
    replace(_JOB_ID, unique=False),
    InputColumn("VMtype", "", "VM type; without it, GPU-costs.csv is there", "text", required=False),
    _GPU_TYPE,
    _GPUS,
    InputColumn("maxGpuNumber", "", "GPUs of the VM", "integer",
                required=False, at_least=1, at_most=MOST_GPUS, aliases=("max_nGPUs",)),
    InputColumn("cost", "currency/h", "price of the whole VM", "number", required=False, at_least=0),
    InputColumn("ExecutionTime", "s", "time of the whole job", "number", more_than=0),
    InputColumn("GPUf", "", "part of a GPU; rows of parts are left out", "number",
                required=False, empty=1.0, more_than=0),
)  # fmt: skip
NODES = (
    InputColumn("Nodes", "", "name of the node", "text", aliases=("ID",)),
    replace(_GPU_TYPE, required=False),
    replace(_GPUS, required=False),
)
COSTS = (
    _GPU_TYPE,
    _GPUS,
    InputColumn("cost", "EUR/h", "energy with so many GPUs in use", "number", at_least=0),
    InputColumn("EnergyCost[€/kWh]", "EUR/kWh", "one value for all rows", "number", required=False,
                empty=ENERGY_EUR_PER_KWH, more_than=0, aliases=("EnergyCost",)),
    InputColumn("PUE", "", "power usage effectiveness, one value for all rows", "number",
                required=False, empty=PUE, more_than=0),
)  # fmt: skip


@dataclass(frozen=True)
class ListedTimes(TimeTable):
    """Times of a file that lists several for one configuration; the jobs run by ``times_s``.

    Parameters
    ----------
    shortest_s : ``(J, V, G + 1)`` the shortest of each, by which the authors' greedy chooses.
    """

    shortest_s: FloatArray = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shortest_s", TimeTable(self.shortest_s).times_s)


@dataclass(frozen=True)
class Instance:
    """A workload and the machines that come with it."""

    workload: Workload
    cluster: Cluster


def read_instance(
    folder: str | Path,
    num_controllers: int = 1,
    num_nodes: int | None = None,
    duplicates: Literal["last", "shortest"] = "last",
    skip: bool = False,
) -> Instance:
    """Read an instance folder.

    Parameters
    ----------
    folder : with ``Lof_selectjobs*.csv``, ``SelectJobs_times*.csv``, ``tNodes*.csv`` and, for
        ANDREAS, ``GPU-costs*.csv`` (upper and lower case do not matter).
    num_controllers : ``K``.
    num_nodes : ``N`` instead of the folder's own; of ANDREAS's nodes, the first ``N``.
    duplicates : of several times of one configuration, the ``last`` counts, or the ``shortest``.
        The authors' greedy chooses by the shortest and runs on the last: with ``last`` both are
        kept (`ListedTimes`), and a policy with ``released=true`` does so too.
    skip : whether rows of the job list that cannot be read are left out.

    Raises InputError: a missing file, or the first thing wrong in one.
    """
    folder = Path(folder)
    files = _files(folder)
    jobs, notes = _read_jobs(files["Lof_selectjobs"], skip)
    times = Table.read(files["SelectJobs_times"], TIMES)
    nodes = Table.read(files["tNodes"], NODES)
    if "GPU-costs" in files:
        cluster = _fixed_nodes(nodes, files["GPU-costs"], num_controllers, num_nodes)
        by_type = {
            gpu: [v for v, t in enumerate(cluster.node_types) if t.gpu_type == gpu]
            for gpu in dict.fromkeys(t.gpu_type for t in cluster.node_types)
        }
    else:
        if "VMtype" not in times:
            raise InputError(
                f"{folder}: neither GPU-costs.csv nor a column 'VMtype' in {times.path.name}, "
                "expected one of them"
            )
        cluster = _vm_nodes(times, nodes, num_controllers, num_nodes)
        by_type = {t.name: [v] for v, t in enumerate(cluster.node_types)}
    if duplicates not in ("last", "shortest"):
        raise InputError(f"duplicates is {duplicates!r}, expected last or shortest")
    tables, dropped = _time_tables(jobs, times, cluster, by_type, duplicates)
    return Instance(_workload(jobs, tables, (*notes, *dropped)), cluster)


class InstanceJobs(Selected, Redrawn):
    """A folder in one of the authors' public formats: jobs, catalogue and nodes."""

    kind: Literal["instance"] = "instance"
    path: InputFile = Field(examples=["instances/5-50"])
    """folder in one of the authors' public formats"""

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The jobs and the nodes of the folder."""
        instance = read_instance(self.path, skip=self.skip)
        return self.redrawn(self.selected(instance.workload), setting), instance.cluster


# -- files -----------------------------------------------------------------------------------


def _files(folder: Path) -> dict[str, Path]:
    """The files of an instance by what they begin with."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, expected one in an authors' format")
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.csv")):
        for stem in ("Lof_selectjobs", "SelectJobs_times", "tNodes", "GPU-costs"):
            if path.name.lower().startswith(stem.lower()):
                if stem in found:
                    raise InputError(
                        f"{folder}: both {found[stem].name} and {path.name}, expected one of them"
                    )
                found[stem] = path
    for stem in ("Lof_selectjobs", "SelectJobs_times", "tNodes"):
        if stem not in found:
            raise InputError(f"{folder}: no file {stem}*.csv, expected one")
    return found


# -- jobs ------------------------------------------------------------------------------------


def _read_jobs(path: Path, skip: bool) -> tuple[Table, tuple[str, ...]]:
    """The job list without rows that occur twice, or that cannot be read."""

    def checked(table: Table) -> Table:
        for column in JOBS:
            table.values(column.name)
        return table

    table = Table.of_file(path, JOBS)
    again = table.frame.duplicated().to_numpy(dtype=bool)
    table, notes = table.keep(~again).readable(checked, skip)
    if again.any():
        notes.append(f"{path}: {int(again.sum())} rows that occur twice, dropped")
    return table, tuple(notes)


def _workload(jobs: Table, tables: list[FloatArray], notes: tuple[str, ...]) -> Workload:
    """``tables`` holds the times by which jobs run and, if they differ, the shortest listed."""
    names, submit_s = jobs.texts("UniqueJobsID"), jobs.numbers("SubmissionTime")
    times_s, *shortest_s = tables
    return by_submission(
        jobs.path,
        "SubmissionTime",
        submit_s,
        ListedTimes(times_s, shortest_s=shortest_s[0]) if shortest_s else TimeTable(times_s),
        notes,
        job_id=names,
        due_s=jobs.numbers("Deadline"),
        model=jobs.texts("Application"),
        weight_per_s=jobs.numbers("Tardinessweight"),
    )


# -- machines --------------------------------------------------------------------------------


def _vm_nodes(times: Table, nodes: Table, num_controllers: int, num_nodes: int | None) -> Cluster:
    """VMs of the types that the times name, in the order in which they come."""
    import pandas as pd

    types = pd.DataFrame(
        {
            "name": times.texts("VMtype"),
            "gpu_type": times.texts("GpuType"),
            "gpus": times.whole_numbers("maxGpuNumber"),
            "price": times.numbers("cost"),
        }
    )
    first = types.groupby("name", sort=False).transform("first")
    same = (types[["gpu_type", "gpus", "price"]] == first[["gpu_type", "gpus", "price"]]).to_numpy()
    for column, good in zip(("GpuType", "maxGpuNumber", "cost"), same.T, strict=True):
        times.require(column, good, "what the file says of this VM type before")
    catalog = [
        NodeType(t["name"], t["gpu_type"], t["gpus"], t["price"])
        for t in records(types.drop_duplicates("name"))
    ]
    return Cluster.of_vms(catalog, num_nodes or len(nodes), num_controllers)


def _fixed_nodes(
    nodes: Table, costs_path: Path, num_controllers: int, num_nodes: int | None
) -> Cluster:
    """ANDREAS's nodes, with the power that gives each energy cost of the file exactly."""
    costs = Table.read(costs_path, COSTS)
    price, pue = _constant(costs, "EnergyCost[€/kWh]"), _constant(costs, "PUE")
    configurations = zip(costs.texts("GpuType"), costs.whole_numbers("GpuNumber"), strict=True)
    per_hour: dict[tuple[str, int], float] = {}
    for row, (configuration, cost) in enumerate(
        zip(configurations, costs.numbers("cost").tolist(), strict=True)
    ):
        if per_hour.setdefault(configuration, cost) != cost:
            expected = f"{per_hour[configuration]:g} as in the row before of these GPUs"
            raise costs.error(row, "cost", expected)
    gpu_types = nodes.texts("GpuType")[:num_nodes]
    gpus = nodes.whole_numbers("GpuNumber")[:num_nodes]
    if num_nodes is not None and num_nodes > len(gpu_types):
        raise InputError(f"{nodes.path}: {len(gpu_types)} nodes, expected at least {num_nodes}")
    kinds = list(dict.fromkeys(zip(gpu_types, gpus.tolist(), strict=True)))
    catalog = []
    for gpu_type, count in kinds:
        missing = [g for g in range(1, count + 1) if (gpu_type, g) not in per_hour]
        if missing:
            raise InputError(
                f"{costs_path}: no cost of {missing[0]} {gpu_type} GPUs in use, expected one for "
                f"each number up to {count}"
            )
        power_w = [per_hour[gpu_type, g] / pue / price * 1000 for g in range(1, count + 1)]
        catalog.append(
            NodeType(f"{count}x{gpu_type}", gpu_type, count, power_w=(0.0, *map(float, power_w)))
        )
    return Cluster(
        tuple(catalog),
        len(gpu_types),
        tuple(kinds.index(k) for k in zip(gpu_types, gpus.tolist(), strict=True)),
        num_controllers,
        currency="EUR",
        energy_price_per_kwh=price,
        pue=pue,
    )


def _constant(table: Table, name: str) -> float:
    """The one value of a column."""
    values = table.numbers(name)
    table.require(name, values == values[0], f"{values[0]:g} as in the first row")
    return float(values[0])


# -- times -----------------------------------------------------------------------------------


def _time_tables(
    jobs: Table,
    times: Table,
    cluster: Cluster,
    by_type: dict[str, list[int]],
    duplicates: Literal["last", "shortest"],
) -> tuple[list[FloatArray], tuple[str, ...]]:
    """``(J, V, G + 1)`` times in the order of the job list, and notes on what was left out.

    ``by_type`` maps what the times file names (VM or GPU type) to node types. A second table has
    the shortest times, where the last ones count and are others.
    """
    notes: list[str] = []
    whole = times.numbers("GPUf") == 1
    if not whole.all():
        notes.append(f"{times.path}: {int(np.sum(~whole))} rows with a share of a GPU, dropped")
        times = times.keep(whole)
    column = "VMtype" if "VMtype" in times else "GpuType"
    gpus, seconds = times.whole_numbers("GpuNumber"), times.numbers("ExecutionTime")
    import pandas as pd

    keys = pd.DataFrame(
        {"job": times.texts("UniqueJobsID"), "type": times.texts(column), "g": gpus}
    )
    index = pd.Series(np.arange(len(jobs)), index=jobs.texts("UniqueJobsID"))
    job = keys["job"].map(index).to_numpy(dtype=float, na_value=np.nan)

    def table(counts: npt.NDArray[np.bool_]) -> FloatArray:
        shape = times_shape(len(jobs), len(cluster.node_types), cluster.max_gpus_per_node)
        made = np.full(shape, np.inf)
        for name, types in by_type.items():
            rows = counts & ~np.isnan(job) & (keys["type"] == name).to_numpy(dtype=bool)
            for v in types:
                fits = rows & (gpus <= cluster.node_types[v].gpus)
                made[job[fits].astype(np.int64), v, gpus[fits]] = seconds[fits]
        return made

    last = ~keys.duplicated(keep="last").to_numpy(dtype=bool)
    slowest_first = np.argsort(-seconds, kind="stable")
    least = np.zeros(len(keys), dtype=bool)
    least[slowest_first] = ~keys.iloc[slowest_first].duplicated(keep="last")
    tables = [table(last), table(least)] if duplicates == "last" else [table(least)]
    if not last.all():
        notes.append(
            f"{times.path}: {int(np.sum(~last))} further times of a configuration, dropped "
            f"(the {duplicates} counts)"
        )
    runs = np.isfinite(tables[0]).any(axis=(1, 2))
    if not runs.all():
        stuck = jobs.texts("UniqueJobsID")[int(np.argmin(runs))]
        raise InputError(
            f"{times.path}: no time of job {stuck!r} on any node type, expected one at least"
        )
    if len(tables) == 2 and np.array_equal(tables[0], tables[1]):
        del tables[1]
    return tables, tuple(notes)
