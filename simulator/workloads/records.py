"""Files of jobs that are JSON: the values of a record by their paths, and records as a table of text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulator.workloads.tables import InputColumn, Table

LONGEST = 200
"""Characters of a value that is no text, as it is shown in a message."""


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


def as_text(value: Any) -> str:
    """A value as a CSV file would have it."""
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value)[:LONGEST]


def records_table(
    path: Path, columns: Sequence[InputColumn], rows: Sequence[Mapping[str, str]]
) -> Table:
    """The rows, each column of them that some row has; the first is entry 1."""
    import pandas as pd

    frame = pd.DataFrame(rows, dtype=object).fillna("")
    return Table(path, columns, frame, np.arange(1, len(rows) + 1), row="entry")
