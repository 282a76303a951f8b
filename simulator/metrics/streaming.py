"""Records of a long simulation go to Parquet files while it runs, a block of rows at a time.

    simulate(workload, cluster, policy, stream_to="out")

leaves ``jobs.parquet``, ``decisions.parquet`` and, where the schedule is recorded,
``schedule.parquet``, with the columns of the tables of the same names. What a decision says of
itself is one column of JSON, ``facts``. In memory there is one block of each.

The files have random names until the simulation has ended (`simulator.outputs`): what has its name is
whole.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simulator.core.records import DecisionLog, ScheduleLog, ShareRecord
from simulator.errors import InputError
from simulator.metrics.result import Result
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.outputs import created_beside

ROWS = 65_536
"""Rows of a block."""

NAMES = ("jobs", "decisions", "schedule")

_DECISIONS = pa.schema(
    [
        ("time_s", pa.float64()), ("controller", pa.int64()), ("active", pa.int64()),
        ("cpu_s", pa.float64()), ("again_s", pa.float64()), ("facts", pa.string()),
    ]
)  # fmt: skip


class _File(NamedTuple):
    """A file in the making."""

    temporary: Path
    content: IO[bytes]
    writer: pq.ParquetWriter


def _close(file: _File) -> Exception | None:
    """Write the end of a file; answers what went wrong."""
    try:
        file.writer.close()
        file.content.close()
    except Exception as error:
        file.writer.is_open = False  # else pyarrow tries again when it throws the writer away
        return error
    return None


class RecordStream:
    """The files of one simulation; a context that throws them away where it ends in an error.

    Parameters
    ----------
    folder : made where it does not exist.

    Raises
    ------
    InputError
        The folder cannot be made, or holds such records already.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be made ({error.strerror}), expected a folder"
            ) from None
        for name in NAMES:
            if self._path(name).exists():
                raise InputError(
                    f"{self._path(name)}: exists already, expected a folder without it"
                )
        self._files: dict[str, _File] = {}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def write(self, name: str, table: pa.Table) -> None:
        """Append a block to one of the files."""
        file = self._files.get(name)
        if file is None:
            temporary, content = created_beside(self._path(name))
            writer = pq.ParquetWriter(content, table.schema, write_page_checksum=True)
            self._files[name] = file = _File(temporary, content, writer)
        file.writer.write_table(table)

    def __enter__(self) -> RecordStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.ExitStack() as left_behind:
            for temporary, content, _ in self._files.values():
                left_behind.callback(temporary.unlink, missing_ok=True)
                left_behind.enter_context(content)
            failures = [e for file in self._files.values() if (e := _close(file)) is not None]
            if kind is not None:
                return
            if failures:
                raise failures[0]
            for name, (temporary, _, _) in self._files.items():
                temporary.rename(self._path(name))

    def finish(self, result: Result) -> None:
        """Write what is left when the simulation has ended."""
        decisions, schedule = result.decisions, result.schedule
        assert isinstance(decisions, StreamedDecisions)
        decisions.write()
        if isinstance(schedule, StreamedSchedule):
            schedule.write()
        columns = result.job_columns()
        for first in range(0, len(result.workload), ROWS):
            rows = slice(first, first + ROWS)
            block = {
                "job_id": list(result.workload.job_id[rows]),
                **{name: column[rows] for name, column in columns.items()},
            }
            self.write("jobs", pa.table(block))


class StreamedDecisions(DecisionLog):
    """Decisions of which only the last are in memory."""

    def __init__(self, stream: RecordStream) -> None:
        super().__init__()
        self._stream = stream
        self._written = 0
        self._cpu_s = 0.0
        self._has_cpu_s = False

    def __len__(self) -> int:
        return self._written + len(self.time_s)

    def mean_cpu_s(self) -> float | None:
        """Over all decisions, where it was measured."""
        return self._cpu_s / len(self) if self._has_cpu_s else None

    def add(self, time_s: float, controller: int, active: int) -> None:
        """One more decision; a full block of those before it is written."""
        times_s = self.time_s
        if len(times_s) >= ROWS:
            self.write()
        times_s.append(time_s)
        self.controller.append(controller)
        self.active.append(active)

    def write(self) -> None:
        """Write what is in memory."""
        count, first = len(self.time_s), self._written
        facts = {row: json.dumps(dict(told)) for row, told in self.info.items()}
        if self.cpu_s:
            self._has_cpu_s = True
            self._cpu_s += sum(self.cpu_s)
        rows = range(first, first + count)
        columns: list[Any] = [
            np.array(self.time_s), np.array(self.controller), np.array(self.active), self.cpu_s,
            [self.again_s.get(r) for r in rows] if self.again_s else (),
            [facts.get(r) for r in rows] if facts else (),
        ]  # fmt: skip
        arrays = [
            pa.array(column, f.type) if len(column) or not count else pa.nulls(count, f.type)
            for column, f in zip(columns, _DECISIONS, strict=True)
        ]
        self._stream.write("decisions", pa.table(arrays, schema=_DECISIONS))
        self._written += count
        self.info.clear()
        self.again_s.clear()
        for column in (self.time_s, self.controller, self.active, self.cpu_s):
            del column[:]


class StreamedSchedule(ScheduleLog):
    """A schedule of which only the last shares are in memory."""

    def __init__(self, stream: RecordStream, workload: Workload, cluster: Cluster) -> None:
        super().__init__(cluster.node_type_of)
        self._stream = stream
        self._job_id = pa.array(workload.job_id, pa.string())
        self._types = pa.array([t.name for t in cluster.node_types], pa.string())
        self._written = 0

    def __len__(self) -> int:
        return self._written + super().__len__()

    def _spread(self) -> None:
        super()._spread()
        if len(self._columns["job"]) >= ROWS:
            self.write()

    def write(self) -> None:
        """Write what is in memory."""
        super()._spread()
        taken: dict[str, array[Any]] = self._columns
        columns: dict[str, Any] = {"job_id": self._job_id.take(pa.array(np.array(taken["job"])))}
        for name in ShareRecord._fields[1:]:
            columns[name] = np.array(taken[name])
        columns["node_type"] = self._types.take(pa.array(columns["node_type"]))
        self._stream.write("schedule", pa.table(columns))
        self._written += len(taken["job"])
        for column in taken.values():
            del column[:]
