"""Rules of a site that the starts of its log tell: hours of the day, limits of jobs at once, times without starts.

    queue = Queue.of(record, total_gpus=100)
    day_rule(record, asked_s), stops(queue, record.user), stretches(queue), held(queue)

Each is what the log looks like, not what its site says: a sign that the number of GPUs is not what jobs waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.metrics.waits import with_room_s
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.recorded import Recorded, clock
from simulator.model.tolerances import SUMS

LONG_H = (1, 2, 4, 8, 12, 24)
"""Jobs that ask for more than so many hours may have hours of their own."""
MANY_USERS = 3
"""So many users who stop at the same number of running jobs, which nobody exceeds, have one limit."""
MOST_NAMES, FEW_JOBS = 50, 20
"""Names that are looked at, and jobs that one needs."""


@dataclass(frozen=True)
class Queue:
    """GPUs that were free, and jobs that waited, between the instants of a log at which something changed.

    Attributes
    ----------
    times_s : ``(T,)`` instants.
    free : ``(T,)`` GPUs that no job held from each instant on.
    submit_s, start_s, end_s, gpus : ``(J,)`` of the jobs whose starts are known, in order of submission.
    jobs : ``(J,)`` their rows of the record.
    pool : ``(J,)`` part of the machine that each may use; None: there is one.
    pool_free : ``(T,)`` GPUs that no job held, of each pool.
    """

    times_s: FloatArray
    free: FloatArray
    submit_s: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    gpus: FloatArray
    jobs: IntArray
    pool: IntArray | None = None
    pool_free: tuple[FloatArray, ...] = ()

    @classmethod
    def of(
        cls,
        record: Recorded,
        total_gpus: float,
        pool: IntArray | None = None,
        pool_gpus: Sequence[float] = (),
    ) -> Queue:
        """The queue of a record on so many GPUs; a job without an end holds its own until the last time of all.

        Parameters
        ----------
        pool, pool_gpus : by row of the record, and the GPUs of each (`simulator.model.places.pools_of`).
        """
        jobs = np.flatnonzero(np.isfinite(record.recorded_start_s))
        submit_s, start_s, end_s = (
            column[jobs] for column in (record.submit_s, record.recorded_start_s, record.end_s)
        )
        last_s = max(np.nanmax(end_s, initial=-np.inf), start_s.max(initial=-np.inf))
        end_s, gpus = np.where(np.isnan(end_s), last_s, end_s), record.num_gpus[jobs]
        times_s = np.unique(np.concatenate([submit_s, start_s, end_s]))
        held = steps(times_s, start_s, gpus) - steps(times_s, end_s, gpus)
        queue = cls(times_s, total_gpus - held, submit_s, start_s, end_s, gpus, jobs)
        if pool is None:
            return queue
        of_job, free = pool[jobs], []
        for number, total in enumerate(pool_gpus):
            own = gpus * (of_job == number)
            free.append(total - steps(times_s, start_s, own) + steps(times_s, end_s, own))
        return replace(queue, pool=of_job, pool_free=tuple(free))

    @property
    def step_s(self) -> FloatArray:
        """``(T,)`` time from each instant to the next one."""
        return np.diff(self.times_s, append=self.times_s[-1])

    def room_s(self) -> FloatArray:
        """``(J,)`` time of each wait during which the GPUs of the job were free."""
        total = self.free[-1] if len(self.free) else 0.0
        return with_room_s(self.submit_s, self.start_s, self.end_s, self.gpus, total)


def steps(times_s: FloatArray, at_s: FloatArray, many: FloatArray | None = None) -> FloatArray:
    """``(T,)`` sum of what has come until each instant, that instant included."""
    return np.bincount(np.searchsorted(times_s, at_s), many, len(times_s)).cumsum()


def _waits_with_room(queue: Queue, own: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """``(T,)`` whether one of these jobs waits while as many GPUs are free, in its pool, as it asks for."""
    found = np.zeros(len(queue.times_s), dtype=np.bool_)
    for number, free in enumerate(queue.pool_free or (queue.free,)):
        here = own if queue.pool is None else own & (queue.pool == number)
        for size in np.unique(queue.gpus[here]).tolist():
            rows = here & (queue.gpus == size)
            waiting = steps(queue.times_s, queue.submit_s[rows]) > steps(queue.times_s, queue.start_s[rows])  # fmt: skip
            found |= waiting & (free >= size - SUMS)
    return found


class DayRule(NamedTuple):
    """An hour of the day at which jobs that ask for much time start.

    Attributes
    ----------
    longer_h : they ask for more than so many hours, or ran for them where no limit is known.
    hour : the first hour of that time.
    share, others : part of their starts on weekdays in that hour, and of those of other jobs.
    """

    longer_h: int
    hour: int
    share: float
    others: float


def clock_of(record: Recorded, at_s: FloatArray) -> tuple[IntArray, IntArray]:
    """Hour of the day, 0 to 23, and day of the week, 0 for Monday, of times of a record with dates."""
    hour, day = clock(record.origin_s, at_s)
    return hour.astype(np.int64), day.astype(np.int64)


def day_rule(record: Recorded, asked_s: FloatArray) -> DayRule | None:
    """The hour at which a quarter or more of the long jobs of weekdays start, and hardly any other; None: there is none.

    Of several limits, the lowest with as clear an hour is told.

    Parameters
    ----------
    asked_s : ``(J,)`` times asked for; where none is known, jobs count by how long they ran.
    """
    if np.isnan(record.origin_s):
        return None
    long_s = record.end_s - record.recorded_start_s if np.isnan(asked_s).all() else asked_s
    known = np.isfinite(record.recorded_start_s) & np.isfinite(long_s)
    hour, day = clock_of(record, np.nan_to_num(record.recorded_start_s))
    known &= day < 5
    found = []
    for limit_h in LONG_H:
        is_long = long_s > limit_h * HOUR_S
        counts, others = (
            np.bincount(hour[known & rows], minlength=24) for rows in (is_long, ~is_long)
        )
        best = int(counts.argmax())
        share, rest = counts[best] / max(counts.sum(), 1), others[best] / max(others.sum(), 1)
        if counts.sum() >= 100 and share >= 0.25 and share >= 3 * rest:
            found.append(DayRule(limit_h, best, float(share), float(rest)))
    clear = max((rule.share for rule in found), default=0.0)
    return next((rule for rule in found if rule.share >= 0.75 * clear), None)


class Stop(NamedTuple):
    """A user, or a partition, whose jobs do not start beyond a number of running ones.

    Attributes
    ----------
    name : of the user or the partition.
    most : jobs that run at once at most.
    waited_s : time for which one of its jobs waited while there was room for it.
    part : part of that time with so many jobs running.
    """

    name: str
    most: int
    waited_s: float
    part: float


def stops(queue: Queue, names: Sequence[str]) -> list[Stop]:
    """Those who run as many jobs as they ever do during most of the time for which they wait with room.

    Their jobs start up to that number at three times or more, and wait so for a day or more in all.

    Parameters
    ----------
    names : by row of the record, user or partition.
    """
    of_job = np.array([names[row] for row in queue.jobs.tolist()], dtype=object)
    found, step_s = [], queue.step_s
    for name, count in Counter(of_job.tolist()).most_common(MOST_NAMES):
        if not name or count < FEW_JOBS:
            continue
        own = of_job == name
        begun, over = (steps(queue.times_s, each[own]) for each in (queue.start_s, queue.end_s))
        runs = (begun - over).astype(np.int64)
        waits = _waits_with_room(queue, own)
        most, waited_s = int(runs.max()), float(step_s[waits].sum())
        at_most = runs == most
        reached = int((at_most & (np.diff(begun, prepend=0) > 0)).sum())
        part = float(step_s[waits & at_most].sum()) / max(waited_s, 1.0)
        if most >= 2 and reached >= 3 and waited_s >= DAY_S and part >= 0.8:
            found.append(Stop(name, most, waited_s, part))
    return found


class CommonStop(NamedTuple):
    """A number of running jobs that several users reach, and nobody exceeds.

    Attributes
    ----------
    names : of those who reach it.
    most : jobs that run at once.
    """

    names: tuple[str, ...]
    most: int


def common_stop(queue: Queue, names: Sequence[str]) -> CommonStop | None:
    """The number of jobs at once that `MANY_USERS` or more start up to at three times, and wait at with room; None: there is none.

    Parameters
    ----------
    names : by row of the record.
    """
    of_job = np.array([names[row] for row in queue.jobs.tolist()], dtype=object)
    most = 0
    reach: list[str] = []
    for name in dict.fromkeys(of_job.tolist()):
        own = of_job == name
        begun, over = (steps(queue.times_s, each[own]) for each in (queue.start_s, queue.end_s))
        runs = begun - over
        if not name or runs.max() < most:
            continue
        at_most = runs == runs.max()
        if runs.max() > most:
            most, reach = int(runs.max()), []
        reached = int((at_most & (np.diff(begun, prepend=0) > 0)).sum())
        if reached >= 3 and (queue.step_s[_waits_with_room(queue, own) & at_most] > 0).any():
            reach.append(name)
    return CommonStop(tuple(reach), most) if most >= 2 and len(reach) >= MANY_USERS else None


def stretches(queue: Queue, least_s: float = HOUR_S) -> npt.NDArray[np.float64]:
    """``(n, 2)`` begin and end of times in which the first job of the queue fitted and no job started.

    Parameters
    ----------
    least_s : only those that last for so long.
    """
    # Jobs stand in order of submission: the first that waits is behind all that have started.
    first = np.searchsorted(np.maximum.accumulate(queue.start_s), queue.times_s, side="right")
    is_one = first < len(queue.jobs)
    job = np.minimum(first, len(queue.jobs) - 1)
    is_one &= queue.submit_s[job] <= queue.times_s
    fits = is_one & (queue.free >= queue.gpus[job] - SUMS)
    fits[-1:] = False
    starts = np.isin(queue.times_s, queue.start_s)
    begins = np.flatnonzero(fits & (starts | ~np.append(False, fits[:-1])))
    ends_at = np.flatnonzero(~fits | starts)
    ends = ends_at[np.searchsorted(ends_at, begins, side="right")] if len(begins) else begins
    found = np.column_stack([queue.times_s[begins], queue.times_s[ends]])
    return found[found[:, 1] - found[:, 0] >= least_s]


def held(queue: Queue, least_s: float = 2 * DAY_S) -> IntArray:
    """Rows of the jobs that waited for so long while their GPUs were free."""
    return queue.jobs[queue.room_s() >= least_s]
