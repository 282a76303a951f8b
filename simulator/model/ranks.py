"""Ranks of numbers that come from sums and products: numbers that differ by rounding have the same rank.

Two times are the same where they differ by no more than the clock's `INSTANT_S`; two other numbers (shares, ratios,
prices, gains) where they differ by no more than the part `EQUAL` of them. Among jobs of one rank, the first submitted
comes first. For example, a job of 138 s that has run for 120 s has 18.000000000000004 s left; that is the
rank of a job of 18 s.

Numbers are not rounded to a grid: two that are equal but for rounding may lie on either side of a border.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import EQUAL

LEAST = 2.0**-200
"""Numbers far below it count as 0."""


def ranks(values: npt.ArrayLike, within: float | None = None) -> IntArray:
    """``(n,)`` places of numbers among the different ones, from 0 on; the least is first.

    A new rank begins where a number is above the one before it by more than the tolerance.

    Parameters
    ----------
    within : absolute tolerance, for times `INSTANT_S`; None: relative, `EQUAL`.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if within is None:
        numbers, within = np.arcsinh(numbers / LEAST), EQUAL
    order = np.argsort(numbers, kind="stable")
    with np.errstate(invalid="ignore"):  # infinity less infinity: the same rank
        begins = np.diff(numbers[order]) > within
    found = np.zeros(len(numbers), dtype=np.int64)
    found[order[1:]] = np.cumsum(begins)
    return found


def ranked(items: Iterable[int], values: Sequence[float], within: float | None = None) -> list[int]:
    """Items by the rank of their values, then by number, which for jobs is their submission."""
    listed = list(items)
    order = np.lexsort((np.array(listed), ranks(values, within)))
    return [listed[i] for i in order.tolist()]


def levelled(values: FloatArray, within: float | None = None) -> FloatArray:
    """Numbers of which all of a rank are the least of them; of any shape, all are compared."""
    place = ranks(values.ravel(), within)
    least = np.full(place.max(initial=0) + 1, np.inf)
    np.minimum.at(least, place, values.ravel())
    return least[place].reshape(values.shape)


def less(a: float, b: float, within: float | None = None) -> bool:
    """Whether a number is below another, and not the same."""
    if within is None:
        a, b, within = math.asinh(a / LEAST), math.asinh(b / LEAST), EQUAL
    return b - a > within


class Levels:
    """Ranks of numbers that come one by one: the first of those that are the same stands for all.

    Parameters
    ----------
    within : as for `ranks`.
    known : numbers that stand for others already.
    """

    def __init__(self, within: float | None, known: Iterable[float] = ()) -> None:
        self._is_relative = within is None
        self._within = EQUAL if within is None else within
        self._levels: dict[int, float] = {}
        for level in known:
            self.of(level)

    def __len__(self) -> int:
        return len(self._levels)

    def of(self, value: float) -> float:
        """The number that stands for this one."""
        if not math.isfinite(value):
            return value
        levels, within = self._levels, self._within
        at = math.asinh(value / LEAST) if self._is_relative else value
        cell = math.floor(at / within)
        for near in (cell, cell - 1, cell + 1):
            level = levels.get(near)
            if level is not None:
                there = math.asinh(level / LEAST) if self._is_relative else level
                if abs(at - there) <= within:
                    return level
        levels[cell] = value
        return value
