"""CSV files that users bring: read as text, checked column by column, errors with their line.

Byte-order marks, Windows line ends, blanks around names and values, empty lines and gzip are
tolerated; names are compared without case and punctuation. Everything else that is wrong raises
`InputError` with one line: file, line, column, value, what was expected.
"""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from simulator.errors import InputError
from simulator.inputs import read_input
from simulator.model.cluster import FloatArray, IntArray

MOST_COLUMNS = 10_000
_FIELDS = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")


@dataclass
class Table:
    """The rows of a CSV file as text.

    Attributes
    ----------
    path : the file, for messages.
    frame : one column of text a known column, by its proper name.
    lines : ``(R,)`` line numbers in the file, from 1.
    ignored : columns of the file that nobody asked for.
    titles : how the file spells each column.
    """

    path: Path
    frame: pd.DataFrame
    lines: IntArray
    ignored: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        path: str | Path,
        required: Sequence[str],
        optional: Sequence[str] = (),
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> Table:
        """Read a file whose first line names its columns.

        Parameters
        ----------
        path : the file.
        required, optional : names of the columns; others are ignored.
        aliases : other names under which a column may be found.

        Raises
        ------
        InputError
            A file that cannot be read or is empty, a missing, misspelt or double column, a line
            with too many fields.
        """
        path = Path(path)
        cells, lines = read_cells(path, f"a header line with {', '.join(required)}")
        header = [str(name) for name in cells.iloc[0]]
        columns, ignored = _match(path, header, required, optional, aliases or {})
        frame = cells.iloc[1:][[cells.columns[i] for i in columns.values()]]
        frame = frame.set_axis(list(columns), axis=1).reset_index(drop=True)
        if frame.empty:
            raise InputError(f"{path}: has no rows, expected at least one below the header")
        titles = {name: header[i] for name, i in columns.items()}
        return cls(path, frame, lines[1:], ignored, titles)

    def __contains__(self, name: str) -> bool:
        return name in self.frame.columns

    def __len__(self) -> int:
        return len(self.frame)

    def error(self, row: int, name: str, expected: str) -> InputError:
        """The error that one value deserves."""
        value = self.frame[name].iloc[row]
        shown = repr(value) if value else "empty"
        title = self.titles.get(name, name)
        return InputError(
            f"{self.path}, line {self.lines[row]}: {title} is {shown}, expected {expected}"
        )

    def keep(self, rows: npt.NDArray[np.bool_]) -> Table:
        """The rows that are true."""
        frame = self.frame.loc[rows].reset_index(drop=True)
        return Table(self.path, frame, self.lines[rows], self.ignored, self.titles)

    def texts(self, name: str, *, unique: bool = False) -> list[str]:
        """A column of texts, none empty."""
        self._expect(name)
        column = self.frame[name]
        self._require(name, (column != "").to_numpy(dtype=bool), "a text")
        if unique:
            fresh = ~column.duplicated().to_numpy(dtype=bool)
            if not fresh.all():
                again = int(np.argmin(fresh))
                first = int(self.lines[int(np.argmax(column == column.iloc[again]))])
                raise self.error(again, name, f"a name not used before (line {first} has it)")
        names: list[str] = column.to_numpy(dtype=object).tolist()
        return names

    def numbers(
        self,
        name: str,
        *,
        at_least: float = -math.inf,
        more_than: float = -math.inf,
        below: float = math.inf,
        empty: float | None = None,
    ) -> FloatArray:
        """A column of finite numbers.

        Parameters
        ----------
        name : the column; where the file lacks it, every value is ``empty``.
        at_least, more_than, below : bounds.
        empty : what an empty field means; None: a number is expected.
        """
        if name not in self and empty is not None:
            return np.full(len(self), empty)
        values, blank = self._parse(name)
        expected = _expected("a number", at_least, more_than)
        good = np.isfinite(values) & (values >= at_least) & (values > more_than)
        if math.isfinite(below):
            expected += f" and below {below:g}"
            good &= values < below
        if empty is not None:
            good |= blank
        self._require(name, good, expected)
        if empty is not None:
            values[blank] = empty
        return values

    def whole_numbers(self, name: str, *, at_least: int, empty: int | None = None) -> IntArray:
        """A column of whole numbers; see `numbers`."""
        if name not in self and empty is not None:
            return np.full(len(self), empty, dtype=np.int64)
        values, blank = self._parse(name)
        expected = _expected("a whole number", at_least, -math.inf)
        with np.errstate(invalid="ignore"):
            good = np.isfinite(values) & (values >= at_least) & (values % 1 == 0)
        good &= values < 2**53
        if empty is not None:
            good |= blank
            values[blank] = empty
        self._require(name, good, expected)
        return values.astype(np.int64)

    def require(self, name: str, good: npt.NDArray[np.bool_], expected: str) -> None:
        """Raise the error of the first row that is not good."""
        self._require(name, good, expected)

    def _expect(self, name: str) -> None:
        if name not in self:
            raise InputError(f"{self.path}: column {name!r} is missing, expected it here")

    def _require(self, name: str, good: npt.NDArray[np.bool_], expected: str) -> None:
        if not good.all():
            raise self.error(int(np.argmin(good)), name, expected)

    def _parse(self, name: str) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Values, NaN where there is no number; and which fields are empty."""
        self._expect(name)
        column = self.frame[name]
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return values.copy(), (column == "").to_numpy(dtype=bool)


def read_cells(
    path: Path, expected: str, separator: str = ",", quoting: Literal[0, 3] = csv.QUOTE_MINIMAL
) -> tuple[pd.DataFrame, IntArray]:
    """All fields of a file as stripped text, without empty lines; and their line numbers.

    Raises
    ------
    InputError
        A file that cannot be read, is empty, or has a line with too many fields.
    """
    content = read_input(path, expected)
    columns = content.partition(b"\n")[0].count(separator.encode()) + 1
    if columns > MOST_COLUMNS:
        raise InputError(f"{path}: has {columns:,} columns, expected at most {MOST_COLUMNS:,}")
    try:
        cells = pd.read_csv(
            BytesIO(content), sep=separator, header=None, dtype=str, na_filter=False,
            skip_blank_lines=False, encoding="utf-8-sig", quoting=quoting,
        )  # fmt: skip
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: is empty, expected {expected}") from None
    except pd.errors.ParserError as error:
        raise InputError(f"{path}{_parser_problem(error)}") from None
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read ({why}), expected {expected}") from None
    cells = cells.fillna("").apply(lambda column: column.str.strip())
    full = (cells != "").any(axis=1).to_numpy(dtype=bool)
    if not full.any():
        raise InputError(f"{path}: is empty, expected {expected}")
    return cells.loc[full].reset_index(drop=True), np.flatnonzero(full).astype(np.int64) + 1


def _parser_problem(error: Exception) -> str:
    found = _FIELDS.search(str(error))
    if found is None:
        return f": not a table ({str(error).strip()})"
    expected, line, saw = found.groups()
    return f", line {line}: {saw} fields, expected {expected}"


def _plain(name: str) -> str:
    """A column name without case, blanks and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _match(
    path: Path,
    header: Sequence[str],
    required: Sequence[str],
    optional: Sequence[str],
    aliases: Mapping[str, Sequence[str]],
) -> tuple[dict[str, int], list[str]]:
    """Index of each known column, and the columns that are not known."""
    proper = {
        _plain(alias): name
        for name in (*required, *optional)
        for alias in (name, *aliases.get(name, ()))
    }
    columns: dict[str, int] = {}
    unknown: list[str] = []
    for i, title in enumerate(header):
        name = proper.get(_plain(title))
        if name is None:
            unknown.append(title)
        elif name in columns:
            raise InputError(f"{path}: column {name!r} occurs twice, expected once")
        else:
            columns[name] = i
    unknown = [title for title in unknown if title]
    for name in (*required, *optional):
        if name not in columns:
            close = difflib.get_close_matches(_plain(name), [_plain(t) for t in unknown], 1, 0.75)
            meant = next((t for t in unknown if close and _plain(t) == close[0]), None)
            if meant is not None:
                raise InputError(f"{path}: column {meant!r} is not known, did you mean {name!r}?")
            if name in required:
                raise InputError(
                    f"{path}: column {name!r} is missing, found {', '.join(filter(None, header))}"
                )
    return columns, unknown


def _expected(what: str, at_least: float, more_than: float) -> str:
    if math.isfinite(more_than):
        return f"{what} > {more_than:g}"
    return f"{what} >= {at_least:g}" if math.isfinite(at_least) else what
