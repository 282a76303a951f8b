"""Tables that users bring: columns described once, from which reading, checks and messages follow.

    JOBS = (InputColumn("job_id", "", "name of the job", "text", unique=True),
            InputColumn("duration_s", "s", "how long it runs", "number", more_than=0))
    table = Table.read("jobs.csv", JOBS)
    table.numbers("duration_s")       # or one line: file, line, column, value, what was expected

Commas, semicolons, tabs or bars between fields, byte-order marks, Windows line ends, blanks around names and values, empty lines and gzip are
tolerated; names are compared without case and punctuation.
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
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from simulator.arguments import LATEST_S
from simulator.errors import InputError
from simulator.files.inputs import read_input
from simulator.model.cluster import FloatArray, IntArray
from simulator.schema import Column, Values

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 10_000
SEPARATORS = (",", ";", "\t", "|")
EXACT = 2**53
"""Whole numbers below it are exact as doubles."""
_FIELDS = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_DATE = r"(19|20|21)\d\d-[\dTZ:. +-]+"


@dataclass(frozen=True)
class InputColumn(Column):
    """One column of a table that users bring.

    Attributes
    ----------
    required : whether the file must have the column; without it, every value is ``empty``.
    empty : the value of an empty field; None: an empty field is a mistake.
    at_least, more_than, below, at_most : bounds of a number.
    not_before : column with a time that this one does not precede.
    unique : no text occurs twice.
    choices : the texts that may stand there; empty: any.
    aliases : other names under which the column may be found.
    gives : column of `simulator.model.workload.Workload` that a trace has from it, or duration_s, or num_gpus.
    per : of the file's unit, so many make one of that column.
    """

    required: bool = True
    empty: float | str | None = None
    at_least: float = -math.inf
    more_than: float = -math.inf
    below: float = math.inf
    at_most: float = math.inf
    not_before: str = ""
    unique: bool = False
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    gives: str = ""
    per: float = 1.0

    def __post_init__(self) -> None:
        """Seconds are below what a clock resolves."""
        if self.unit == "s" and self.below == math.inf:
            object.__setattr__(self, "below", LATEST_S)

    @property
    def expected(self) -> str:
        """A phrase for what a value is like: "a whole number >= 1"."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kinds = {"text": "a text", "date": "a date and time", "integer": "a whole number"}
        bounds = [
            f"{name} {bound:g}"
            for name, bound in (
                (">", self.more_than),
                (">=", self.at_least),
                ("and below", self.below),
                ("and at most", self.at_most),
            )
            if math.isfinite(bound)
        ]
        return " ".join([kinds.get(self.type, "a number"), *bounds])

    def allows(self, values: FloatArray) -> npt.NDArray[np.bool_]:
        """``(R,)`` which values are finite numbers inside the bounds, whole ones where expected."""
        with np.errstate(invalid="ignore"):
            good = np.isfinite(values) & (values >= self.at_least) & (values > self.more_than)
            good &= (values < self.below) & (values <= self.at_most)
            if self.type == "integer":
                good &= (values % 1 == 0) & (values < EXACT)
        return good


@dataclass(frozen=True)
class Layout:
    """Form of a table of text.

    Attributes
    ----------
    expected : a phrase for what a line is like, where no header names the columns.
    names : names of the columns by their number; empty: the first line has them.
    separator : between fields, where no header shows it; None: any white space.
    comment : beginning of lines that are none.
    """

    expected: str = ""
    names: Mapping[int, Sequence[str]] = field(default_factory=dict)
    separator: str | None = ","
    comment: str = "\0"

    def likeness(self, text: str, columns: Sequence[InputColumn]) -> float:
        """From 0 to 1, by the beginning of a file: by its number of fields, or required columns in its header."""
        lines = [line for line in text.splitlines() if line.strip()]
        first = next((line for line in lines if not line.startswith(self.comment)), "")
        fields = first.split(self.separator if self.names else separator_of(first))
        if self.names:
            return float(len(fields) in self.names or text.startswith(self.comment))
        header = {_plain(name) for name in fields}
        wanted = [_plain(column.name) for column in columns if column.required]
        return sum(name in header for name in wanted) / len(wanted)


HEADER = Layout()


