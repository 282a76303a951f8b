"""Weighted fair share and dominant resource fairness between tenants.

Options
-------
preemptive : jobs that run are chosen anew at each change, their progress kept; False: they stay to their end.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from policies.registration import register
from policies.tenants.free_capacity import TenantCapacity, by_tenant, demands, tenants_of
from simulator.features.tenants import Tenants
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Decision, View


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

    def decide(self, view: View) -> Decision:
        """Fill the cluster job by job."""
        if not view.changed or (not self._preemptive and not view.waiting):
            return NO_CHANGE
        tenants = tenants_of(view)
        capacity = TenantCapacity(view, tenants)
        has = self._shares_per_job(view)
        share = np.zeros((len(tenants), has.shape[1]))
        queues = by_tenant(view, tenants)
        if not self._preemptive:
            for job in view.running:
                capacity.keep(job)
                share[tenants.of[job]] += has[job]
            queues = [[job for job in queue if job not in view.running] for queue in queues]
        self._fill(capacity, tenants, queues, share, has)
        chosen = capacity.chosen
        if self._preemptive:
            return Decision(capacity.placements())
        new = [p for job, shares in chosen.items() if job in view.waiting for p in shares]
        return Decision(new, keep_running=True) if new else NO_CHANGE

    def _fill(
        self,
        capacity: TenantCapacity,
        tenants: Tenants,
        queues: list[list[int]],
        share: FloatArray,
        has: FloatArray,
    ) -> None:
        """Job by job, the tenant with the smallest share first; a job that does not fit is passed by."""

        def entry(t: int, at: int) -> tuple[float, int, int]:
            return float(share[t].max() / tenants.weight[t]), t, at

        first = [entry(t, 0) for t, queue in enumerate(queues) if queue]
        heapq.heapify(first)
        while first and capacity.free.total_gpus >= 1:
            _, t, at = heapq.heappop(first)
            job = queues[t][at]
            if capacity.start(job):
                share[t] += has[job]
            if at + 1 < len(queues[t]):
                heapq.heappush(first, entry(t, at + 1))

    def _shares_per_job(self, view: View) -> FloatArray:
        """``(J, R)`` what each job has of all there is, by resource."""
        gpus, cpus, memory_gb = demands(view.workload)
        cluster = view.cluster
        assert cluster.node_type_of is not None
        types = [cluster.node_types[v] for v in cluster.node_type_of]
        columns = [gpus / cluster.total_gpus]
        for name, column in (("cpus", cpus), ("memory_gb", memory_gb)):
            total = sum(float(getattr(t, name)) for t in types)
            if self._dominant and math.isfinite(total):
                columns.append(column / total)
        return np.column_stack(columns)


@register("fair-share", requires=("servers", "fixed-demand", "tenants"))
def fair_share(preemptive: bool = False) -> ByShare:
    """Weighted fair share of the GPUs between tenants."""
    return ByShare("fair-share", False, preemptive)


@register("drf", requires=("servers", "fixed-demand", "tenants"), paper="Ghodsi et al., NSDI 2011")
def drf(preemptive: bool = False) -> ByShare:
    """Dominant resource fairness between tenants: GPUs, CPUs and memory."""
    return ByShare("drf", True, preemptive)
