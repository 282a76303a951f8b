"""Jobs that follow others: a job is submitted when those before it have ended, and its user has thought."""

from __future__ import annotations

import math
from collections import defaultdict

from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.model.workload import Workload


class Dependencies(Feature):
    """Holds each job back until all that it follows (`Workload.after`) have ended, and its think times are over.

    Its waiting counts from then on. A job that needs the success of one that was killed, failed or left is never
    submitted: it leaves. Jobs that the workload does not have are not waited for.
    """

    def shown(self, workload: Workload) -> Workload:
        """The jobs with times of submission of their own, which change when a job is submitted at last."""
        return workload.with_own("submit_s")

    def attach(self, simulation: Simulation) -> None:
        """Count what each job waits for; raises InputError where jobs wait for each other."""
        workload = simulation.workload
        number = {name: j for j, name in enumerate(workload.job_id)}
        self._simulation = simulation
        self._left = [0] * len(workload)
        self._ready_s = workload.submit_s.tolist()
        self._followers: dict[int, list[tuple[int, float, bool]]] = defaultdict(list)
        self._arrived: set[int] = set()
        self._done: set[int] = set()
        for job, before in enumerate(workload.after):
            for name, think_s, success in before:
                if name in number:
                    self._followers[number[name]].append((job, think_s, success))
                    self._left[job] += 1
        self._check_order(workload)
        simulation.rows.submit_s.flags.writeable = True

    def _check_order(self, workload: Workload) -> None:
        left = list(self._left)
        free = [job for job, count in enumerate(left) if not count]
        for job in free:
            for follower, _, _ in self._followers[job]:
                left[follower] -= 1
                if not left[follower]:
                    free.append(follower)
        if len(free) < len(left):
            job = next(job for job, count in enumerate(left) if count)
            raise InputError(
                f"workload: job {workload.job_id[job]!r} follows itself by way of others, expected jobs "
                "that do not wait for each other"
            )

    def admits(self, job: int) -> bool:
        """Whether all that it follows have ended; else it is held here."""
        self._arrived.add(job)
        if self._left[job]:
            return False
        if self._ready_s[job] == math.inf:
            self._leave(job)
            return False
        if self._ready_s[job] > self._simulation.clock.now:
            self._simulation.clock.process(self._submit(job))
            return False
        return True

    def _submit(self, job: int) -> ProcessGenerator:
        """SimPy process: the job comes when its user has thought."""
        simulation, at_s = self._simulation, self._ready_s[job]
        yield simulation.clock.at(at_s, EventOrder.ARRIVAL)
        simulation.submitted_s[job] = simulation.rows.submit_s[job] = at_s
        simulation.arrive(job)

    def on_release(self, execution: Execution, cause: str) -> None:
        """A job that has done its work has succeeded, but for one that was cut short."""
        if cause == "done":
            outcome = self._simulation.workload.outcome
            if not outcome or outcome[execution.job] in ("", "passed"):
                self._done.add(execution.job)

    def on_end(self, job: int) -> None:
        """Submit those that waited for this job alone, or let them leave."""
        simulation = self._simulation
        for follower, think_s, success in self._followers[job]:
            if success and job not in self._done:
                self._ready_s[follower] = math.inf
            self._ready_s[follower] = max(self._ready_s[follower], simulation.clock.now + think_s)
            self._left[follower] -= 1
            if not self._left[follower] and follower in self._arrived:
                if self._ready_s[follower] < math.inf:
                    simulation.clock.process(self._submit(follower))
                else:
                    self._leave(follower)

    def _leave(self, job: int) -> None:
        self._simulation.renege(job, self._simulation.clock.now)
        self._simulation.end(job)
