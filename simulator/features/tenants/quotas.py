"""Limits of tenants: no tenant's jobs hold more GPUs than its quota, or are more than its number, whatever the policy.

A job whose tenant has reached its limit is held back before the dispatcher, until jobs of the tenant have
ended. So each policy keeps to the quotas, whatever it knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from simpy.events import ProcessGenerator

from simulator.arguments import length
from simulator.core.clock import EventOrder
from simulator.core.controller import Controller
from simulator.core.feature import Feature, FeatureRecord
from simulator.core.simulation import Simulation
from simulator.features.tenants.fairness import summary
from simulator.features.tenants.tenants import Tenants, check_limits
from simulator.model.cluster import FloatArray
from simulator.model.fractional import demanded_gpus
from simulator.model.tolerances import PART_OF_A_GPU


@dataclass(frozen=True)
class TenantRecord(FeatureRecord):
    """The tenants of a run.

    Attributes
    ----------
    tenants : owner, weight and quota of each job.
    held_s : ``(J,)`` seconds for which a quota kept each job from the queue; None: quotas are no limits.
    """

    tenants: Tenants
    held_s: FloatArray | None

    def scalars(self, run: Any) -> dict[str, float | int | None]:
        """Fairness between the tenants, and how many jobs were held."""
        held = {} if self.held_s is None else {"held_jobs": int((self.held_s > 0).sum())}
        return {**summary(run), **held}


class Quotas(Feature):
    """The tenants, which policies see, and their quotas where these are limits.

    A quota counts parts of GPUs where the policy gives parts.

    Attributes
    ----------
    held_s : ``(J,)`` seconds for which a quota kept each job from the queue.
    """

    name = "tenants"

    def __init__(self, tenants: Tenants) -> None:
        self.tenants = tenants

    def attach(self, simulation: Simulation) -> None:
        """Read what the jobs ask for."""
        workload = simulation.workload
        self._simulation = simulation
        length("tenants", self.tenants.of, len(workload), "jobs")
        check_limits(self.tenants, workload)
        self._gpus = demanded_gpus(workload, simulation.fractional_gpus).tolist()
        self._used = [0.0] * len(self.tenants)
        self._jobs = [0] * len(self.tenants)
        most = self.tenants.max_jobs
        self._most = [math.inf] * len(self.tenants) if most is None else most.tolist()
        self._quota = (
            self.tenants.quota.tolist()
            if self.tenants.has_quotas
            else [math.inf] * len(self.tenants)
        )
        self._held: list[list[int]] = [[] for _ in self._used]
        self._admitted: set[int] = set()
        self.held_s = np.zeros(len(workload))

    def seen(self, controller: Controller) -> Tenants:
        """The tenants, with weights and quotas."""
        return self.tenants

    def admits(self, job: int) -> bool:
        """Whether the tenant's limits have room; else the job is held here."""
        if not self.tenants.is_limited:
            return True
        t = int(self.tenants.of[job])
        if self._has_room(t, job):
            self._take(t, job)
            return True
        self._held[t].append(job)
        patience_s = self._simulation.workload.patience_s
        if patience_s is not None and patience_s[job] < math.inf:
            self._simulation.clock.process(self._wait(t, job, float(patience_s[job])))
        return False

    def _has_room(self, t: int, job: int) -> bool:
        fits: bool = self._used[t] + self._gpus[job] <= self._quota[t] + PART_OF_A_GPU
        return fits and self._jobs[t] < self._most[t]

    def _take(self, t: int, job: int) -> None:
        self._used[t] += self._gpus[job]
        self._jobs[t] += 1
        self._admitted.add(job)

    def on_end(self, job: int) -> None:
        """The tenant may use the job's GPUs again, the first that fits before the others."""
        if job not in self._admitted:
            return
        self._admitted.remove(job)
        t, simulation = int(self.tenants.of[job]), self._simulation
        self._used[t] -= self._gpus[job]
        self._jobs[t] -= 1
        for other in list(self._held[t]):
            if self._used[t] >= self._quota[t] or self._jobs[t] >= self._most[t]:
                break
            if self._has_room(t, other):
                self._held[t].remove(other)
                self.held_s[other] = simulation.clock.now - simulation.submitted_s[other]
                self._take(t, other)
                simulation.dispatch(other)

    def _wait(self, t: int, job: int, patience_s: float) -> ProcessGenerator:
        """SimPy process: a held job leaves when its patience is over; once it is in a queue, `Reneging` sees to it."""
        simulation = self._simulation
        leaves_s = simulation.submitted_s[job] + patience_s
        yield simulation.clock.at(leaves_s, EventOrder.RENEGING)
        if job in self._held[t]:
            self._held[t].remove(job)
            self.held_s[job] = patience_s
            simulation.renege(job, leaves_s)
            simulation.end(job)

    def record(self, end_s: float) -> TenantRecord:
        """The tenants, and how long their jobs were held."""
        for job in (job for held in self._held for job in held):  # they never got in
            self.held_s[job] = max(0.0, end_s - self._simulation.submitted_s[job])
        return TenantRecord(self.tenants, self.held_s if self.tenants.is_limited else None)
