"""Files of rows as text, before anything is known of their columns: CSV and its kin, Parquet, JSON lines.

A file shows by its content what it is, not by its name.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.arguments import MOST_JOBS
from simulator.errors import InputError
from simulator.files.inputs import MOST_BYTES, read_input, read_input_text
from simulator.model.cluster import IntArray
from simulator.workloads.bad_rows import TOLD, Bad

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 10_000
TAB = "\t"
SEPARATORS = (",", ";", TAB, "|")
LONGEST = 200
"""Characters of a value that is no text, as it is shown in a message."""
_LINES = re.compile(r"\r\n|\r|\n")
_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Cells:
    """The rows of a file with titles.

    Attributes
    ----------
    titles : names of the columns, as they stand in the file.
    frame : stripped text, a column a title; empty lines are none.
    lines : ``(R,)`` line numbers of the rows, from 1.
    row : word for a row in messages.
    bad : rows that are none.
    """

    titles: Sequence[str]
    frame: pd.DataFrame
    lines: IntArray
    row: str = "line"
    bad: tuple[Bad, ...] = ()


def as_text(value: Any) -> str:
    """A value of JSON as a CSV file would have it."""
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value)[:LONGEST]


def container_of(path: Path, expected: str) -> str:
    """The look of a file, in words: "the separator is |", "JSON lines", "Parquet"."""
    content = read_input(path, expected)
    text = content[:400_000].decode("utf-8-sig", errors="replace").lstrip()
    if content.startswith(_PARQUET):
        return "Parquet"
    if _first_record(text) is not None:
        return "JSON"
    separator = separator_of(text.partition("\n")[0])
    return f"the separator is {'a tab' if separator == TAB else separator}"


def separator_of(header: str) -> str:
    """The separator of a header line: the most frequent of comma, semicolon, tab and bar."""
    return max(SEPARATORS, key=header.count)


def beginning(path: Path, expected: str) -> str:
    """The first characters of a file, those of its header where it is no text, or JSON lines."""
    content = read_input(path, expected)
    if content.startswith(_PARQUET):
        return ",".join(_parquet(path, content).schema_arrow.names)
    text = content[:400_000].decode("utf-8-sig", errors="replace").lstrip()
    first = _first_record(text)
    return text[:100_000] if first is None else ",".join(first)


def read_lines(path: Path, expected: str) -> tuple[list[str], IntArray]:
    """The lines of a file without a header, stripped, and their numbers; empty ones are left out.

    Raises InputError: a file that cannot be read, or is empty.
    """
    texts = [line.strip() for line in _LINES.split(read_input_text(path, expected))]
    full = np.flatnonzero([bool(line) for line in texts])
    if not len(full):
        raise InputError(f"{path}: is empty, expected {expected}")
    return [texts[line] for line in full.tolist()], full.astype(np.int64) + 1


def read_cells(path: Path, expected: str, most: int = MOST_BYTES) -> Cells:
    """All fields of a file with titles, of at most so many bytes.

    Raises InputError: a file that cannot be read, is too large or is empty.
    """
    content = read_input(path, expected, most)
    if content.startswith(_PARQUET):
        return _of_parquet(path, content)
    beginning = content[:400_000].decode("utf-8-sig", errors="replace").lstrip()
    if _first_record(beginning) is not None:
        return _of_records(path, read_input_text(path, expected, most))
    return _of_csv(path, content, expected)


# -- CSV ---------------------------------------------------------------------------------------


def _of_csv(path: Path, content: bytes, expected: str) -> Cells:
    """Fields between commas, semicolons, tabs or bars, as the first line shows; nothing is quoted between bars."""
    import pandas as pd

    first = content.lstrip().partition(b"\n")[0].decode("utf-8", errors="replace")
    separator = separator_of(first)
    quoting: Any = csv.QUOTE_NONE if separator == "|" else csv.QUOTE_MINIMAL
    columns = first.count(separator) + 1
    if columns > MOST_COLUMNS:
        raise InputError(f"{path}: has {columns:,} columns, expected at most {MOST_COLUMNS:,}")
    bad: tuple[Bad, ...] = ()
    try:
        cells = pd.read_csv(
            BytesIO(content), sep=separator, header=None, dtype=str, na_filter=False,
            skip_blank_lines=False, encoding="utf-8-sig", quoting=quoting,
        )  # fmt: skip
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: is empty, expected {expected}") from None
    except pd.errors.ParserError:
        cells, bad = _with_long_rows(path, content, separator, quoting)
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"{path}: cannot be read ({why}), expected {expected}") from None
    cells = cells.fillna("").apply(lambda column: column.str.strip())
    if separator == ";":  # as spreadsheets write where the comma is the decimal point
        cells = cells.replace(r"^([+-]?\d+),(\d+)$", r"\1.\2", regex=True)
    full = (cells != "").any(axis=1).to_numpy(dtype=bool)
    if not full.any():
        raise InputError(f"{path}: is empty, expected {expected}")
    cells, lines = cells.loc[full], np.flatnonzero(full).astype(np.int64) + 1
    titles = [str(name) for name in cells.iloc[0]]
    return Cells(titles, cells.iloc[1:].reset_index(drop=True), lines[1:], bad=bad)


def _with_long_rows(
    path: Path, content: bytes, separator: str, quoting: Any
) -> tuple[pd.DataFrame, tuple[Bad, ...]]:
    """The cells of a file in which some rows have more fields than the header; these are empty and bad."""
    import pandas as pd

    rows: list[list[str]] = []
    long: dict[int, int] = {}
    try:
        reader = csv.reader(
            StringIO(content.decode("utf-8-sig"), newline=""), delimiter=separator, quoting=quoting
        )
        width = 0
        for fields in reader:
            width = width or len(fields)
            if len(fields) > width > 0:
                long[len(rows) + 1], fields = len(fields), []
            rows.append(fields)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a table ({error})") from None
    if not long:
        raise InputError(f"{path}: not a table (a quotation mark is missing)")
    messages = [
        f"{path}, line {line}: {found} fields, expected {width}"
        for line, found in list(long.items())[:TOLD]
    ]
    bad = Bad(path, f"expected {width} fields", "line", np.array([*long]), messages)
    padded = [[*fields, *[""] * (width - len(fields))] for fields in rows]
    return pd.DataFrame(padded, dtype=object), (bad,)


# -- JSON lines --------------------------------------------------------------------------------


def _loads(text: str) -> Any:
    """A value of JSON, its numbers as they are written."""
    found = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    if "\\ud" in text.lower():  # half a character, which is no text
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _first_record(text: str) -> Mapping[str, Any] | None:
    """The first of a list, or of lines, of JSON objects without inner structure; None where the text is none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text.lstrip("[ \t\r\n"))
    except (ValueError, RecursionError):
        return None
    flat = isinstance(found, Mapping) and not any(
        isinstance(value, Mapping | list) for value in found.values()
    )
    return found if flat and found else None


