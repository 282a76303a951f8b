"""Outages of nodes, jobs that fail, and checkpoints: a process a group of nodes, and a controller.

An outage is an event at an exact time, after the completions and before the arrivals of that instant
(`Order.OUTAGE`): a job that ends when its node fails has ended, one that arrives then finds the node
away. All of this is in classes of its own; a simulation without failures has none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
from simpy import Event

from simulator.contract import JobLog, NodeHealth, Placement, View
from simulator.errors import InfeasibleDecision
from simulator.failures import Damage, Failures, Outages, running_s, saved_s, worked_s
from simulator.processes.clock import Order
from simulator.processes.controller import Controller, Plan
from simulator.processes.world import World
from simulator.statistics import Streams

HOPELESS_PER_NODE = 1_000
HOPELESS = 100_000
"""Outages, and as many more for each node, in which no job ends: the simulation is given up."""


class SavedLog(JobLog):
    """Job state where jobs work and save in turn.

    Attributes
    ----------
    interval_s, cost_s : ``(J,)`` of the checkpoints of each job, as it runs now.
    """

    interval_s: list[float]
    cost_s: list[float]

    def remaining_at(self, job: int, now_s: float) -> float:
        """Fraction of the job's work that is left, saved or not."""
        elapsed = now_s - self.since_s[job]
        left = self.remaining[job]
        if elapsed <= 0:
            return left
        done = worked_s(elapsed, self.interval_s[job], self.cost_s[job])
        return max(0.0, left - self.rate[job] * done)


class Trouble:
    """What all controllers and outages of one simulation share.

    Attributes
    ----------
    spec : what goes wrong.
    away : ``(N,)`` causes for which each node is away now.
    """

    def __init__(self, spec: Failures, world: World, streams: Streams) -> None:
        jobs, nodes = len(world.workload), world.cluster.num_nodes
        self.spec = spec
        self.world = world
        self.controllers: Sequence[FailingController] = ()
        self.rate = spec.failure_rate_of(nodes)
        self.rng = streams.generator("job failures")
        self.streams = streams
        self.unfinished = jobs
        self.away = [0] * nodes
        self.outages = [0] * nodes
        self.down_s = [0.0] * nodes
        self.since_s = [0.0] * nodes
        self.failures = [0] * jobs
        self.own_failures = [0] * jobs
        self.lost_gpu_s = [0.0] * jobs
        self.overhead_gpu_s = [0.0] * jobs
        self.killed = [0] * jobs
        self.restarts = [False] * jobs
        self.since_completion = 0
        log = world.log
        assert isinstance(log, SavedLog)
        log.interval_s, log.cost_s = [math.inf] * jobs, [0.0] * jobs
        self.log = log

    def start(self, begin_s: float) -> None:
        """Start the process of each group of nodes."""
        for cause in self.spec.outages:
            for k, group in enumerate(cause.groups):
                rng = self.streams.generator(cause.name, k)
                first_s = begin_s + k * cause.stagger_s
                self.world.clock.process(self._outages(cause, group, rng, first_s))

    def _outages(
        self, cause: Outages, group: Sequence[int], rng: np.random.Generator, first_s: float
    ) -> Generator[Event, None, None]:
        """SimPy process: a group of nodes goes and comes back, until all jobs are over."""
        clock = self.world.clock
        up_s = first_s
        while True:
            yield clock.until(up_s + cause.time_to(rng), Order.OUTAGE)
            if not self.unfinished:
                return
            self._go(group, cause.notice_s)
            up_s = clock.now + cause.duration(rng)
            yield clock.until(up_s, Order.OUTAGE)
            if not self.unfinished:
                return
            self._come_back(group)

    def _go(self, group: Sequence[int], notice_s: float) -> None:
        """Nodes go away; the controllers that own them learn of it once."""
        self._give_up_if_hopeless()
        gone = []
        for n in group:
            self.away[n] += 1
            self.outages[n] += 1
            if self.away[n] == 1:
                self.since_s[n] = self.world.clock.now
                gone.append(n)
        self._each_controller(gone, lambda c, nodes: c.lose(nodes, notice_s))

    def _come_back(self, group: Sequence[int]) -> None:
        back = []
        for n in group:
            self.away[n] -= 1
            if self.away[n] == 0:
                self.down_s[n] += self.world.clock.now - self.since_s[n]
                back.append(n)
        self._each_controller(back, lambda c, nodes: c.regain(nodes))

    def _each_controller(
        self, nodes: Sequence[int], call: Callable[[FailingController, list[int]], None]
    ) -> None:
        count = len(self.controllers)
        for controller in self.controllers:
            mine = [n for n in nodes if n % count == controller.index]
            if mine:
                call(controller, mine)

    def _give_up_if_hopeless(self) -> None:
        self.since_completion += 1
        limit = HOPELESS + HOPELESS_PER_NODE * len(self.away)
        if self.since_completion <= limit or self.world.arriving:
            return
        workload = self.world.workload
        left = [j for j, t in enumerate(self.world.completion_s) if t != t]
        raise InfeasibleDecision(
            f"policy {self.world.policy_name} at {self.world.clock.now:.6g} s: no job ended during "
            f"{limit:,} outages, {len(left)} are left, the first is {workload.job_id[left[0]]!r}; "
            "expected fewer failures, checkpoints more often, or nodes on which it fits"
        )

    def damage(self, end_s: float) -> Damage:
        """The record at the end."""
        down_s = [
            s + (max(0.0, end_s - since) if away else 0.0)
            for s, since, away in zip(self.down_s, self.since_s, self.away, strict=True)
        ]
        return Damage(
            np.array(self.failures, dtype=np.int64),
            np.array(self.lost_gpu_s),
            np.array(self.overhead_gpu_s),
            np.array(self.killed, dtype=np.int64),
            np.array(self.outages, dtype=np.int64),
            np.array(down_s),
        )


