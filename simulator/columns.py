"""Columns of tables: name, unit, meaning and type, and the values of one run.

Modules that add columns to ``jobs.csv`` list them as ``COLUMNS``; docs/tables.md is made from these lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

ColumnType = Literal["text", "integer", "number", "boolean", "date"]
Values = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : as in the file; the unit is its ending where there is one ("wait_s").
    unit : e.g. "s", "GPU-seconds"; empty for texts and counts.
    meaning : one phrase for the documentation.
    type : "number" is a double; an empty cell is a value that does not exist.
    when : in which runs the column exists; empty: in all.
    """

    name: str
    unit: str
    meaning: str
    type: ColumnType
    when: str = ""


class ColumnData(NamedTuple):
    """A column with its values of one run, one a row, in order of the rows."""

    column: Column
    values: Values


def taken(columns: Mapping[str, Any], rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    """These rows of columns: of arrays, and of sequences; what is None or empty stays so."""
    return {
        name: column
        if column is None or not len(column)
        else column[rows]
        if isinstance(column, np.ndarray)
        else [column[row] for row in rows.tolist()]
        for name, column in columns.items()
    }
