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

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.of_tenants import HeldByTenants, demands, queue_of_tenants, tenants_of
from policies.queues.serving import Service
from policies.queues.waiting import Line
from policies.registry.registration import register
from simulator.features.tenants import Tenants
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Decision, View
from simulator.model.ranks import Levels


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
        self._asks: FloatArray | None = None
        self._held: HeldByTenants | None = None
        self._free: FreeCapacity | None = None

    def decide(self, view: View) -> Decision:
        """Fill the cluster job by job."""
        if not view.changed or (
            not self._preemptive and (not view.waiting or view.free_gpus_total < 1)
        ):
            return NO_CHANGE
        tenants = tenants_of(view)
        if self._asks is None:
            self._asks, self._total = self._asks_and_total(view)
        lines = self._order.lines(view, lambda kind: kind[0])
        running: list[deque[int]] = [deque() for _ in range(len(tenants))]
        if self._preemptive:
            for job in view.running:
                running[tenants.of[job]].append(job)
            service = Service(view)
            self._fill(service, tenants, running, lines, np.zeros((len(tenants), len(self._total))))
            return Decision(service.fewest_moves())
        if self._held is None:
            self._held = HeldByTenants(self._asks, len(tenants))
        self._free = free_now(view, self._free, last_first=True)
        service = Service(view, self._free)
        self._fill(service, tenants, running, lines, self._held.now(view))
        return service.decision(keep_running=True)

    def _fill(
        self,
        service: Service,
        tenants: Tenants,
        running: list[deque[int]],
        waiting: dict[int, Line],
        held: FloatArray,
    ) -> None:
        """Job by job, the tenant with the smallest share first; a job that does not fit is passed by."""
        level, total, asks = Levels(None).of, self._total, self._asks
        assert asks is not None

        def entry(t: int) -> tuple[float, int]:
            return level(float((held[t] / total).max() / tenants.weight[t])), t

        first = [entry(t) for t, own in enumerate(running) if own or waiting.get(t)]
        heapq.heapify(first)
        while first and service.free.total_gpus >= 1:
            t = first[0][1]
            job = running[t][0] if running[t] else waiting[t].head
            is_taken = service.start(job)
            if is_taken:
                held[t] += asks[job]
            if running[t]:
                running[t].popleft()
            else:
                waiting[t].next(is_taken)
            if running[t] or waiting.get(t):
                heapq.heapreplace(first, entry(t))
            else:
                heapq.heappop(first)

    def _asks_and_total(self, view: View) -> tuple[FloatArray, FloatArray]:
        """``(J, R)`` what each job asks for, and ``(R,)`` all there is, by resource."""
        gpus, cpus, memory_gb = demands(view.rows)
        cluster = view.cluster
        columns, totals = [gpus], [float(cluster.total_gpus)]
        for name, column in (("cpus", cpus), ("memory_gb", memory_gb)):
            total = sum(float(getattr(t, name)) for t in cluster.type_of)
            if self._dominant and math.isfinite(total):
                columns.append(column)
                totals.append(total)
        return np.column_stack(columns), np.array(totals)


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
