"""Free capacity and GPUs of each tenant while jobs are chosen one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from policies.list_scheduling import demand
from policies.packing import FreeCapacity
from policies.waiting import WaitingJobs
from simulator.features.tenants import Tenants
from simulator.features.tenants import tenants_of as named_tenants
from simulator.model.cluster import FloatArray
from simulator.model.contract import Placement, View
from simulator.model.workload import Workload


def tenants_of(view: View) -> Tenants:
    """The tenants of a scenario; where it states none, those that the jobs name, with equal weights."""
    return view.tenants if hasattr(view, "tenants") else _named(view.workload)


_latest: list[tuple[Workload, Tenants]] = []


def _named(workload: Workload) -> Tenants:
    """The tenants that jobs name; those of the latest workload are kept."""
    if not _latest or _latest[0][0] is not workload:
        by: Literal["vc", "user"] = "vc" if any(workload.vc) else "user"
        _latest[:] = [(workload, named_tenants(workload, by))]
    return _latest[0][1]


class TenantCapacity:
    """Capacity of a controller's nodes that each tenant has, while jobs are chosen.

    Attributes
    ----------
    free : what the nodes have free.
    gpus : ``(T,)`` GPUs given to each tenant.
    """

    def __init__(self, view: View, tenants: Tenants) -> None:
        self.free = FreeCapacity(view, empty=True, last_first=True)
        self.gpus: FloatArray = np.zeros(len(tenants))
        self._tenants = tenants
        self._of = tenants.of
        self._view = view
        self._chosen: dict[int, Sequence[Placement]] = {}

    def keep(self, job: int) -> bool:
        """Let a job that runs go on where it is; False where it does not run, or no longer fits."""
        shares = self._view.running.get(job, ())
        return bool(shares) and self._take(job, shares)

    def start(self, job: int) -> bool:
        """Give a job GPUs, where it ran if that is free; False where it does not fit."""
        if self._view.workload.num_gpus[job] > self.free.total_gpus:
            return False
        return self.keep(job) or self._take(job, self.free.place(job))

    def _take(self, job: int, shares: Sequence[Placement]) -> bool:
        if not shares or not self.free.holds(shares):
            return False
        self.free.add(shares)
        self._chosen[job] = shares
        self.gpus[self._of[job]] += sum(p.gpus for p in shares)
        return True

    def put_back(self, job: int) -> None:
        """Take a job off again."""
        shares = self._chosen.pop(job)
        self.free.remove(shares)
        self.gpus[self._of[job]] -= sum(p.gpus for p in shares)

    @property
    def chosen(self) -> dict[int, Sequence[Placement]]:
        """The jobs that run, in the order in which they were chosen."""
        return self._chosen

    def placements(self) -> list[Placement]:
        """Of all that were chosen; who ran stays where it is, unless the others do not fit beside it.

        While jobs are chosen, one that waited may get the GPUs of one that runs and is chosen later.
        That would move for nothing, so the same jobs are placed once more, those that run first.
        """
        running = self._view.running
        if any(
            job in running and shares is not running[job] for job, shares in self._chosen.items()
        ):
            again = TenantCapacity(self._view, self._tenants)
            for job in self._chosen:
                again.keep(job)
            if all(job in again.chosen or again.start(job) for job in self._chosen):
                return [share for job in self._chosen for share in again.chosen[job]]
        return [share for shares in self._chosen.values() for share in shares]


def waiting_by_tenant() -> WaitingJobs:
    """The waiting jobs by tenant and demand, each as they queue."""
    return WaitingJobs(None, lambda view, job: (int(tenants_of(view).of[job]), demand(view, job)))


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
