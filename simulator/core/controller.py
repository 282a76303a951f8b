"""A local controller: its queue, its nodes, what its policy answers, and how that is carried out."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.core.compiling import compiling_s
from simulator.core.occasions import Occasions
from simulator.core.partition import CHANGES_KEPT, Partition
from simulator.core.plans import NO_ANSWER, Answer, Claims, Plan
from simulator.core.world import World
from simulator.errors import InfeasibleDecision
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Changes, Decision, Placement, View
from simulator.model.feasibility import (
    check_decision,
    check_parts,
    has_room,
    parts_have_room,
    placements_of,
    wake_up_of,
)
from simulator.model.short_answers import Moves, Starts
from simulator.model.workload import Workload


class Controller(Occasions):
    """One queue of jobs and one partition of nodes.

    Parameters
    ----------
    world : the shared state.
    index : which controller this is.
    decide : the policy.
    rng : the policy's stream.

    Attributes
    ----------
    active, waiting : jobs in the queue or running; those that wait, longest in the queue first.
    partition, running : its nodes; placements of the jobs that run.
    queue_request : where requests go when decisions take time (the optimization server), and
        whether one is enough that waits there already; None: the policy is asked at once.
    """

    def __init__(
        self,
        world: World,
        index: int,
        decide: Callable[[View], Decision],
        rng: np.random.Generator,
    ) -> None:
        super().__init__(world)
        self.index = index
        self.waiting: OrderedDict[int, None] = OrderedDict()  # its first is found at once
        self.partition = self._make_partition()
        self.running = self.partition.running
        self.queue_request: Callable[[Controller, bool], None] | None = None
        self._call_last = world.clock.call_last
        self._decide = decide
        self._cannot_start = self._quick_answer(decide)
        self._joined = Changes(CHANGES_KEPT)
        self._view = self._first_view(rng)
        self._parts: dict[int, tuple[int, ...]] = {}
        self._planned_claims: Claims | None = None
        self._view.change(gpus_of=self._parts)
        self._asked = False
        self._only_starts = False
        self._stopped: Sequence[int] | None = None
        self._planned = 0
        self._applied = 0

    def _make_partition(self) -> Partition:
        return Partition(self.world, self.index, self.finish)

    def _first_view(self, rng: np.random.Generator) -> View:
        """What the views of all decisions have in common."""
        world, partition = self.world, self.partition
        free_gpus = np.frombuffer(world.free_gpus)
        free_gpus.flags.writeable = False
        return world.make_view(
            now_s=0.0,
            controller=self.index,
            cluster=world.cluster,
            workload=world.shown,
            nodes=partition.nodes,
            active=self.active,
            running=self.running,
            waiting=self.waiting,
            shares=world.shares,
            free_gpus=free_gpus,
            free_gpus_total=partition.free_gpus_total,
            changed=False,
            node_changes=partition.changes,
            queue_changes=self._joined,
            log=world.log,
            rng=rng,
            reconfiguration_s=world.reconfiguration_s,
        )

    def see(self, **attributes: Any) -> None:
        """Let the views to come have further attributes."""
        self._view.change(**attributes)

    def _quick_answer(
        self, decide: Callable[[View], Decision]
    ) -> Callable[[Workload, Mapping[int, None], float], bool] | None:
        """`Policy.cannot_start`; not where each answer of the policy is timed, or starts a timer.

        Nor where views learn from what they see, or where a class has a `decide` of its own and
        inherits the question from the class that it changes.
        """
        world, policy = self.world, getattr(decide, "__self__", None)
        if world.measure or world.points.since_last_s is not None or world.make_view is not View:
            return None
        if getattr(decide, "__name__", "") != "decide":
            return None
        for kind in type(policy).__mro__:
            if "cannot_start" in vars(kind):
                return getattr(policy, "cannot_start", None)
            if "decide" in vars(kind):
                return None
        return None

    # -- what happens to it ------------------------------------------------------------------

    def submit(self, job: int) -> None:
        """A job joins the queue."""
        points = self.world.points
        self.active[job] = None
        self.waiting[job] = None
        self._joined.items.append(job)
        self._changed = True
        if points.on_arrival:
            self.request()
        if points.period_s is not None and not self._ticking:
            self._arm_tick()

    def finish(self, job: int) -> None:
        """A job of this controller has done its work."""
        self.partition.release(job, True)
        world = self.world
        world.completion_s[job] = self._clock.now_s
        del self.active[job]
        self._changed = True
        if world.points.on_completion and (self.active or world.arriving):
            self.request()

    # -- decisions ---------------------------------------------------------------------------

    def request(self, once: bool = False) -> None:
        """Ask for a decision: now, once for all that happens at this instant, or of the server.

        Parameters
        ----------
        once : a request that waits at the server already is enough.
        """
        if self._asked:
            return
        if self.queue_request is not None:
            self.queue_request(self, once)
        else:
            self._asked = True
            self._call_last(self._decide_now)

    def _decide_now(self) -> None:
        self._asked = False
        answer = self._ask()
        if answer is NO_ANSWER:
            return
        shares_of, keep_running, again_s, _ = answer
        if shares_of or not keep_running:
            self._apply(shares_of, keep_running)
        if again_s is not None:
            self._arm_wake_up(again_s)

    def plan(self) -> Plan:
        """Decide on the state of now, to be carried out later."""
        shares_of, keep_running, again_s, cpu_s = self._ask()
        self._only_starts = False  # by then it may find something else
        before = {job: self.running.get(job) for job in shares_of}
        claims, self._planned_claims = self._planned_claims, None
        return Plan(
            shares_of, keep_running, self._planned, cpu_s, self._applied, before, again_s, claims
        )

    def carry_out(self, plan: Plan) -> None:
        """Apply a plan of before to what still exists; a newer one that was applied wins.

        "No change" changes nothing, also of what was decided before and comes into force after.
        Where another server's plan was applied since this one was made, a full decision still
        says all that runs; of changes those are made that are about a job still as it was, and
        that there is room for beside what runs now.
        """
        if plan.again_s is not None and plan.number == self._planned:
            self._arm_wake_up(plan.again_s)
        if plan.number < self._applied or (plan.keep_running and not plan.shares_of):
            return
        undisturbed = plan.after == self._applied
        self._applied = plan.number
        shares_of = {j: shares for j, shares in plan.shares_of.items() if j in self.active}
        claims = plan.claims
        if undisturbed or not plan.keep_running:
            if claims is not None:
                self._hold(claims, shares_of)
            self._apply(shares_of, plan.keep_running)
            return
        for job, shares in shares_of.items():
            if self.running.get(job) == plan.before[job] and self._has_room(job, plan):
                if claims is not None:
                    self._hold(claims, (job,))
                self._apply({job: shares}, True)

    def _has_room(self, job: int, plan: Plan) -> bool:
        """Whether a job of a plan fits beside what runs now."""
        shares = plan.shares_of[job]
        if not has_room(job, shares, self.world.shares, self.world.cluster):
            return False
        if plan.claims is None or job not in plan.claims.gpus_of:
            return True
        on_node = self.world.shares[shares[0].node]
        return parts_have_room(job, shares[0], plan.claims.gpus_of[job], on_node, self._parts)

    def _ask(self) -> Answer:
        """Call the policy, check its answer, record it; without jobs there is nothing to ask."""
        world, now_s, active = self.world, self._clock.now_s, self.active
        self._planned += 1
        self._wake_s = math.inf
        world.decisions.add(now_s, self.index, len(active))
        if not active:
            if world.measure:
                world.decisions.cpu_s.append(0.0)
            return NO_ANSWER
        partition = self.partition
        if not self._planned & 1023:
            self._joined.trim()
            partition.changes.trim()
            partition.tidy()
        free_gpus_total, changed = partition.free_gpus_total, self._changed
        self._changed = False
        hopeless = self._cannot_start
        if hopeless is not None and hopeless(world.shown, self.waiting, free_gpus_total):
            return NO_ANSWER
        view = self._view.at(now_s, free_gpus_total, changed)
        if world.measure:
            decision, cpu_s = self._timed(view)
        else:
            decision, cpu_s = self._decide(view), 0.0
        if decision is NO_CHANGE:
            return {}, True, world.points.since_last_s, cpu_s
        self._stopped = None  # what an answer that changed nothing has left
        if self.queue_request is None:
            if isinstance(decision, Starts):
                self._only_starts = True
                return decision.shares_of, True, world.points.since_last_s, cpu_s
            if isinstance(decision, Moves):
                return self._only_moves(decision, view, cpu_s)
        return self._examined(decision, view, cpu_s)

    def _timed(self, view: View) -> tuple[Decision, float]:
        """Call the policy, and record the CPU seconds that it takes."""
        begin, making_s = time.process_time(), compiling_s()
        decision = self._decide(view)
        cpu_s = max(0.0, time.process_time() - begin - (compiling_s() - making_s))
        self.world.decisions.cpu_s.append(cpu_s)
        return decision, cpu_s

    def _only_moves(self, decision: Moves, view: View, cpu_s: float) -> Answer:
        """Check and record a decision that says what it changes."""
        world, shares_of = self.world, decision.shares_of
        world.decisions.info[len(world.decisions) - 1] = decision.info
        # On nodes of GPUs alone, a start finds by itself that a node would give more than it has.
        if world.check and shares_of and not self.partition.has_gpus_alone:
            check_decision(shares_of, True, view, world.policy_name, stopped=set(decision.stopped))
        self._only_starts, self._stopped = False, decision.stopped
        return shares_of, not decision.stopped, world.points.since_last_s, cpu_s

    def _examined(self, decision: Decision, view: View, cpu_s: float) -> Answer:
        """Check and record a decision of any kind."""
        world, decisions = self.world, self.world.decisions
        shares_of = placements_of(decision, view, world.policy_name)
        if decision.info:
            decisions.info[len(decisions) - 1] = decision.info
        again_s = decision.again_s
        if again_s is not None:
            again_s = wake_up_of(decision, view, world.policy_name)
            if again_s is not None and world.points.on_request:
                decisions.again_s[len(decisions) - 1] = again_s
            else:
                again_s = None
        if again_s is None:
            again_s = world.points.since_last_s
        keep_running = decision.keep_running
        self._only_starts = (
            world.check
            and (shares_of or not keep_running)
            and check_decision(
                shares_of, keep_running, view, world.policy_name, decision.fractional
            )
            and keep_running
        )
        if decision.fractional and decision.gpus_of is not None:
            claims = self._make_claims(decision.gpus_of, shares_of, keep_running, view)
            if self.queue_request is None:
                self._hold(claims, shares_of)
            else:
                self._planned_claims = claims
        return shares_of, keep_running, again_s, cpu_s

    def _make_claims(
        self,
        gpus_of: Mapping[int, tuple[int, ...]],
        shares_of: Mapping[int, tuple[Placement, ...]],
        keep_running: bool,
        view: View,
    ) -> Claims:
        """Check every single GPU, and say which of them each job gets."""
        if self.world.check:
            name = self.world.policy_name
            check_parts(shares_of, gpus_of, self._parts, keep_running, view, name)
        return Claims({job: gpus_of[job] for job in shares_of if job in gpus_of})

    def _hold(self, claims: Claims, jobs: Iterable[int]) -> None:
        """Remember which GPUs jobs get; one that goes to others of its node starts anew."""
        parts = self._parts
        if len(parts) > 2 * len(self.running) + 64:
            for job in [j for j in parts if j not in self.running]:
                del parts[job]
        for job in jobs:
            if job in claims.gpus_of:
                gpus = claims.gpus_of[job]
                if job in self.running and parts.get(job, gpus) != gpus:
                    self.partition.release(job)
                    self.world.reconfigurations[job] += 1
                    self._only_starts = False
                parts[job] = gpus

    def _apply(self, shares_of: Mapping[int, tuple[Placement, ...]], keep_running: bool) -> None:
        """Stop what changes, then start it anew; what stays the same is not touched."""
        running, partition, waiting = self.running, self.partition, self.waiting
        start = partition.start
        if self._only_starts:
            self._only_starts = False
            for job, shares in shares_of.items():
                try:
                    del waiting[job]
                except KeyError:
                    raise InfeasibleDecision(
                        f"policy {self.world.policy_name} at {self._clock.now_s:.6g} s: starts job "
                        f"{job}, which does not wait here"
                    ) from None
                start(job, shares)
            return
        release, world = partition.release, self.world
        moved = [
            job
            for job, shares in shares_of.items()
            if (before := running.get(job)) is not None
            and before != shares
            and (len(shares) == 1 or set(before) != set(shares))  # the order of names is no change
        ]
        for job in moved:
            release(job)
            world.reconfigurations[job] += 1
        if not keep_running:
            stopped = self._stopped
            if stopped is None:
                stopped = [j for j in running if j not in shares_of]
            for job in stopped:
                release(job)
                world.preemptions[job] += 1
                waiting[job] = None
                self._joined.items.append(job)
        for job, shares in shares_of.items():
            if job not in running:
                start(job, shares)
                if job in waiting:
                    del waiting[job]
        self._stopped = None

    def work_left_gpu_s(self, work_gpu_s: FloatArray) -> float:
        """Remaining work of the active jobs, given that of each whole job."""
        left, now = self.world.log.remaining_at, self._clock.now_s
        return sum(left(job, now) * float(work_gpu_s[job]) for job in self.active)
