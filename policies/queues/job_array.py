"""Jobs and their numbers as arrays that are kept from decision to decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator import View
from simulator.model.cluster import FloatArray, IntArray

FEW = 8
"""So many jobs are faster left out of an array one by one than together."""

Numbers = Callable[[View, int], Sequence[float]]
"""Numbers of a job in a view, which stay the same while it is in the array."""


def no_numbers(view: View, job: int) -> Sequence[float]:
    """For jobs alone."""
    return ()


class JobArray:
    """Jobs in an order, new ones at the end.

    Parameters
    ----------
    numbers : of a job, as it joins.

    Attributes
    ----------
    jobs : ``(n,)``.
    columns : ``(C, n)`` their numbers.
    """

    def __init__(self, numbers: Numbers = no_numbers) -> None:
        self.jobs: IntArray = np.empty(0, dtype=np.int64)
        self.columns: FloatArray = np.empty((0, 0))
        self._numbers = numbers

    def clear(self) -> None:
        """Leave all out."""
        self.jobs, self.columns = self.jobs[:0], self.columns[:, :0]

    def append(self, view: View, new: Sequence[int]) -> None:
        """Put jobs at the end."""
        if new:
            columns = np.array([self._numbers(view, job) for job in new], dtype=np.float64).T
            kept = self.columns if len(self.jobs) else columns[:, :0]
            self.columns = np.concatenate((kept, columns), axis=1)
            self.jobs = np.concatenate((self.jobs, new))

    def leave_out(self, gone: Sequence[int]) -> None:
        """Leave out those of some jobs that are there."""
        if len(gone) > FEW and len(self.jobs):
            places = np.flatnonzero(np.isin(self.jobs, gone, invert=True))
            self.jobs, self.columns = self.jobs[places], self.columns[:, places]
            return
        for job in gone:
            for place in np.flatnonzero(self.jobs == job).tolist():
                self.jobs = _without(self.jobs, place)
                self.columns = _without(self.columns, place)


def _without(array: np.ndarray[Any, Any], place: int) -> np.ndarray[Any, Any]:
    """An array without one of its last axis."""
    return np.concatenate((array[..., :place], array[..., place + 1 :]), axis=-1)


def first_that_fit(amounts: FloatArray | IntArray, left: float) -> npt.NDArray[np.bool_]:
    """``(n,)`` which fit in what is left, one after the other; those that do not are passed by.

    As many passes as there are different amounts do it at the most, since after each the largest no longer fit.
    """
    found = np.zeros(len(amounts), dtype=np.bool_)
    places = np.arange(len(amounts))
    while len(places := places[amounts[places] <= left]):
        total = np.cumsum(amounts[places])
        count = int(np.searchsorted(total, left, side="right"))
        found[places[:count]] = True
        left -= total[count - 1]
        places = places[count:]
    return found
