"""Admission control: which jobs can be promised their due date.

A job is promised its due date if a schedule exists in which it and all jobs with a promise are on
time: earliest due date first, with preemption, on all GPUs of the cluster together. A job that cannot
be promised it is rejected, or downgraded: it stays, without a due date, behind those that have one.

This is ElasticFlow's test (Gu et al., ASPLOS 2023, Section 4.1) for jobs of a fixed number of GPUs. There,
jobs may also get more or fewer GPUs.

GPUs are counted in a unit that makes all numbers whole: a GPU, or, where jobs ask for parts, a `SHARE` of one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

from simulator.model import tolerances
from simulator.model.cluster import FloatArray
from simulator.model.ranks import ranked

MARGIN = 1e-6
"""Relative: where a bound comes so near to a due date, the schedule itself decides."""

SHARE = 1_000_000
"""Units of a GPU where jobs ask for parts of GPUs."""


def in_units(gpus: FloatArray) -> list[int]:
    """GPUs as whole numbers: of GPUs where all are whole, else of millionths, rounded down.

    Rounded down, so that three thirds of a GPU fit on one.
    """
    if not (gpus % 1).any():
        return [int(g) for g in gpus.tolist()]
    return [math.floor(g * SHARE + 1e-3) for g in gpus.tolist()]


class Promise(NamedTuple):
    """A job that is on time in the schedule: due date (s from now), job, GPUs or millionths, seconds left."""

    due_in_s: float
    job: int
    gpus: int
    left_s: float


def all_on_time(promises: Sequence[Promise], total_gpus: float) -> bool:
    """Whether earliest due date first, with preemption, ends every job in time.

    At every completion the jobs are looked at in order of due date, equals in order of submission; who
    fits in the GPUs that are left runs. GPUs count together, wherever they are. A job whose due date has
    passed is work to be done first. Nobody can keep its promise any more, so it does not count as one.

    Parameters
    ----------
    promises, total_gpus : GPUs in the same unit, whole numbers.
    """
    by_job = sorted(promises, key=lambda p: p.job)
    due_in_s = [p.due_in_s for p in by_job]
    order = [by_job[i] for i in ranked(range(len(by_job)), due_in_s, tolerances.INSTANT_S)]
    doubtful = _doubtful(order, math.floor(total_gpus))
    if doubtful is None:
        return False
    return not doubtful or _Projection(order[:doubtful], total_gpus).all_on_time()


def _doubtful(order: Sequence[Promise], gpus: int) -> int | None:
    """Number of the first jobs that have to be projected: those behind them are on time in any case.

    None: some job is late for certain. Two bounds in GPU-seconds, each with a margin for rounding. The jobs
    that are due by a time cannot take up more than all GPUs until then. And while a job of g GPUs waits,
    all but g - 1 GPUs work for jobs before it (Graham 1966): it ends by their work / (GPUs - g + 1) and
    its own time.
    """
    before = dated = 0.0
    count = 0
    for i, (due_s, _, needed, left_s) in enumerate(order):
        if needed > gpus:
            return None
        work = needed * left_s
        if due_s >= 0:
            dated += work
            if dated > gpus * due_s * (1 + MARGIN) + MARGIN:
                return None
            if before / (gpus - needed + 1) + left_s > due_s * (1 - MARGIN):
                count = i + 1
        before += work
    return count


class _Projection:
    """The schedule of earliest due date first, from completion to completion.

    Who runs depends on nothing but who is not done yet. So a completion changes nothing for the jobs
    before it in the order, and what follows is looked at only until the free GPUs are as they were.

    Parameters
    ----------
    order : the jobs by due date.
    """

    def __init__(self, order: Sequence[Promise], total_gpus: float) -> None:
        count = len(order)
        self._order = order
        self._total = total_gpus
        self._now_s = 0.0
        self._left_s = [p.left_s for p in order]
        self._end_s = [math.inf] * count
        """When each running job ends, if nobody takes its GPUs; infinite: it does not run."""
        self._done = [False] * count
        self._waiting = count
        self._ends: list[tuple[float, int]] = []
        self._free = [0.0] * count
        """GPUs free before each job, as far as `_reach`; nobody runs beyond it."""
        self._reach = -1
        least = math.inf
        self._least_behind = [least] * count
        for i in range(count - 1, -1, -1):
            self._least_behind[i] = least = min(least, order[i].gpus)

    def all_on_time(self) -> bool:
        """Run until some job is late, or nobody waits."""
        if not self._fill(0, self._total):
            return False
        while self._waiting:
            end_s, i = heapq.heappop(self._ends)
            if end_s != self._end_s[i]:  # it was stopped since
                continue
            self._now_s, self._end_s[i], self._done[i] = end_s, math.inf, True
            if not self._fill(i, self._free[i]):
                return False
        return True

    def _fill(self, first: int, free: float) -> bool:
        """Jobs that run from the job ``first`` on; False where one of them would be late from here."""
        order, done, end_s, before = self._order, self._done, self._end_s, self._free
        for i in range(first, len(order)):
            if i > self._reach:
                if free < self._least_behind[i]:
                    return True
                self._reach = i
            elif before[i] == free and i > first:
                return True
            before[i] = free
            if done[i]:
                continue
            if order[i].gpus <= free:
                free -= order[i].gpus
                if end_s[i] == math.inf and not self._start(i):
                    return False
            elif end_s[i] != math.inf:
                self._left_s[i] = end_s[i] - self._now_s
                end_s[i] = math.inf
                self._waiting += 1
        return True

    def _start(self, i: int) -> bool:
        """Run a job; False where it ends late even if it runs from now to its end."""
        end_s = self._now_s + self._left_s[i]
        if 0 <= self._order[i].due_in_s < end_s - tolerances.SUMS * max(1.0, end_s):
            return False
        self._end_s[i] = end_s
        self._waiting -= 1
        heapq.heappush(self._ends, (end_s, i))
        return True
