"""Waiting jobs in a fixed order, found without sorting the queue at every decision.

Jobs of one demand fit or do not fit together, so there is one heap for each demand, and a decision
looks at the first of each. From decision to decision only the jobs that joined the queue are looked
at (`View.queue_changes`); one that has left it is passed over when it comes up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator import View
from simulator.model.cluster import IntArray
from simulator.model.contract import Changes
from simulator.model.ranks import Levels, ranked

SPARE = 1024
"""Levels that are kept beside those of the jobs in the heaps."""


@dataclass(frozen=True)
class Rank:
    """An order of jobs by a number; equals by submission. While a job waits, its number stays the same.

    Attributes
    ----------
    of : from a view, the number of a job now; the job with the least is first.
    within : which numbers are the same, as for `simulator.model.ranks.ranks`.
    by : what the order goes by, in words.
    """

    of: Callable[[View], Callable[[int], float]]
    within: float | None = None
    by: str = ""

    def ordered(self, view: View, jobs: Iterable[int]) -> list[int]:
        """Some jobs, the first to be served first."""
        jobs = list(jobs)
        return ranked(jobs, list(map(self.of(view), jobs)), self.within)


Entry = tuple[float, int]
"""A job's place in the order, and the job."""

Top = tuple[Entry, Hashable]
"""The first job of a kind, and the kind."""


class WaitingJobs:
    """The jobs that wait at one controller, by demand, each in order.

    Parameters
    ----------
    rank : the order; None: the longest in the queue first.
    kind_of : what the jobs have in common that fit alike.
    """

    def __init__(self, rank: Rank | None, kind_of: Callable[[View, int], Hashable]) -> None:
        self._rank = rank
        self._kind_of = kind_of
        self._changes: Changes | None = None
        self._mark = 0
        self._joined = 0
        self._heaps: dict[Hashable, list[Entry]] = {}
        self._place: dict[int, float] = {}
        self._popped: list[tuple[Hashable, Entry]] = []
        self._levels = Levels(rank.within if rank else None)

    def refresh(self, view: View) -> None:
        """Bring the heaps up to who waits now."""
        changes = view.queue_changes
        joined, mark = changes.since(self._mark if changes is self._changes else -1)
        if joined is None:
            self._heaps, self._place, self._joined = {}, {}, 0
            joined = list(view.waiting)
        else:
            for kind, entry in self._popped:
                if entry[1] in view.waiting and entry[1] not in self._place:
                    self._place[entry[1]] = entry[0]  # it was not started after all
                    heappush(self._heaps.setdefault(kind, []), entry)
        self._popped.clear()
        self._changes, self._mark = changes, mark
        if not joined:
            return
        if self._rank is not None and len(self._levels) > 2 * len(self._place) + SPARE:
            self._levels = Levels(self._rank.within, self._place.values())
        place_of = self.places(view)
        for job in joined:
            if job in view.waiting:
                place = place_of(job)
                if self._place.get(job) != place:
                    self._place[job] = place
                    heap = self._heaps.setdefault(self._kind_of(view, job), [])
                    heappush(heap, (place, job))

    def places(self, view: View) -> Callable[[int], float]:
        """The place of a job in the order as it is now; those of equal numbers are the same."""
        if self._rank is None:
            return self._next
        number, level = self._rank.of(view), self._levels.of
        return lambda job: level(number(job))

    def _next(self, job: int) -> float:
        self._joined += 1
        return float(self._joined)

    def first_of_each(self, view: View, most: float = math.inf) -> list[Top]:
        """A heap of the first jobs of all demands.

        Parameters
        ----------
        most : demands that are numbers of GPUs, and more than this, are left out.
        """
        tops: list[Top] = []
        for kind in list(self._heaps):
            if isinstance(kind, int) and kind > most:
                continue
            entry = self.first(view, kind)
            if entry is None:
                del self._heaps[kind]
            else:
                tops.append((entry, kind))
        heapify(tops)
        return tops

    def line(self, view: View, also: Iterable[int] = ()) -> Line:
        """All waiting jobs, to be looked at in order, and others in their places."""
        place_of = self.places(view)
        tops = self.first_of_each(view)
        tops += [((place_of(job), job), None) for job in also]
        return Line(self, view, tops)

    def lines(self, view: View, of: Callable[[Any], int]) -> dict[int, Line]:
        """The same in several lines, by a number that each kind has."""
        tops: dict[int, list[Top]] = {}
        for top in self.first_of_each(view):
            tops.setdefault(of(top[1]), []).append(top)
        return {number: Line(self, view, mine) for number, mine in tops.items()}

    def first(self, view: View, kind: Hashable) -> Entry | None:
        """The first job of a demand."""
        heap, place, waiting = self._heaps[kind], self._place, view.waiting
        while heap:
            entry = heap[0]
            if entry[1] in waiting and place.get(entry[1]) == entry[0]:
                return entry
            heappop(heap)
            if entry[1] not in waiting:
                place.pop(entry[1], None)
        return None

    def pop(self, kind: Hashable) -> None:
        """The first job of a demand is started."""
        entry = heappop(self._heaps[kind])
        del self._place[entry[1]]
        self._popped.append((kind, entry))