def _of_records(path: Path, text: str) -> Cells:
    """JSON lines, or a list of objects."""
    import pandas as pd

    parts, row = list(enumerate(_LINES.split(text), start=1)), "line"
    if text.lstrip().startswith("["):
        try:
            parts, row = list(enumerate(_loads(text), start=1)), "entry"
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not JSON ({error}), expected a list of objects") from None
    rows, lines, bad = [], [], []
    for line, part in parts:
        if isinstance(part, str) and not part.strip():
            continue
        try:
            record = _loads(part) if row == "line" else part
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, Mapping):
            rows.append({title.strip(): as_text(value) for title, value in record.items()})
            lines.append(line)
        else:
            bad.append(line)
    titles = list(dict.fromkeys(title for record in rows for title in record))
    if len(titles) > MOST_COLUMNS:
        raise InputError(f"{path}: has {len(titles):,} columns, expected at most {MOST_COLUMNS:,}")
    frame = pd.DataFrame(rows, columns=titles, dtype=object).fillna("")
    frame.columns = pd.RangeIndex(len(titles))
    messages = [f"{path}, {row} {line}: no JSON object, expected one" for line in bad[:TOLD]]
    wrong = (Bad(path, "expected a JSON object", row, np.array(bad), messages),) if bad else ()
    return Cells(titles, frame, np.array(lines, dtype=np.int64), row, wrong)


# -- Parquet -----------------------------------------------------------------------------------


def _parquet(path: Path, content: bytes) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found = parquet.ParquetFile(BytesIO(content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _broken(path, error) from None
    about = found.metadata
    for what, count, most in (
        ("rows", about.num_rows, MOST_JOBS),
        ("columns", about.num_columns, MOST_COLUMNS),
    ):
        if count > most:
            raise InputError(f"{path}: has {count:,} {what}, expected at most {most:,}")
    return found


def _of_parquet(path: Path, content: bytes) -> Cells:
    import pandas as pd
    import pyarrow as pa

    file = _parquet(path, content)
    try:
        table = file.read()
        columns = [_texts(column) for column in table.columns]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _broken(path, error) from None
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(table)), dtype=object)
    return Cells(list(table.column_names), frame, np.arange(1, len(table) + 1), "row")


def _texts(column: Any) -> list[str]:
    """Values of an Arrow column as text; intervals as seconds."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_duration(column.type):
        nanoseconds = column.cast(pa.duration("ns")).cast(pa.int64())
        return ["" if n is None else repr(n / 1e9) for n in nanoseconds.to_pylist()]
    try:
        values = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:  # lists, structures
        values = [None if v is None else str(v)[:LONGEST] for v in column.to_pylist()]
    return ["" if value is None else value.strip() for value in values]


def _broken(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be read ({' '.join(str(error).split())}), expected Parquet")
