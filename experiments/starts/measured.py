"""Intervals of starts with their coverage, measured on the last jobs of a log as it was known then.

A model is fitted anew before each block of jobs, on the jobs whose start was known at the begin of the block. So each
interval is one that could have been given. How wide it has to be is chosen by the class of the predicted median, from
the blocks before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from experiments.starts.forest import LEVELS, QUANTILES, WaitModel, scaled
from experiments.starts.history import History
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import FloatArray, IntArray

BLOCK = 500
MEASURED_ON, CALIBRATED_ON = 2_000, 2_000
"""Jobs: the last ones, and those before them."""
CLASSES_S = (300.0, 3600.0)
"""Bounds of the classes of predicted medians, s: at most five minutes, at most an hour, longer."""
NOMINAL = 0.9
LONG_S = 3600.0
FEW = 100
"""A class of fewer jobs has the level of all."""
_MEDIAN = QUANTILES.index(0.5)


@dataclass(frozen=True)
class Measured:
    """A model on the last jobs of a log.

    Attributes
    ----------
    jobs : ``(M,)`` that it was measured on.
    wait_s : ``(M,)`` their waits, s.
    submit_s : ``(M,)`` their submissions, s.
    quantiles_s : ``(M, len(QUANTILES))`` as they were predicted.
    low_s, high_s : ``(M,)`` ends of the intervals.
    levels : `LEVELS` by number, that the next interval has, one a class.
    """

    jobs: IntArray
    wait_s: FloatArray
    submit_s: FloatArray
    quantiles_s: FloatArray
    low_s: FloatArray
    high_s: FloatArray
    levels: tuple[int, ...]

    @cached_property
    def covered(self) -> FloatArray:
        """``(M,)`` 1 where the wait was in its interval."""
        inside = (self.wait_s >= self.low_s - 1e-6) & (self.wait_s <= self.high_s + 1e-6)
        return inside.astype(np.float64)

    @property
    def coverage(self) -> float:
        """Part of the waits that was in the interval."""
        return float(self.covered.mean())

    @property
    def coverage_of_long(self) -> float:
        """That of the jobs that waited for more than an hour; NaN where none did."""
        long = self.wait_s > LONG_S
        return float(self.covered[long].mean()) if long.any() else np.nan

    @property
    def worst_day(self) -> float:
        """That of the day on which it was least, of days with twenty jobs or more; NaN where there is none."""
        _, day, count = np.unique(self.submit_s // DAY_S, return_inverse=True, return_counts=True)
        found = np.bincount(day, self.covered) / count
        return float(found[count >= 20].min(initial=np.inf)) if (count >= 20).any() else np.nan

    @property
    def loss(self) -> float:
        """Mean pinball loss of ln(1 + minutes) at 5, 50 and 95 %."""
        wait, at = scaled(self.wait_s), [QUANTILES.index(q) for q in (0.05, 0.5, 0.95)]
        errors = wait[:, None] - scaled(self.quantiles_s[:, at])
        q = np.array([0.05, 0.5, 0.95])
        return float(np.maximum(q * errors, (q - 1) * errors).mean())

    @property
    def width_s(self) -> float:
        """Mean width of the intervals, s."""
        return float((self.high_s - self.low_s).mean())


def measure(
    history: History,
    inputs: FloatArray,
    model: WaitModel,
    at_s: float,
    told: Callable[[int, int], None],
) -> Measured:
    """Measure a model on the last jobs whose start is known at a time.

    Parameters
    ----------
    told : called with the blocks that are done, and all.
    """
    known = history.known_at(at_s)
    jobs = known[-(MEASURED_ON + CALIBRATED_ON) :]
    blocks = [jobs[first : first + BLOCK] for first in range(0, len(jobs), BLOCK)]
    predicted = np.full((len(jobs), len(QUANTILES)), np.nan)
    for k, block in enumerate(blocks):
        before = history.known_at(history.submit_s.item(block[0]))
        if len(before) >= FEW:
            predicted[k * BLOCK : k * BLOCK + len(block)] = model.quantiles(before, inputs[block])
        told(k + 1, len(blocks))
    made = np.isfinite(predicted[:, 0])
    return _with_intervals(history, jobs[made], predicted[made])


def _with_intervals(history: History, jobs: IntArray, predicted: FloatArray) -> Measured:
    """The intervals, each block's by the levels that those before it needed."""
    wait_s, start_s = history.wait_s[jobs], history.start_s[jobs]
    low_s, high_s = np.empty(len(jobs)), np.empty(len(jobs))
    for first in range(0, len(jobs), BLOCK):
        now_s = history.submit_s.item(jobs[first])
        past = np.flatnonzero(start_s[:first] < now_s)[-CALIBRATED_ON:]
        block = slice(first, first + BLOCK)
        levels = levels_of(predicted[past], wait_s[past])
        low_s[block], high_s[block] = interval(predicted[block], levels)
    last = slice(max(0, len(jobs) - MEASURED_ON), None)
    return Measured(
        jobs[last], wait_s[last], history.submit_s[jobs[last]], predicted[last], low_s[last], high_s[last],
        levels_of(predicted[-CALIBRATED_ON:], wait_s[-CALIBRATED_ON:]),
    )  # fmt: skip


def class_of(median_s: FloatArray) -> IntArray:
    """``(n,)`` class of predicted medians."""
    return np.searchsorted(CLASSES_S, median_s)


def levels_of(predicted: FloatArray, wait_s: FloatArray) -> tuple[int, ...]:
    """Numbers of `LEVELS`: in each class the narrowest interval that held for `NOMINAL` of the waits, the widest where none did."""
    classes = class_of(predicted[:, _MEDIAN])
    of_all = _level(predicted, wait_s)
    return tuple(
        _level(predicted[own], wait_s[own]) if (own := classes == c).sum() >= FEW else of_all
        for c in range(len(CLASSES_S) + 1)
    )


def _level(predicted: FloatArray, wait_s: FloatArray) -> int:
    for level in range(len(LEVELS)):
        low_s, high_s = predicted[:, level], predicted[:, -1 - level]
        inside = (wait_s >= low_s - 1e-6) & (wait_s <= high_s + 1e-6)
        if len(wait_s) and inside.mean() >= NOMINAL:
            return level
    return len(LEVELS) - 1 if len(wait_s) else 0


def interval(predicted: FloatArray, levels: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """``(n,)`` lower and upper ends at the levels of the classes."""
    level = np.array(levels)[class_of(predicted[:, _MEDIAN])]
    rows = np.arange(len(predicted))
    return predicted[rows, level], predicted[rows, -1 - level]
