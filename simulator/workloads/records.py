"""Files of jobs that are JSON: the values of a record by their paths, and records as a table of text.

class Mine(JsonTrace):
    marks = ('"begun"', '"slots"')
    reads = (InputColumn("id", "", "name", "text", gives="job_id"), ..)

    def rows(self, document):
        return [{"id": as_text(at(job, "meta.id")), ..} for job in each_at(document, "jobs")]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from simulator.errors import InputError
from simulator.files.inputs import read_json
from simulator.workloads.tables import InputColumn, Table
from simulator.workloads.trace import Trace


def at(record: Any, path: str) -> Any:
    """The value at a path ("time.start", "attempts.0"); None where there is none."""
    for key in path.split("."):
        if isinstance(record, Mapping):
            record = record.get(key)
        elif isinstance(record, list) and key.isdecimal() and int(key) < len(record):
            record = record[int(key)]
        else:
            return None
    return record


def each_at(record: Any, path: str) -> list[Any]:
    """The list at a path; empty where there is none."""
    found = at(record, path)
    return found if isinstance(found, list) else []


def records_table(
    path: Path, columns: Sequence[InputColumn], rows: Sequence[Mapping[str, str]]
) -> Table:
    """The rows, each column of them that some row has; the first is entry 1."""
    import pandas as pd

    frame = pd.DataFrame(rows, dtype=object).fillna("")
    return Table(path, columns, frame, np.arange(1, len(rows) + 1), row="entry")


class JsonTrace(Trace):
    """A format in JSON.

    Attributes
    ----------
    marks : what is written in each such file.
    written : what the file is, for messages.
    """

    marks: ClassVar[tuple[str, ...]]
    written: ClassVar[str]

    @classmethod
    def likeness(cls, text: str) -> float:
        """JSON with all that marks the format."""
        return float(text[:1] in ("[", "{") and all(mark in text for mark in cls.marks))

    def rows(self, document: Any) -> list[dict[str, str]]:
        """A row a job, texts by column; empty where the document is of another kind."""
        raise NotImplementedError

    def raw(self) -> Table:
        """The jobs; raises InputError where there are none."""
        path = Path(self.path)
        rows = self.rows(read_json(path, self.written))
        if not rows:
            raise InputError(f"{path}: no list of jobs, expected {self.written}")
        return records_table(path, self.reads, rows)
