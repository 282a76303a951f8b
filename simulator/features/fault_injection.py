"""Faults at run time: nodes that go down and come up, jobs that fail, checkpoints, restarts.

A group of nodes is a process: up, notice, down, up. An outage comes after the completions and before the
arrivals of its instant (`Order.OUTAGE`): a job that ends when its node fails has ended.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from simpy.events import ProcessGenerator

from simulator.columns import ColumnData
from simulator.core.clock import Order
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import Plan
from simulator.core.simulation import Simulation
from simulator.errors import InfeasibleDecision, InputError
from simulator.features.faults import COLUMNS as JOB_COLUMNS
from simulator.features.faults import Damage, Failures, Outages
from simulator.model.cluster import FloatArray, IntArray

HOPELESS = 5_000
"""Faults without an arrival, after which some work must have been saved."""

MOST_FAULTS = 10_000_000
"""Faults that the work that is left may take at the speed of the last `HOPELESS`."""

MOST_CHECKPOINTS = 1_000_000
"""Checkpoints of one execution, beyond which the interval is held to be a mistake."""

MOST_IDLE_OUTAGES = 1_000_000
"""Outages while no job is there, beyond which the time between them is held to be a mistake."""


class NodeFaults:
    """Which nodes are up, and how reliable they are; nothing of what is to come (``view.faults``)."""

    def __init__(self, injector: FaultInjector) -> None:
        self._injector = injector

    @property
    def leaving_s(self) -> FloatArray:
        """``(N,)`` when each node goes, where policies are given notice of it; infinite: not known."""
        return np.array(self._injector.leaving_s, dtype=np.float64)

    @property
    def is_up(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """``(N,)`` whether each node of the cluster is up."""
        return np.equal(self._injector.num_causes, 0)

    @property
    def outages(self) -> IntArray:
        """``(N,)`` how often each has gone down so far."""
        return np.array(self._injector.outages, dtype=np.int64)

    @property
    def mean_up_s(self) -> FloatArray:
        """``(N,)`` mean time between failures, as the operator knows it; infinite: never."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.array(self._injector.failure_rate, dtype=np.float64))


