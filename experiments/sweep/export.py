"""One tidy table of a sweep: a row a run, or a row an entry of one of the runs' tables."""

from __future__ import annotations

import contextlib
import itertools
import operator
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.columns import expect_known
from experiments.files import is_same, replacing
from experiments.sweep.store import NO_SPACE, PARTS, Store
from experiments.sweep.task import Scalar
from experiments.text import with_safe_cells, write_csv
from simulator.errors import InputError
from simulator.schema import arrow_array

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

FORMATS = {"csv": "csv", "parquet": "parquet", "json": "json", "latex": "tex"}
"""Formats of a table, and how their files end."""
# Scalars by these endings are measurements of a machine, not results.
MEASURED = ("cpu_s", "wall_s")

FRAME = re.compile(r'  File ".*", line \d+')

Columns = dict[str, list[Scalar]]


def write_export(
    store: Store,
    *,
    format: str,
    out: Path | None,
    table: str | None,
    timings: bool,
    raw: bool = False,
    columns: Sequence[str] = (),
    summary: DataFrame | None = None,
) -> tuple[Path, int]:
    """Write the table; returns its path and its number of rows.

    Parameters
    ----------
    raw : texts of a CSV file as they are; without it, a text that a spreadsheet would take for a
        formula ("=1+1") gets a ``'`` before it.
    columns : of the runs or of the table, behind labels (of runs also status and error), in this order, also measured
        ones; empty: all.

    Raises
    ------
    InputError
        Unknown format or column, no run has that table, a run does not match its hash, the file cannot be
        written or is one of the store's own.
    """
    if format not in FORMATS:
        raise InputError(f"--format: got {format!r}, expected one of {', '.join(FORMATS)}")
    import pyarrow as pa

    name = "summary" if summary is not None else table or "runs"
    path = out or store.folder / f"{name}.{FORMATS[format]}"
    expect_no_part(path, store.folder)
    if summary is not None:
        whole = pa.Table.from_pandas(summary, preserve_index=False)
    elif table is not None:
        whole = _all_of(store, table, timings or bool(columns))
    else:
        of_runs = run_columns(store, timings=timings or bool(columns))
        whole = pa.table({name: _array(values) for name, values in of_runs.items()})
    if columns:
        first = [*_names(store.rows().labels), *(() if table else ("status", "error"))]
        whole = _only(whole, first, columns)
    try:
        with replacing(path) as file:
            if format == "csv":
                write_csv(whole if raw else with_safe_cells(whole), file)
            elif format == "parquet":
                import pyarrow.parquet as pq

                pq.write_table(whole, file)
            elif format == "json":
                file.write(json_text(whole.to_pandas()).encode())
            else:
                file.write(latex_text(whole.to_pandas()).encode())
    except OSError as error:
        if error.errno in NO_SPACE:
            raise InputError(f"{path}: cannot be written, the disk is full") from None
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return path, int(whole.num_rows)


