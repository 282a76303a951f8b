"""Text of unknown origin where it could do harm: on a terminal, in a spreadsheet.

Names of jobs, labels of a sweep and messages of errors may come from files of somebody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

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


def with_safe_cells(table: DataFrame) -> DataFrame:
    """A table whose texts can be opened in a spreadsheet; the same object where all of them can."""
    changed = {}
    for name in table.columns:
        if table[name].dtype.kind in "biufM":
            continue
        values = table[name].tolist()
        safe = [cell(value) if isinstance(value, str) else value for value in values]
        if safe != values:
            changed[name] = safe
    return table.assign(**changed) if changed else table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text