@dataclass
class Table:
    """The rows of a file as text, each column checked when it is asked for.

    Attributes
    ----------
    path : the file, for messages.
    columns : what is known of its columns.
    frame : text by column of ``columns`` that the file has.
    lines : ``(R,)`` line numbers in the file, from 1.
    ignored : columns of the file that are not known.
    titles : the file's spelling of each column, where it is another.
    row : word for a row in messages ("line").
    dropped : rows that were left out: words, and how many.
    """

    path: Path
    columns: Sequence[InputColumn]
    frame: pd.DataFrame
    lines: IntArray
    ignored: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    row: str = "line"
    dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(
        cls, path: str | Path, columns: Sequence[InputColumn], layout: Layout = HEADER
    ) -> Table:
        """Read a file, by default CSV whose first line names its columns.

        Raises InputError: a file that cannot be read or is empty, a missing, misspelt or double column,
        a line with too many fields.
        """
        path = Path(path)
        if layout.names:
            return cls._without_header(path, columns, layout)
        required = ", ".join(c.name for c in columns if c.required)
        cells, lines = read_cells(path, f"a header line with {required}", None)
        header = [str(name) for name in cells.iloc[0]]
        found, ignored = _match(path, header, columns)
        frame = cells.iloc[1:][[cells.columns[i] for i in found.values()]]
        frame = frame.set_axis(list(found), axis=1).reset_index(drop=True)
        if frame.empty:
            raise InputError(f"{path}: has no rows, expected at least one below the header")
        titles = {name: header[i] for name, i in found.items()}
        return cls(path, columns, frame, lines[1:], ignored, titles)

    @classmethod
    def _without_header(cls, path: Path, columns: Sequence[InputColumn], layout: Layout) -> Table:
        import pandas as pd

        cells, lines = read_cells(path, layout.expected, "\x1f", csv.QUOTE_NONE)
        texts = cells.iloc[:, 0]
        kept = ~texts.str.startswith(layout.comment).to_numpy(dtype=bool)
        rows = [[f.strip() for f in text.split(layout.separator)] for text in texts[kept]]
        if not rows:
            raise InputError(f"{path}: no job, expected lines of {layout.expected}")
        names = layout.names.get(len(rows[0]))
        for row, line in zip(rows, lines[kept], strict=True):
            if names is None or len(row) != len(names):
                raise InputError(
                    f"{path}, line {line}: {len(row)} fields, expected {layout.expected}"
                )
        return cls(
            path, columns, pd.DataFrame(rows, columns=list(names or ()), dtype=object), lines[kept]
        )

    def __contains__(self, name: str) -> bool:
        return name in self.frame.columns

    def __len__(self) -> int:
        return len(self.frame)

    def error(self, row: int, name: str, expected: str) -> InputError:
        """The error about one value."""
        value = self.frame[name].iloc[row]
        shown = repr(value) if value else "empty"
        title = self.titles.get(name, name)
        where = f"{self.path}, {self.row} {self.lines[row]}"
        return InputError(f"{where}: {title} is {shown}, expected {expected}")

    def require(self, name: str, good: npt.NDArray[np.bool_], expected: str) -> None:
        """Raise the error of the first row that is not good."""
        if not good.all():
            raise self.error(int(np.argmin(good)), name, expected)

    def keep(self, rows: npt.NDArray[np.bool_], others: str = "") -> Table:
        """The rows that are true; with words, the others are counted in ``dropped``."""
        dropped = dict(self.dropped) | ({others: int((~rows).sum())} if others else {})
        frame = self.frame.loc[rows].reset_index(drop=True)
        return Table(
            self.path,
            self.columns,
            frame,
            self.lines[rows],
            self.ignored,
            self.titles,
            self.row,
            dropped,
        )

    def texts(self, name: str) -> list[str]:
        """A column of texts."""
        column = self._column(name)
        if name not in self:
            return [str(column.empty)] * len(self)
        texts = self.frame[name]
        if column.empty is None:
            self.require(name, (texts != "").to_numpy(dtype=bool), column.expected)
        if column.choices:
            self.require(name, texts.isin(column.choices).to_numpy(dtype=bool), column.expected)
        if column.unique and texts.duplicated().any():
            again = int(np.argmax(texts.duplicated()))
            first = self.lines[int(np.argmax(texts == texts.iloc[again]))]
            raise self.error(again, name, f"a name not used before ({self.row} {first} has it)")
        found: list[str] = texts.to_numpy(dtype=object).tolist()
        return found

    def numbers(self, name: str) -> FloatArray:
        """``(R,)`` numbers of a column."""
        import pandas as pd

        column = self._column(name)
        if name not in self:
            return np.full(len(self), column.empty, dtype=np.float64)
        texts = self.frame[name]
        parsed = pd.to_numeric(texts, errors="coerce")
        values = parsed.to_numpy(dtype=np.float64, na_value=np.nan).copy()
        good = column.allows(values)
        if column.empty is not None:
            blank = (texts == "").to_numpy(dtype=bool)
            values[blank] = column.empty
            good |= blank
        self.require(name, good, column.expected)
        if column.not_before:
            early = values < self.numbers(column.not_before)
            self.require(name, ~early, f"a time not before {column.not_before}")
        return values

    def values(self, name: str) -> Values:
        """A column by its type, in the unit of the column that it gives."""
        column = self._column(name)
        if column.type in ("text", "date"):
            return self.texts(name) if column.type == "text" else self.dates(name)
        if column.type == "integer" and column.per == 1:
            return self.whole_numbers(name)
        return self.numbers(name) / column.per

    def whole_numbers(self, name: str) -> IntArray:
        """``(R,)`` numbers of a column of type "integer"."""
        return self.numbers(name).astype(np.int64)

    def dates(self, name: str) -> FloatArray:
        """``(R,)`` seconds since 1970 of a column of dates, in UTC where no zone is given."""
        column, seconds = self._column(name), self.known_dates(name)
        good = np.isfinite(seconds)
        if column.empty is not None:
            good |= np.array(self.frame[name] == "") if name in self else True
        self.require(name, good, column.expected)
        return seconds

    def known_dates(self, name: str) -> FloatArray:
        """``(R,)`` seconds since 1970, NaN where a value is no date or the file has no such column."""
        import pandas as pd

        if name not in self:
            return np.full(len(self), np.nan)
        texts = self.frame[name]
        # pandas takes "3600" for a year and "now" for a time, and cannot subtract what is so far away.
        shaped = texts.where(texts.str.fullmatch(_DATE).fillna(False).astype(bool))
        parsed = pd.to_datetime(shaped, errors="coerce", format="ISO8601", utc=True)
        seconds = (parsed - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
        return np.asarray(seconds, dtype=np.float64)

    def _column(self, name: str) -> InputColumn:
        column = next(c for c in self.columns if c.name == name)
        if name not in self and column.empty is None:
            raise InputError(f"{self.path}: column {name!r} is missing, expected it here")
        return column


def read_cells(
    path: Path,
    expected: str,
    separator: str | None = ",",
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL,
) -> tuple[pd.DataFrame, IntArray]:
    """All fields of a file as stripped text, without empty lines; and their line numbers.

    ``separator`` None: the one that the first line shows. Nothing is quoted between bars (Slurm).

    Raises InputError: a file that cannot be read, is empty, or has a line with too many fields.
    """
    import pandas as pd

    content = read_input(path, expected)
    if separator is None:
        first = content.lstrip().partition(b"\n")[0].decode("utf-8", errors="replace")
        separator = separator_of(first)
        quoting = csv.QUOTE_NONE if separator == "|" else quoting
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
    if separator == ";":  # as spreadsheets write where the comma is the decimal point
        cells = cells.replace(r"^([+-]?\d+),(\d+)$", r"\1.\2", regex=True)
    full = (cells != "").any(axis=1).to_numpy(dtype=bool)
    if not full.any():
        raise InputError(f"{path}: is empty, expected {expected}")
    return cells.loc[full].reset_index(drop=True), np.flatnonzero(full).astype(np.int64) + 1


def separator_of(header: str) -> str:
    """The separator of a header line: the most frequent of comma, semicolon, tab and bar."""
    return max(SEPARATORS, key=header.count)


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
    path: Path, header: Sequence[str], columns: Sequence[InputColumn]
) -> tuple[dict[str, int], list[str]]:
    """Index of each known column, and the columns that are not known."""
    proper = {_plain(alias): c.name for c in columns for alias in (c.name, *c.aliases)}
    found: dict[str, int] = {}
    unknown: list[str] = []
    for i, title in enumerate(header):
        name = proper.get(_plain(title))
        if name in found:
            raise InputError(f"{path}: column {name!r} occurs twice, expected once")
        if name is not None:
            found[name] = i
        elif title:
            unknown.append(title)
    for column in columns:
        if column.name not in found:
            close = difflib.get_close_matches(
                _plain(column.name), [_plain(t) for t in unknown], 1, 0.75
            )
            meant = next((t for t in unknown if close and _plain(t) == close[0]), None)
            if meant is not None:
                raise InputError(
                    f"{path}: column {meant!r} is not known, did you mean {column.name!r}?"
                )
            if column.required:
                raise InputError(
                    f"{path}: column {column.name!r} is missing, found "
                    f"{', '.join(filter(None, header))}"
                )
    return found, unknown
