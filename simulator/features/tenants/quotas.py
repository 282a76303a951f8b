"""Limits of tenants: no tenant's jobs hold more GPUs than its quota, or are more at once than its number, whatever the policy.

A job whose tenant has reached its quota is held back before the dispatcher, until jobs of the tenant have
ended. While so many jobs of a tenant run as may at once, those that wait are set aside: policies do not see them, and of a
decision that starts more, the first are started. So each policy keeps to the limits, whatever it knows.
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
from simulator.core.execution import Execution
from simulator.core.feature import Feature, FeatureRecord
from simulator.core.plan import DecisionPlan
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
    held_s : ``(J,)`` seconds for which a limit kept each job from the queue; None: there are no limits.
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
    held_s : ``(J,)`` seconds for which a limit kept each job from the queue.
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
        self._running = [0] * len(self.tenants)
        most = self.tenants.max_jobs
        self._most: list[float] | None = None if most is None else most.tolist()
        self._aside: dict[int, tuple[Controller, float]] = {}
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
        return fits

    def _take(self, t: int, job: int) -> None:
        self._used[t] += self._gpus[job]
        self._admitted.add(job)

    def on_end(self, job: int) -> None:
        """The tenant may use the job's GPUs again, the first that fits before the others."""
        self._end_aside(job)
        if job not in self._admitted:
            return
        self._admitted.remove(job)
        t, simulation = int(self.tenants.of[job]), self._simulation
        self._used[t] -= self._gpus[job]
        for other in list(self._held[t]):
            if self._used[t] >= self._quota[t]:
                break
            if self._has_room(t, other):
                self._held[t].remove(other)
                self.held_s[other] = simulation.clock.now - simulation.submitted_s[other]
                self._take(t, other)
                simulation.dispatch(other)

    # -- jobs at once ----------------------------------------------------------------------------

    def on_submit(self, controller: Controller, job: int) -> None:
        """Set a job aside whose tenant runs as many as it may."""
        if self._is_full(int(self.tenants.of[job])):
            self._set_aside(controller, job)

    def check(self, controller: Controller, plan: DecisionPlan) -> None:
        """Take starts beyond the limit out of a plan, and have the controller decide anew about what they leave."""
        if self._most is None or not plan.shares_of:
            return
        running = list(self._running)
        gone = (
            plan.stopped
            if plan.keep_running
            else [j for j in controller.running if j not in plan.shares_of]
        )
        for job in gone:
            running[self.tenants.of[job]] -= job in controller.running
        kept = {}
        for job, shares in plan.shares_of.items():
            if job not in controller.running:
                t = self.tenants.of[job]
                if running[t] >= self._most[t]:
                    continue
                running[t] += 1
            kept[job] = shares
        if len(kept) < len(plan.shares_of):
            plan.shares_of = kept
            if self._simulation.triggers.at_arrivals:
                controller.ask()

    def on_start(self, execution: Execution, plan: DecisionPlan) -> None:
        """Count a job that runs; the last that may run sets the others aside."""
        if self._most is None:
            return
        t = int(self.tenants.of[execution.job])
        self._running[t] += 1
        if self._is_full(t):
            for controller in self._simulation.controllers:
                for job in [*controller.waiting, *controller.aside]:
                    if self.tenants.of[job] == t and job not in self._aside:
                        self._set_aside(controller, job)

    def on_release(self, execution: Execution, cause: str) -> None:
        """Let the tenant's jobs back into the queue; one that moves to other GPUs leaves no room."""
        if self._most is None:
            return
        t = int(self.tenants.of[execution.job])
        self._running[t] -= 1
        if cause == "moved":
            return
        back: dict[Controller, list[int]] = {}
        for job in [job for job in self._aside if self.tenants.of[job] == t]:
            back.setdefault(self._aside[job][0], []).append(job)
            self._end_aside(job)
        for controller, jobs in back.items():
            controller.put_back(jobs)

    def _is_full(self, t: int) -> bool:
        return self._most is not None and self._running[t] >= self._most[t]

    def _set_aside(self, controller: Controller, job: int) -> None:
        controller.set_aside(job)
        self._aside[job] = controller, self._simulation.clock.now

    def _end_aside(self, job: int) -> None:
        """Count the time for which a job was set aside."""
        _, since_s = self._aside.pop(job, (None, self._simulation.clock.now))
        self.held_s[job] += self._simulation.clock.now - since_s

    def has_room(self, controller: Controller, job: int, plan: DecisionPlan) -> bool:
        """Whether a job of an older plan may still start."""
        return job not in self._aside

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
        for job in [*self._aside]:
            self._end_aside(job)
        return TenantRecord(self.tenants, self.held_s if self.tenants.is_limited else None)