class FailingController(Controller):
    """A controller whose nodes go away and whose jobs fail and save their work.

    It sees the nodes that are up (`View.nodes`), so that a policy which knows nothing of failures
    still works; `View.health` has what there is to know.
    """

    trouble: Trouble

    def attach(self, trouble: Trouble) -> None:
        """Share what all controllers have in common; before the simulation starts."""
        self.trouble = trouble
        self._all_nodes = self._nodes

    # -- nodes -------------------------------------------------------------------------------

    def lose(self, nodes: Sequence[int], notice_s: float) -> None:
        """Nodes of this controller go away, with what runs on them."""
        world = self.world
        for n in nodes:
            for job in list(world.shares[n]):
                self.throw_off(job, notice_s)
        for n in nodes:
            world.nodes[n].close()
        self._count_nodes()

    def regain(self, nodes: Sequence[int]) -> None:
        """Nodes come back, empty."""
        for n in nodes:
            self.world.nodes[n].reopen()
        self._count_nodes()

    def _count_nodes(self) -> None:
        away, nodes = self.trouble.away, self.world.nodes
        mine = self._all_nodes.tolist()
        self._nodes = np.array([n for n in mine if not away[n]], dtype=np.int64)
        for n in mine:
            self._free[n] = nodes[n].free_gpus
        self._free_total = float(self._free[self._nodes].sum())
        self._changed = True
        points = self.world.points
        if self.active and (points.on_completion or points.on_arrival):
            self.request()

    # -- jobs --------------------------------------------------------------------------------

    def throw_off(self, job: int, notice_s: float) -> None:
        """A job stops before its end: what it did since its last checkpoint is lost."""
        trouble, log, now = self.trouble, self.world.log, self.world.clock.now
        left, rate, gpus = log.remaining[job], log.rate[job], log.gpus[job]
        interval_s, cost_s = trouble.log.interval_s[job], trouble.log.cost_s[job]
        elapsed = max(0.0, now - log.since_s[job])
        done_s = min(worked_s(elapsed, interval_s, cost_s), left / rate)
        kept_s = saved_s(elapsed, interval_s, cost_s)
        if notice_s > 0 and notice_s >= cost_s:
            before = worked_s(max(0.0, elapsed - cost_s), interval_s, cost_s)
            kept_s = max(kept_s, before)
        kept_s = min(kept_s, done_s)
        self._release(job)
        log.remaining[job] = left - rate * kept_s
        trouble.lost_gpu_s[job] += gpus * (done_s - kept_s)
        trouble.failures[job] += 1
        trouble.restarts[job] = True
        self.waiting[job] = None
        self._changed = True

    def _fail(self, job: int) -> None:
        """A job fails by itself; after too many attempts it is given up."""
        trouble, limit = self.trouble, self.trouble.spec.max_attempts
        self.throw_off(job, 0.0)
        trouble.own_failures[job] += 1
        if limit is not None and trouble.own_failures[job] >= limit:
            del self.waiting[job], self.active[job]
            self.world.completion_s[job] = self.world.clock.now
            trouble.killed[job] = 1
            trouble.unfinished -= 1
        points = self.world.points
        if points.on_completion and self.active:
            self.request()

    def finish(self, job: int) -> None:
        """A job of this controller has done its work."""
        super().finish(job)
        self.trouble.unfinished -= 1
        self.trouble.since_completion = 0

    def _start(self, job: int, shares: tuple[Placement, ...]) -> None:
        super()._start(job, shares)
        trouble, log, world = self.trouble, self.trouble.log, self.world
        checkpoints = trouble.spec.checkpoints
        rate = sum(trouble.rate[p.node] for p in shares)
        law = trouble.spec.job_time_to_failure
        rate += 1 / law.mean if law is not None else 0.0
        interval_s, cost_s = checkpoints.plan(
            world.workload.model[job], 1 / rate if rate else math.inf
        )
        log.interval_s[job], log.cost_s[job] = interval_s, cost_s
        if trouble.restarts[job]:
            log.since_s[job] += checkpoints.restart_s
            trouble.restarts[job] = False
        time_s = 1 / log.rate[job]
        end_s = log.since_s[job] + running_s(log.remaining[job] * time_s, interval_s, cost_s)
        if world.points.period_s is not None:
            end_s = self._end_beside_ticks(end_s, time_s, world.points.period_s)
        world.nodes[shares[0].node].lead(job, end_s, self.finish)
        if law is not None:
            begin_s = world.share_start_s[job]

            def fails(event: Event) -> None:
                if job in self.running and world.share_start_s[job] == begin_s:
                    self._fail(job)

            world.clock.call_at(begin_s + law(trouble.rng), Order.OUTAGE, fails)

    def _release(self, job: int) -> None:
        trouble, log, now = self.trouble, self.trouble.log, self.world.clock.now
        elapsed = max(0.0, now - log.since_s[job])
        done_s = worked_s(elapsed, log.interval_s[job], log.cost_s[job])
        done_s = min(done_s, log.remaining[job] / log.rate[job])
        held_s = now - log.held_since_s[job]
        trouble.overhead_gpu_s[job] += log.gpus[job] * (held_s - done_s)
        super()._release(job)

    # -- decisions ---------------------------------------------------------------------------

    def _ask(self) -> Plan:
        if self.active and not len(self._nodes):  # Nothing to decide about.
            self._planned += 1
            self._wake_s = math.inf
            return Plan({}, True, self._planned, 0.0)
        plan = super()._ask()
        for shares in plan.shares_of.values():
            for share in shares:
                if self.trouble.away[share.node]:
                    raise InfeasibleDecision(
                        f"policy {self.world.policy_name} at {self.world.clock.now:.6g} s: uses node "
                        f"{share.node}, which is down"
                    )
        return plan

    def carry_out(self, plan: Plan) -> None:
        """Apply a plan of before, without what it says about nodes that have gone since."""
        away = self.trouble.away
        kept = {
            job: shares
            for job, shares in plan.shares_of.items()
            if not any(away[share.node] for share in shares)
        }
        super().carry_out(plan._replace(shares_of=kept))

    def _apply(self, shares_of: Mapping[int, tuple[Placement, ...]], keep_running: bool) -> None:
        super()._apply(shares_of, keep_running)

    def _guard_against_idling(self, what: str) -> None:
        if len(self._nodes) < len(self._all_nodes):
            self._idle_ticks, self._left_at_check = 0, math.nan
            return
        super()._guard_against_idling(what)

    def _view(self) -> View:
        view = super()._view()
        trouble = self.trouble
        view.health = NodeHealth(trouble.away, trouble.outages, trouble.rate)
        return view


def saved_log(count: int) -> Any:
    """Job state for a simulation with failures."""
    return SavedLog.of_size(count)
