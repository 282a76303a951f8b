"""Capacity scheduling: quotas are guarantees, idle GPUs are lent, and taken back when they are needed."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from policies.queues.of_tenants import gpus_held, queue_of_tenants, tenants_of
from policies.queues.serving import Service
from policies.registry.registration import register
from simulator.model.cluster import FloatArray
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

    def decide(self, view: View) -> Decision:
        """Choose who runs, those within their quota first."""
        if not view.changed or not view.waiting:
            return NO_CHANGE
        tenants = tenants_of(view)
        gpus_of = view.workload.num_gpus.item
        service = Service(view)
        left = self._own_quota(view)
        kept: list[int] = []
        for job in view.running:
            t, gpus = tenants.of[job], gpus_of(job)
            is_within = gpus <= left[t]
            left[t] -= gpus if is_within else 0
            if is_within or not self._reclaim:
                kept.append(job)
        for job in kept:
            service.keep(job)
        borrowers = [job for job in view.running if job not in service.chosen]
        if view.free_gpus_total < 1 and not borrowers:
            return NO_CHANGE
        for job in borrowers:
            service.keep(job)
        self._start_within(service, view, left, borrowers)
        self._lend(service, view)
        if not any(job in view.waiting for job in service.chosen):
            return NO_CHANGE
        return Decision(service.fewest_moves())

    def _start_within(
        self, service: Service, view: View, left: FloatArray, borrowers: list[int]
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

    def _take_back(self, service: Service, borrowers: list[int], job: int) -> bool:
        """Stop borrowers, the latest first, until a job fits; none where that does not help."""
        stopped: list[int] = []
        for other in reversed(borrowers):
            if other not in service.chosen:
                continue
            service.put_back(other)
            stopped.append(other)
            if service.start(job):
                break
        for other in reversed(stopped):
            service.keep(other)  # who still fits beside it goes on
        return job in service.chosen

    def _lend(self, service: Service, view: View) -> None:
        """Lend idle GPUs to the tenant with the smallest part of its quota in use."""
        tenants, level = tenants_of(view), Levels(None).of
        held = gpus_held(view, tenants, service.chosen)
        lines = self._order.lines(view, lambda kind: kind[0])
        while lines and service.free.total_gpus >= 1:
            t = min(lines, key=lambda t: (level(float(held[t] / tenants.quota[t])), t))
            job = lines[t].head
            is_started = service.start(job)
            held[t] += view.workload.num_gpus_list[job] if is_started else 0
            lines[t].next(alike=is_started)
            if not lines[t]:
                del lines[t]
