"""Rows of a schedule as columns of numbers, from a file or from the table of a run.

Files come through the reader of all files of jobs (`simulator.workloads.tables`): its limits hold here, too.
Each column becomes numbers once; nothing after this module sees a text of the file but in a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.fractional import shares_gpus
from simulator.model.workload import Workload
from simulator.workloads.tables import InputColumn, Table

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES, MOST_BYTES_A_JOB = 32 * 2**20, 20_000
"""Of a schedule, compressed or not: 32 MiB, or so many for each job of the task where that is more."""
LATEST_S = 1e10
"""A later time (300 years) is a mistake: nodes would go down for ever until then."""
UNKNOWN = -1
"""Index of a job or a type that the task does not have."""
GPU_IDS = InputColumn("gpu_ids", "", "numbers of its GPUs, 0 3", "text", required=False, empty="")
_NUMBERS = re.compile(r"\d{1,6}( \d{1,6})*", re.ASCII)


@dataclass(frozen=True)
class HeldShares:
    """``R`` rows: each a share of a node that a job held from a time to another.

    Attributes
    ----------
    job, node, kind : ``(R,)`` indices of the job, the node and the node's type; `UNKNOWN`: there is none of this name.
    gpus, cpus, memory_gb, start_s, end_s : ``(R,)``; 0 CPUs and GB where they are not limited.
    gpu_ids : ``(R,)`` numbers of the GPUs on the node; empty where the row names none.
    row, line : a word for a row, and ``(R,)`` its number, for messages.
    name, type_name : ``(R,)`` names of job and node type as they are given, for messages.
    """

    job: IntArray
    node: IntArray
    kind: IntArray
    gpus: FloatArray
    cpus: FloatArray
    memory_gb: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    gpu_ids: Sequence[tuple[int, ...]]
    row: str
    line: IntArray
    name: Sequence[str]
    type_name: Sequence[str]

    @property
    def amounts(self) -> FloatArray:
        """``(R, 3)`` GPUs, CPUs and GB."""
        return np.column_stack([self.gpus, self.cpus, self.memory_gb])


def columns_for(workload: Workload, cluster: Cluster) -> tuple[InputColumn, ...]:
    """The columns that a schedule of these jobs on these machines has to have, and may have; others are not read."""
    amounts = tuple(
        InputColumn(name, unit, "of this node", "number", at_least=0)
        for name, unit in (("cpus", ""), ("memory_gb", "GB"))
        if name in cluster.limited_resources
    )
    has_types = cluster.is_configurable
    return (
        InputColumn("job_id", "", "name of the job", "text"),
        InputColumn("node", "", "node, counted from 0", "integer", at_least=0),
        InputColumn("node_type", "", "type of the node", "text", required=has_types, empty=None if has_types else ""),
        InputColumn("gpus", "", "GPUs of this node", "number", more_than=0),
        *amounts,
        InputColumn("start_s", "s", "from when", "number", at_least=0, below=LATEST_S),
        InputColumn("end_s", "s", "until when", "number", at_least=0, below=LATEST_S, not_before="start_s"),
        *([GPU_IDS] if shares_gpus(workload) else []),
    )  # fmt: skip


def read_shares(source: Path | pd.DataFrame, workload: Workload, cluster: Cluster) -> HeldShares:
    """The rows of a CSV file (also .gz) or of a table.

    Raises
    ------
    InputError
        The file cannot be read or is too large, a column is missing, or a value is none; one line.
    """
    columns = columns_for(workload, cluster)
    if isinstance(source, Path):
        most = max(MOST_BYTES, MOST_BYTES_A_JOB * len(workload))
        table = Table.read(source, columns, most=most)
    else:
        texts = {
            c.name: _texts(source[c.name]) for c in columns if c.type == "text" and c.name in source
        }
        lines = np.arange(1, len(source) + 1)
        table = Table(Path("schedule"), columns, source.assign(**texts), lines, row="row")
    if not len(table):
        raise InputError(f"{table.path}: has no rows, expected at least one")
    names, type_names = table.texts("job_id"), table.texts("node_type")
    node = table.whole_numbers("node")
    amounts = {
        name: table.numbers(name) if name in cluster.limited_resources else np.zeros(len(table))
        for name in ("cpus", "memory_gb")
    }
    return HeldShares(
        _indices(names, workload.job_id), node, _kinds(node, type_names, cluster), table.numbers("gpus"),
        amounts["cpus"], amounts["memory_gb"], table.numbers("start_s"), table.numbers("end_s"),
        _gpu_ids(table), table.row, table.lines, names, type_names,
    )  # fmt: skip


def _texts(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype(object).where(column.notna(), "").astype(str)


def _indices(names: Sequence[str], known: Sequence[str]) -> IntArray:
    index = {name: i for i, name in enumerate(known)}
    return np.array([index.get(name, UNKNOWN) for name in names], dtype=np.int64)


def _kinds(node: IntArray, type_names: Sequence[str], cluster: Cluster) -> IntArray:
    """Type of each row's node: that of the row where nodes have none of their own."""
    if cluster.node_type_of is None:
        return _indices(type_names, [t.name for t in cluster.node_types])
    known = np.append(np.array(cluster.node_type_of, dtype=np.int64), UNKNOWN)
    return np.asarray(known[np.minimum(node, cluster.num_nodes)])


def _gpu_ids(table: Table) -> list[tuple[int, ...]]:
    if GPU_IDS not in table.columns:
        return [()] * len(table)
    texts: list[Any] = table.texts("gpu_ids")
    parsed: dict[str, tuple[int, ...]] = {"": ()}
    for row, text in enumerate(texts):
        if text not in parsed:
            if not (isinstance(text, str) and _NUMBERS.fullmatch(text)):
                raise table.error(row, "gpu_ids", "numbers of GPUs, such as 0 or 0 3")
            parsed[text] = tuple(map(int, text.split()))
    return [parsed[text] for text in texts]
