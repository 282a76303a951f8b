"""Finish-time fairness between tenants by an auction (Mahajan et al., Themis, NSDI 2020)."""

from __future__ import annotations

import math

import numpy as np

from policies.queues.of_tenants import by_tenant, gpus_held
from policies.queues.orders import whole_durations_s
from policies.queues.serving import Service
from policies.registry.registration import register
from policies.tenants.auction import largest_product, parts_kept
from policies.tenants.finish_time import FinishTimeFair, demand_and_part
from simulator.features.tenants import Tenants
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import View
from simulator.model.ranks import ranks


@register(
    "themis",
    requires=("servers", "fixed-demand", "tenants"),
    paper="Mahajan et al. (Themis), NSDI 2020",
)
class Themis(FinishTimeFair):
    """Finish-time fairness by auction: the tenants that are worst off bid for what is free (Themis).

    A tenant bids one over the rho that it would have with so many GPUs more. Its rho is the time from the
    submission of the oldest of its jobs to the end of all of them, if it kept those GPUs, over the time
    that they would take on its own part of the cluster. With work W (GPU-s) left on G GPUs, the first is
    now - oldest + W / G. GPUs that none of its jobs can use are worth nothing. `policies.tenants.auction`
    divides them. Of the jobs for which a tenant won GPUs, each starts with the chance that is the part of its
    GPUs that the tenant keeps: jobs need all of their GPUs, so a part of these would be lost. What is left goes
    to tenants who did not bid, drawn at random
    job by job; then, so that nothing is idle, to the bidders.

    Bids count GPUs, wherever they are, and not which of them are near each other.
    """

    name = "themis"

    def offer(self, view: View, service: Service, tenants: Tenants) -> None:
        """Hold the auction, then give away what is left."""
        rho = self.rho_of_jobs(view, tenants)
        asking = [
            np.array([j for j in queue if j not in service.chosen], dtype=np.int64)
            for queue in by_tenant(view, tenants)
        ]
        queues = [js[np.argsort(ranks(-rho[js]), kind="stable")].tolist() for js in asking]
        wanting = np.flatnonzero([len(queue) for queue in queues])
        if not len(wanting):
            return
        worst = np.array([rho[queue].max(initial=-math.inf) for queue in queues])
        bidders = self.worst_off(wanting, worst)
        self._auction(view, service, tenants, bidders, queues)
        others = [t for t in wanting.tolist() if t not in bidders]
        for group in (others, bidders):
            _give_at_random(view, service, {t: [*queues[t]] for t in group})

    def _auction(
        self,
        view: View,
        service: Service,
        tenants: Tenants,
        bidders: list[int],
        queues: list[list[int]],
    ) -> None:
        gpus_of = view.workload.num_gpus
        free = int(service.free.total_gpus)
        usable = [_usable(gpus_of[queues[t]].tolist(), free) for t in bidders]
        values = _values(view, service, tenants, bidders, usable)
        won = largest_product(values)
        kept = parts_kept(values, won)
        for t, budget, part in zip(bidders, won, kept.tolist(), strict=True):
            for job in queues[t]:
                if gpus_of[job] <= budget:
                    budget -= int(gpus_of[job])
                    if part >= 1 or view.rng.random() < part:
                        service.start(job)


def _usable(demands: list[int], free: int) -> IntArray:
    """``(free + 1,)`` how many of so many GPUs a tenant's jobs use, the first that fit."""
    found = []
    for budget in range(free + 1):
        left = budget
        for gpus in demands:
            if not left:
                break
            left -= gpus if gpus <= left else 0
        found.append(budget - left)
    return np.array(found)


def _values(
    view: View,
    service: Service,
    tenants: Tenants,
    bidders: list[int],
    usable: list[IntArray],
) -> FloatArray:
    """``(k, free + 1)`` one over the rho of each bidder, by the GPUs that it is given beside those it holds."""
    jobs, of = view.jobs, tenants.of[view.jobs]
    duration_s = whole_durations_s(view.workload)[jobs]
    _, part = demand_and_part(view, tenants)
    held = gpus_held(view, tenants, service.chosen)
    rows = []
    for t, uses in zip(bidders, usable, strict=True):
        own = of == t
        gpus, left_s = view.num_gpus[own], (view.remaining * duration_s)[own]
        alone_s = max(duration_s[own].max(), (gpus * duration_s[own]).sum() / part[t])
        waited_s = view.now_s - view.submit_s[own].min()
        with np.errstate(divide="ignore"):
            rest_s = np.maximum(left_s.max(), (gpus * left_s).sum() / (held[t] + uses))
        rows.append(alone_s / (waited_s + rest_s))
    return np.array(rows)


def _give_at_random(view: View, service: Service, queues: dict[int, list[int]]) -> None:
    """Job by job to a tenant drawn from those with jobs left; who does not fit is passed by."""
    queues = {t: [j for j in queue if j not in service.chosen] for t, queue in queues.items()}
    while service.free.total_gpus >= 1:
        some = [t for t, queue in queues.items() if queue]
        if not some:
            return
        service.start(queues[some[int(view.rng.integers(len(some)))]].pop(0))
