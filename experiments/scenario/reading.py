"""Tables of a run's folder, read again for pictures, players and explanations."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.errors import InputError
from simulator.inputs import read_input

if TYPE_CHECKING:
    from pandas import DataFrame

SHARE_COLUMNS = ("job_id", "node", "node_type", "gpus", "start_s", "end_s")
"""Of schedule.csv, whose rows are shares."""
NAMES = ("job_id", "node_type", "vc", "user", "tenant")
"""Columns of texts: a job may be called "NA"."""


def read_table(
    path: Path, columns: tuple[str, ...], numbers: tuple[str, ...], *, may_be_empty: bool = False
) -> DataFrame:
    """A table of a run's folder with these columns, some of them finite numbers.

    Raises
    ------
    InputError
        No such file, columns or rows, or values that are no numbers; one line.
    """
    import numpy as np
    import pandas as pd

    expected = "a file that `schedlab run --out` wrote"
    content = read_input(path, expected)
    try:
        # A job may be called "NA"; in a column of numbers it is none.
        names = content.partition(b"\n")[0].decode().split(",")
        blanks = {n: ["", "nan", "NaN", "NA"] for n in names if n not in NAMES}
        table = pd.read_csv(
            BytesIO(content),
            dtype=dict.fromkeys(NAMES, str),
            keep_default_na=False,
            na_values=blanks,
        )
    except ValueError:  # also what pandas calls a parser's error
        raise InputError(f"{path}: cannot be read, expected {expected}") from None
    missing = [c for c in columns if c not in table.columns]
    if missing:
        raise InputError(f"{path}: no column {missing[0]!r}, expected {', '.join(columns)}")
    if table.empty and not may_be_empty:
        raise InputError(f"{path}: no rows, expected at least one")
    for name in numbers:
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
        good = np.isfinite(values)
        if not good.all():
            row = int(np.argmin(good))
            raise InputError(
                f"{path}, line {row + 2}: {name} is {table[name].iloc[row]}, expected a number"
            )
        table[name] = values
    return table
