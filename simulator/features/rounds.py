"""Rounds that end with their last job: what is decided at the beginning holds until then.

A job that arrives within a round waits for its end, and GPUs that become free stay idle. Performance models
may say what a job does in a round, by a method ``progress()`` that returns an object for one run
(`simulator.workloads.training.TrainingProgress`); other jobs run all the round, at their usual rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.model.contract import Placement
from simulator.model.rounds import Progress, Round

IDLE_S = 1e12
"""Pace of a job that makes no progress in a round."""
LEAST_S = 1e-18
"""Least time of a job that ends in a round."""
NOT_LATER = 1 - 2e-15
"""So that rounding does not let the last job end after its round."""


class Rounds(Feature):
    """Decisions in rounds of at most ``round_s`` seconds, which end with their last job."""

    name = "rounds"

    def __init__(self, round_s: float) -> None:
        self.round_s = round_s

    def attach(self, simulation: Simulation) -> None:
        """No round goes on; nothing else asks for decisions, or changes rates where steps are counted."""
        if simulation.server is not None:
            raise InputError("rounds that end with their last job: expected no optimization server")
        begin = simulation.shown.performance.progress  # policies see it, too
        if begin() is not None and len(simulation.hooks["rate"]) > 1:
            raise InputError(
                "rounds that end with their last job count whole steps: expected no feature that changes rates"
            )
        self._simulation = simulation
        self._pace_s: dict[int, float] = {}
        self._of = [Round(begin()) for _ in simulation.controllers]

    def seen(self, controller: Controller) -> Round:
        """The round of this controller."""
        return self._of[controller.index]

    def on_submit(self, controller: Controller, job: int) -> None:
        """Begin a round where none goes on."""
        if self._of[controller.index].is_over:
            controller.ask()

    def before_decision(self, controller: Controller) -> None:
        """Bring the work that is left to the end of the round."""
        this = self._of[controller.index]
        this.is_over = True
        if this.progress is None:
            return
        state = self._simulation.jobs
        for job in this.work:
            if job in controller.executions:
                controller.executions[job].settle()
                state.remaining[job] = this.progress.left(job)
            elif job in controller.active:
                this.progress.interrupted(job, state.remaining[job])

    def decided(self, controller: Controller) -> None:
        """Begin a round."""
        this, clock = self._of[controller.index], controller.clock
        if not controller.active:
            return
        this.begin_s, this.is_over = clock.now, False
        this.number += 1
        end_s = clock.now + self.round_s
        if this.progress is not None and controller.executions:
            end_s = self._work(controller, this, this.progress)
        clock.process(self._end(controller, this, this.number, end_s))

    def _work(self, controller: Controller, this: Round, progress: Progress) -> float:
        """Let the jobs do their work of a round; its end."""
        simulation, running = self._simulation, controller.executions
        for execution in running.values():
            execution.configure(progress.configuration(execution.job))
        runs = {
            job: (self._node_type(job, each.shares), each.shares) for job, each in running.items()
        }
        this.work = progress.round(runs, self.round_s, self._slowdown(running), _beside(running))
        round_s = max(each.seconds for each in this.work.values())
        for job, (seconds, _, left) in this.work.items():
            before = simulation.jobs.remaining[job]
            if left > 0:
                self._pace_s[job] = round_s / (before - left) if before > left else IDLE_S
            else:
                self._pace_s[job] = max(seconds, LEAST_S) * NOT_LATER / before
            running[job].proceed(self._pace_s[job])
        return this.begin_s + round_s

    def _node_type(self, job: int, shares: Sequence[Placement]) -> int:
        fixed = self._simulation.cluster.node_type_of
        if fixed is not None and len(shares) == 1:
            return int(fixed[shares[0].node])
        return int(self._simulation.slowest_type(job, shares))

    def _slowdown(self, running: Mapping[int, Execution]) -> Callable[[int], float]:
        hooks = self._simulation.hooks["slowdown"]

        def slowdown(job: int) -> float:
            factor = 1.0
            for each in hooks:
                factor *= each(job, running[job].shares)
            return factor

        return slowdown

    def rate(self, execution: Execution) -> float:
        """Speed at which the job does its work of the round."""
        pace_s = self._pace_s.get(execution.job)
        return 1.0 if pace_s is None else execution.time_s / pace_s

    def _end(
        self, controller: Controller, this: Round, number: int, end_s: float
    ) -> ProcessGenerator:
        """SimPy process: ask for the next round at the end of this one, unless it ended before."""
        yield controller.clock.at(end_s, EventOrder.TICK)
        if number == this.number and not this.is_over:
            this.is_over = True
            if controller.active:
                controller.guard.count("rounds")
                controller.ask(once=True)

    def on_release(self, execution: Execution, cause: str) -> None:
        """End the round where no job runs any more."""
        self._pace_s.pop(execution.job, None)
        controller = execution.controller
        this = self._of[controller.index]
        if not (controller.executions or this.is_over) and this.progress is None:
            this.is_over = True
            if cause != "done" or len(controller.active) > 1:
                controller.ask(once=True)


def _beside(running: Mapping[int, Execution]) -> dict[int, int]:
    """The other job on a job's GPU, for jobs whose GPU has a number."""
    found: dict[int, int] = {}
    first: dict[tuple[int, tuple[int, ...]], int] = {}
    for job, each in running.items():
        if each.gpus_of:
            other = first.setdefault((each.shares[0].node, each.gpus_of), job)
            if other != job:
                found |= {job: other, other: job}
    return found
