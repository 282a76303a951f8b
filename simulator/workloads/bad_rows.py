"""Rows of a file that cannot be read: the first ten as messages, or a count by reason where they are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import InputError
from simulator.model.cluster import IntArray

TOLD = 10
"""Rows that are told one by one."""


@dataclass(frozen=True)
class Bad:
    """Rows that cannot be read, for one reason.

    Attributes
    ----------
    path : the file.
    reason : "duration_s: expected a number > 0".
    row : word for a row ("line").
    lines : ``(n,)`` line numbers, ascending.
    messages : of the first `TOLD` of them.
    """

    path: Path
    reason: str
    row: str
    lines: IntArray
    messages: Sequence[str]


class BadRows(InputError):
    """Rows of a file cannot be read; the message is that of the first."""

    def __init__(self, bad: Bad) -> None:
        super().__init__(bad.messages[0])
        self.bad = bad


def told(found: Sequence[Bad]) -> InputError:
    """The error of the first row; notes on it tell the next ones, and how to leave them out."""
    each = [pair for bad in found for pair in zip(bad.lines.tolist(), bad.messages, strict=False)]
    messages = [message for _, message in sorted(each)[:TOLD]]
    error, count = InputError(messages[0]), sum(len(bad.lines) for bad in found)
    for message in messages[1:]:
        error.add_note(str(InputError(message)))
    if count > 1:
        error.add_note(
            f"{found[0].path}: {count} rows cannot be read; workload.skip = true leaves them out"
        )
    return error


def skipped(found: Sequence[Bad]) -> list[str]:
    """A note a reason, with the number of rows that are left out and the first of them."""
    lines: dict[tuple[str, str], list[int]] = {}
    for bad in found:
        lines.setdefault((bad.reason, bad.row), []).extend(bad.lines.tolist())
    return [
        f"{found[0].path}: {len(rows)} rows left out, {reason} (the first is {row} {min(rows)})"
        for (reason, row), rows in lines.items()
    ]
