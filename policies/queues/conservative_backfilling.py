"""Conservative backfilling: every job that waits has a reservation, and keeps it or gets an earlier one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from policies.queues.backfilling import Backfilling, Numbers
from policies.queues.free_capacity import FreeCapacity
from policies.queues.running import OVERDUE_S, Shares
from policies.registry.registration import register
from simulator import NO_CHANGE, Decision, View
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import INSTANT_S

if TYPE_CHECKING:
    from policies.queues.skyline import Skyline

GPUS, LENGTH_S, START_S = 0, 1, -1
"""Columns of the queue: GPUs, expected length, and the promised start; not a number where there is none."""


@register(
    "conservative-backfill",
    requires=("servers", "fixed-demand"),
    paper="Mu'alem and Feitelson, TPDS 2001",
    places=True,
)
class ConservativeBackfill(Backfilling):
    """Conservative backfilling: every job has a reservation, which no other job delays.

    In a pass, each job in turn gives its reservation back and gets the earliest one beside the others. Where a pass has moved
    none, and all has gone as expected since, another one would not move any either. Then only new jobs are looked at.
    """

    name = "conservative-backfill"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._plan: Skyline | None = None
        self._has_settled = False
        self._num_promised = 0
        self._reserved: dict[int, tuple[float, Shares]] = {}
        """Starts of jobs that wait, s, and where, if it matters on which nodes."""
        self._until_s: dict[int, float] = {}
        """Expected ends of the jobs that the last decision started."""

    @property
    def promised(self) -> dict[int, tuple[float, Shares]]:
        """When jobs that wait start at the latest, s, and on which nodes, if no job runs longer than expected."""
        jobs = self._queue.jobs.tolist()
        promised_s = self._queue.columns[START_S].tolist() if jobs else []
        each = zip(jobs, promised_s, strict=True)
        return self._reserved or {job: (at_s, ()) for job, at_s in each if at_s == at_s}

    def _columns(self, view: View, job: int) -> Numbers:
        return (*super()._columns(view, job), math.nan)

    def decide(self, view: View) -> Decision:
        """Start what is due, and new jobs that delay none."""
        if not view.waiting:
            return NO_CHANGE
        free, jobs = self._free_now(view), self._refreshed(view)
        self._ends.refresh(view)
        if free.by_node:
            places = self._pass_by_node(view, jobs, free)
        elif self._goes_as_expected(view):
            places = self._further(view, jobs)
        else:
            places = self._pass(view, jobs)
        length_s, start_s = self._queue.columns[LENGTH_S], self._queue.columns[START_S]
        started: dict[int, Shares] = {}
        self._until_s.clear()
        for place in places[start_s[places] <= view.now_s].tolist():
            job, start_s[place] = jobs.item(place), math.nan
            _, shares = self._reserved.pop(job, (0.0, ()))
            started[job] = shares = shares or free.place(job)
            self._until_s[job] = view.now_s + length_s.item(place)
            free.add(shares)
        self._num_promised = int(np.count_nonzero(start_s == start_s))
        self._queue.taken = started
        return Decision(started, keep_running=True) if started else NO_CHANGE

    def _refreshed(self, view: View) -> IntArray:
        """``(n,)`` the jobs that wait now, with what was promised to them."""
        queue = self._queue
        before, before_s = queue.jobs, queue.columns[START_S:]
        jobs = queue.refresh(view)
        if queue.is_anew and len(before):
            promised_s = dict(zip(before.tolist(), before_s[0].tolist(), strict=True))
            queue.columns[START_S] = [promised_s.get(job, math.nan) for job in jobs.tolist()]
        return jobs

    def _in_order(self, view: View, jobs: IntArray) -> IntArray:
        """``(n,)`` places of the jobs in the order."""
        return self._places(jobs, self._keys(view, jobs, self._queue.columns[3:START_S]))

    # -- where the total of free GPUs decides ------------------------------------------------------

    def _pass(self, view: View, jobs: IntArray) -> IntArray:
        """Give all jobs the earliest start beside the others; their places in the order."""
        from policies.queues.skyline import Skyline  # its compiler takes half a second to import

        ends = [*self._ends.in_order(view)]
        end_s = np.array([at_s for at_s, _ in ends])
        held = np.array([[sum(share.gpus for share in shares)] for _, shares in ends])
        plan = Skyline(view.now_s, np.array([view.free_gpus_total]), end_s, held.reshape(-1, 1))
        order, start_s = self._in_order(view, jobs), self._queue.columns[START_S]
        kept = order[~np.isnan(start_s[order])]
        kept = kept[np.argsort(start_s[kept], kind="stable")]
        start_s[kept] = plan.plan(self._table(kept, view.now_s), keep=True)
        order = order[: self.bf_max_job_test or None]
        before_s = start_s[order]
        after_s = plan.plan(self._table(order), self._latest_s(view))
        start_s[:] = math.nan
        start_s[order] = after_s
        stay = np.count_nonzero(np.abs(after_s - before_s) <= INSTANT_S)
        self._plan, self._has_settled = plan, stay == self._num_promised
        return order

    def _table(self, places: IntArray, least_s: float = -math.inf) -> FloatArray:
        """``(n, 3)`` GPUs, length and start of some of the jobs."""
        table = np.column_stack([self._queue.columns[k, places] for k in (GPUS, LENGTH_S, START_S)])
        np.maximum(table[:, 2], least_s, out=table[:, 2])
        return table

    def _goes_as_expected(self, view: View) -> bool:
        """Whether all jobs have started and ended as planned since the last decision; the plan then begins now."""
        ends, until_s, soon_s = self._ends, self._until_s, view.now_s + INSTANT_S
        gpus, start_s = self._queue.columns[GPUS], self._queue.columns[START_S]
        if (
            self._plan is None
            or not self._has_settled
            or 0 < self.bf_max_job_test < len(start_s)
            or np.count_nonzero(start_s == start_s) != self._num_promised
            or (start_s[due := np.flatnonzero(start_s <= soon_s)] < view.now_s - INSTANT_S).any()
            or ends.first_s < view.now_s + OVERDUE_S
        ):
            return False
        for job, end_s in ends.began.items():
            if not abs(until_s.pop(job, math.nan) - end_s) <= INSTANT_S:
                return False
        if max((*ends.over.values(), *until_s.values()), default=soon_s) > soon_s:
            return False
        if any(job in view.waiting for job in until_s):
            return False
        return bool(self._plan.begin_at(view.now_s) == view.free_gpus_total - gpus[due].sum())

    def _further(self, view: View, jobs: IntArray) -> IntArray:
        """Give jobs that have none the earliest start, which no pass would change; places of these and of those that start now."""
        assert self._plan is not None
        start_s = self._queue.columns[START_S]
        some = start_s <= view.now_s + INSTANT_S
        start_s[some] = view.now_s
        some[len(jobs) - len(self._queue.new) :] = True
        if self.bf_window_s or self.bf_max_job_test:
            some |= np.isnan(start_s)
        places = np.flatnonzero(some)
        keys = self._keys(view, jobs[places], self._queue.columns[3:START_S, places])
        order = places[self._places(jobs[places], keys)]
        start_s[order] = self._plan.plan(self._table(order), self._latest_s(view))
        return order

    # -- where it matters on which nodes they are ----------------------------------------------------

    def _pass_by_node(self, view: View, jobs: IntArray, free: FreeCapacity) -> IntArray:
        """The same as `_pass`, each job on the fullest node that then holds it, else on the emptiest ones."""
        moments, ends = Moments(view, free), [*self._ends.in_order(view)]
        plan = moments.plan(view, ends)
        kept: dict[int, tuple[float, Shares]] = {}
        length_s, start_s = self._queue.columns[LENGTH_S], self._queue.columns[START_S]
        place_of = {job: place for place, job in enumerate(jobs.tolist())}
        for job, (at_s, shares) in sorted(self._reserved.items(), key=lambda each: each[1][0]):
            begin_s = max(at_s, view.now_s)
            if job in place_of:
                end_s = begin_s + length_s.item(place_of[job])
                if moments.at(plan.least(begin_s, end_s)).holds(shares):
                    plan.take(begin_s, end_s, *moments.amounts(shares))
                    kept[job] = begin_s, shares
        self._reserved, start_s[:] = {}, math.nan
        order = self._in_order(view, jobs)[: self.bf_max_job_test or None]
        for place in order.tolist():
            job, lasts_s = jobs.item(place), length_s.item(place)
            if job in kept:
                begin_s, shares = kept[job]
                plan.take(begin_s, begin_s + lasts_s, *moments.amounts(shares), -1)
            gpus = view.workload.num_gpus_list[job]
            for begin_s in plan.starts(gpus, lasts_s, self._latest_s(view)):
                shares = moments.at(plan.least(begin_s, begin_s + lasts_s)).place(job)
                if shares:
                    plan.take(begin_s, begin_s + lasts_s, *moments.amounts(shares))
                    self._reserved[job], start_s[place] = (begin_s, shares), begin_s
                    break
        moments.at(moments.now)
        return order


class Moments:
    """Free capacity at moments of a plan: the total of GPUs, then of each node its GPUs and the limited resources beside them.

    Parameters
    ----------
    free : what is free now; `at` lets it be what is free then.
    """

    def __init__(self, view: View, free: FreeCapacity) -> None:
        self._free, self._nodes = free, view.nodes.tolist()
        self._names = ("gpus", *view.cluster.limited_resources)
        self._row = {node: row for row, node in enumerate(self._nodes)}
        self._shown = np.array(free.amounts(self._nodes), dtype=float)
        self.now = np.concatenate(([view.free_gpus_total], self._shown.ravel()))

    def plan(self, view: View, ends: Sequence[tuple[float, Shares]]) -> Skyline:
        """The skyline from now on; ``ends``: when what is held now is given back, in order of time."""
        from policies.queues.skyline import Skyline

        amounts = np.zeros((len(ends), len(self.now)))
        for row, (_, shares) in zip(amounts, ends, strict=True):
            columns, held = self.amounts(shares)
            np.add.at(row, columns, held)
        return Skyline(view.now_s, self.now, np.array([at_s for at_s, _ in ends]), amounts)

    def amounts(self, shares: Shares) -> tuple[IntArray, FloatArray]:
        """Columns, and what shares take of each."""
        columns, amounts = [0], [float(sum(share.gpus for share in shares))]
        for share in shares:
            first = 1 + self._row[share.node] * len(self._names)
            columns += range(first, first + len(self._names))
            amounts += [getattr(share, name) for name in self._names]
        return np.array(columns), np.array(amounts)

    def at(self, amounts: FloatArray) -> FreeCapacity:
        """The free capacity, brought to ``(C,)`` amounts."""
        before, self._shown = self._shown, amounts[1:].reshape(self._shown.shape)
        rows = np.unique(np.nonzero(self._shown != before)[0])
        changed = zip(
            (self._nodes[k] for k in rows.tolist()), self._shown[rows].tolist(), strict=True
        )
        self._free.show(changed, amounts.item(0))
        return self._free
