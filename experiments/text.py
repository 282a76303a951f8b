"""Text of unknown origin where it could do harm: on a terminal, in a spreadsheet.

Names of jobs, labels of a sweep and messages of errors may come from files of somebody else.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins with one of these for a formula."""


def printable(text: str) -> str:
    """The text without control characters: ``\\x1b`` is written out, line ends stay.

    A terminal obeys escape sequences; so a label could change its title or hide a line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def counted(number: int, what: str) -> str:
    """A number of things: "1 event", "2 events"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def percent(part: float, digits: int = 0) -> str:
    """A part of the whole in percent: "12 %"."""
    return f"{100 * part:.{digits}f} %"


def one_line(error: BaseException) -> str:
    """The message of an error on one line that a terminal can show."""
    return printable(" ".join(str(error).split()))


def cell(text: str) -> str:
    """A text as a cell of a CSV file: with ``'`` before it where it would become a formula.

    A number stays as it is: "-1" is no formula.
    """
    if not text.startswith(FORMULA) or _is_number(text):
        return text
    return f"'{text}"


def with_safe_cells(table: pa.Table) -> pa.Table:
    """The table with texts, and names of columns, that a spreadsheet takes for texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for index, name in enumerate(table.column_names):
        column = table.column(index)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        if pc.any(pc.match_substring_regex(column, r"\A[=+\-@\t\r]")).as_py():
            texts = [None if text is None else cell(text) for text in column.to_pylist()]
            table = table.set_column(index, name, pa.array(texts, column.type))
    return table.rename_columns([cell(name) for name in table.column_names])


def write_csv(table: pa.Table, file: IO[bytes]) -> None:
    """Write the table as CSV: the shortest digits that give the same number, quotes where one text needs them."""
    import pyarrow as pa
    from pyarrow.csv import WriteOptions
    from pyarrow.csv import write_csv as write

    start = file.write(f"{','.join(map(_quoted, table.column_names))}\n".encode())
    for quoting in ("none", "needed"):  # "needed" puts quotes around every text.
        try:
            write(table, file, WriteOptions(include_header=False, quoting_style=quoting))
            return
        except pa.ArrowInvalid:  # of "none": a text has a comma, a quote or the end of a line in it
            file.seek(start)
            file.truncate()


def _quoted(name: str) -> str:
    """A name of a column, in quotes where it needs them."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if any(c in name for c in ',"\r\n') else name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text
