"""Location of the tables that come with the laboratory.

They lie in ``data/`` at the root of a checkout, and in ``simulator/data`` of an installed wheel.
``data/README.md`` names the source of every number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_HERE = Path(__file__).resolve().parent.parent


def data_folder() -> Path:
    """The folder of the tables.

    Raises InputError: where the installation lacks it.
    """
    for folder in (_HERE / "data", _HERE.parent / "data"):
        if (folder / "vm_catalog.csv").is_file():
            return folder
    raise InputError(f"{_HERE / 'data'}: not found, expected the tables of this installation")


def data_path(name: str) -> Path:
    """Path of one table, e.g. ``"vm_catalog.csv"``; `InputError` where there is none."""
    path = data_folder() / name
    if not path.is_file():
        known = ", ".join(sorted(p.name for p in data_folder().glob("*.csv")))
        raise InputError(f"{name}: no such table, expected one of {known}")
    return path


def read_table(name: str) -> pd.DataFrame:
    """One table as a data frame of its own (callers may change it)."""
    return _read(name).copy()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, each a dictionary by column."""
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of one table; an empty field is the empty text."""
    return records(_read(name).fillna(""))


@cache
def _read(name: str) -> pd.DataFrame:
    import pandas as pd  # here, so that the folder can be asked for without it

    return pd.read_csv(data_path(name))
