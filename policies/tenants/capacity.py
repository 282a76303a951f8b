"""Capacity scheduling: quotas are guarantees, idle GPUs are lent, and taken back when they are needed."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.job_array import first_that_fit
from policies.queues.of_tenants import HeldByTenants, gpus_held, queue_of_tenants, tenants_of
from policies.queues.running import RunningArray
from policies.queues.serving import Service
from policies.registry.registration import register
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import NO_CHANGE, Decision, View
from simulator.model.ranks import Levels


@register(
    "capacity",
    requires=("servers", "fixed-demand", "tenants"),
    paper="YARN's capacity scheduler, Kueue",
    places=True,
)
class Capacity:
    """Capacity scheduling: quotas are guarantees, idle GPUs are lent, and taken back on demand.

    A job is within the quota of its tenant if the quota holds it beside those of the tenant that were
    chosen before it: jobs that run first, in the order in which they started, then by the queue. These jobs
    are served first. What is left is lent, to the tenant with the smallest part of its quota in use.
    A borrower's job goes on as long as nobody needs its GPUs for a job within a quota; the latest
    started is taken back first. Its progress is kept.

    Parameters
    ----------
    reclaim : lent GPUs are taken back by preemption; False: when the borrower's jobs end.

    Source: the capacity scheduler of Hadoop YARN, and of Kubernetes (Kueue: borrowing and reclaim).
    """

    name = "capacity"

    def __init__(self, reclaim: bool = True) -> None:
        self._reclaim = reclaim
        self._order = queue_of_tenants()
        self._held: HeldByTenants | None = None
        self._running = RunningArray(_gpus_and_tenant)
        self._free: FreeCapacity | None = None

    def decide(self, view: View) -> Decision:
        """Choose who runs, those within their quota first."""
        if not view.changed or not view.waiting:
            return NO_CHANGE
        if self._held is None:
            gpus = view.rows.num_gpus.astype(np.float64)
            self._held = HeldByTenants(gpus[:, None], len(tenants_of(view)))
        held = self._held.now(view)[:, 0]
        self._running.bring_up(view, self._held.running)
        left, borrowers = self._left(view, held)
        if view.free_gpus_total < 1 and not len(borrowers):
            return NO_CHANGE
        self._free = free_now(view, self._free, last_first=True)
        service = Service(view, self._free)
        self._start_within(service, view, left, borrowers)
        self._lend(service, view, held)
        if not service.chosen:
            return NO_CHANGE
        in_order = sorted(service.stopped, key=self._held.running.number.__getitem__)
        service.stopped = {job: service.stopped[job] for job in in_order}
        if view.in_full:
            going_on = {j: own for j, own in view.running.items() if j not in service.stopped}
            return Decision(going_on | service.chosen)
        return service.decision(keep_running=True)

    def _left(self, view: View, held: FloatArray) -> tuple[FloatArray, IntArray]:
        """``(T,)`` what is left of the quotas, and the jobs beyond them, in the order in which they started."""
        quota, jobs = self._own_quota(view), self._running.jobs
        left, beyond = quota - held, np.zeros(len(jobs), dtype=np.bool_)
        for t in np.flatnonzero(left < 0):
            gpus, of = self._running.columns
            places = np.flatnonzero(of == t)
            within = first_that_fit(gpus[places], quota[t])
            left[t] = quota[t] - gpus[places[within]].sum()
            beyond[places[~within]] = True
        return left, jobs[beyond] if self._reclaim else jobs[:0]

    def _start_within(
        self, service: Service, view: View, left: FloatArray, borrowers: IntArray
    ) -> None:
        """Start waiting jobs within what is left of the quotas, as they queue; borrowers make room."""
        line = self._order.line(view)
        in_vain: set[Hashable] = set()
        while line:
            job, (t, demand) = line.head, line.kind
            gpus = view.workload.num_gpus.item(job)
            if gpus > left[t]:
                line.next(alike=False)
                continue
            left[t] -= gpus
            if demand not in in_vain and not service.start(job):
                in_vain.add(demand)
                if self._take_back(service, borrowers, job):
                    in_vain.clear()
            # Without a quota nothing is used up by jobs that wait.
            line.next(alike=job in service.chosen or bool(left[t] < math.inf))

    def _own_quota(self, view: View) -> FloatArray:
        """``(T,)`` quotas on this controller's part of the nodes; limits are kept before the queue."""
        tenants = tenants_of(view)
        if tenants.has_quotas:
            return np.full(len(tenants), np.inf)
        return np.asarray(tenants.quota * (len(view.nodes) / view.cluster.num_nodes))

    def _take_back(self, service: Service, borrowers: IntArray, job: int) -> bool:
        """Stop borrowers, the latest first, until a job fits; none where that does not help."""
        stopped: list[int] = []
        for other in borrowers[::-1].tolist():
            if other in service.stopped:
                continue
            service.stop(other)
            stopped.append(other)
            if service.start(job):
                break
        for other in reversed(stopped):
            service.go_on(other)  # who still fits beside it
        return job in service.chosen

    def _lend(self, service: Service, view: View, held: FloatArray) -> None:
        """Lend idle GPUs to the tenant with the smallest part of its quota in use; ``held``: by those that ran."""
        tenants, level = tenants_of(view), Levels(None).of
        held = held + gpus_held(view, tenants, service.chosen)
        held -= gpus_held(view, tenants, service.stopped)
        lines = self._order.lines(view, lambda kind: kind[0])
        while lines and service.free.total_gpus >= 1:
            t = min(lines, key=lambda t: (level(float(held[t] / tenants.quota[t])), t))
            job = lines[t].head
            is_started = service.start(job)
            held[t] += view.workload.num_gpus_list[job] if is_started else 0
            lines[t].next(alike=is_started)
            if not lines[t]:
                del lines[t]


def _gpus_and_tenant(view: View, job: int) -> tuple[float, float]:
    return view.workload.num_gpus_list[job], tenants_of(view).of.item(job)
