"""Quotas that are limits: no tenant's jobs hold more GPUs than its quota, whatever the policy.

A job whose tenant has used up its quota is held back before the dispatcher, until jobs of the tenant have
ended. So each policy keeps to the quotas, whatever it knows.
"""

from __future__ import annotations

import numpy as np

from simulator.core.controller import Controller
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.features.fractional import gpus_asked
from simulator.features.tenants import Tenants, check_limits
from simulator.model.tolerances import PART_OF_A_GPU


class Quotas(Feature):
    """The tenants, which policies see, and their quotas where these are limits.

    Parameters
    ----------
    in_fractions : whether the policy gives parts of GPUs: a quota then counts parts.

    Attributes
    ----------
    held_s : ``(J,)`` seconds for which a quota kept each job from the queue.
    """

    name = "tenants"

    def __init__(self, tenants: Tenants, in_fractions: bool = False) -> None:
        self.tenants = tenants
        self._in_fractions = in_fractions

    def attach(self, simulation: Simulation) -> None:
        """Read what the jobs ask for."""
        workload = simulation.workload
        self._simulation = simulation
        check_limits(self.tenants, workload)
        self._gpus = gpus_asked(workload, self._in_fractions).tolist()
        self._used = [0.0] * len(self.tenants)
        self._held: list[list[int]] = [[] for _ in self._used]
        self._admitted: set[int] = set()
        self.held_s = np.zeros(len(workload))

    def seen(self, controller: Controller) -> Tenants:
        """The tenants, with weights and quotas."""
        return self.tenants

    def admits(self, job: int) -> bool:
        """Whether the quota has room; else the job is held here."""
        if not self.tenants.is_limited:
            return True
        t = int(self.tenants.of[job])
        if self._has_room(t, job):
            self._take(t, job)
            return True
        self._held[t].append(job)
        return False

    def _has_room(self, t: int, job: int) -> bool:
        return bool(self._used[t] + self._gpus[job] <= self.tenants.quota[t] + PART_OF_A_GPU)

    def _take(self, t: int, job: int) -> None:
        self._used[t] += self._gpus[job]
        self._admitted.add(job)

    def on_end(self, job: int) -> None:
        """The tenant may use the job's GPUs again, the first that fits before the others."""
        if job not in self._admitted:
            return
        self._admitted.remove(job)
        t, simulation = int(self.tenants.of[job]), self._simulation
        self._used[t] -= self._gpus[job]
        self._forget_impatient(t)
        for other in list(self._held[t]):
            if self._used[t] >= self.tenants.quota[t]:
                break
            if self._has_room(t, other):
                self._held[t].remove(other)
                self.held_s[other] = simulation.clock.now - float(
                    simulation.workload.submit_s[other]
                )
                self._take(t, other)
                simulation.dispatch(other)

    def _forget_impatient(self, t: int) -> None:
        """Jobs of a tenant that were held for longer than their patience have left by now."""
        simulation = self._simulation
        workload = simulation.workload
        if workload.patience_s is None:
            return
        for job in list(self._held[t]):
            leaves_s = float(workload.submit_s[job] + workload.patience_s[job])
            if leaves_s < simulation.clock.now:
                self._held[t].remove(job)
                self.held_s[job] = float(workload.patience_s[job])
                simulation.renege(job, leaves_s)
                simulation.end(job)
