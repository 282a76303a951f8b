"""Finish-time fairness between tenants, with leases (Mahajan et al., Themis, NSDI 2020)."""

from __future__ import annotations

import math

import numpy as np

from policies.queues.of_tenants import by_tenant, tenants_of
from policies.queues.orders import whole_durations_s
from policies.queues.serving import Service
from policies.queues.waiting import Given
from policies.registry.registration import register
from simulator.arguments import part
from simulator.errors import InputError
from simulator.features.tenants import Tenants
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import LEAST_AGAIN_S, NO_CHANGE, Decision, View
from simulator.model.ranks import ranks
from simulator.model.tolerances import EQUAL, INSTANT_S


@register(
    "finish-time-fair",
    requires=("servers", "fixed-demand", "tenants"),
    paper="after Mahajan et al. (Themis), NSDI 2020",
)
class FinishTimeFair:
    """Finish-time fairness: GPUs go to the tenants that are worst off, for a lease.

    A job's rho is the time from its submission to its end, if it ran from now on, over the time it
    would take on its tenant's own part of the cluster. There, the tenant's jobs share that part. A
    tenant's rho is the largest of its jobs. Free GPUs are offered to the fraction ``1 - fairness`` of tenants
    with the largest rho, then to the others. Jobs hold their GPUs for a lease; then all is
    chosen anew.

    Here the rho of all tenants is known, and no bids are needed. `policies.tenants.themis` asks for bids.

    Parameters
    ----------
    fairness : the part 1 - fairness of the tenants that is worst off comes first.
    lease_s : time for which jobs hold their GPUs, s.
    """

    name = "finish-time-fair"

    def __init__(self, fairness: float = 0.8, lease_s: float = 1200.0) -> None:
        part(self.name, fairness=fairness)
        if not LEAST_AGAIN_S <= lease_s < math.inf:
            raise InputError(f"{self.name}: lease_s is {lease_s}, expected seconds above 0")
        self._fairness, self._lease_s = fairness, lease_s
        self._until: dict[int, float] = {}

    def decide(self, view: View) -> Decision:
        """Keep whose lease lasts; offer the rest."""
        tenants = tenants_of(view)
        now_s, until_s = view.now_s, view.now_s + INSTANT_S
        self._until = {j: t for j, t in self._until.items() if j in view.running}
        ends = [t for t in self._until.values() if t > until_s]
        if not view.waiting:
            return NO_CHANGE
        service = Service(view)
        held = [j for j in view.running if self._until.get(j, now_s) > until_s]
        for job in held:
            service.keep(job)
        self.offer(view, service, tenants)
        for job in service.chosen:
            if self._until.get(job, now_s) <= until_s:
                self._until[job] = now_s + self._lease_s
                ends.append(now_s + self._lease_s)
        again_s = max(LEAST_AGAIN_S, min(ends) - now_s) if ends else None
        return Decision(service.fewest_moves(), again_s=again_s)

    def offer(self, view: View, service: Service, tenants: Tenants) -> None:
        """Start jobs on what is free: those of the worst-off tenants first, the worst-off before the others."""
        rho = self.rho_of_jobs(view, tenants)
        worst = np.array([rho[j].max(initial=-math.inf) for j in by_tenant(view, tenants)])
        offered = self.worst_off(np.flatnonzero(np.isfinite(worst)), worst)
        active = [j for j in (*view.running, *view.waiting) if j not in service.chosen]
        place = dict(zip(active, ranks(-rho[active]).tolist(), strict=True))
        order = sorted(
            active,
            key=lambda j: (int(tenants.of[j]) not in offered, place[j], j not in view.running, j),
        )
        service.fill(Given(view, order))

    def worst_off(self, some: IntArray, rho: FloatArray) -> list[int]:
        """The fraction ``1 - fairness`` of some tenants with the largest rho, one at least."""
        ranked = some[np.argsort(ranks(-rho[some]), kind="stable")]
        count = max(1, math.ceil((1 - self._fairness) * len(ranked) - EQUAL))
        return [int(t) for t in ranked[:count]]

    def rho_of_jobs(self, view: View, tenants: Tenants) -> FloatArray:
        """``(J,)`` finish-time fairness of the active jobs; 0 for the others."""
        duration_s = whole_durations_s(view.workload)
        jobs = view.jobs
        demand, part = demand_and_part(view, tenants)
        crowding = np.maximum(1.0, demand / part)[tenants.of[jobs]]
        shared_s = view.now_s - view.submit_s + view.remaining * duration_s[jobs]
        rho = np.zeros(len(view.workload))
        rho[jobs] = shared_s / (duration_s[jobs] * crowding)
        return rho


def demand_and_part(view: View, tenants: Tenants) -> tuple[FloatArray, FloatArray]:
    """``(T,)`` GPUs that each tenant's jobs ask for, and those of its own part of the cluster."""
    demand = np.zeros(len(tenants))
    np.add.at(demand, tenants.of[view.jobs], view.num_gpus)
    total = view.cluster.total_gpus
    if view.cluster.num_controllers > 1:  # the jobs are those of this controller alone
        total *= len(view.cluster.nodes_of(view.controller)) / view.cluster.num_nodes
    return demand, total * tenants.weight / tenants.weight[demand > 0].sum()
