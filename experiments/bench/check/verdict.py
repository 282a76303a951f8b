"""Faults, the result of a check, and what counts as equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.model.cluster import FloatArray, IntArray

SECOND, SHARE = 2e-6, 1e-9
"""Two times are the same within so many seconds and so much of the time."""
AMOUNT = 1e-6
"""GPUs, CPUs and GB are the same within so much."""
MOST_FAULTS = 20
"""Faults that are told of each kind."""
LONGEST = 60
"""Letters of a name from a file that a message shows."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong.

    Attributes
    ----------
    where : "row 7", "job a", "node 3" or "summary.json".
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class Checked:
    """Result of a check.

    Attributes
    ----------
    faults : empty where the schedule is one.
    metrics : recomputed from the rows, by the names of ``summary.json``.
    unchecked : sentences on what was not checked.
    """

    faults: tuple[Fault, ...]
    metrics: Mapping[str, float]
    unchecked: tuple[str, ...] = ()


def slack_s(time_s: Any) -> Any:
    """Seconds by which two times may differ that are the same."""
    return SECOND + SHARE * np.abs(time_s)


def is_before(time_s: FloatArray, other_s: FloatArray) -> Any:
    """Whether a time is before another one, by more than what counts as equal."""
    return time_s < other_s - slack_s(other_s)


def told(
    bad: Any, of: Callable[[int], tuple[str, str]], each: IntArray | None = None
) -> Iterator[Fault]:
    """A fault for each of the first entries that are true.

    Parameters
    ----------
    of : where, and what is wrong, by the index of an entry.
    each : ``(n,)`` whose each entry is: of a job, say, only the first fault is told.
    """
    found = np.flatnonzero(bad)
    if each is not None:
        found = np.sort(found[np.unique(each[found], return_index=True)[1]])
    for index in found[:MOST_FAULTS].tolist():
        yield Fault(*of(index))


def short(name: str) -> str:
    """A name as messages show it."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}.."
