"""Weighted fair share and dominant resource fairness between tenants.

Options
-------
preemptive : jobs that run are chosen anew at each change, their progress kept; False: they stay to their end.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

import numpy as np

from policies.queues.of_tenants import demands, queue_of_tenants, tenants_of
from policies.queues.serving import Service
from policies.queues.waiting import Line
from policies.registry.registration import register
from simulator.features.tenants import Tenants
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Decision, View
from simulator.model.ranks import Levels
from simulator.model.workload import Workload


class ByShare:
    """Give the next job to the tenant that has least for its weight; within a tenant, first come.

    Progressive filling: it ends in the weighted max-min fair shares, up to the size of one job.

    Parameters
    ----------
    name : how results call it.
    dominant : what a tenant has is its dominant share (of GPUs, CPUs or memory, where it has the
        largest part of all; Ghodsi et al., DRF, NSDI 2011, Algorithm 1); False: its GPUs.
    preemptive : jobs that run are chosen anew at each change, their progress kept; False: jobs
        start, and stay until they end.
    """

    def __init__(self, name: str, dominant: bool, preemptive: bool) -> None:
        self.name = name
        self._dominant = dominant
        self._preemptive = preemptive
        self._order = queue_of_tenants()
        self._workload: Workload | None = None
        self._has: FloatArray = np.zeros((0, 1))

    def decide(self, view: View) -> Decision:
        """Fill the cluster job by job."""
        if not view.changed or (
            not self._preemptive and (not view.waiting or view.free_gpus_total < 1)
        ):
            return NO_CHANGE
        tenants = tenants_of(view)
        service = Service(view)
        if self._workload is not view.workload:
            self._workload, self._has = view.workload, self._shares_per_job(view)
        share = np.zeros((len(tenants), self._has.shape[1]))
        queues: list[deque[int]] = [deque() for _ in range(len(tenants))]
        for job in view.running:
            if self._preemptive:
                queues[tenants.of[job]].append(job)
            elif service.keep(job):
                share[tenants.of[job]] += self._has[job]
        self._fill(service, tenants, queues, self._order.lines(view, lambda kind: kind[0]), share)
        if self._preemptive:
            return Decision(service.fewest_moves())
        new = {job: shares for job, shares in service.chosen.items() if job in view.waiting}
        return Decision(new, keep_running=True) if new else NO_CHANGE

    def _fill(
        self,
        service: Service,
        tenants: Tenants,
        running: list[deque[int]],
        waiting: dict[int, Line],
        share: FloatArray,
    ) -> None:
        """Job by job, the tenant with the smallest share first; a job that does not fit is passed by."""
        level = Levels(None).of

        def entry(t: int) -> tuple[float, int]:
            return level(float(share[t].max() / tenants.weight[t])), t

        first = [entry(t) for t, own in enumerate(running) if own or waiting.get(t)]
        heapq.heapify(first)
        while first and service.free.total_gpus >= 1:
            t = first[0][1]
            job = running[t][0] if running[t] else waiting[t].head
            is_taken = service.start(job)
            if is_taken:
                share[t] += self._has[job]
            if running[t]:
                running[t].popleft()
            else:
                waiting[t].next(is_taken)
            if running[t] or waiting.get(t):
                heapq.heapreplace(first, entry(t))
            else:
                heapq.heappop(first)

    def _shares_per_job(self, view: View) -> FloatArray:
        """``(J, R)`` what each job has of all there is, by resource."""
        gpus, cpus, memory_gb = demands(view.rows)
        cluster = view.cluster
        columns = [gpus / cluster.total_gpus]
        for name, column in (("cpus", cpus), ("memory_gb", memory_gb)):
            total = sum(float(getattr(t, name)) for t in cluster.type_of)
            if self._dominant and math.isfinite(total):
                columns.append(column / total)
        return np.column_stack(columns)


@register("fair-share", requires=("servers", "fixed-demand", "tenants"), places=True)
def fair_share(preemptive: bool = False) -> ByShare:
    """Weighted fair share of the GPUs between tenants."""
    return ByShare("fair-share", False, preemptive)


@register(
    "drf",
    requires=("servers", "fixed-demand", "tenants"),
    paper="Ghodsi et al., NSDI 2011",
    places=True,
)
def drf(preemptive: bool = False) -> ByShare:
    """Dominant resource fairness between tenants: GPUs, CPUs and memory."""
    return ByShare("drf", True, preemptive)
