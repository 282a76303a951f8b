"""Records of a long simulation go to Parquet files while it runs, a block of rows at a time.

    simulate(workload, cluster, policy, stream_to="out")

leaves ``jobs.parquet``, ``decisions.parquet`` and, where the schedule is recorded, ``schedule.parquet``, with the
columns of the tables of the same names; ``timing.parquet`` where decisions are measured. In memory there is one
block of each.

While the simulation runs, notes of decisions are texts of JSON in a file of their own, since which notes there are
is known only at its end. The files have random names until then (`simulator.files.outputs`): a file with its name is whole.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simulator.core.logs import DecisionLog, Facts, ScheduleLog
from simulator.core.record import RunRecord
from simulator.errors import InputError
from simulator.files.outputs import created_beside
from simulator.metrics.decision_table import Decisions, decisions_table, note_types, timing_table
from simulator.metrics.run_tables import STREAMED, TABLES
from simulator.metrics.schedule_table import SCHEDULE, Names, NodeShares
from simulator.model.cluster import Cluster
from simulator.model.workload import Workload
from simulator.schema import ColumnType, arrow_array

ROWS = 65_536
"""Rows of a block."""

RAW = "raw_decisions"
"""File of decisions while the simulation runs; it never gets this name."""

_RAW = pa.schema(
    [
        ("time_s", pa.float64()), ("controller", pa.int64()), ("active", pa.int64()),
        ("again_s", pa.float64()), ("cpu_s", pa.float64()), ("notes", pa.string()),
    ]
)  # fmt: skip


class _File(NamedTuple):
    """A file in the making."""

    temporary: Path
    content: IO[bytes]
    writer: pq.ParquetWriter


def _close(file: _File) -> Exception | None:
    """Write the end of a file; returns what went wrong."""
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

    Raises InputError: the folder cannot be made, or holds such records already.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be made ({error.strerror}), expected a folder"
            ) from None
        for name in STREAMED:
            if self._path(name).exists():
                raise InputError(
                    f"{self._path(name)}: exists already, expected a folder without it"
                )
        self._files: dict[str, _File] = {}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def write(self, name: str, table: pa.Table) -> None:
        """Append a block to one of the files."""
        try:
            file = self._files.get(name)
            if file is None:
                temporary, content = created_beside(self._path(name))
                writer = pq.ParquetWriter(content, table.schema, write_page_checksum=True)
                self._files[name] = file = _File(temporary, content, writer)
            file.writer.write_table(table)
        except OSError as error:
            raise InputError(
                f"{self._path(name)}: cannot be written ({error.strerror or error})"
            ) from error

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

    def read_back(self, name: str) -> Iterator[pa.Table]:
        """The blocks of a file that is whole; it is then thrown away."""
        file = self._files.pop(name)
        try:
            with file.content:
                file.writer.close()
                written = pq.ParquetFile(file.content)
                for block in range(written.num_row_groups):
                    yield written.read_row_group(block)
        finally:
            file.temporary.unlink(missing_ok=True)

    def finish(self, record: RunRecord) -> None:
        """Write what is left when the simulation has ended."""
        decisions, schedule = record.decisions, record.schedule
        assert isinstance(decisions, StreamedDecisions)
        decisions.finish()
        if isinstance(schedule, StreamedSchedule):
            schedule.write()
        jobs = TABLES["jobs"].make(record)
        assert jobs is not None
        for first in range(0, len(jobs), ROWS):
            self.write("jobs", jobs.slice(first, ROWS))


class StreamedDecisions(DecisionLog):
    """Decisions of which only the last are in memory."""

    def __init__(self, stream: RecordStream) -> None:
        super().__init__()
        self._stream = stream
        self._written = 0
        self._cpu_s = 0.0
        self._has_cpu_s = self._has_again_s = False
        self._types: dict[str, ColumnType] = {}

    def __len__(self) -> int:
        return self._written + len(self.time_s)

    def mean_cpu_s(self) -> float | None:
        """Over all decisions, where it was measured."""
        return self._cpu_s / len(self) if self._has_cpu_s else None

    def add(self, time_s: float, controller: int, active: int) -> None:
        """One more decision; a full block of those before it is written."""
        times_s = self.time_s
        if len(times_s) >= ROWS:
            self._write()
        times_s.append(time_s)
        self.controller.append(controller)
        self.active.append(active)

    def _write(self) -> None:
        """Write the decisions in memory."""
        count, first = len(self.time_s), self._written
        notes = {row: json.dumps(dict(told)) for row, told in self.info.items()}
        self._types = note_types(self.info.values(), self._types)
        if self.cpu_s:
            self._has_cpu_s = True
            self._cpu_s += sum(self.cpu_s)
        self._has_again_s |= bool(self.again_s)
        rows = range(first, first + count)
        columns: list[Any] = [
            np.array(self.time_s), np.array(self.controller), np.array(self.active),
            [self.again_s.get(r) for r in rows] if self.again_s else (),
            np.array(self.cpu_s),
            [notes.get(r) for r in rows] if notes else (),
        ]  # fmt: skip
        arrays = [
            arrow_array(column, f.type) if len(column) or not count else pa.nulls(count, f.type)
            for column, f in zip(columns, _RAW, strict=True)
        ]
        self._stream.write(RAW, pa.table(arrays, schema=_RAW))
        self._written += count
        self.info.clear()
        self.again_s.clear()
        for column in (self.time_s, self.controller, self.active, self.cpu_s):
            del column[:]

    def finish(self) -> None:
        """Write the tables of decisions and of CPU times, now that all notes are known."""
        self._write()
        for block in self._stream.read_back(RAW):
            found = Decisions(
                block["time_s"], block["controller"], block["active"],
                block["again_s"] if self._has_again_s else None, block["cpu_s"],
            )  # fmt: skip
            notes: dict[int, Facts] = {
                row: json.loads(text)
                for row, text in enumerate(block["notes"].to_pylist())
                if text is not None
            }
            self._stream.write("decisions", decisions_table(found, notes, self._types))
            if self._has_cpu_s:
                self._stream.write("timing", timing_table(found, notes, self._types))


class StreamedSchedule(ScheduleLog):
    """A schedule of which only the last shares are in memory."""

    def __init__(
        self, stream: RecordStream, workload: Workload, cluster: Cluster, names_gpus: bool
    ) -> None:
        super().__init__(cluster.node_type_of, names_gpus)
        self._stream, self._names = stream, Names.of(workload, cluster)
        self._written = 0

    def __len__(self) -> int:
        return self._written + super().__len__()

    def _spread(self) -> None:
        super()._spread()
        if len(self._columns["job"]) >= ROWS:
            self.write()

    def write(self) -> None:
        """Write the shares in memory."""
        super()._spread()
        taken: dict[str, array[Any]] = self._columns
        columns: dict[str, Any] = {name: np.array(column) for name, column in taken.items()}
        columns["gpu_ids"] = self.gpu_ids()
        self._stream.write("schedule", SCHEDULE.table(NodeShares(columns, self._names)))
        self._written += len(columns["job"])
        for column in taken.values():
            del column[:]
        if self._gpus_of:
            self._gpus_of.clear()
