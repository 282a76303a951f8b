"""Tables that users bring: columns described once, from which reading, checks and messages follow.

    JOBS = (InputColumn("job_id", "", "name of the job", "text", unique=True),
            InputColumn("duration_s", "s", "how long it runs", "number", more_than=0))
    table = Table.read("jobs.csv", JOBS)
    table.numbers("duration_s")       # or one line: file, line, column, value, what was expected

Commas, semicolons, tabs or bars between fields, Parquet, JSON lines, byte-order marks, Windows line ends, blanks around names and values,
empty lines and gzip are tolerated; names are compared without case and punctuation, and may end in a unit.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from simulator.arguments import LATEST_S
from simulator.errors import InputError, meant
from simulator.files.inputs import MOST_BYTES
from simulator.files.keys import KeyedError
from simulator.model.cluster import FloatArray, IntArray
from simulator.schema import Column, Values
from simulator.workloads.bad_rows import TOLD, Bad, BadRows, skipped, told
from simulator.workloads.cells import read_cells, read_lines, separator_of

if TYPE_CHECKING:
    import pandas as pd

Parsed = TypeVar("Parsed")


class MissingColumns(InputError):
    """A file lacks columns that it must have.

    Attributes
    ----------
    names : of the columns.
    has : whether it has some of those that are looked for.
    """

    def __init__(self, path: Path, names: Sequence[str], titles: Sequence[str], has: bool) -> None:
        found = ", ".join(filter(None, titles))
        super().__init__(f"{path}: column {names[0]!r} is missing, found {found}")
        self.names, self.has = names, has


EXACT = 2**53
"""Whole numbers below it are exact as doubles."""
UNKNOWN = ("None", "none", "Unknown", "N/A", "NA", "NaN", "nan", "NaT", "null", "NULL", "<NA>")
"""What stands for a number or a time that is not known."""
UNITS: Mapping[str, Mapping[str, float]] = {
    "s": {
        unit: seconds
        for names, seconds in (
            ("ns nanoseconds", 1e-9), ("us usec microseconds", 1e-6), ("ms milliseconds", 1e-3), ("s sec secs seconds", 1.0), ("min mins minutes", 60.0),
            ("h hr hrs hours", 3600.0), ("d days", 86_400.0),
        )
        for unit in names.split()
    },
    "GB": {"mb": 1e-3, "gb": 1.0, "tb": 1e3, "mib": 2**20 / 1e9, "gib": 2**30 / 1e9},
}  # fmt: skip
"""Endings of a name by the unit of its column, each in that unit."""
_DATE = r"(19|20|21)\d\d([-/])[\d/TZ:. +-]+"
_NUMBER = re.compile(r"[-+]?\d{1,20}(\.\d{0,20})?", re.ASCII)
_SPAN = re.compile(r"(?:(\d{1,6})(?:-| days? ))?(\d{1,6}):(\d\d):(\d\d(?:\.\d{1,9})?)", re.ASCII)


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
    aliases : other names under which the column may be found, the likeliest first.
    gives : column of `simulator.model.workload.Workload` that a trace has from it, or duration_s, or num_gpus.
    or_else : a column that will do in its place, where it is required.
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
    or_else: str = ""

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
        others = {"time": ", or a date and time", "duration": ", or H:MM:SS"}
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
        return " ".join([kinds.get(self.type, "a number"), *bounds]) + others.get(self.type, "")

    def spellings(self) -> Iterator[tuple[str, float]]:
        """Plain names under which the column may be found, and the factor of the unit that they end in."""
        units = UNITS.get(self.unit, {})
        own = _plain(self.unit)
        for name in map(_plain, (self.name, *self.aliases)):
            yield name, 1.0
            if self.aliases:  # else the format has names of its own
                yield from ((name.removesuffix(own) + unit, per) for unit, per in units.items())

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
    more : names of further fields, which a line may lack; still more are not read. Without names none may follow.
    """

    expected: str = ""
    names: Mapping[int, Sequence[str]] = field(default_factory=dict)
    separator: str | None = ","
    comment: str = "\0"
    more: Sequence[str] = ()

    def names_of(self, row: Sequence[str]) -> Sequence[str]:
        """Names of the fields of a line; empty where it is none."""
        least = max(self.names, default=0)
        if self.more and len(row) > least:
            return (*self.names[least], *self.more)
        return self.names.get(len(row), ())

    def likeness(self, text: str, columns: Sequence[InputColumn]) -> float:
        """From 0 to 1, by the beginning of a file: by its number of fields, or required columns in its header."""
        lines = [line for line in text.splitlines() if line.strip()]
        first = next((line for line in lines if not line.startswith(self.comment)), "")
        fields = first.split(self.separator if self.names else separator_of(first))
        if self.names:
            numbers = not self.more or all(map(_NUMBER.fullmatch, fields[: max(self.names)]))
            return float(bool(self.names_of(fields) and numbers) or text.startswith(self.comment))
        found, _ = _spelt(fields, columns)
        wanted = [(c.name, c.name if c.name in found else c.or_else) for c in columns if c.required]
        named = [(name, fields[found[has]]) for name, has in wanted if has in found]
        exact = sum(_plain(name) == _plain(title) for name, title in named)
        return (exact + 0.9 * (len(named) - exact)) / len(wanted)


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
    units : factor of the numbers of each column whose title ends in a unit of its own.
    bad : rows that cannot be read, and are left out.
    comments : lines of the file that are none of its rows.
    misspelt : a note on each column that is not read, and is spelt nearly as an optional one that is not there.
    """

    path: Path
    columns: Sequence[InputColumn]
    frame: pd.DataFrame
    lines: IntArray
    ignored: Sequence[str] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    row: str = "line"
    dropped: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, float] = field(default_factory=dict)
    bad: tuple[Bad, ...] = ()
    comments: tuple[str, ...] = ()
    misspelt: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        path: str | Path,
        columns: Sequence[InputColumn],
        layout: Layout = HEADER,
        most: int = MOST_BYTES,
    ) -> Table:
        """Read a file, by default one whose first line names its columns; such a one has ``most`` bytes at most.

        Raises InputError: a file that cannot be read or is empty, a missing, misspelt or double column,
        a line with too many fields.
        """
        table = cls.of_file(path, columns, layout, most=most)
        for bad in table.bad:
            raise BadRows(bad)
        for note in table.misspelt:
            raise InputError(note)
        return table

    @classmethod
    def of_file(
        cls,
        path: str | Path,
        columns: Sequence[InputColumn],
        layout: Layout = HEADER,
        given: Mapping[str, str] | None = None,
        most: int = MOST_BYTES,
    ) -> Table:
        """As `read`, but rows that are none are in ``bad``.

        Parameters
        ----------
        given : titles of the file by name of a column; "": the file has no such column.
        """
        path = Path(path)
        if layout.names:
            return cls._without_header(path, columns, layout)
        required = ", ".join(c.name for c in columns if c.required)
        cells = read_cells(path, f"a header line with {required}", most)
        chosen = _chosen(cells.titles, columns, given or {})
        found, units, ignored = _match(path, cells.titles, columns, chosen)
        near = _near(path, ignored, [c for c in columns if c.name not in {*found, *chosen}])
        if cells.frame.empty and not cells.bad:
            raise InputError(f"{path}: has no rows, expected at least one below the header")
        frame = cells.frame[[cells.frame.columns[i] for i in found.values()]]
        titles = {name: cells.titles[i] for name, i in found.items()}
        return cls(
            path, columns, frame.set_axis(list(found), axis=1), cells.lines, ignored, titles,
            cells.row, units=units, bad=cells.bad, misspelt=near,
        )  # fmt: skip

    @classmethod
    def _without_header(cls, path: Path, columns: Sequence[InputColumn], layout: Layout) -> Table:
        import pandas as pd

        texts, lines = read_lines(path, layout.expected)
        kept = [not text.startswith(layout.comment) for text in texts]
        rows = [
            [f.strip() for f in text.split(layout.separator)]
            for text, is_row in zip(texts, kept, strict=True)
            if is_row
        ]
        if not rows:
            raise InputError(f"{path}: no job, expected lines of {layout.expected}")
        lines = lines[np.array(kept)]
        comments = tuple(text for text, is_row in zip(texts, kept, strict=True) if not is_row)
        names = next(filter(None, map(layout.names_of, rows)), ())
        if layout.more:
            names = max(map(layout.names_of, rows), key=len)
            rows = [
                (row + [""] * len(layout.more))[: len(names)] if layout.names_of(row) else row
                for row in rows
            ]
        good = np.array([len(row) == len(names) for row in rows])
        bad = np.flatnonzero(~good)
        messages = [
            f"{path}, line {lines[k]}: {len(rows[k])} fields, expected {layout.expected}"
            for k in bad[:TOLD].tolist()
        ]
        wrong = (Bad(path, f"expected {layout.expected}", "line", lines[bad], messages),)
        rows = [row for row, is_good in zip(rows, good.tolist(), strict=True) if is_good]
        frame = pd.DataFrame(rows, columns=list(names), dtype=object)
        return cls(
            path, columns, frame, lines[good], bad=wrong if len(bad) else (), comments=comments
        )

    def __contains__(self, name: str) -> bool:
        return name in self.frame.columns

    def __len__(self) -> int:
        return len(self.frame)

    def error(self, row: int, name: str, expected: str) -> BadRows:
        """The error about one value."""
        reason = f"{self.titles.get(name, name)}: expected {expected}"
        message = self._message(row, name, expected)
        return BadRows(Bad(self.path, reason, self.row, self.lines[row : row + 1], [message]))

    def _message(self, row: int, name: str, expected: str) -> str:
        value = self.frame[name].iloc[row]
        shown = repr(value) if isinstance(value, str) and value else str(value) or "empty"
        title = self.titles.get(name, name)
        where = f"{self.path}, {self.row} {self.lines[row]}"
        return f"{where}: {title} is {shown}, expected {expected}"

    def require(self, name: str, good: npt.NDArray[np.bool_], expected: str) -> None:
        """Raise `BadRows` where some rows are not good."""
        if not good.all():
            bad = np.flatnonzero(~good)
            messages = [self._message(row, name, expected) for row in bad[:TOLD].tolist()]
            reason = f"{self.titles.get(name, name)}: expected {expected}"
            raise BadRows(Bad(self.path, reason, self.row, self.lines[bad], messages))

    def readable(self, parse: Callable[[Table], Parsed], skip: bool) -> tuple[Parsed, list[str]]:
        """Parsed rows that can be read, and notes: on misspelt columns, and a reason on those that are left out.

        Parameters
        ----------
        parse : of a table; raises `BadRows` for some of its rows.
        skip : whether rows may be left out.

        Raises InputError: rows cannot be read, all of them or without ``skip``: the first ten.
        """
        table, found = self, [*self.bad]
        while len(table):
            try:
                parsed = parse(table)
            except BadRows as error:
                rest = ~np.isin(table.lines, error.bad.lines)
                if error.bad.path != self.path or rest.all():
                    raise
                found.append(error.bad)
                table = table.keep(rest)
            else:
                if found and not skip:
                    break
                return parsed, [*self.misspelt, *skipped(found)]
        raise told(found)

    def keep(self, rows: npt.NDArray[np.bool_], others: str = "") -> Table:
        """The rows that are true; with words, the others are counted in ``dropped``."""
        dropped = dict(self.dropped) | ({others: int((~rows).sum())} if others else {})
        frame = self.frame.loc[rows].reset_index(drop=True)
        return replace(self, frame=frame, lines=self.lines[rows], dropped=dropped)

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
        texts, blank = self._known(name)
        parsed = pd.to_numeric(texts, errors="coerce")
        values = parsed.to_numpy(dtype=np.float64, na_value=np.nan).copy()
        if column.type == "duration":
            values[np.isnan(values)] = [_span_s(text) for text in texts[np.isnan(values)]]
        values *= self.units.get(name, 1.0)
        good = column.allows(values)
        if column.empty is not None:
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
        if column.type == "text":
            return self.texts(name)
        if column.type in ("date", "time"):
            return self.dates(name) if column.type == "date" else self.times(name)
        if column.type == "integer" and column.per == 1:
            return self.whole_numbers(name)
        return self.numbers(name) / column.per

    def whole_numbers(self, name: str) -> IntArray:
        """``(R,)`` numbers of a column of type "integer"."""
        return self.numbers(name).astype(np.int64)

    def dates(self, name: str) -> FloatArray:
        """``(R,)`` seconds since 1970 of a column of dates, in UTC where no zone is given."""
        column, seconds = self._column(name), self.known_dates(name)
        if name not in self:
            return np.full(len(self), column.empty, dtype=np.float64)
        good = np.isfinite(seconds)
        if column.empty is not None:
            blank = self._known(name)[1]
            seconds[blank] = column.empty
            good |= blank
        self.require(name, good, column.expected)
        return seconds

    def is_dated(self, name: str) -> bool:
        """Whether a column of times holds dates: whether the first value that is known is one."""
        if name not in self:
            return False
        texts, blank = self._known(name)
        return bool(texts[~blank].head(1).str.fullmatch(_DATE).any())

    def is_known(self, name: str) -> bool:
        """Whether a column has a value that is known."""
        return name in self and not self._known(name)[1].all()

    def times(self, name: str) -> FloatArray:
        """``(R,)`` seconds of a column of dates, since 1970, or of numbers."""
        return self.dates(name) if self.is_dated(name) else self.numbers(name)

    def known_dates(self, name: str) -> FloatArray:
        """``(R,)`` seconds since 1970, NaN where a value is no date or the file has no such column."""
        import pandas as pd

        if name not in self:
            return np.full(len(self), np.nan)
        texts = self.frame[name]
        # pandas takes "3600" for a year and "now" for a time, and cannot subtract what is so far away.
        shaped = texts.where(texts.str.fullmatch(_DATE).fillna(False).astype(bool))
        shaped = shaped.str.replace("/", "-", regex=False)
        parsed = pd.to_datetime(shaped, errors="coerce", format="ISO8601", utc=True)
        seconds = (parsed - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
        return np.array(seconds, dtype=np.float64)

    def _known(self, name: str) -> tuple[pd.Series[str], npt.NDArray[np.bool_]]:
        """The texts of a column, and which of them stand for what is not known."""
        texts = self.frame[name]
        return texts, texts.isin(("", *UNKNOWN)).to_numpy(dtype=bool)

    def _column(self, name: str) -> InputColumn:
        column = next(c for c in self.columns if c.name == name)
        if name not in self and column.empty is None:
            raise InputError(f"{self.path}: column {name!r} is missing, expected it here")
        return column


def _span_s(text: str) -> float:
    """Seconds of "1:30:00", "1-02:00:00" or "1 days 02:00:00"; NaN of anything else."""
    found = _SPAN.fullmatch(text)
    if found is None:
        return math.nan
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return days * 86_400 + hours * 3600 + minutes * 60 + seconds


def _plain(name: str) -> str:
    """A column name without case, blanks and punctuation."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _spelt(
    titles: Sequence[str], columns: Sequence[InputColumn], taken: Sequence[int] = ()
) -> tuple[dict[str, int], dict[str, float]]:
    """Index of the title that is likeliest each column's, without those that are taken; and factors of units."""
    at: dict[str, int] = {}
    for i, title in enumerate(titles):
        if i not in taken:
            at.setdefault(_plain(title), i)
    at.pop("", None)
    found: dict[str, int] = {}
    units: dict[str, float] = {}
    own = {_plain(column.name) for column in columns}
    for column in columns:
        for name, per in column.spellings():
            if name in at and (name == _plain(column.name) or name not in own):
                found[column.name] = at.pop(name)
                units[column.name] = per
                break
    return found, units