class FaultInjector(Feature):
    """Outages of nodes, failures of jobs, and checkpoints.

    Attributes
    ----------
    num_causes : ``(N,)`` causes for which each node is down now.
    outages, leaving_s, failure_rate : ``(N,)`` how often each has gone down; when it will, as far as notice was
        given; failures per second that it is known for.
    attempt : ``(J,)`` how many attempts of `Workload.fails_at` each job has behind it.
    """

    name = "faults"

    def __init__(self, spec: Failures) -> None:
        self.spec = spec

    def attach(self, simulation: Simulation) -> None:
        """Start a process for each group of nodes."""
        jobs, nodes = len(simulation.workload), simulation.cluster.num_nodes
        if simulation.cluster.is_pool:
            if simulation.workload.fails_at:
                raise InputError(
                    "workload.attempts: given with a rental pool, expected nodes or VMs"
                )
            raise InputError(
                "failures: a rental pool has no nodes that fail, expected nodes or VMs"
            )
        self._simulation = simulation
        self._clock = simulation.clock
        self.failure_rate = self.spec.failure_rate_of(nodes)
        self.num_causes, self.outages = [0] * nodes, [0] * nodes
        self.leaving_s = [math.inf] * nodes
        self._noticed_s: list[list[float]] = [[] for _ in range(nodes)]
        self._down_s, self._since_s = [0.0] * nodes, [0.0] * nodes
        self._spans = array("d")
        self._warned: list[tuple[Sequence[int], float, float]] = []
        self._failures, self._own_failures = [0] * jobs, [0] * jobs
        self._abandoned = [0] * jobs
        self._lost_gpu_s, self._overhead_gpu_s = [0.0] * jobs, [0.0] * jobs
        self._restarts = [False] * jobs
        self._fails_at = simulation.workload.fails_at
        self.attempt = [0] * jobs
        self._attempt_gpu_s: dict[int, float] = {}
        self._rng = simulation.streams.generator("job failures")
        self._num_faults = self._num_idle = 0
        self._left_before = math.inf
        self._arriving_before = -1
        for cause in self.spec.outages:
            for k, group in enumerate(cause.groups):
                rng = simulation.streams.generator(cause.name, k)
                first_s = simulation.begin_s + k * cause.stagger_s
                self._clock.process(self._outages(cause, group, rng, first_s))

    def seen(self, controller: Controller) -> NodeFaults:
        """Data on nodes for policies."""
        return NodeFaults(self)

    # -- nodes -----------------------------------------------------------------------------------

    def _outages(
        self, cause: Outages, group: Sequence[int], rng: np.random.Generator, up_s: float
    ) -> ProcessGenerator:
        """SimPy process: a group of nodes goes down and comes up until all jobs are over."""
        clock, simulation, notice_s = self._clock, self._simulation, cause.notice_s
        while True:
            down_s = up_s + cause.time_to(rng)
            if notice_s > 0:
                yield clock.at(max(up_s, down_s - notice_s), Order.OUTAGE)
                if not simulation.unfinished:
                    return
                self._give_notice(cause, group, down_s)
            yield clock.at(down_s, Order.OUTAGE)
            if not simulation.unfinished:
                return
            self._go_down(cause, group)
            up_s = clock.now + cause.duration(rng)
            yield clock.at(up_s, Order.OUTAGE)
            if not simulation.unfinished:
                return
            self._come_up(group)

    def _give_notice(self, cause: Outages, group: Sequence[int], down_s: float) -> None:
        """Jobs will save their work in time; policies learn of it where the cause warns."""
        self._warned.append((group, down_s, cause.notice_s))
        running = dict.fromkeys(job for n in group for job in self._simulation.shares[n])
        for controller in self._simulation.controllers:
            for job in running:
                if job in controller.executions:
                    self._save_before(controller.executions[job], down_s, cause.notice_s)
        if cause.warns:
            for n in group:
                self._noticed_s[n].append(down_s)
                self.leaving_s[n] = min(self._noticed_s[n])
            self._each_controller(group, lambda controller, nodes: controller.ask_again())

    def _save_before(self, execution: Execution, down_s: float, notice_s: float) -> None:
        """Start the last checkpoint of an execution so that it is complete when the node goes."""
        if notice_s >= execution.cost_s:
            self._clock.process(self._last_checkpoint(execution, down_s - execution.cost_s))

    def _last_checkpoint(self, execution: Execution, at_s: float) -> ProcessGenerator:
        """SimPy process: save the work of that time, if the job still runs then."""
        yield self._clock.at(at_s, Order.COMPLETION)
        if execution.is_running:
            execution.keep()

    def _go_down(self, cause: Outages, group: Sequence[int]) -> None:
        """Nodes stop; the controllers that own them learn of it once."""
        now_s = self._clock.now
        if not any(controller.active for controller in self._simulation.controllers):
            self._num_idle += 1
            if self._num_idle > MOST_IDLE_OUTAGES:
                raise InputError(
                    f"failures: more than {MOST_IDLE_OUTAGES:,} outages ({cause.name}) while no job was "
                    f"there by {now_s:.6g} s, expected a longer time between them"
                )
        elif any(self._simulation.shares[n] for n in group) or not any(
            controller.running for controller in self._simulation.controllers
        ):
            self._count_fault(f"outages ({cause.name})")
        self._warned = [w for w in self._warned if w[1] > now_s]
        gone = []
        for n in group:
            if self._noticed_s[n]:  # notice that another cause has given still holds
                self._noticed_s[n] = [t for t in self._noticed_s[n] if t > now_s]
                self.leaving_s[n] = min(self._noticed_s[n], default=math.inf)
            self.num_causes[n] += 1
            self.outages[n] += 1
            if self.num_causes[n] == 1:
                self._since_s[n] = now_s
                gone.append(n)
        self._each_controller(gone, lambda controller, nodes: controller.take_down(nodes, "failed"))

    def _come_up(self, group: Sequence[int]) -> None:
        back = []
        for n in group:
            self.num_causes[n] -= 1
            if self.num_causes[n] == 0:
                self._down_s[n] += self._clock.now - self._since_s[n]
                self._spans.extend((n, self._since_s[n], self._clock.now))
                back.append(n)
        self._each_controller(back, lambda controller, nodes: controller.bring_up(nodes))

    def _each_controller(
        self, nodes: Sequence[int], call: Callable[[Controller, list[int]], None]
    ) -> None:
        controllers = self._simulation.controllers
        of_controller: dict[int, list[int]] = {}
        for n in nodes:
            of_controller.setdefault(n % len(controllers), []).append(n)
        for index in sorted(of_controller):
            call(controllers[index], of_controller[index])

    # -- jobs ------------------------------------------------------------------------------------

    def checkpoint(self, execution: Execution) -> tuple[float, float]:
        """Interval and cost of a job's checkpoints, by the failures that it has to expect."""
        workload, job = self._simulation.workload, execution.job
        interval_s, cost_s = self.spec.checkpoints.plan(
            workload.model[job], self._mean_up_s(s.node for s in execution.shares), execution.gpus
        )
        left_s = self._simulation.jobs.remaining[job] * self._simulation.time_on_s(
            workload, job, execution.shares, execution.configuration
        )
        if interval_s > 0 and left_s / interval_s > MOST_CHECKPOINTS:
            raise InputError(
                f"checkpoints: interval_s is {interval_s:g}, and job {workload.job_id[job]!r} takes "
                f"{left_s:g} s: more than {MOST_CHECKPOINTS:,} checkpoints, expected a longer interval"
            )
        return interval_s, cost_s

    def _mean_up_s(self, nodes: Iterable[int]) -> float:
        """Mean time between the failures that a job on these nodes meets, its own among them."""
        law = self.spec.job_time_to_failure
        rate = sum(self.failure_rate[n] for n in nodes) + (1 / law.mean if law is not None else 0.0)
        return 1 / rate if rate else math.inf

    def delay_s(self, execution: Execution, start: str) -> float:
        """Time to restart a job that has failed."""
        restarts, self._restarts[execution.job] = self._restarts[execution.job], False
        return self.spec.checkpoints.restart_s if restarts else 0.0

    def on_start(self, execution: Execution, plan: Plan) -> None:
        """Draw when the job fails by itself; it heeds the notices that its nodes have had."""
        law = self.spec.job_time_to_failure
        if law is not None:
            at_s = self._clock.now + law(self._rng)
            self._clock.process(self._fail_at(execution, at_s))
        nodes = {share.node for share in execution.shares}
        for group, down_s, notice_s in self._warned:
            if not nodes.isdisjoint(group):
                self._save_before(execution, down_s, notice_s)

    def _fail_at(self, execution: Execution, at_s: float) -> ProcessGenerator:
        """SimPy process: the job fails, if it still runs then."""
        yield self._clock.at(at_s, Order.OUTAGE)
        if execution.is_running:
            self._fail(execution, "failed")

    def next_change(self, execution: Execution) -> float:
        """Fraction of the work that is left when the attempt fails that the job is at."""
        if not self._fails_at:
            return 0.0
        parts, attempt = self._fails_at[execution.job], self.attempt[execution.job]
        return 1.0 - parts[attempt] if attempt < len(parts) else 0.0

    def reached(self, execution: Execution) -> bool:
        """An attempt fails: all work of it was for nothing, and the next begins."""
        if self._simulation.jobs.remaining[execution.job] != self.next_change(execution):
            return True
        self._fail(execution, "attempt failed")
        return False

    def _fail(self, execution: Execution, cause: str) -> None:
        """A job fails by itself; after too many attempts it is abandoned."""
        self._count_fault("failures of jobs (job_time_to_failure)")
        job, limit, controller = execution.job, self.spec.max_attempts, execution.controller
        controller.stop(execution, cause)
        self._own_failures[job] += 1
        if limit is not None and self._own_failures[job] >= limit:
            self._abandoned[job] = 1
            controller.leave(job)
        if self._simulation.triggers.on_completion and controller.active:
            controller.ask()

    def on_release(self, execution: Execution, cause: str) -> None:
        """Count what was not work; a job that failed is back at its last checkpoint."""
        job, gpus, worked_s = execution.job, execution.gpus, execution.worked_s
        self._overhead_gpu_s[job] += gpus * (self._clock.now - execution.start_s - worked_s)
        self._attempt_gpu_s[job] = self._attempt_gpu_s.get(job, 0.0) + gpus * worked_s
        if cause == "failed" and execution.interval_s > 0:
            lost_gpu_s = gpus * (worked_s - execution.saved_worked_s)
            self._simulation.jobs.remaining[job] = execution.saved
            self._lost_gpu_s[job] += lost_gpu_s
            self._attempt_gpu_s[job] -= lost_gpu_s
        if cause == "attempt failed":
            self._lost_gpu_s[job] += self._attempt_gpu_s.pop(job)
            self.attempt[job] += 1
        if cause in ("failed", "attempt failed"):
            self._failures[job] += 1
            self._restarts[job] = True

    # -- the end ---------------------------------------------------------------------------------

    def _count_fault(self, what: str) -> None:
        """Every so many faults without an arrival, less work must be left than before."""
        simulation = self._simulation
        if simulation.arriving != self._arriving_before:
            self._arriving_before = simulation.arriving
            self._num_faults, self._left_before = 0, math.inf
        self._num_faults += 1
        if self._num_faults % HOPELESS:
            return
        saved = {e.job: e.saved for c in simulation.controllers for e in c.executions.values()}
        jobs = [j for j, t in enumerate(simulation.completion_s) if t != t]
        left = math.fsum(saved.get(j, simulation.jobs.remaining[j]) for j in jobs)
        done = self._left_before - left
        if done <= 0 or left * HOPELESS > done * MOST_FAULTS:
            raise InfeasibleDecision(
                f"policy {simulation.policy_name} at {self._clock.now:.6g} s: none of {len(jobs)} jobs "
                f"got on with its work during {HOPELESS:,} {what}, the first is "
                f"{simulation.workload.job_id[jobs[0]]!r}; expected fewer failures, checkpoints more "
                "often, or nodes on which it fits"
            )
        self._left_before = left

    def damage(self, end_s: float) -> Damage:
        """The record at the end of the run, at the last completion."""
        down_s = list(self._down_s)
        for n, (since_s, causes) in enumerate(zip(self._since_s, self.num_causes, strict=True)):
            if causes:
                down_s[n] += max(0.0, end_s - since_s)
                if since_s < end_s:
                    self._spans.extend((n, since_s, end_s))
        return Damage(
            np.array(self._failures, dtype=np.int64),
            np.array(self._lost_gpu_s),
            np.array(self._overhead_gpu_s),
            np.array(self._abandoned, dtype=np.int64),
            np.array(self.outages, dtype=np.int64),
            np.array(down_s),
            self.spec.max_attempts is not None,
            np.array(self._spans).reshape(-1, 3),
        )

    def columns(self) -> tuple[ColumnData, ...]:
        """Failures of each job, and the work that it lost."""
        failures, lost = JOB_COLUMNS
        return ColumnData(failures, self._failures), ColumnData(lost, self._lost_gpu_s)
