"""Waiting jobs in a fixed order, found without sorting the queue at every decision.

Jobs of one demand fit or do not fit together, so there is one heap for each demand, and a decision
looks at the first of each. From decision to decision only the jobs that joined the queue are looked
at (`View.queue_changes`); one that has left it is passed over when it comes up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

import numpy as np
import numpy.typing as npt

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.job_array import JobArray, Numbers, no_numbers
from policies.queues.unread import Unread
from simulator import View
from simulator.model.cluster import IntArray
from simulator.model.ranks import Levels, ranked, ranks

SPARE = 1024
"""Levels that are kept beside those of the jobs in the heaps."""

NOBODY = -1
"""Behind the last job of a line."""


Place = float | tuple[float, float]
"""A job's place in an order: its number, or two where the order has a second one."""

Entry = tuple[Any, int]
"""A job's `Place` in the order, and the job."""

Top = tuple[Entry, Hashable]
"""The first job of a kind, and the kind."""


def demand(view: View, job: int) -> Hashable:
    """Jobs that fit alike: those of one demand of GPUs, CPUs, memory, nodes, racks and types."""
    workload = view.workload
    gpus = workload.num_gpus_list[job]
    if not view.cluster.limited_resources and not workload.has_places:
        return gpus
    # As text, since a demand that is not stated (NaN) is equal to itself there.
    return (
        f"{gpus} {workload.num_cpus.item(job)} {workload.memory_gb.item(job)}"
        f" {workload.num_nodes.item(job)} {workload.one_rack.item(job)} {workload.gpu_types[job]}"
    )


class Order:
    """An order of jobs by a number, equals by submission, and what one controller remembers of it between decisions.

    Order(lambda view, job: view.workload.due_s.item(job), within=INSTANT_S, by="due date")

    The waiting jobs are kept by demand, each in order; and so is the free capacity of the nodes.

    Parameters
    ----------
    number : of a job in a view; the least is first. It stays the same while the job waits. None: the longest in the
        queue first.
    within : which numbers are the same, as for `simulator.model.ranks.ranks`.
    by : what the order goes by, in words.
    kind_of : what the jobs have in common that fit alike.
    then : a second number, by which jobs of the same number are ordered.
    """

    def __init__(
        self,
        number: Callable[[View, int], float] | None = None,
        within: float | None = None,
        by: str = "submission",
        kind_of: Callable[[View, int], Hashable] = demand,
        then: Callable[[View, int], float] | None = None,
    ) -> None:
        self.number, self.then = number, then
        self.by = by
        self._within = within
        self._kind_of = kind_of
        self._unread = Unread()
        self._view: View | None = None
        self._joined = 0
        self._heaps: dict[Hashable, list[Entry]] = {}
        self._place: dict[int, Place] = {}
        self._popped: list[tuple[Hashable, Entry]] = []
        self._levels = Levels(within)
        self._free: FreeCapacity | None = None

    def ordered(self, view: View, jobs: Iterable[int]) -> Iterable[int]:
        """Some jobs, the first to be served first."""
        if self.number is None:
            return jobs
        jobs = list(jobs)
        if self.then is not None:
            numbers = [[n(view, job) for job in jobs] for n in (self.then, self.number)]
            ranked_by = [ranks(of_jobs, self._within) for of_jobs in numbers]
            places = np.lexsort((np.array(jobs), *ranked_by))
            return [jobs[place] for place in places.tolist()]
        return ranked(jobs, [self.number(view, job) for job in jobs], self._within)

    def free(self, view: View) -> FreeCapacity:
        """Free capacity now, of which only what changed is looked at."""
        self._free = free_now(view, self._free)
        return self._free

    def line(self, view: View, also: Iterable[int] = (), most: float = math.inf) -> Line:
        """All waiting jobs, to be looked at in order, and others in their places.

        Parameters
        ----------
        most : demands that are numbers of GPUs, and more than this, are left out.
        """
        tops = self._first_of_each(view, most)
        place_of = self._places(view)
        tops += [((place_of(job), job), None) for job in also]
        return Line(self, view, tops)

    def lines(self, view: View, of: Callable[[Any], int]) -> dict[int, Line]:
        """The waiting jobs in several lines, by a number that each kind has."""
        tops: dict[int, list[Top]] = {}
        for top in self._first_of_each(view):
            tops.setdefault(of(top[1]), []).append(top)
        return {number: Line(self, view, mine) for number, mine in tops.items()}

    def _refresh(self, view: View) -> None:
        """Bring the heaps up to who waits now, once a decision."""
        if view is self._view:
            return
        self._view = view
        joined = self._unread.of(view.queue_changes)
        if joined is None:
            self._heaps, self._place, self._joined = {}, {}, 0
            joined = list(view.waiting)
        else:
            for kind, entry in self._popped:
                if entry[1] in view.waiting and entry[1] not in self._place:
                    self._place[entry[1]] = entry[0]  # it was not started after all
                    heappush(self._heaps.setdefault(kind, []), entry)
        self._popped.clear()
        if not joined:
            return
        if len(self._levels) > 2 * len(self._place) + SPARE:
            self._levels = Levels(self._within, np.ravel([*self._place.values()]).tolist())
        place_of = self._places(view)
        for job in joined:
            if job in view.waiting:
                place = place_of(job)
                if self._place.get(job) != place:
                    self._place[job] = place
                    heap = self._heaps.setdefault(self._kind_of(view, job), [])
                    heappush(heap, (place, job))

    def _places(self, view: View) -> Callable[[int], Place]:
        """The place of a job in the order as it is now; those of equal numbers are the same."""
        number, then, level = self.number, self.then, self._levels.of
        if number is None:
            return self._next
        if then is not None:
            return lambda job: (level(number(view, job)), level(then(view, job)))
        return lambda job: level(number(view, job))

    def _next(self, job: int) -> float:
        self._joined += 1
        return float(self._joined)

    def _first_of_each(self, view: View, most: float = math.inf) -> list[Top]:
        """The first jobs of all demands."""
        self._refresh(view)
        tops: list[Top] = []
        for kind in list(self._heaps):
            if isinstance(kind, int) and kind > most:
                continue
            entry = self.first(view, kind)
            if entry is None:
                del self._heaps[kind]
            else:
                tops.append((entry, kind))
        return tops

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

    Attributes
    ----------
    head : the first job; `NOBODY` at the end.
    """

    def __init__(self, order: Order, view: View, tops: list[Top]) -> None:
        self._order, self._view, self._tops = order, view, tops
        heapify(tops)
        self.head = tops[0][0][1] if tops else NOBODY

    def __bool__(self) -> bool:
        return self.head != NOBODY

    @property
    def kind(self) -> Any:
        """The kind of the first job."""
        return self._tops[0][1]

    def next(self, alike: bool = True) -> None:
        """Go on to the next job; where not ``alike``, to one of another kind."""
        tops, kind = self._tops, self._tops[0][1]
        entry = None
        if alike and kind is not None:
            self._order.pop(kind)
            entry = self._order.first(self._view, kind)
        if entry is not None:
            heapreplace(tops, (entry, kind))
        else:
            heappop(tops)
        self.head = tops[0][0][1] if tops else NOBODY


class Given:
    """Jobs in an order that is given, looked at like a `Line`."""

    def __init__(self, view: View, jobs: Iterable[int]) -> None:
        self._view, self._left = view, iter(jobs)
        self._others: set[Hashable] = set()
        self.head = next(self._left, NOBODY)

    def __bool__(self) -> bool:
        return self.head != NOBODY

    def next(self, alike: bool = True) -> None:
        """Go on to the next job; where not ``alike``, to none of this one's demand any more that waits."""
        view, others = self._view, self._others
        if not alike and self.head in view.waiting:
            others.add(demand(view, self.head))
        for job in self._left:
            if not others or job not in view.waiting or demand(view, job) not in others:
                self.head = job
                return
        self.head = NOBODY


