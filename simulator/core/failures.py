"""Outages of nodes, jobs that fail, and checkpoints: a process a group of nodes, and a controller.

An outage is an event at an exact time, after the completions and before the arrivals of that instant
(`Order.OUTAGE`): a job that ends when its node fails has ended, one that arrives then finds the node
away. All of this is in classes of its own; a simulation without failures has none of them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

import numpy as np
from simpy import Event

from simulator.core.clock import Order
from simulator.core.controller import Controller
from simulator.core.failing import FailingPartition, SavedLog
from simulator.core.plans import Answer, Plan
from simulator.core.world import World
from simulator.errors import InfeasibleDecision
from simulator.features.faults import Damage, Failures, Outages, running_s
from simulator.model.contract import NodeHealth, Placement
from simulator.statistics import Streams

HOPELESS = 5_000
"""Outages that hit a job, or come when none runs, after which some work must have been saved."""


class Trouble:
    """What all controllers and outages of one simulation share.

    Attributes
    ----------
    spec : what goes wrong.
    away : ``(N,)`` causes for which each node is away now.
    fails_at : of the workload; ``attempt`` is how many of these each job has behind it.
    attempt_gpu_s : work of the attempt that each job is at, GPU-seconds; only where jobs have attempts.
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
        self.spans = array("d")
        self.leaving_s = [math.inf] * nodes
        self.noticed_s: list[list[float]] = [[] for _ in range(nodes)]
        self.failures = [0] * jobs
        self.own_failures = [0] * jobs
        self.lost_gpu_s = [0.0] * jobs
        self.overhead_gpu_s = [0.0] * jobs
        self.killed = [0] * jobs
        self.restarts = [0] * jobs
        self.fails_at = world.workload.fails_at
        self.attempt = [0] * jobs
        self.attempt_gpu_s: dict[int, float] = {}
        self.ending: dict[int, float] = {}
        self.hits, self.left_at_check = 0, math.inf
        log = world.log
        assert isinstance(log, SavedLog)
        log.interval_s, log.cost_s = [math.inf] * jobs, [0.0] * jobs
        self.log = log

    def mean_up_s(self, nodes: Iterable[int]) -> float:
        """Mean time between the failures that a job on these nodes meets, its own among them."""
        rate = sum(self.rate[n] for n in nodes)
        law = self.spec.job_time_to_failure
        rate += 1 / law.mean if law is not None else 0.0
        return 1 / rate if rate else math.inf

    def left_at_failure(self, job: int) -> float | None:
        """Part of the work that is left when the attempt fails that a job is at; None: it does not."""
        if not self.fails_at or self.attempt[job] >= len(self.fails_at[job]):
            return None
        return 1.0 - self.fails_at[job][self.attempt[job]]

    def begin(self, controllers: Sequence[Controller]) -> None:
        """Meet the controllers, and start the process of each group of nodes."""
        self.controllers = [c for c in controllers if isinstance(c, FailingController)]
        for controller in self.controllers:
            controller.attach(self)
        begin_s = float(self.world.workload.submit_s[0])
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
            go_s = up_s + cause.time_to(rng)
            if cause.warns and cause.notice_s > 0:
                yield clock.until(max(up_s, go_s - cause.notice_s), Order.OUTAGE)
                if not self.unfinished:
                    return
                self._warn(group, go_s)
            yield clock.until(go_s, Order.OUTAGE)
            if not self.unfinished:
                return
            self._go(group, cause.notice_s)
            up_s = clock.now_s + cause.duration(rng)
            yield clock.until(up_s, Order.OUTAGE)
            if not self.unfinished:
                return
            self._come_back(group)

    def _warn(self, group: Sequence[int], go_s: float) -> None:
        """Policies learn that nodes will go."""
        for n in group:
            self.noticed_s[n].append(go_s)
            self.leaving_s[n] = min(self.noticed_s[n])
        self._each_controller(group, lambda c, nodes: c.learn())

    def _go(self, group: Sequence[int], notice_s: float) -> None:
        """Nodes go away; the controllers that own them learn of it once."""
        self._give_up_if_hopeless(group)
        gone = []
        for n in group:
            if self.noticed_s[n]:  # notice that another cause has given still holds
                now_s = self.world.clock.now_s
                self.noticed_s[n] = [t for t in self.noticed_s[n] if t > now_s]
                self.leaving_s[n] = min(self.noticed_s[n], default=math.inf)
            self.away[n] += 1
            self.outages[n] += 1
            if self.away[n] == 1:
                self.since_s[n] = self.world.clock.now_s
                gone.append(n)
        self._each_controller(gone, lambda c, nodes: c.lose(nodes, notice_s))

    def _come_back(self, group: Sequence[int]) -> None:
        back = []
        for n in group:
            self.away[n] -= 1
            if self.away[n] == 0:
                self.down_s[n] += self.world.clock.now_s - self.since_s[n]
                self.spans.extend((n, self.since_s[n], self.world.clock.now_s))
                back.append(n)
        self._each_controller(back, lambda c, nodes: c.regain(nodes))

    def _each_controller(
        self, nodes: Sequence[int], call: Callable[[FailingController, list[int]], None]
    ) -> None:
        count = len(self.controllers)
        of_controller: dict[int, list[int]] = {}
        for n in nodes:
            of_controller.setdefault(n % count, []).append(n)
        for index in sorted(of_controller):
            call(self.controllers[index], of_controller[index])

    def _give_up_if_hopeless(self, group: Sequence[int]) -> None:
        """Every so many outages without an arrival, less work must be left than before."""
        world = self.world
        if world.arriving:
            self.hits, self.left_at_check = 0, math.inf
            return
        hit = any(world.shares[n] for n in group)
        if not hit and any(controller.running for controller in self.controllers):
            return
        self.hits += 1
        if self.hits % HOPELESS:
            return
        jobs = [j for j, t in enumerate(world.completion_s) if t != t]
        left = math.fsum(self.log.remaining[j] for j in jobs)
        if left >= self.left_at_check:
            raise InfeasibleDecision(
                f"policy {world.policy_name} at {world.clock.now_s:.6g} s: none of {len(jobs)} jobs "
                f"got on with its work during {HOPELESS:,} outages, the first is "
                f"{world.workload.job_id[jobs[0]]!r}; expected fewer failures, checkpoints more "
                "often, or nodes on which it fits"
            )
        self.left_at_check = left

    def damage(self, end_s: float) -> Damage:
        """The record at the end."""
        down_s = [
            s + (max(0.0, end_s - since) if away else 0.0)
            for s, since, away in zip(self.down_s, self.since_s, self.away, strict=True)
        ]
        for n, (since, away) in enumerate(zip(self.since_s, self.away, strict=True)):
            if away and since < end_s:
                self.spans.extend((n, since, end_s))
        return Damage(
            np.array(self.failures, dtype=np.int64),
            np.array(self.lost_gpu_s),
            np.array(self.overhead_gpu_s),
            np.array(self.killed, dtype=np.int64),
            np.array(self.outages, dtype=np.int64),
            np.array(down_s),
            self.spec.max_attempts is not None,
            np.array(self.spans).reshape(-1, 3),
        )


