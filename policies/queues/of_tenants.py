"""Tenants as policies see them: who they are, their queues, and what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from policies.queues.running import RunningJobs
from policies.queues.waiting import Order, demand
from simulator.features.tenants import Tenants
from simulator.features.tenants import tenants_of as named_tenants
from simulator.model.cluster import FloatArray
from simulator.model.contract import View
from simulator.model.workload import Workload


def tenants_of(view: View) -> Tenants:
    """The tenants of a scenario; where it states none, those that the jobs name, with equal weights.

    Who they are is known beforehand, as in a list of accounts; what they submit is not.
    """
    return view.tenants if hasattr(view, "tenants") else _named(view.rows)


_latest: list[tuple[Workload, Tenants]] = []


def _named(workload: Workload) -> Tenants:
    """The tenants that jobs name; those of the latest workload are kept."""
    if not _latest or _latest[0][0] is not workload:
        by: Literal["vc", "user"] = "vc" if any(workload.vc) else "user"
        _latest[:] = [(workload, named_tenants(workload, by))]
    return _latest[0][1]


def queue_of_tenants() -> Order:
    """The order of the queue, with jobs apart by tenant and demand."""
    return Order(kind_of=lambda view, job: (int(tenants_of(view).of[job]), demand(view, job)))


class HeldByTenants:
    """Demands of the running jobs of each tenant, kept from decision to decision.

    Parameters
    ----------
    amounts : ``(J, R)`` what each job asks for.

    Attributes
    ----------
    running : the jobs that run.
    """

    def __init__(self, amounts: FloatArray, num_tenants: int) -> None:
        self.running = RunningJobs()
        self._amounts = amounts
        self._held = np.zeros((num_tenants, amounts.shape[1]))
        self._count = np.zeros(num_tenants, dtype=np.int64)

    def now(self, view: View) -> FloatArray:
        """``(T, R)`` what those that run now have asked for."""
        of = tenants_of(view).of
        self.running.refresh(view)
        if self.running.is_anew:
            self._held[:], self._count[:] = 0.0, 0
        for jobs, sign in ((self.running.over, -1), (self.running.began, 1)):
            for job in jobs:
                self._held[of[job]] += sign * self._amounts[job]
                self._count[of[job]] += sign
        self._held[self._count == 0] = 0.0  # what rounding may have left
        return self._held.copy()


def gpus_held(view: View, tenants: Tenants, jobs: Iterable[int]) -> FloatArray:
    """``(T,)`` GPUs of some jobs, by tenant."""
    held = np.zeros(len(tenants))
    for job in jobs:
        held[tenants.of[job]] += view.workload.num_gpus_list[job]
    return held


def by_tenant(view: View, tenants: Tenants) -> list[list[int]]:
    """``T`` lists of active jobs, those that run first, then by the queue."""
    found: list[list[int]] = [[] for _ in range(len(tenants))]
    for job in (*view.running, *view.waiting):
        found[int(tenants.of[job])].append(job)
    return found


def demands(workload: Workload) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``(J,)`` GPUs, CPUs and GB that each job asks for; 0 where nothing is stated."""
    cpus, memory_gb = np.nan_to_num(workload.num_cpus), np.nan_to_num(workload.memory_gb)
    return workload.num_gpus.astype(np.float64), cpus, memory_gb