class WaitingArray(JobArray):
    """The jobs that wait at one controller as arrays, kept from decision to decision.

    Attributes
    ----------
    taken : jobs that the last decision has started; who writes it may leave some out.
    new : jobs that joined the queue since the last refresh, the last of the arrays.
    is_anew : whether all of it is new, as other jobs have left it than ``taken`` says.
    """

    def __init__(self, numbers: Numbers = no_numbers):
        super().__init__(numbers)
        self.taken: Iterable[int] = ()
        self.new: Sequence[int] = ()
        self.is_anew = True
        self._unread = Unread()

    def refresh(self, view: View) -> IntArray:
        """``(n,)`` the jobs that wait now, the longest in the queue first."""
        waiting, joined = view.waiting, self._unread.of(view.queue_changes)
        new = [*dict.fromkeys(job for job in joined or () if job in waiting)]
        self.leave_out([*new, *(job for job in self.taken if job not in waiting)])
        repeated = joined is None or len(joined) > len(new)
        self.is_anew = repeated or len(self.jobs) + len(new) != len(waiting)
        if self.is_anew:
            self.clear()
            new = [*waiting]
        self.taken, self.new = (), new
        self.append(view, new)
        return self.jobs


def alike(view: View, jobs: IntArray, job: int) -> npt.NDArray[np.bool_]:
    """``(n,)`` which jobs have the demand of one, and so do not fit where it does not (see `demand`)."""
    workload = view.workload
    found: npt.NDArray[np.bool_] = workload.num_gpus[jobs] == workload.num_gpus[job]
    if view.cluster.limited_resources:
        for stated in (workload.num_cpus, workload.memory_gb):
            found &= np.isclose(stated[jobs], stated[job], rtol=0, atol=0, equal_nan=True)
    return found
