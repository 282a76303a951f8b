"""Free capacity over time: steps, between which it stays the same, and the first time at which a job fits.

Where the total of free GPUs decides, a step is that number; else it has what is free on each node, too. The steps are
arrays, and functions that go through many of them are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import INSTANT_S

F = TypeVar("F", bound=Callable[..., Any])
TOTAL = np.zeros(1, dtype=np.int64)
"""The columns of steps that a share takes from where the total decides."""


def kernel(function: F) -> F:
    """A function that numba compiles when it is first called, and keeps on disk."""
    return cast(F, njit(cache=True, nogil=True)(function))


@kernel
def _step(at_s: FloatArray, count: int, time_s: float) -> int:
    """The first step that begins at a time, or later."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if at_s[middle] < time_s - INSTANT_S:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _cut(at_s: FloatArray, free: FloatArray, count: int, time_s: float) -> tuple[int, int]:
    """The step that begins at a time, made where there is none; and how many steps there are then."""
    step = _step(at_s, count, time_s)
    if step < count and at_s[step] <= time_s + INSTANT_S:
        return step, count
    for later in range(count, step - 1, -1):
        at_s[later] = at_s[later - 1]
        for column in range(free.shape[1]):
            free[later, column] = free[later - 1, column]
    at_s[step] = time_s
    return step, count + 1


@kernel
def _take(
    at_s: FloatArray, free: FloatArray, count: int, start_s: float, end_s: float,
    columns: IntArray, amounts: FloatArray, sign: float,
) -> int:  # fmt: skip
    """Take amounts for a while, or give them back; how many steps there are then."""
    first, count = _cut(at_s, free, count, start_s)
    last = count
    if end_s < math.inf:
        last, count = _cut(at_s, free, count, end_s)
    for step in range(first, last):
        for k in range(len(columns)):
            free[step, columns[k]] -= sign * amounts[k]
    return count


@kernel
def _earliest(
    at_s: FloatArray, free: FloatArray, count: int, gpus: float, length_s: float, latest_s: float,
    first: int,
) -> int:  # fmt: skip
    """The first step, from one on, at whose begin so many GPUs are free for so long; -1 where there is none."""
    while first < count and at_s[first] <= latest_s:
        end_s = at_s[first] + length_s - INSTANT_S
        step = first
        while step < count and free[step, 0] >= gpus and (step == first or at_s[step] < end_s):
            step += 1
        if step == count or (step > first and at_s[step] >= end_s):
            return first
        first = step + 1
    return -1


@kernel
def _plan(
    at_s: FloatArray, free: FloatArray, count: int, jobs: FloatArray, latest_s: float, keep: bool
) -> int:
    """Start jobs, one after the other, at the first time at which their GPUs are free; how many steps there are then.

    Parameters
    ----------
    jobs : ``(n, 3)`` GPUs, length (s), and start (s; not a number: none), which is brought up to date.
    keep : whether jobs start where they did, or not at all; else each gives back what it has, and starts anew.
    """
    for j in range(len(jobs)):
        gpus, length_s, start_s = jobs[j, :1], jobs[j, 1], jobs[j, 2]
        first, until_s = 0, latest_s
        if keep:
            first, count = _cut(at_s, free, count, start_s)
            until_s = at_s[first]
        elif start_s == start_s:
            count = _take(at_s, free, count, start_s, start_s + length_s, TOTAL, gpus, -1.0)
        first = _earliest(at_s, free, count, gpus[0], length_s, until_s, first)
        jobs[j, 2] = math.nan
        if first >= 0:
            jobs[j, 2] = start_s = at_s[first]
            count = _take(at_s, free, count, start_s, start_s + length_s, TOTAL, gpus, 1.0)
    return count


class Skyline:
    """Amounts that are free from now on; in the first column the total of free GPUs.

    Parameters
    ----------
    free : ``(C,)`` what is free now.
    end_s, amounts : ``(n,)``, ``(n, C)`` when more becomes free, s, ascending, and how much.
    """

    def __init__(
        self, now_s: float, free: FloatArray, end_s: FloatArray, amounts: FloatArray
    ) -> None:
        first = np.flatnonzero(np.diff(end_s, prepend=-math.inf) > INSTANT_S)
        more = np.cumsum(np.add.reduceat(amounts, first), axis=0) if len(first) else amounts
        self._at_s = np.concatenate(([now_s], end_s[first]))
        self._free = np.concatenate(([free], free + more))
        self._count = len(self._at_s)

    def begin_at(self, now_s: float) -> float:
        """Forget what is before; the GPUs that are free now."""
        passed = _step(self._at_s, self._count, now_s + 2 * INSTANT_S) - 1
        self._at_s, self._free = self._at_s[passed:], self._free[passed:]
        self._count -= passed
        self._at_s[0] = now_s
        return float(self._free[0, 0])

    def plan(self, jobs: FloatArray, latest_s: float = math.inf, keep: bool = False) -> FloatArray:
        """``(n,)`` starts of jobs, where the total of free GPUs decides; see `_plan`."""
        self._make_room(6 * len(jobs))
        self._count = _plan(self._at_s, self._free, self._count, jobs, latest_s, keep)
        return jobs[:, 2]

    def take(
        self, start_s: float, end_s: float, columns: IntArray, amounts: FloatArray, sign: int = 1
    ) -> None:
        """Take amounts of some columns for a while; with the sign -1 give them back."""
        self._make_room(2)
        self._count = _take(
            self._at_s, self._free, self._count, start_s, end_s, columns, amounts, float(sign)
        )

    def least(self, start_s: float, end_s: float) -> FloatArray:
        """``(C,)`` the least that is free for a while."""
        first = _step(self._at_s, self._count, start_s + 2 * INSTANT_S) - 1
        last = max(first + 1, _step(self._at_s, self._count, end_s))
        return np.asarray(self._free[first:last].min(axis=0))

    def starts(self, gpus: float, length_s: float, latest_s: float) -> Iterator[float]:
        """Times from which so many GPUs are free in all for so long, s."""
        first = -1
        while True:
            first = _earliest(
                self._at_s, self._free, self._count, gpus, length_s, latest_s, first + 1
            )
            if first < 0:
                return
            yield self._at_s.item(first)

    def _make_room(self, steps: int) -> None:
        """Have room for so many steps more."""
        if self._count + steps > len(self._at_s):
            more = self._count + 2 * steps
            self._at_s = np.resize(self._at_s, more)
            self._free = np.resize(self._free, (more, self._free.shape[1]))