def _only(whole: pa.Table, first: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """The first columns of a table, as far as it has them, and those that were asked for."""
    expect_known(columns, whole.column_names, "--columns", "in the tables of the runs")
    there = [name for name in first if name in whole.column_names]
    return whole.select([*there, *(name for name in columns if name not in there)])


def json_text(table: DataFrame) -> str:
    """A table as a JSON list of objects, one a row; null where there is no value."""
    return f"{table.to_json(orient='records', indent=1)}\n"


def latex_text(table: DataFrame) -> str:
    """A table for LaTeX with booktabs; an estimate and its interval are one cell each."""
    if {"mean", "lower", "upper"} <= set(table.columns):
        ends = zip(table["lower"], table["upper"], strict=True)
        spans = ["" if low != low else f"{_digits(low)} to {_digits(high)}" for low, high in ends]
        table = table.assign(**{"95 % interval": spans}).drop(columns=["lower", "upper"])
    return table.to_latex(index=False, escape=True, float_format=_digits, na_rep="")


def _digits(value: float) -> str:
    """Four significant digits, with commas: 10,110, not 1.011e+04."""
    return f"{float(f'{value:.4g}'):,.10g}"


def expect_no_part(path: Path, folder: Path, what: str = "--out") -> None:
    """Raise InputError where a new file would take the place of a sweep's run database.

    ``what``: the option that names the file.
    """
    if any(is_same(path, folder / name) for name in PARTS):
        raise InputError(f"{what} {path}: is a part of the sweep, expected another file")


def run_columns(store: Store, *, timings: bool = False) -> Columns:
    """The sweep as columns of equal length, one entry a run, in the order of the sweep.

    Labels first, then ``status`` ("done", "failed", "left") and ``error`` (what went wrong, empty),
    then the scalars; None where a run has no such value. A scalar named like a label is left out
    where it repeats it, and else called ``result_<name>``.
    """
    rows = store.rows()
    columns: Columns = {name: _values(rows.labels, name) for name in _names(rows.labels)}
    columns["status"] = [run.status if run else "left" for run in rows.runs]
    columns["error"] = [message_of(run.error) if run else "" for run in rows.runs]
    scalars: list[dict[str, Scalar]] = [run.scalars if run else {} for run in rows.runs]
    taken = set(columns)
    for name in _names(scalars):
        if not timings and name.endswith(MEASURED):
            continue
        values = _values(scalars, name)
        if name not in taken:
            columns[name] = values
        elif values != columns[name]:
            columns[f"result_{name}"] = values
    return columns


def message_of(error: str) -> str:
    """Type, message and notes of a traceback in one line: what stands below its last frame; else its last line."""
    lines = error.rstrip().split("\n")
    frames = [i for i, line in enumerate(lines) if FRAME.match(line)]
    below = frames[-1] + 1 if frames else len(lines) - 1
    told = itertools.dropwhile(lambda line: line.startswith(" "), lines[below:])
    return "; ".join(line.strip() for line in told)


def _names(rows: list[dict[str, Scalar]]) -> list[str]:
    return list(dict.fromkeys(itertools.chain.from_iterable(rows)))


def _values(rows: list[dict[str, Scalar]], name: str) -> list[Scalar]:
    try:
        return list(map(operator.itemgetter(name), rows))
    except KeyError:
        return [row.get(name) for row in rows]


def _array(values: list[Scalar]) -> pa.Array:
    """Values as one Arrow column; as text where they are of different kinds."""
    import pyarrow as pa

    kinds = set(map(type, values))
    arrow = {int: pa.int64(), float: pa.float64(), str: pa.large_string()}
    if len(kinds) == 1 and (kind := arrow.get(kinds.pop())):
        with contextlib.suppress(OverflowError):
            return arrow_array(values, kind, nan_is_null=False)
    with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array(values)
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _all_of(store: Store, table: str, timings: bool) -> pa.Table:
    import pyarrow as pa

    parts = list(_parts(store, table))
    if not parts:
        raise InputError(f"{store.folder}: no finished run has a table {table!r}")
    whole = pa.concat_tables(parts, promote_options="permissive")
    measured = [name for name in whole.column_names if name.endswith(MEASURED)]
    return whole if timings else whole.drop_columns(measured)


def _parts(store: Store, table: str) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = store.rows()
    names = _names(rows.labels)
    # Typed over the whole sweep, so that the parts fit together.
    columns = {name: _array(_values(rows.labels, name)) for name in names}
    for index, run in enumerate(rows.runs):
        if run is None or table not in run.tables:
            continue
        part = pq.read_table(pa.BufferReader(store.content(run, table)))
        part = part.replace_schema_metadata(None)
        for position, name in enumerate(n for n in names if n not in part.column_names):
            value = columns[name].slice(index, 1)
            part = part.add_column(position, name, _repeated(value, part.num_rows))
        yield part


def _repeated(value: pa.Array, times: int) -> Any:
    import numpy as np

    return value.take(np.zeros(times, dtype=np.int64))
