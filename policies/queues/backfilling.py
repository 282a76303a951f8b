"""Backfilling with reservations: a job may pass others where it delays none that has a reservation.

A job is expected to end when the time is over that it asked for (`Workload.requested_s`); where it asked for none,
after its duration as policies see it, on the slowest nodes. A job that runs longer is expected to end at once.

Options
-------
order : who is looked at first: fifo, sjf (shortest time asked for), priority (`Workload.priority`, then weight),
    multifactor (Slurm's, `policies.queues.multifactor`, whose options are those from weight_age on).
bf_window_s : jobs that would start later get no reservation, s; 0: all do. Slurm's bf_window, there in minutes.
bf_max_job_test : so many jobs are looked at, the first in the order; 0: all. Slurm's bf_max_job_test.
bf_resolution_s : expected durations are rounded up to a multiple of it, s; 0: they are not. After Slurm's bf_resolution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.job_array import FEW
from policies.queues.multifactor import Multifactor
from policies.queues.running import ExpectedEnds, Shares
from policies.queues.waiting import WaitingArray, demand
from policies.registry.registration import register
from simulator import FIXED, NO_CHANGE, Decision, InputError, Placement, View
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.ranks import LEAST, ranks
from simulator.model.tolerances import EQUAL, INSTANT_S

Numbers = tuple[float, ...]
BoolArray = npt.NDArray[np.bool_]

ANYWHERE = -1
"""Instead of a node, where the total of free GPUs alone decides."""

TIME = itemgetter(0)

SAME = 1e-12
"""Relative: a rate that is so close to the expected one is the expected one."""


def expected_s(view: View, job: int) -> float:
    """Seconds that a job is expected to hold its GPUs from a start now."""
    asked_s = view.workload.requested_s.item(job)
    if not math.isnan(asked_s):
        return asked_s
    return _whole_s(view, job) * view.remaining_of(job)


def _whole_s(view: View, job: int) -> float:
    slowest_s = view.workload.performance.slowest_s
    if slowest_s is None:
        raise InputError("this policy needs jobs of fixed demand")
    return slowest_s.item(job)


def _by_priority(view: View, job: int) -> Numbers:
    """Highest priority first, then highest weight, on a scale on which what is relative becomes absolute."""
    workload = view.workload
    return -workload.priority.item(job), -math.asinh(workload.weight_per_s.item(job) / LEAST)


ORDERS: dict[str, tuple[Callable[[View, int], Numbers], float]] = {
    "fifo": (lambda view, job: (), 0.0),
    "sjf": (lambda view, job: (expected_s(view, job),), INSTANT_S),
    "priority": (_by_priority, EQUAL),
    "multifactor": (lambda view, job: (), 0.0),
}
"""Numbers of a waiting job, the least first, the first one counts most; and which of them are the same. Of jobs with
the same numbers the first submitted comes first; of those without any the longest in the queue."""


@dataclass
class Backfilling(Multifactor):
    """Jobs of fixed demand in an order, with reservations for some that wait; options as above."""

    order: str = "fifo"
    bf_window_s: float = 0.0
    bf_max_job_test: int = 0
    bf_resolution_s: float = 0.0
    name: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ORDERS:
            raise InputError(f"order is {self.order!r}, expected one of {', '.join(ORDERS)}")
        for name in ("bf_window_s", "bf_max_job_test", "bf_resolution_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(
                    f"policy {self.name}: {name} is {getattr(self, name)}, expected a number >= 0"
                )
        self._numbers, self._within = ORDERS[self.order]
        self._kinds: dict[Hashable, int] = {}
        self._queue = WaitingArray(self._columns)
        self._ends = ExpectedEnds(self._end_s)
        self._free: FreeCapacity | None = None

    @property
    def by(self) -> str:
        """The order, in words (`policies.wrappers.decision_trace`)."""
        return self.order

    def ordered(self, view: View) -> Iterable[int]:
        """The waiting jobs in the order in which they are looked at."""
        jobs = np.array([*view.waiting], dtype=np.int64)
        numbers = np.array([self._numbers(view, job) for job in view.waiting]).T
        found: list[int] = jobs[self._places(jobs, self._keys(view, jobs, numbers))].tolist()
        return found

    def _columns(self, view: View, job: int) -> Numbers:
        """Of a waiting job: GPUs, expected length, which demand, and the numbers of the order."""
        gpus = view.workload.num_gpus_list[job]
        kind = self._kinds.setdefault(demand(view, job), len(self._kinds))
        return (gpus, self._length_s(view, job), kind, *self._numbers(view, job))

    def _keys(
        self, view: View, jobs: IntArray, numbers: Iterable[FloatArray]
    ) -> Sequence[FloatArray]:
        """Numbers of jobs by which they are ordered now, the least first; none: as they are."""
        return [-self.priority(view, jobs)] if self.order == "multifactor" else [*numbers]

    def _places(self, jobs: IntArray, keys: Sequence[FloatArray]) -> IntArray:
        """``(n,)`` places of jobs in the order."""
        if not keys:
            return np.arange(len(jobs))
        return np.lexsort((jobs, *(ranks(key, self._within) for key in reversed(keys))))

    def _first(
        self, jobs: IntArray, keys: Sequence[FloatArray], some: BoolArray, count: int
    ) -> list[int]:
        """Places of the first so many in the order of some of the jobs."""
        places = np.flatnonzero(some)
        if not keys:
            found: list[int] = places[:count].tolist()
        elif count == 1 and len(places):
            for key in keys:
                values = key[places]
                places = places[values <= values.min() + self._within]
            found = [int(places[jobs[places].argmin()])]
        else:
            order = self._places(jobs[places], [key[places] for key in keys])
            found = places[order[:count]].tolist()
        return found

    def _looked_at(self, jobs: IntArray, keys: Sequence[FloatArray]) -> BoolArray:
        """``(n,)`` which jobs are looked at."""
        found = np.ones(len(jobs), dtype=np.bool_)
        if 0 < self.bf_max_job_test < len(jobs):
            found[self._places(jobs, keys)[self.bf_max_job_test :]] = False
        return found

    def _free_now(self, view: View) -> FreeCapacity:
        self._free = free_now(view, self._free)
        return self._free

    def _latest_s(self, view: View) -> float:
        """The latest start for which a job gets a reservation, s."""
        return view.now_s + (self.bf_window_s or math.inf)

    def _end_s(self, view: View, job: int) -> tuple[float, bool]:
        """When a job that runs is expected to end, and whether that stays the same until then."""
        length_s = self._length_s(view, job)
        if not math.isnan(view.workload.requested_s.item(job)):
            return view.states.held_since_s[job] + length_s, True
        pace = view.states.rate[job] * _whole_s(view, job)
        return view.now_s + length_s, view.is_steady and abs(pace - 1) <= SAME

    def _length_s(self, view: View, job: int) -> float:
        """Seconds that a job is expected to hold its GPUs, rounded up."""
        length_s, step_s = expected_s(view, job), self.bf_resolution_s
        if not step_s:
            return length_s
        asked_s = view.workload.requested_s.item(job)
        whole_s = _whole_s(view, job) if math.isnan(asked_s) else asked_s
        return length_s + math.ceil(whole_s / step_s) * step_s - whole_s


class Reservation:
    """The start of a job as soon as it fits, and what it then needs of the GPUs that are free now.

    A job that is over by then may have all that is free now; one that is not, leaves what is needed.

    Parameters
    ----------
    at_s, shares : when and where the job starts.
    ended : what others hold that are expected to have ended by then.
    """

    def __init__(self, at_s: float, shares: Shares, ended: Iterable[Shares]) -> None:
        self.at_s, self.shares = at_s, shares
        self._by_node = shares[0].node != ANYWHERE
        self._needs = {share.node: [0.0, 0.0, 0.0] for share in shares}
        self._count(shares, 1)
        for held in ended:
            self._count(held, -1)

    def _count(self, shares: Shares, sign: int) -> None:
        for share in shares:
            needs = self._needs.get(share.node if self._by_node else ANYWHERE)
            if needs:
                for k, amount in enumerate((share.gpus, share.cpus, share.memory_gb)):
                    needs[k] += sign * amount

    def outlasts(self, end_s: FloatArray) -> BoolArray:
        """Which jobs that start now and end then are not over when the job of the reservation starts."""
        return end_s - INSTANT_S > self.at_s

    def lets(self, free_gpus: float, gpus: FloatArray, end_s: FloatArray) -> BoolArray:
        """``(n,)`` which jobs may start now, as far as totals say."""
        needed = sum(max(0.0, needs[0]) for needs in self._needs.values())
        return gpus <= np.where(self.outlasts(end_s), free_gpus - needed, free_gpus)

    def place(self, free: FreeCapacity, job: int, end_s: FloatArray) -> Shares:
        """Shares of a job that starts now."""
        if not self.outlasts(end_s):
            shares = free.place(job)
            self._count(shares, -1)  # they will be free again
            return shares
        held = [
            Placement(job, node, max(0.0, gpus), FIXED, max(0.0, cpus), max(0.0, memory_gb))
            for node, (gpus, cpus, memory_gb) in self._needs.items()
            if self._by_node
        ]
        free.add(held)
        shares = free.place(job)
        free.add(held, -1)
        return shares


@register(
    "easy-backfill",
    requires=("servers", "fixed-demand"),
    paper="Lifka (EASY), JSSPP 1995",
    places=True,
)
class EasyBackfill(Backfilling):
    """EASY backfilling: jobs pass the first job that does not fit if they do not delay it."""

    name = "easy-backfill"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.promised: dict[int, tuple[float, Shares]] = {}
        """When the first job that waits starts at the latest, s, and where, if no job runs longer than expected."""

    def decide(self, view: View) -> Decision:
        """Start what does not delay the first job that waits on."""
        if not view.waiting or view.free_gpus_total < 1:
            return NO_CHANGE
        free, jobs = self._free_now(view), self._queue.refresh(view)
        self._ends.refresh(view)
        gpus, length_s, kind, *numbers = self._queue.columns
        keys = self._keys(view, jobs, numbers)
        end_s, left = view.now_s + length_s, self._looked_at(jobs, keys)
        started: dict[int, tuple[Placement, ...]] = {}
        ends: list[tuple[float, Shares]] = []
        head: Reservation | None = None
        while free.total_gpus >= 1:
            some = left & head.lets(free.total_gpus, gpus, end_s) if head else left
            # Where some start, many may, as when a cluster is empty.
            places = self._first(jobs, keys, some, len(started) if len(started) > FEW else 1)
            if not places:
                break
            for place in places:
                job, its_end_s = jobs.item(place), end_s[place : place + 1]
                if not left[place] or (
                    head and not head.lets(free.total_gpus, gpus[place], its_end_s)
                ):
                    continue
                shares = head.place(free, job, its_end_s) if head else free.place(job)
                if shares:
                    left[place] = False
                    free.add(shares)
                    started[job] = shares
                    ends.append((end_s.item(place), shares))
                    continue
                alike = kind == kind[place]
                if head and head.outlasts(its_end_s):
                    alike &= head.outlasts(end_s)
                left &= ~alike
                head = head or self._reservation(view, free, job, ends)
        self.promised = {head.shares[0].job: (head.at_s, head.shares)} if head else {}
        self._queue.taken = started
        return Decision(started, keep_running=True) if started else NO_CHANGE

    def _reservation(
        self, view: View, free: FreeCapacity, job: int, ends: Iterable[tuple[float, Shares]]
    ) -> Reservation | None:
        """The reservation of a job that does not fit; ``ends``: of those that start now. None: it would start too late."""
        gpus, at_s, total = view.workload.num_gpus_list[job], view.now_s, free.total_gpus
        anywhere = (Placement(job, ANYWHERE, gpus),)
        ended: list[Shares] = []
        shares: Shares = ()
        in_order = merge(self._ends.in_order(view), sorted(ends, key=TIME), key=TIME)
        for end_s, held in chain(in_order, [(math.inf, ())]):
            if end_s > at_s + INSTANT_S:
                if ended and total >= gpus:
                    shares = free.place(job) if free.by_node else anywhere
                if shares or end_s > self._latest_s(view):
                    break
                at_s = end_s
            ended.append(held)
            total += sum(share.gpus for share in held)
            if free.by_node:
                free.add(held, -1)
        if free.by_node:
            free.add(chain.from_iterable(ended))
        return Reservation(at_s, shares, ended) if shares else None