def _chosen(
    titles: Sequence[str], columns: Sequence[InputColumn], given: Mapping[str, str]
) -> dict[str, int]:
    """Index of the title of each column that a user names, -1 where he says that there is none."""
    spelt = {name: c.name for c in reversed(columns) for name, _ in c.spellings()}
    spelt |= {_plain(c.name): c.name for c in columns}
    found: dict[str, int] = {}
    for name, title in given.items():
        key = f"workload.columns.{name}"
        column = spelt.get(_plain(name))
        if column is None:
            raise KeyedError(key, f"unknown column, {meant(name, [c.name for c in columns])}")
        if title and title not in titles:
            raise KeyedError(key, f"got {title!r}, {meant(title, [t for t in titles if t])}")
        found[column] = titles.index(title) if title else -1
    return found


def _match(
    path: Path, titles: Sequence[str], columns: Sequence[InputColumn], chosen: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, float], list[str]]:
    """Index of each known column, factors of their units, and the titles that are not known.

    Parameters
    ----------
    chosen : the indices that are given, -1: none.
    """
    plain = [_plain(title) for title in titles]
    for column in columns:
        if plain.count(_plain(column.name)) > 1 and column.name not in chosen:
            raise InputError(f"{path}: column {column.name!r} occurs twice, expected once")
    rest = [column for column in columns if column.name not in chosen]
    found, units = _spelt(titles, rest, [*chosen.values()])
    for name, i in chosen.items():
        if i >= 0:
            column = next(c for c in columns if c.name == name)
            found[name] = i
            units[name] = dict(column.spellings()).get(plain[i]) or _unit_at_end(titles[i], column)
    used = {*found.values()}
    unknown = [title for i, title in enumerate(titles) if title and i not in used]
    missing = [
        c.name for c in rest if c.required and c.name not in found and c.or_else not in found
    ]
    for column in rest:
        if column.required and column.name not in found:
            if like := _like(column, unknown, 0.75):
                raise InputError(
                    f"{path}: column {like!r} is not known, did you mean {column.name!r}?"
                )
            if column.name in missing:
                raise MissingColumns(path, missing, titles, bool(found))
    return found, {name: per for name, per in units.items() if per != 1.0}, unknown


def _unit_at_end(title: str, column: InputColumn) -> float:
    """Factor of the unit that a title ends in after other words ("queued_us", "Queued (us)"); 1 where there is none."""
    words = re.findall(r"[a-z]+", title.lower())
    return UNITS.get(column.unit, {}).get(words[-1], 1.0) if len(words) > 1 else 1.0


def _like(column: InputColumn, titles: Sequence[str], likeness: float) -> str | None:
    """The title that is spelt nearly as a column is."""
    plain = [_plain(title) for title in titles]
    close = difflib.get_close_matches(_plain(column.name), plain, 1, likeness)
    return titles[plain.index(close[0])] if close else None


def _near(path: Path, titles: Sequence[str], columns: Sequence[InputColumn]) -> tuple[str, ...]:
    """A note on each title that is spelt nearly as an optional column; it may as well be another thing."""
    pairs = [(_like(c, titles, 0.85), c.name) for c in columns if not c.required]
    return tuple(
        f"{path}: column {title!r} is not known, and not read; if it is {name!r}, rename it, or for a trace "
        f"--set workload.columns.{name}={title}"
        for title, name in pairs
        if title
    )
