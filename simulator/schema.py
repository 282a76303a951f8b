"""Tables and their schemas: one list of columns, from which frames, CSV, Parquet and docs/files.md are made.

A column has a name, unit, meaning and type. Modules that add columns to ``jobs.csv`` list them as ``COLUMNS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Source = TypeVar("Source")
ColumnType = Literal["text", "integer", "number", "boolean", "date", "time", "duration"]
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


@dataclass(frozen=True)
class Derived(Column, Generic[Source]):
    """A column, and what gives its values: a function, or without one the attribute of its name.

    None where this run does not have the column.
    """

    values: Callable[[Source], Values | None] | None = field(default=None, kw_only=True)

    def of(self, source: Source) -> Values | None:
        """The values of one run."""
        found: Values | None = (
            getattr(source, self.name) if self.values is None else self.values(source)
        )
        return found


@dataclass(frozen=True)
class Schema(Generic[Source]):
    """The columns of one table, in order.

    Attributes
    ----------
    name : of the file, without its ending.
    rows : the phrase that says what one row is.
    columns : each with its values of what the table is made from.
    when : in which runs the table exists; empty: in all.
    named_by_run : columns whose names the run gives, for the documentation.
    """

    name: str
    rows: str
    columns: tuple[Derived[Source], ...]
    when: str = ""
    named_by_run: tuple[Column, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that the schema itself has."""
        return tuple(column.name for column in self.columns)

    def empty(self) -> pa.Table:
        """The table without rows, of the columns that are there in all runs."""
        return arrow_table(ColumnData(c, ()) for c in self.columns if not c.when)

    def table(self, source: Source, more: Iterable[ColumnData] = ()) -> pa.Table:
        """The table of one run, with further columns at its end."""
        found = ((column, column.of(source)) for column in self.columns)
        return arrow_table([*(ColumnData(c, v) for c, v in found if v is not None), *more])


class RunTable(NamedTuple):
    """A table of a run: its schema, and the function that makes it of a `RunRecord`; None: the run has no such table."""

    schema: Schema[Any]
    make: Callable[[Any], pa.Table | None]


def arrow_table(columns: Iterable[ColumnData]) -> pa.Table:
    """The columns as an Arrow table: NaN is null; unit and meaning are metadata of each field."""
    import pyarrow as pa

    fields, arrays = [], []
    for column, values in columns:
        array = _array(column, values)
        arrays.append(array)
        told: dict[Any, Any] = {"unit": column.unit, "meaning": column.meaning}
        fields.append(pa.field(column.name, array.type, metadata=told))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _array(column: Column, values: Values) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    types = {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}
    return arrow_array(values, types.get(column.type, pa.float64()))


def arrow_array(values: Values, kind: pa.DataType, nan_is_null: bool = True) -> pa.Array:
    """``pa.array``, but without the import of pandas that comes with it where all are texts or numbers."""
    import pyarrow as pa

    count, there = len(values), None
    if kind in (pa.string(), pa.large_string()) and set(map(type, values)) == {str}:
        text = "".join(values)
        data = text.encode()
        is_ascii = len(data) == len(text)
        lengths = map(len, values if is_ascii else (value.encode() for value in values))
        ends = np.zeros(count + 1, np.int32 if kind == pa.string() else np.int64)
        np.cumsum(np.fromiter(lengths, np.int64, count), out=ends[1:])
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(ends), pa.py_buffer(data)])
    numbers = np.asarray(values) if kind in (pa.int64(), pa.float64()) else np.empty(0, np.object_)
    if numbers.dtype.kind == "i" or (numbers.dtype.kind == "f" and kind == pa.float64()):
        if nan_is_null and np.isnan(numbers).any():
            there = pa.py_buffer(np.packbits(~np.isnan(numbers), bitorder="little"))
        numbers = np.ascontiguousarray(numbers, np.int64 if kind == pa.int64() else np.float64)
        return pa.Array.from_buffers(kind, count, [there, pa.py_buffer(numbers)])
    return pa.array(values, kind, from_pandas=nan_is_null)
