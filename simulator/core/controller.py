"""A local controller: a queue of jobs, a part of the nodes, and what decides for them and carries it out."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from simulator.core.clock import EventOrder
from simulator.core.compiling import compiling_s
from simulator.core.execution import Execution
from simulator.core.node import Node
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.core.wake_ups import Guard, periods, wake_up
from simulator.model.contract import NO_CHANGE, Changes, Configuration, Decision, Placement, View
from simulator.model.feasibility import (
    check_decision,
    check_gpus,
    gpus_have_room,
    has_room,
    placements_of,
    wake_up_of,
)
from simulator.model.so_far import beyond

CHANGES_KEPT = 4096
"""`Changes` of nodes and queues remember so many entries at least, and one a node."""


class Controller:
    """One queue of jobs and the nodes ``k, k + K, ..`` of controller ``k`` of ``K``.

    Parameters
    ----------
    simulation : the shared state.
    index : which controller this is.
    decide : the policy.
    rng : the policy's stream of random numbers.

    Attributes
    ----------
    active, waiting : jobs in the queue or running; those that wait, longest in the queue first.
    running, executions : placements and executions of the jobs that run.
    nodes : indices of its nodes that are up.
    free_gpus_total : GPUs not in use, where node types are fixed.
    gpus_of, configuration_of : by running job: the numbers of its GPUs, and what it runs with beside them,
        where a decision named them.
    node_changes, queue_changes : nodes whose shares changed, and jobs that joined `waiting`, in order.
    seen : what features let policies read, by name.
    workload, rows : the jobs so far, and all jobs, as policies may see them.
    jobs, states : the state of all jobs, and of the jobs so far.
    planned, applied : numbers of the last plan that was made, and that was carried out.
    """

    def __init__(
        self,
        simulation: Simulation,
        index: int,
        decide: Callable[[View], Decision],
        rng: np.random.Generator,
    ) -> None:
        self.simulation = simulation
        self.clock = simulation.clock
        self.cluster, self.workload = simulation.cluster, simulation.shown
        self.rows = simulation.rows
        self.jobs, self.states = simulation.jobs, simulation.so_far.of(simulation.jobs)
        self.shares, self.free_gpus = simulation.shares, simulation.free_gpus_array
        self.index = index
        self.rng = rng
        self.active: dict[int, None] = {}
        self.waiting: OrderedDict[int, None] = OrderedDict()
        self.aside: dict[int, int] = {}
        self.running: dict[int, tuple[Placement, ...]] = {}
        self.executions: dict[int, Execution] = {}
        self.all_nodes = self.nodes = simulation.cluster.nodes_of(index)
        self.nodes.flags.writeable = False
        self.down: set[int] = set()
        self._is_up = np.ones(len(self.nodes), dtype=np.bool_)
        self.gpus_of: dict[int, tuple[int, ...]] = {}
        self.configuration_of: dict[int, Configuration] = {}
        self.node_changes = Changes(max(CHANGES_KEPT, len(self.nodes)))
        self.queue_changes = Changes(CHANGES_KEPT)
        self.seen: dict[str, object] = {}
        self.is_ticking = False
        self.guard = Guard(self)
        self.changed = False
        self.planned = self.applied = 0
        self._not_before_s = 0.0
        self.free_gpus_total = float(simulation.free_gpus_array[self.nodes].sum())
        self._is_fixed = simulation.cluster.node_type_of is not None
        self._decide = decide
        self._is_asked = False

    # -- jobs that come and go -------------------------------------------------------------------

    def submit(self, job: int) -> None:
        """Take an arriving job into the queue."""
        self.active[job] = None
        self._queue(job)
        self.changed = True
        for on_submit in self.simulation.hooks["on_submit"]:
            on_submit(self, job)
        self._has_come()

    def set_aside(self, job: int) -> None:
        """Take a waiting job out of the queue, until all features that did so have put it back, or it leaves."""
        count = self.aside.get(job, 0)
        self.aside[job] = count + 1
        if not count:
            del self.waiting[job], self.active[job]
            self.changed = True

    def put_back(self, jobs: Sequence[int]) -> None:
        """Bring jobs back that were set aside, before those that were submitted later and have not started yet."""
        back = []
        for job in jobs:
            self.aside[job] -= 1
            if not self.aside[job]:
                del self.aside[job]
                back.append(job)
                self.active[job] = None
        if not back:
            return
        first, first_start_s = min(back), self.jobs.first_start_s
        later = [j for j in self.waiting if j > first and math.isnan(first_start_s[j])]
        for job in later:
            del self.waiting[job]
        for job in sorted([*back, *later]):
            self._queue(job)
        self.changed = True
        self._has_come()

    def _has_come(self) -> None:
        """Ask for a decision on a job that has come, and begin the ticks where the controller was idle."""
        triggers = self.simulation.triggers
        if triggers.at_arrivals:
            self.ask()
        if triggers.tick_s is not None and not self.is_ticking:
            self.is_ticking = True
            self.clock.process(periods(self, self.guard, triggers.tick_s))

    def finish(self, execution: Execution) -> None:
        """Record a job that has done its work."""
        simulation = self.simulation
        self._release(execution, "done")
        self._forget(execution.job)
        if simulation.triggers.at_completions and (self.active or simulation.arriving):
            self.ask()
        simulation.end(execution.job)

    def leave(self, job: int) -> None:
        """Let a job that waits or was set aside go for ever: its patience is over, or it was abandoned."""
        self.waiting.pop(job, None)
        self.aside.pop(job, None)
        self._forget(job)
        self.simulation.end(job)

    def _queue(self, job: int) -> None:
        self.waiting[job] = None
        self.queue_changes.items.append(job)

    def _forget(self, job: int) -> None:
        self.active.pop(job, None)
        self.simulation.completion_s[job] = self.clock.now
        self.changed = True

    # -- decisions -------------------------------------------------------------------------------

    def ask(self, order: int = EventOrder.DECISION, once: bool = False) -> None:
        """Ask for a decision: one for all that happens at this instant, or of the optimization server.

        Parameters
        ----------
        once : a request that waits at the server already is enough.
        """
        server = self.simulation.server
        if server is not None:
            server.request(self, once)
        elif not self._is_asked:
            self._is_asked = True
            if order == EventOrder.DECISION and self._not_before_s <= self.clock.now:
                self.clock.at_end(self.decide_now)
            else:
                later = self.clock.at(self._not_before_s, order)
                later.callbacks.append(lambda _: self.decide_now())

    def decide_now(self) -> None:
        """Make one decision for all that has happened at this instant, and carry it out."""
        self._is_asked = False
        self._not_before_s = self.clock.now + self.simulation.triggers.least_gap_s
        self.carry_out(self.plan())
        for decided in self.simulation.hooks["decided"]:
            decided(self)

    @property
    def in_full(self) -> bool:
        """See `View.in_full`."""
        return self.simulation.server is not None

    def plan(self) -> DecisionPlan:
        """Ask the policy, check its answer, record it; without jobs or nodes there is nothing to ask."""
        simulation, now_s = self.simulation, self.clock.now
        self.planned += 1
        plan = DecisionPlan(self.planned, self.applied)
        if self.active and not len(self.nodes):
            return plan
        simulation.decisions.add(now_s, self.index, len(self.active))
        if not self.active:
            if simulation.measure:
                simulation.decisions.cpu_s.append(0.0)
            return plan
        if self.planned % 1024 == 0:
            self.queue_changes.trim()
            self.node_changes.trim()
        for before_decision in simulation.hooks["before_decision"]:
            before_decision(self)
        view = View(self, now_s, self.changed)
        self.changed = False
        plan.again_s = simulation.triggers.since_last_s
        try:
            decision = self._timed(view, plan) if simulation.measure else self._decide(view)
        except IndexError as error:
            if (told := beyond(error, simulation.so_far.count)) is None:
                raise
            raise simulation.infeasible(told) from error
        return plan if decision is NO_CHANGE else self._checked(decision, view, plan)

    def _timed(self, view: View, plan: DecisionPlan) -> Decision:
        """The policy's decision, and in the plan the CPU seconds that it took."""
        begin_s, making_s = time.process_time(), compiling_s()
        decision = self._decide(view)
        plan.cpu_s = max(0.0, time.process_time() - begin_s - (compiling_s() - making_s))
        self.simulation.decisions.cpu_s.append(plan.cpu_s)
        return decision

    def _checked(self, decision: Decision, view: View, plan: DecisionPlan) -> DecisionPlan:
        """The plan of a decision; `InfeasibleDecision` where it is none that can be carried out."""
        simulation = self.simulation
        name, log = simulation.policy_name, simulation.decisions
        plan.shares_of = shares_of = placements_of(decision, view, name)
        plan.keep_running = decision.keep_running
        if decision.keep_running:
            plan.stopped = decision.stopped
        if decision.info:
            log.info[len(log) - 1] = decision.info
        if decision.again_s is not None:
            again_s = wake_up_of(decision.again_s, view, name)
            if simulation.triggers.round_s is None:
                log.again_s[len(log) - 1] = plan.again_s = again_s
        if decision.gpus_of:
            plan.gpus_of = decision.gpus_of
        if decision.configuration_of:
            plan.configuration_of, plan.choose = decision.configuration_of, decision.choose
        if simulation.check and (shares_of or plan.stopped or not plan.keep_running):
            check_decision(shares_of, decision, view, name)
            if decision.gpus_of is not None:
                check_gpus(shares_of, decision, self.gpus_of, view, name)
        for check in simulation.hooks["check"]:
            check(self, plan)
        if simulation.server is not None:
            plan.before = {job: self.running.get(job) for job in (*shares_of, *plan.stopped)}
        return plan

    def carry_out(self, plan: DecisionPlan) -> None:
        """Apply a plan, made now or before, to what still exists; a newer one that was applied wins.

        "No change" changes nothing, also of what was decided before and comes into force after. Where
        another plan was applied since this one was made, a full decision still says all that runs; of
        changes those are made that are about a job still as it was, and that there is room for.
        """
        if plan.again_s is not None and plan.number == self.planned:
            self.clock.process(wake_up(self, self.guard, plan.number, plan.again_s))
        if plan.number < self.applied or plan.changes_nothing:
            return
        is_undisturbed = plan.after == self.applied
        self.applied = plan.number
        if self.simulation.server is not None:
            plan.shares_of = {
                job: shares
                for job, shares in plan.shares_of.items()
                if job in self.active and not any(share.node in self.down for share in shares)
            }
        if is_undisturbed or not plan.keep_running:
            self._apply(plan, plan.shares_of, plan.stopped)
            return
        for job in plan.stopped:
            if self.running.get(job) == plan.before[job]:
                self._apply(plan, (), (job,))
        for job in plan.shares_of:
            if self.running.get(job) == plan.before[job] and self._has_room(job, plan):
                self._apply(plan, (job,))

    def _has_room(self, job: int, plan: DecisionPlan) -> bool:
        """Whether a job of a plan fits beside what runs now."""
        shares, gpus = plan.shares_of[job], plan.gpus_of.get(job, ())
        on_node = self.simulation.shares
        if not has_room(job, shares, on_node, self.cluster):
            return False
        if gpus and not gpus_have_room(job, shares[0], gpus, on_node[shares[0].node], self.gpus_of):
            return False
        return all(room(self, job, plan) for room in self.simulation.hooks["has_room"])

    def _apply(self, plan: DecisionPlan, jobs: Iterable[int], stopped: Iterable[int] = ()) -> None:
        """Stop what changes of these jobs, and what is to wait, then start it anew; what stays the same is not touched."""
        simulation, running = self.simulation, self.running
        moved = [job for job in jobs if job in running and self._moves(job, plan)]
        for job in moved:
            self.stop(self.executions[job], "moved")
            simulation.reconfigurations[job] += 1
        if not plan.keep_running:
            stopped = [job for job in running if job not in plan.shares_of]
        for job in stopped:
            if job in running:
                self.stop(self.executions[job], "preempted")
                simulation.preemptions[job] += 1
        for job in jobs:
            if job not in running:
                self._start(job, plan, "moved" if job in moved else "resumed")
            elif job in plan.configuration_of:
                self.executions[job].configure(plan.configuration_of[job], plan)
                self.executions[job].rate_may_change()

    def _moves(self, job: int, plan: DecisionPlan) -> bool:
        """Whether a running job gets other shares, or other GPUs of its node."""
        before, shares, own = self.running[job], plan.shares_of[job], self.gpus_of.get(job, ())
        if before != shares and (len(shares) == 1 or set(before) != set(shares)):
            return True  # the order in which shares are named is no change
        return bool(plan.gpus_of) and plan.gpus_of.get(job, own) != own

    # -- executions ------------------------------------------------------------------------------

    def _start(self, job: int, plan: DecisionPlan, how: str) -> None:
        """Put a job on its nodes."""
        simulation, state, now_s = self.simulation, self.jobs, self.clock.now
        execution = Execution(self, job, plan)
        shares, gpus_of = execution.shares, execution.gpus_of
        for share in shares:
            node = self._node(share.node)
            node.add(share, gpus_of, now_s)
            self._changed(share.node, node)
        if self._is_fixed:
            self.free_gpus_total -= execution.gpus
        if state.first_start_s[job] != state.first_start_s[job]:  # NaN
            state.first_start_s[job], how = now_s, "first"
        state.gpus[job], state.held_since_s[job] = execution.gpus, now_s
        self.waiting.pop(job, None)
        self.running[job], self.executions[job] = shares, execution
        if gpus_of:
            self.gpus_of[job] = gpus_of
        if job in plan.configuration_of:
            execution.configure(plan.configuration_of[job], plan)
        for on_start in simulation.hooks["on_start"]:
            on_start(execution, plan)
        delay_s = 0.0
        for delay in simulation.hooks["delay_s"]:
            delay_s += delay(execution, how)
        execution.begin(delay_s)
        self._others_may_change(execution)

    def stop(self, execution: Execution, cause: str) -> None:
        """Take a running job off its nodes before its end; it waits again, unless it is being moved."""
        self._release(execution, cause)
        if execution.process is not self.clock.active_process:
            execution.process.interrupt(cause)
        if cause != "moved":
            self._queue(execution.job)
            self.changed |= cause != "preempted"

    def _release(self, execution: Execution, cause: str) -> None:
        """Give back the GPUs of a job, its progress kept."""
        simulation, state, now_s, job = self.simulation, self.jobs, self.clock.now, execution.job
        execution.settle()
        state.attained_gpu_s[job] += execution.gpus * (now_s - execution.start_s)
        state.running_s[job] += now_s - execution.start_s
        if cause == "done":
            state.remaining[job] = 0.0
        state.rate[job] = state.gpus[job] = 0.0
        state.held_since_s[job] = state.since_s[job] = now_s
        del self.running[job], self.executions[job]
        self.gpus_of.pop(job, None)
        self.configuration_of.pop(job, None)
        for share in execution.shares:
            node = self._node(share.node)
            node.remove(job, execution.gpus_of, now_s)
            self._changed(share.node, node)
        if self._is_fixed:
            self.free_gpus_total += execution.gpus
        self._log(execution, execution.shares)
        for on_release in simulation.hooks["on_release"]:
            on_release(execution, cause)
        self._others_may_change(execution)

    def exchange(self, execution: Execution, old: int, new: int) -> None:
        """A running job takes one node in place of another, and keeps its other nodes."""
        job, gpus_of, now_s = execution.job, execution.gpus_of, self.clock.now
        shares = list(execution.shares)
        index = next(i for i, share in enumerate(shares) if share.node == old)
        self._log(execution, (shares[index],))
        shares[index] = shares[index]._replace(node=new)
        self._node(old).remove(job, gpus_of, now_s)
        self._node(new).add(shares[index], gpus_of, now_s)
        for node in (old, new):
            self._changed(node, self._node(node))
        execution.joined_s.pop(old, None)
        execution.joined_s[new] = now_s
        execution.shares = self.running[job] = tuple(shares)

    def _log(self, execution: Execution, shares: tuple[Placement, ...]) -> None:
        """Note in the schedule that a job has held these shares until now."""
        schedule, start_s, now_s = self.simulation.schedule, execution.start_s, self.clock.now
        if schedule is None:
            return
        if execution.joined_s:
            for share in shares:
                schedule.add((share,), execution.joined_s.get(share.node, start_s), now_s)
        else:
            schedule.add(shares, start_s, now_s, execution.gpus_of)

    def _others_may_change(self, execution: Execution) -> None:
        """Other jobs may run at another rate, now that this one has come or gone."""
        for affected in self.simulation.hooks["affected"]:
            for other in affected(execution):
                if other is not execution:
                    other.rate_may_change()

    # -- nodes -----------------------------------------------------------------------------------

    def _node(self, index: int) -> Node:
        return self.simulation.nodes[index] or self.simulation.make_node(index)

    def _changed(self, index: int, node: Node) -> None:
        self.simulation.free_gpus[index] = node.free_gpus
        self.node_changes.items.append(index)

    def take_down(self, nodes: Sequence[int], cause: str) -> None:
        """Nodes fail, or are taken away: the jobs on them stop for this cause and wait again."""
        for n in nodes:
            for job in list(self.simulation.shares[n]):
                self.stop(self.executions[job], cause)
        for n in nodes:
            self._node(n).go_down(self.clock.now)
        self.withhold(nodes)

    def bring_up(self, nodes: Sequence[int]) -> None:
        """Nodes are up again, empty."""
        for n in nodes:
            self._node(n).come_up(self.clock.now)
        self.offer(nodes)

    def withhold(self, nodes: Sequence[int]) -> None:
        """Keep empty nodes from the policy; those that are up stay open, and cost."""
        self.down.update(nodes)
        self._look_again(nodes, "on_nodes_down")

    def offer(self, nodes: Sequence[int]) -> None:
        """Let the policy have nodes again."""
        self.down.difference_update(nodes)
        self._look_again(nodes, "on_nodes_up")

    def _look_again(self, nodes: Sequence[int], hook: str) -> None:
        for n in nodes:
            self._changed(n, self._node(n))
        step = self.cluster.num_controllers
        self._is_up[[n // step for n in nodes]] = [n not in self.down for n in nodes]
        self.nodes = self.all_nodes[self._is_up]
        self.nodes.flags.writeable = False
        self.free_gpus_total = float(self.simulation.free_gpus_array[self.nodes].sum())
        for react in self.simulation.hooks[hook]:
            react(self, nodes)
        self.ask_again()

    def ask_again(self) -> None:
        """Something else than a job has changed."""
        self.changed = True
        triggers = self.simulation.triggers
        if self.active and (triggers.at_completions or triggers.at_arrivals):
            self.ask()
