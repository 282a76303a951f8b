"""An execution: the process of one job on its GPUs, from its start until it ends or is stopped.

    restart delay -> work -> checkpoint -> work -> change of the rate -> work -> end

Each arrow is an event. The controller takes and gives back the GPUs; when it stops a job, or a colocated job
changes the job's rate, it interrupts the process, which then ends or looks anew for its next event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from simpy import Event, Interrupt, Process
from simpy.events import ProcessGenerator

from simulator.core.clock import Begun, Clock, EventOrder, without_noise
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.model.contract import Choose, Configuration, Placement
from simulator.model.tolerances import INSTANT_S

RATE_CHANGED = "rate changed"
"""Cause of an interrupt after which the job goes on."""


class ControllerLike(Protocol):
    """Interface of `simulator.core.controller.Controller` to executions, and to features that meet them."""

    clock: Clock
    simulation: Simulation
    index: int
    active: dict[int, None]
    running: dict[int, tuple[Placement, ...]]
    executions: dict[int, Execution]
    configuration_of: dict[int, Configuration]
    down: set[int]
    is_ticking: bool
    changed: bool
    planned: int

    def ask(self, order: int = EventOrder.DECISION, once: bool = False) -> None:
        """Ask for a decision."""

    def finish(self, execution: Execution) -> None:
        """Record a job that has done its work."""

    def stop(self, execution: Execution, cause: str) -> None:
        """Take a running job off its nodes."""

    def leave(self, job: int) -> None:
        """Let a waiting job go for ever."""


class Execution:
    """A job on its GPUs.

    Attributes
    ----------
    controller, simulation, job, shares : whose job, in which run, which, and where it runs.
    gpus_of : numbers of its GPUs, where the decision named them.
    configuration, choose : what it runs with beside its GPUs, None: nothing that the model knows of; and how
        that is chosen anew when its rate changes, None: it is kept.
    time_s : seconds of the whole job on these shares if nothing slowed it down, as things are now.
    pace_s : the same as it really runs now; the rate is 1 / ``pace_s``. Infinite at speed 0.
    interval_s, cost_s : seconds of work between checkpoints, and seconds that one takes.
    gpus, start_s, begin_s : GPUs that it holds since its start, and when it began to work after a delay, s.
    worked_s : seconds of work until ``since_s`` of `JobStates`.
    saved, saved_worked_s : fraction of the work that was left, and ``worked_s``, at the last checkpoint.
    joined_s : since when it holds each node that it took after its start, s.
    """

    process: Process
    time_s: float
    pace_s: float
    configuration: Configuration = None
    choose: Choose | None = None
    interval_s, cost_s = math.inf, 0.0
    begin_s = worked_s = saved_worked_s = 0.0
    saved = 1.0
    _num_saves, _saving = 0, False

    def __init__(self, controller: ControllerLike, job: int, plan: DecisionPlan) -> None:
        self.simulation = simulation = controller.simulation
        self.controller, self.job = controller, job
        self.shares = shares = plan.shares_of[job]
        self.gpus_of = plan.gpus_of.get(job, ())
        self.gpus = shares[0].gpus if len(shares) == 1 else sum(share.gpus for share in shares)
        self.start_s = simulation.clock.now
        self.joined_s: dict[int, float] = {}
        for checkpoint in simulation.hooks["checkpoint"]:
            interval_s, cost_s = checkpoint(self)
            if interval_s <= self.interval_s:
                self.interval_s, self.cost_s = interval_s, cost_s

    def begin(self, delay_s: float) -> None:
        """Start the process; the job works after ``delay_s``."""
        self._work_from(self.start_s + delay_s)
        self._go_on(*self._times())
        self.process = Begun(self.simulation.clock, self.run())

    def restart(self, at_s: float) -> None:
        """Work again from a time on; checkpoints come after so much work from then."""
        self._num_saves, self._saving, self.saved_worked_s = 0, False, self.worked_s
        self._work_from(at_s)
        if self.simulation.hooks["slowdown"] or self.simulation.hooks["rate"]:
            self._go_on(*self._times())  # the nodes of its shares matter, not their type alone
        self.process.interrupt(RATE_CHANGED)

    def _work_from(self, at_s: float) -> None:
        state = self.simulation.jobs
        self.begin_s = state.since_s[self.job] = at_s
        self.saved = state.remaining[self.job]

    @property
    def is_running(self) -> bool:
        """Whether it has neither ended nor been stopped."""
        return self.controller.executions.get(self.job) is self

    # -- the process -----------------------------------------------------------------------------

    def run(self) -> ProcessGenerator:
        """SimPy process: go from event to event until the job is done, or stopped."""
        clock = self.simulation.clock
        while True:
            time_s, order, happen = self._next_event()
            try:
                yield clock.at(time_s, order) if time_s < math.inf else Event(clock)
            except Interrupt as interrupt:
                if interrupt.cause == RATE_CHANGED:
                    continue
                return
            if not happen():
                return

    def _next_event(self) -> tuple[float, int, Callable[[], bool]]:
        """The next event: when, its order, and the method for it, which returns whether the job goes on."""
        simulation, job = self.simulation, self.job
        state = simulation.jobs
        since_s = state.since_s[job]
        if since_s > simulation.clock.now:
            return since_s, EventOrder.COMPLETION, self._resume
        if self.pace_s == math.inf:  # speed 0: nothing happens until the rate changes
            return math.inf, EventOrder.COMPLETION, self._end
        left = state.remaining[job]
        target = self._next_change(left) if simulation.hooks["next_change"] else 0.0
        work_s, order = (left - target) * self.pace_s, EventOrder.COMPLETION
        for noticed_after_s in simulation.hooks["noticed_after_s"]:
            noticed_s = noticed_after_s(self, work_s)
            if noticed_s < work_s - INSTANT_S:  # not over yet when this instant's decision is made
                order = EventOrder.AFTER_RENEGING
            work_s = noticed_s
        end_s = without_noise(since_s + work_s)
        if 0 < self.interval_s < math.inf:
            save_s = self._save_s(self._num_saves) + self.interval_s
            if save_s <= end_s - INSTANT_S:
                return save_s, EventOrder.COMPLETION, self._save
        if target > 0:
            return end_s, order, self._change
        tick_s = simulation.triggers.tick_s if simulation.triggers.finish_at_round else None
        if tick_s is not None:
            end_s = math.ceil((end_s - INSTANT_S) / tick_s) * tick_s
        return end_s, order, self._end

    def _save_s(self, number: int) -> float:
        """Start of the work after a checkpoint, s; checkpoints come after so much work at any rate."""
        return self.begin_s + number * (self.interval_s + self.cost_s)

    def _next_change(self, left: float) -> float:
        """The largest fraction of work below ``left`` at which something changes; 0: nothing does."""
        changes = (change(self) for change in self.simulation.hooks["next_change"])
        return max((change for change in changes if change < left), default=0.0)

    def _resume(self) -> bool:
        """The delay after the start is over, or a checkpoint is complete."""
        if self._saving:
            self._saving = False
            self.keep()
        return True

    def _save(self) -> bool:
        """A checkpoint begins; the job works again when it is complete."""
        self.settle()
        self._num_saves += 1
        if self.cost_s:
            self._saving = True
            self.simulation.jobs.since_s[self.job] = self._save_s(self._num_saves)
        else:
            self.keep()
        return True

    def _change(self) -> bool:
        """The work has come to a point at which the rate changes, or a feature wants to know."""
        simulation, state, job = self.simulation, self.simulation.jobs, self.job
        left = self._next_change(state.remaining[job])
        self.settle()
        state.remaining[job] = left
        if not all(reached(self) for reached in simulation.hooks["reached"]):
            return False
        self._go_on(*self._times())
        return True

    def _end(self) -> bool:
        self.controller.finish(self)
        return False

    # -- the work --------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring the work that is done up to now."""
        simulation, job = self.simulation, self.job
        state, now_s = simulation.jobs, simulation.clock.now
        elapsed_s = now_s - state.since_s[job]
        if elapsed_s <= 0:
            return
        left, rate = state.remaining[job], state.rate[job]
        if rate:
            self.worked_s += min(elapsed_s, left * self.pace_s)
            state.remaining[job] = max(0.0, left - elapsed_s * rate)
        else:
            self.begin_s += elapsed_s  # checkpoints come after so much time at work
        state.since_s[job] = now_s

    def keep(self) -> None:
        """Save the work of now: a fault later loses what comes after it."""
        self.settle()
        self.saved = self.simulation.jobs.remaining[self.job]
        self.saved_worked_s = self.worked_s

    def fall_back(self) -> float:
        """Lose the work since the last checkpoint; the seconds of it. With ``interval_s`` 0 all work is kept."""
        self.settle()
        if self.interval_s == 0:
            return 0.0
        self.simulation.jobs.remaining[self.job] = self.saved
        return self.worked_s - self.saved_worked_s

    def configure(self, configuration: Configuration, plan: DecisionPlan | None = None) -> None:
        """Run with this from the next look at the rate on; ``plan``: that of the policy that says so."""
        if plan is not None:
            self.choose = plan.choose
        if configuration != self.configuration:
            row = self.job, self.simulation.clock.now, configuration
            self.simulation.configurations.append(row)
        self.configuration = self.controller.configuration_of[self.job] = configuration

    def rate_may_change(self) -> None:
        """Go on at the rate of now; the process looks for its next event where the rate is another."""
        time_s, pace_s = self._times()
        if pace_s != self.pace_s:
            self.settle()
            self._go_on(time_s, pace_s)
            self.process.interrupt(RATE_CHANGED)

    def proceed(self, pace_s: float) -> None:
        """Go on with the work that is left now, at this pace."""
        self._go_on(self.time_s, pace_s)
        self.process.interrupt(RATE_CHANGED)

    def _times(self) -> tuple[float, float]:
        """Seconds of the whole job on its shares, and as it runs now."""
        simulation, job, shares = self.simulation, self.job, self.shares
        left = simulation.jobs.remaining[job]
        time_s = simulation.time_on_s(simulation.workload, job, shares, self.configuration, left)
        if not 0 < time_s < math.inf:
            v = simulation.slowest_type(job, shares)
            raise simulation.infeasible(
                f"job {simulation.workload.job_id[job]} cannot run on {sum(s.gpus for s in shares):g} "
                f"GPUs of {simulation.cluster.node_types[v].name}"
            )
        speed = 1.0
        for rate in simulation.hooks["rate"]:
            speed *= rate(self)
        return time_s, time_s / speed if speed > 0 else math.inf

    def _go_on(self, time_s: float, pace_s: float) -> None:
        self.time_s, self.pace_s = time_s, pace_s
        self.simulation.jobs.rate[self.job] = 1.0 / pace_s
