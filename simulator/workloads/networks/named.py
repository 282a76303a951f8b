"""The ten networks of Table 4, the servers that they run on, and how CPUs and memory speed them up.

Tables: ``data/synergy_*.csv`` (sources there).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from simulator.errors import InputError
from simulator.files.bundled import data_path, rows_of
from simulator.model.cluster import Cluster, NodeType
from simulator.model.performance import SensitivityMatrix
from simulator.model.workload import Workload
from simulator.workloads.tables import InputColumn, Table

TASKS = ("image", "language", "speech")
"""The order of the shares in a workload split such as (20, 70, 10)."""

SERVER = NodeType("server", "V100", 8, cpus=24, memory_gb=500)
"""The server of Section 5.1: 8 GPUs, 24 CPUs, 500 GB."""

SENSITIVITY = (
    InputColumn("model", "", "network", "text"),
    InputColumn("cpus_per_gpu", "", "CPUs for each GPU", "number"),
    InputColumn("memory_gb_per_gpu", "GB", "memory for each GPU", "number"),
    InputColumn("relative_throughput", "", "speed relative to 3 CPUs and 62.5 GB", "number"),
)
"""Columns of a table of sensitivity."""


@dataclass(frozen=True)
class DnnModel:
    """One of the ten networks of Table 4.

    Attributes
    ----------
    name, title, alias : short name, the paper's spelling, another accepted spelling.
    task, dataset : what it is trained for, and on.
    iteration_time_s : one iteration at 3 CPUs and 62.5 GB per GPU, s.
    """

    name: str
    title: str
    alias: str
    task: str
    dataset: str
    iteration_time_s: float


def server(cpus_per_gpu: float = 3.0) -> NodeType:
    """The paper's server with another CPU:GPU ratio (Figure 12 has 4, 5 and 6)."""
    return replace(SERVER, cpus=SERVER.gpus * cpus_per_gpu)


def cluster(num_nodes: int, cpus_per_gpu: float = 3.0) -> Cluster:
    """``num_nodes`` of the paper's servers: 16 make its 128 GPUs, 64 its 512."""
    return Cluster.of_nodes(server(cpus_per_gpu), num_nodes)


@cache
def dnn_models() -> Mapping[str, DnnModel]:
    """The ten networks by name, in the order in which traces take turns."""
    return {
        row["model"]: DnnModel(
            row["model"], row["title"], row["alias"], row["task"], row["dataset"],
            float(row["iteration_time_s"]),
        )
        for row in rows_of("synergy_models.csv")
    }  # fmt: skip


@cache
def sensitivity_matrices() -> Mapping[str, SensitivityMatrix]:
    """The published matrices, relative to 3 CPUs and 62.5 GB per GPU, by network."""
    return read_sensitivity(data_path("synergy_sensitivity.csv"))


def read_sensitivity(path: str | Path) -> dict[str, SensitivityMatrix]:
    """Matrices from a CSV file with the columns `SENSITIVITY`.

    Raises InputError: a missing column or point, a value that is no number, a point given twice, or a
    matrix that `SensitivityMatrix` refuses.
    """
    points: dict[str, dict[tuple[float, float], float]] = {}
    table = Table.read(path, SENSITIVITY)
    columns = [table.numbers(c.name).tolist() for c in SENSITIVITY[1:]]
    rows = zip(table.lines.tolist(), table.texts("model"), *columns, strict=True)
    for line, model, cpus, memory_gb, value in rows:
        of_model = points.setdefault(model, {})
        if (cpus, memory_gb) in of_model:
            raise InputError(
                f"{path}, line {line}: {model} at {cpus:g} CPUs and {memory_gb:g} GB occurs "
                "twice, expected each point once"
            )
        of_model[cpus, memory_gb] = value
    return {model: _matrix(of_model, f"{path}: {model}") for model, of_model in points.items()}


def _matrix(points: Mapping[tuple[float, float], float], where: str) -> SensitivityMatrix:
    cpus = sorted({c for c, _ in points})
    memory_gb = sorted({m for _, m in points})
    for c in cpus:
        for m in memory_gb:
            if (c, m) not in points:
                raise InputError(f"{where}: no value at {c:g} CPUs and {m:g} GB, expected a grid")
    values = np.array([[points[c, m] for m in memory_gb] for c in cpus])
    try:
        return SensitivityMatrix(np.array(cpus), np.array(memory_gb), values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def dnn_model_name(name: str) -> str:
    """The short name of a network, by any of its spellings; `InputError` for others."""
    found = _spellings().get(name.strip().lower())
    if found is None:
        raise InputError(f"model is {name!r}, expected one of {', '.join(dnn_models())}")
    return found


def dnn_models_of(workload: Workload, known: Callable[[str], str] = dnn_model_name) -> list[str]:
    """The network of each job by its short name; `InputError` for the first job without one.

    Parameters
    ----------
    known : the short name of a network, `InputError` for an unknown one.
    """
    found: dict[str, str] = {}
    for job, name in enumerate(workload.model):
        if name not in found:
            try:
                found[name] = known(name)
            except InputError as error:
                raise InputError(f"job {workload.job_id[job]!r}: {error}") from None
    return [found[name] for name in workload.model]


@cache
def _spellings() -> Mapping[str, str]:
    return {
        spelling.lower(): n.name
        for n in dnn_models().values()
        for spelling in (n.name, n.title, n.alias)
        if spelling
    }


def models_of_split(num_jobs: int, split: Sequence[float]) -> list[str]:
    """A network for each job: the task furthest behind its share, its networks in turn.

    Raises InputError: the split is not three shares >= 0 with a positive sum.
    """
    share = np.array(split, dtype=np.float64)
    if share.shape != (len(TASKS),) or not (share >= 0).all() or not share.sum() > 0:
        raise InputError(
            f"split is {tuple(split)}, expected three shares >= 0: image, language, speech"
        )
    share /= share.sum()
    of_task = [[n.name for n in dnn_models().values() if n.task == task] for task in TASKS]
    shares = share.tolist()
    given = [0] * len(TASKS)
    models = []
    for job in range(1, num_jobs + 1):
        # In whole billionths: equal deficits stay equal whatever rounding does.
        lag = [round((s * job - g) * 1e9) for s, g in zip(shares, given, strict=True)]
        task = lag.index(max(lag))
        of = of_task[task]
        models.append(of[given[task] % len(of)])
        given[task] += 1
    return models
