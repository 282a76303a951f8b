"""One tidy table of a sweep: a row a run, or a row an entry of one of the runs' tables."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.store import NO_SPACE, Store, table_path
from experiments.task import Scalar
from simulator.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("csv", "parquet")
# Scalars by these endings are measurements of a machine, not results.
MEASURED = ("cpu_s", "wall_s")

Columns = dict[str, list[Scalar]]


def write_export(
    store: Store, *, format: str, out: Path | None, table: str | None, timings: bool
) -> tuple[Path, int]:
    """Write the table; returns its path and its number of rows.

    Raises:
        InputError: unknown format, no run has that table, the file cannot be written.
    """
    if format not in FORMATS:
        raise InputError(f"--format: got {format!r}, expected one of {', '.join(FORMATS)}")
    path = out or store.folder / f"{table or 'runs'}.{format}"
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if table is None:
            columns = run_columns(store, timings=timings)
            rows = len(next(iter(columns.values()), []))
            (_write_csv if format == "csv" else _write_parquet)(columns, temporary)
        else:
            rows = _write_table(store, table, format, temporary)
        temporary.replace(path)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise InputError(f"{path}: cannot be written, the disk is full") from None
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path, rows


def run_columns(store: Store, *, timings: bool = False) -> Columns:
    """The sweep as columns of equal length, one entry a run, in the order of the sweep.

    Labels first, then `status` ("done", "failed", "left") and `error` (what went wrong, empty),
    then the scalars; None where a run has no such value. A scalar named like a label is left out
    where it repeats it, and else called `result_<name>`.
    """
    runs = [
        (labels, status, error.rstrip().rpartition("\n")[2], scalars)
        for _, labels, status, scalars, error in store.rows()
    ]
    label_names = dict.fromkeys(name for labels, _, _, _ in runs for name in labels)
    taken = {*label_names, "status", "error"}
    columns: Columns = {name: [run[0].get(name) for run in runs] for name in label_names}
    columns["status"] = [run[1] for run in runs]
    columns["error"] = [run[2] for run in runs]
    scalar_names = dict.fromkeys(name for run in runs for name in run[3])
    for name in scalar_names:
        if not timings and name.endswith(MEASURED):
            continue
        values = [run[3].get(name) for run in runs]
        if name not in taken:
            columns[name] = values
        elif values != columns[name]:
            columns[f"result_{name}"] = values
    return columns


def _write_csv(columns: Columns, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_parquet(columns: Columns, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: _array(v) for name, v in columns.items()}), path)


def _array(values: list[Scalar]) -> Any:
    """Values as one Arrow column: as they are, else as numbers, else as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if len(kinds) > 1:
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    return pa.array(values)


def _write_table(store: Store, table: str, format: str, path: Path) -> int:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    parts = list(_parts(store, table))
    if not parts:
        raise InputError(f"{store.folder}: no finished run has a table {table!r}")
    whole = pa.concat_tables(parts, promote_options="permissive")
    if format == "csv":
        pa.csv.write_csv(whole, path)
    else:
        pa.parquet.write_table(whole, path)
    return int(whole.num_rows)


def _parts(store: Store, table: str) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    rows = [(key, labels) for key, labels, status, _, _ in store.rows() if status == "done"]
    names = list(dict.fromkeys(name for _, labels in rows for name in labels))
    # Typed over the whole sweep, so that the parts fit together.
    columns = {name: _array([labels.get(name) for _, labels in rows]) for name in names}
    for index, (key, _) in enumerate(rows):
        path = table_path(store.folder, key, table)
        if not path.exists():
            continue
        part = pq.read_table(path).replace_schema_metadata(None)
        for position, name in enumerate(n for n in names if n not in part.column_names):
            value = columns[name].slice(index, 1)
            part = part.add_column(position, name, _repeated(value, part.num_rows))
        yield part


def _repeated(value: pa.Array, times: int) -> Any:
    import numpy as np

    return value.take(np.zeros(times, dtype=np.int64))
