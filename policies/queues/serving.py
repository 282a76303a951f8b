"""Serving jobs of fixed demand in an order: who starts, and where.

A policy is an order, when that changes, and whether those that run make room:

    class LongestFirst:
        def __init__(self):
            self.order = Order(lambda view, job: -view.workload.performance.duration_s[job])

        def decide(self, view):
            return serve(view, self.order)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from policies.queues.free_capacity import FreeCapacity
from policies.queues.waiting import NOBODY, Given, Line, Order
from simulator import NO_CHANGE, Decision, Placement, View

Place = Callable[[FreeCapacity, int], Sequence[Placement] | None]
"""Where a job starts on what is free; empty: neither it nor a waiting job of its demand fits now; None: it waits, and
others of its demand are looked at."""


def serve(
    view: View,
    order: Order | Iterable[int],
    *,
    preemptive: bool = False,
    backfill: bool = True,
    free: FreeCapacity | None = None,
    place: Place | None = None,
) -> Decision:
    """The decision that serves jobs of fixed demand in an order, each on the fullest node that holds it, else on the emptiest.

    Parameters
    ----------
    order : an `Order`, which the policy keeps, so that a decision does not look at all that wait; or the waiting jobs
        themselves, the first to be served first, with those that run where ``preemptive``.
    preemptive : jobs that run are chosen anew with the others. Who is chosen stays where it is, if that is free by its
        turn; who is not waits, its progress kept.
    backfill : go on past a job that does not fit; False: it holds up the others. Backfilling with reservations is a
        ``place`` that notes what the first such job needs, and answers None for jobs that would delay it.
    free : capacity to serve from, without preemption; None: what is free now.
    place : where a job starts; see `Place`. None: `FreeCapacity.place`.

    Raises InputError: the policy chooses the jobs' GPUs.
    """
    if preemptive:
        free = None
    elif not view.waiting or view.free_gpus_total < 1:
        return NO_CHANGE
    most = math.inf if preemptive or place else view.free_gpus_total
    if isinstance(order, Order) and order.number is None and not (backfill or preemptive or place):
        return _first_come(view, free or order.free(view))
    line: Line | Given
    if not isinstance(order, Order):
        line = Given(view, order)
    else:
        line = order.line(view, view.running if preemptive else (), most if backfill else math.inf)
    if not line or (not backfill and view.workload.num_gpus_list[line.head] > most):
        return Decision() if preemptive else NO_CHANGE
    if not preemptive and free is None:
        free = order.free(view) if isinstance(order, Order) else FreeCapacity(view)
    service = Service(view, free, place)
    service.fill(line, backfill)
    return service.decision(keep_running=not preemptive)


def _first_come(view: View, free: FreeCapacity) -> Decision:
    """The decision that starts the longest in the queue, until one does not fit."""
    placements: list[Placement] = []
    for job in view.waiting:
        shares = free.place(job)
        if not shares:
            break
        free.add(shares)
        placements += shares
    return Decision(placements, keep_running=True) if placements else NO_CHANGE


class Service:
    """Jobs of fixed demand that are chosen one by one, and where they run.

    Parameters
    ----------
    free : capacity that they take; who runs goes on beside them. None: that of empty nodes, and who runs is chosen
        with the others.
    place : where a job starts; see `Place`. None: `FreeCapacity.place`.

    Attributes
    ----------
    chosen : placements of the jobs, in the order in which they were chosen.
    stopped : those of the jobs that went on beside them, and no longer do.
    """

    def __init__(
        self, view: View, free: FreeCapacity | None = None, place: Place | None = None
    ) -> None:
        self.chosen: dict[int, tuple[Placement, ...]] = {}
        self.stopped: dict[int, tuple[Placement, ...]] = {}
        self._running = view.running if free is None else {}
        self.free = free or FreeCapacity(view, empty=True, last_first=True)
        self._view, self._place = view, place or FreeCapacity.place

    def fill(self, line: Line | Given, backfill: bool = True) -> None:
        """Start jobs in order, as long as there are free GPUs."""
        free, running, place, chosen = self.free, self._running, self._place, self.chosen
        while line.head != NOBODY and free.total_gpus >= 1:
            job = line.head
            if job in running and self.keep(job):
                line.next()
                continue
            shares = place(free, job)
            if shares:
                free.add(shares)
                chosen[job] = tuple(shares)
            elif not backfill:
                return
            line.next(alike=shares is None or bool(shares))

    def start(self, job: int) -> bool:
        """Give a job GPUs, where it ran if that is free; False where it does not fit."""
        return self.keep(job) or self._take(job, self._place(self.free, job))

    def keep(self, job: int) -> bool:
        """Let a job that runs go on where it is; False where it does not run, or no longer fits."""
        shares = self._running.get(job, ())
        return self.free.holds(shares) and self._take(job, shares)

    def _take(self, job: int, shares: Sequence[Placement] | None) -> bool:
        if not shares:
            return False
        self.free.add(shares)
        self.chosen[job] = tuple(shares)
        return True

    def stop(self, job: int) -> None:
        """Take a job off that goes on beside those that are chosen."""
        self.stopped[job] = shares = self._view.running[job]
        self.free.add(shares, -1)

    def go_on(self, job: int) -> None:
        """Let a job that was stopped go on all the same, where that is still free."""
        if self.free.holds(self.stopped[job]):
            self.free.add(self.stopped.pop(job))

    def decision(self, keep_running: bool) -> Decision:
        """The decision that places those that were chosen."""
        if keep_running and not self.chosen:
            return NO_CHANGE
        placements = list(chain.from_iterable(self.chosen.values()))
        return Decision(placements, keep_running, stopped=[*self.stopped])

    def fewest_moves(self) -> dict[int, tuple[Placement, ...]]:
        """Placements of all that were chosen; who ran stays where it is, unless the others do not fit beside it.

        While jobs are chosen, one that waited may get the GPUs of one that runs and is chosen later.
        That would move for nothing, so the same jobs are placed once more, those that run first.
        """
        running, chosen = self._running, self.chosen
        if any(job in running and shares is not running[job] for job, shares in chosen.items()):
            again = Service(self._view, place=self._place)
            for job in chosen:
                again.keep(job)
            if all(job in again.chosen or again.start(job) for job in chosen):
                return {job: again.chosen[job] for job in chosen}
        return chosen