class Line:
    """Jobs of several kinds in one order, looked at until one of each kind does not fit.

    Parameters
    ----------
    tops : the first jobs of all kinds; those of the kind None are not among the waiting ones.
    """

    def __init__(self, waiting: WaitingJobs, view: View, tops: list[Top]) -> None:
        self._waiting, self._view, self._tops = waiting, view, tops
        heapify(tops)

    def __bool__(self) -> bool:
        return bool(self._tops)

    @property
    def head(self) -> int:
        """The first job."""
        return self._tops[0][0][1]

    @property
    def kind(self) -> Any:
        """The kind of the first job."""
        return self._tops[0][1]

    def next(self, taken: bool) -> None:
        """Go on to the next job; where the first was not taken, none of its kind is."""
        kind = self.kind
        if taken and kind is not None:
            self._waiting.pop(kind)
            entry = self._waiting.first(self._view, kind)
            if entry is not None:
                heapreplace(self._tops, (entry, kind))
                return
        heappop(self._tops)


class WaitingArray:
    """The jobs that wait at one controller as an array, for orders that change with time.

    Attributes
    ----------
    taken : jobs that the last decision has started; who writes it may leave some out.
    """

    def __init__(self) -> None:
        self.taken: list[int] = []
        self._changes: Changes | None = None
        self._mark = 0
        self._jobs: IntArray = np.empty(0, dtype=np.int64)

    def refresh(self, view: View) -> IntArray:
        """``(n,)`` the jobs that wait now, the longest in the queue first."""
        changes, waiting = view.queue_changes, view.waiting
        joined, self._mark = changes.since(self._mark if changes is self._changes else -1)
        self._changes = changes
        last = {job: None for job in joined or () if job in waiting}
        gone = [*last, *(job for job in self.taken if job not in waiting)]
        kept = self._jobs[np.isin(self._jobs, gone, invert=True)] if gone else self._jobs
        self._jobs = np.concatenate([kept, np.array([*last], dtype=np.int64)])
        if joined is None or len(joined) > len(last) or len(self._jobs) != len(waiting):
            self._jobs = np.fromiter(waiting, dtype=np.int64, count=len(waiting))
        return self._jobs


def alike(view: View, jobs: IntArray, job: int) -> npt.NDArray[np.bool_]:
    """``(n,)`` which jobs have the demand of one, and so do not fit where it does not (see `WaitingJobs`)."""
    workload = view.workload
    found: npt.NDArray[np.bool_] = workload.num_gpus[jobs] == workload.num_gpus[job]
    if view.cluster.limited_resources:
        for stated in (workload.num_cpus, workload.memory_gb):
            found &= np.isclose(stated[jobs], stated[job], rtol=0, atol=0, equal_nan=True)
    return found
