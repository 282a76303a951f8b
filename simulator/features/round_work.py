"""Work of a round, by one question to the performance model, as the published simulators of Gavel and Shockwave count it.

For example, steps are whole, so a job stops some ms before the end of the round. A performance model may have the method::

    in_round(job, node_type, gpus, left, start, round_s) -> Part

``start`` is ``"begin"`` in the first round of all, then ``"first"``, ``"resumed"`` (it has run, but not in the round
before), ``"moved"`` (it ran on other GPUs) or ``"kept"``. Every job stops at the end of its part, and starts again if the
next decision names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simpy.events import ProcessGenerator

from simulator.core.clock import Order
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.plan import Plan
from simulator.core.simulation import Simulation
from simulator.errors import InputError

LEAST_WORK_S = 1e-9
"""Work that a model does in no time takes so long, s."""


class Part(NamedTuple):
    """Work of one job in one round.

    Attributes
    ----------
    seconds, lost_s : from its start until it stops, and how many of these pass first without progress.
    left : fraction of the job's work that is left then; 0: it is done.
    """

    seconds: float
    lost_s: float
    left: float


@dataclass
class LatestRound:
    """The latest round of one controller, which is over when the policy decides.

    Attributes
    ----------
    number : of this round, from 1; 0: there was none.
    places, parts : shares and GPUs of each job, and what it does in the round.
    places_before : of the jobs of the round before it.
    """

    number: int = 0
    places: dict[int, object] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    places_before: dict[int, object] = field(default_factory=dict)

    def next(self) -> None:
        """Begin a round."""
        self.number += 1
        self.places_before, self.places, self.parts = self.places, {}, {}

    def start(self, execution: Execution, has_run: bool) -> str:
        """The kind of a start in this round."""
        job, place = execution.job, (execution.shares, execution.gpus_of)
        self.places[job] = place
        if self.number == 1:
            return "begin"
        if job in self.places_before:
            return "kept" if self.places_before[job] == place else "moved"
        return "resumed" if has_run else "first"


class RoundWork(Feature):
    """An end of each execution after its part of the round.

    Policies find `LatestRound` in ``view.round_work``.
    """

    name = "round_work"

    def __init__(self, round_s: float) -> None:
        self._round_s = round_s

    def attach(self, simulation: Simulation) -> None:
        """Keep what is asked in each round."""
        self._simulation = simulation
        self._in_round = simulation.workload.performance.in_round  # type: ignore[attr-defined]
        self._rounds = [LatestRound() for _ in simulation.controllers]
        self._speed = [1.0] * len(simulation.workload)

    def seen(self, controller: Controller) -> LatestRound:
        """The rounds of this controller."""
        return self._rounds[controller.index]

    def check(self, controller: Controller, plan: Plan) -> None:
        """Begin a round, and count what happens to the jobs of the round before: they have stopped already."""
        rounds, simulation = self._rounds[controller.index], self._simulation
        for job in rounds.places:
            if job in controller.waiting and job not in plan.shares_of:
                simulation.preemptions[job] += 1
        rounds.next()

    def on_start(self, execution: Execution, plan: Plan) -> None:
        """Ask the model for the job's part of this round."""
        simulation, job, round_s = self._simulation, execution.job, self._round_s
        rounds = self._rounds[execution.controller.index]
        has_run = simulation.jobs.first_start_s[job] < execution.start_s
        start = rounds.start(execution, has_run)
        simulation.reconfigurations[job] += start == "moved"
        left = simulation.jobs.remaining[job]
        node_type = simulation.slowest_type(job, execution.shares)
        part = Part(*self._in_round(job, node_type, execution.gpus, left, start, round_s))
        if not (0 <= part.lost_s <= part.seconds <= round_s and 0 <= part.left <= left):
            raise InputError(
                f"performance model: job {simulation.workload.job_id[job]} with {left:g} of its work left "
                f"has {part} in a round of {round_s:g} s, expected less time and less work"
            )
        rounds.parts[job] = part
        if part.left < left:
            self._speed[job] = (left - part.left) / max(part.seconds - part.lost_s, LEAST_WORK_S)
        else:
            simulation.clock.process(self._stop(execution, part.seconds))

    def _stop(self, execution: Execution, after_s: float) -> ProcessGenerator:
        """SimPy process: stop a job that does no work in this round."""
        yield self._simulation.clock.at(execution.start_s + after_s, Order.COMPLETION)
        if execution.is_running:
            execution.controller.stop(execution, "round over")

    def delay_s(self, execution: Execution, start: str) -> float:
        """The time that is lost; beyond the end of the round where no work is done."""
        part = self._part(execution)
        does_work = part.left < self._simulation.jobs.remaining[execution.job]
        return part.lost_s if does_work else 2 * self._round_s

    def rate(self, execution: Execution) -> float:
        """The speed in this round, in units of the model's own."""
        simulation, job = self._simulation, execution.job
        left, what = simulation.jobs.remaining[job], execution.configuration
        time_s = simulation.time_on_s(simulation.workload, job, execution.shares, what, left)
        return time_s * self._speed[job]

    def next_change(self, execution: Execution) -> float:
        """The end of the part."""
        return self._part(execution).left

    def reached(self, execution: Execution) -> bool:
        """Stop the job at the end of its part."""
        if self._simulation.jobs.remaining[execution.job] > self._part(execution).left:
            return True
        execution.controller.stop(execution, "round over")
        return False

    def _part(self, execution: Execution) -> Part:
        return self._rounds[execution.controller.index].parts[execution.job]
