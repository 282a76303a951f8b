"""Capacity scheduling: quotas are guarantees, idle GPUs are lent, and taken back when they are needed."""

from __future__ import annotations

import numpy as np

from policies.registration import register
from policies.tenants.free_capacity import TenantCapacity, by_tenant, tenants_of
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Decision, View


@register(
    "capacity",
    requires=("servers", "fixed-demand", "tenants"),
    paper="YARN's capacity scheduler, Kueue",
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

    def decide(self, view: View) -> Decision:
        """Choose who runs, those within their quota first."""
        if not view.changed or not view.waiting:
            return NO_CHANGE
        tenants = tenants_of(view)
        gpus_of = view.workload.num_gpus.item
        capacity = TenantCapacity(view, tenants)
        within: list[int] = []
        beyond: list[int] = []
        quota = self._own_quota(view)
        for t, queue in enumerate(by_tenant(view, tenants)):
            left = float(quota[t])
            for job in queue:
                if gpus_of(job) <= left:
                    within.append(job)
                    left -= gpus_of(job)
                else:
                    beyond.append(job)
        entitled = set(within)
        kept = [job for job in view.running if not self._reclaim or job in entitled]
        for job in kept:
            capacity.keep(job)
        borrowers = [job for job in view.running if job not in capacity.chosen]
        for job in borrowers:
            capacity.keep(job)
        waiting = set(view.waiting)
        for job in (j for j in view.waiting if j in entitled):
            if not capacity.start(job):
                self._take_back(capacity, borrowers, job)
        self._lend(capacity, view, [j for j in beyond if j in waiting])
        if not (set(capacity.chosen) & waiting):
            return NO_CHANGE
        return Decision(capacity.placements())

    def _own_quota(self, view: View) -> FloatArray:
        """``(T,)`` quotas on this controller's part of the nodes; limits are kept before the queue."""
        tenants = tenants_of(view)
        if tenants.is_limited:
            return np.full(len(tenants), np.inf)
        return np.asarray(tenants.quota * (len(view.nodes) / view.cluster.num_nodes))

    def _take_back(self, capacity: TenantCapacity, borrowers: list[int], job: int) -> None:
        """Stop borrowers, the latest first, until a job fits; none where that does not help."""
        stopped: list[int] = []
        for other in reversed(borrowers):
            if other not in capacity.chosen:
                continue
            capacity.put_back(other)
            stopped.append(other)
            if capacity.start(job):
                break
        for other in reversed(stopped):
            capacity.keep(other)  # who still fits beside it goes on

    def _lend(self, capacity: TenantCapacity, view: View, jobs: list[int]) -> None:
        """Lend idle GPUs to the tenant with the smallest part of its quota in use."""
        tenants = tenants_of(view)
        queues: dict[int, list[int]] = {}
        for job in reversed(jobs):
            queues.setdefault(int(tenants.of[job]), []).append(job)
        while queues and capacity.free.total_gpus >= 1:
            t = min(queues, key=lambda t: (capacity.gpus[t] / tenants.quota[t], t))
            capacity.start(queues[t].pop())
            if not queues[t]:
                del queues[t]