class FailingController(Controller):
    """A controller whose nodes go away and whose jobs fail and save their work.

    It sees the nodes that are up (`View.nodes`), so that a policy which knows nothing of failures
    still works; `View.health` has what there is to know.
    """

    partition: FailingPartition
    trouble: Trouble

    def _make_partition(self) -> FailingPartition:
        return FailingPartition(self.world, self.index, self.finish)

    def attach(self, trouble: Trouble) -> None:
        """Share what all controllers have in common; before the simulation starts."""
        self.trouble = self.partition.trouble = trouble
        self._view.change(
            health=NodeHealth(trouble.away, trouble.outages, trouble.rate, trouble.leaving_s)
        )

    def lose(self, nodes: Sequence[int], notice_s: float) -> None:
        """Nodes of this controller go away, with what runs on them."""
        for n in nodes:
            for job in list(self.world.shares[n]):
                self._throw_off(job, notice_s)
        self.partition.lose(nodes)
        self._look_again()

    def regain(self, nodes: Sequence[int]) -> None:
        """Nodes come back, empty."""
        self.partition.regain(nodes)
        self._look_again()

    def learn(self) -> None:
        """Notice was given that nodes will go."""
        self._look_again()

    def _look_again(self) -> None:
        self._view.change(nodes=self.partition.nodes)
        self._changed = True
        points = self.world.points
        if self.active and (points.on_completion or points.on_arrival):
            self.request()

    def _throw_off(self, job: int, notice_s: float) -> None:
        """A job stops before its end and queues again."""
        self.partition.throw_off(job, notice_s)
        self._queue_again(job)

    def _queue_again(self, job: int) -> None:
        self.waiting[job] = None
        self._joined.items.append(job)
        self._changed = True

    def _fail(self, job: int) -> None:
        """A job fails by itself; after too many attempts it is given up."""
        trouble, limit = self.trouble, self.trouble.spec.max_attempts
        left = trouble.ending.pop(job, None)
        if left is None:
            self._throw_off(job, 0.0)
        else:
            self.partition.end_attempt(job, left)
            self._queue_again(job)
        trouble.own_failures[job] += 1
        if limit is not None and trouble.own_failures[job] >= limit:
            del self.waiting[job], self.active[job]
            self.world.completion_s[job] = self._clock.now_s
            trouble.killed[job] = 1
            trouble.unfinished -= 1
        points = self.world.points
        if points.on_completion and self.active:
            self.request()

    def finish(self, job: int) -> None:
        """A job of this controller has done its work."""
        super().finish(job)
        self.trouble.unfinished -= 1

    def _apply(self, shares_of: Mapping[int, tuple[Placement, ...]], keep_running: bool) -> None:
        law = self.trouble.spec.job_time_to_failure
        if law is None and not self.trouble.fails_at:
            super()._apply(shares_of, keep_running)
            return
        running = self.running
        before = {job: running.get(job) for job in shares_of}
        super()._apply(shares_of, keep_running)
        for job in shares_of:  # in the order in which they were started
            if running[job] is not before[job]:
                if law is not None:
                    self._schedule_failure(job, law(self.trouble.rng))
                self._schedule_end_of_attempt(job)

    def _schedule_failure(self, job: int, after_s: float) -> None:
        world, begin_s = self.world, self._clock.now_s

        def fails() -> None:
            if job in self.running and world.log.held_since_s[job] == begin_s:
                self._fail(job)

        self._clock.call_at(begin_s + after_s, Order.OUTAGE, fails)

    def _schedule_end_of_attempt(self, job: int) -> None:
        """A job that has just started fails when its attempt has run for its time."""
        trouble, log = self.trouble, self.trouble.log
        left = trouble.left_at_failure(job)
        if left is None:
            return
        work_s = max(0.0, log.remaining[job] - left) / log.rate[job]
        ends_s = log.since_s[job] + running_s(work_s, log.interval_s[job], log.cost_s[job])
        began_s = log.held_since_s[job]

        def fails() -> None:
            if job in self.running and log.held_since_s[job] == began_s:
                trouble.ending[job] = left
                self._fail(job)

        self._clock.call_at(ends_s, Order.OUTAGE, fails)

    def _ask(self) -> Answer:
        if self.active and not len(self.partition.nodes):  # Nothing to decide about.
            self._planned += 1
            self._wake_s = math.inf
            return {}, True, None, 0.0
        answer = super()._ask()
        for shares in answer[0].values():
            for share in shares:
                if self.trouble.away[share.node]:
                    raise InfeasibleDecision(
                        f"policy {self.world.policy_name} at {self._clock.now_s:.6g} s: uses node "
                        f"{share.node}, which is down"
                    )
        return answer

    def carry_out(self, plan: Plan) -> None:
        """Apply a plan of before, without what it says about nodes that have gone since."""
        away = self.trouble.away
        kept = {
            job: shares
            for job, shares in plan.shares_of.items()
            if not any(away[share.node] for share in shares)
        }
        super().carry_out(plan._replace(shares_of=kept))

    def _guard_against_idling(self, what: str) -> None:
        if len(self.partition.nodes) < len(self.partition.all_nodes):
            self._idle_ticks, self._left_at_check = 0, math.nan
            return
        super()._guard_against_idling(what)
