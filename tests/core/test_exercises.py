"""Solutions of the exercises of docs/simulator.md that need a feature, and features that act on nodes from outside."""

from collections.abc import Sequence

import pytest
from simpy.events import ProcessGenerator

import simulator.core.start
from simulator import InfeasibleDecision
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.core.simulation import Simulation
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic
from tests.core.jobs import Once, fixed, nodes, run

HOUR_S = 3600.0


class Looping(Feature):
    """A process that loops for ever, as in SimPy's first example."""

    def attach(self, simulation: Simulation) -> None:
        self.simulation = simulation
        simulation.clock.process(self.loop())

    def loop(self) -> ProcessGenerator:
        while True:
            yield self.simulation.clock.timeout(HOUR_S)
            self.each_hour()

    def each_hour(self) -> None:
        pass


class Night(Looping):
    """Exercise 3: all jobs stand still from 22 h to 6 h."""

    def rate(self, execution: Execution) -> float:
        hour = round(self.simulation.clock.now / HOUR_S) % 24
        return 1.0 if 6 <= hour < 22 else 0.0

    def each_hour(self) -> None:
        for controller in self.simulation.controllers:
            for execution in controller.executions.values():
                execution.rate_may_change()


def test_jobs_stand_still_at_night():
    """From 21 h: one hour until 22 h, another one from 6 h on. The job of 5 h keeps its GPU until 11 h."""
    work = fixed([21 * HOUR_S, 21 * HOUR_S], [2 * HOUR_S, 5 * HOUR_S])
    result = run(work, nodes(2), "fifo-strict", Night())
    assert result.completion_s / HOUR_S == pytest.approx([24 + 7, 24 + 10])
    assert result.gpu_seconds / HOUR_S == pytest.approx([10, 13])


def test_a_job_that_starts_at_night_waits_for_the_morning():
    result = run(fixed([0], [HOUR_S]), nodes(), "fifo-strict", Night())
    assert result.completion_s / HOUR_S == pytest.approx([7.0])


def test_checkpoints_come_after_so_much_time_at_work():
    """From 20 h: work to 21.0, save to 21.1, work to 22.0, stand still to 6.0, work to 6.1, save to 6.2, work to 6.7."""
    saving = Failures((), Checkpoints(interval_s=HOUR_S, cost_s=0.1 * HOUR_S))
    result = run(fixed([20 * HOUR_S], [2.5 * HOUR_S]), nodes(), "fifo-strict", saving, Night())
    assert result.completion_s / HOUR_S == pytest.approx([24 + 6.7])
    assert result.parts["failures"].overhead_gpu_s / HOUR_S == pytest.approx([0.2 + 8.0])


def test_a_process_that_loops_keeps_no_run_alive():
    assert run(fixed([0], [10]), nodes(), "fifo-strict", Looping()).completion_s.tolist() == [10]


def test_a_process_that_loops_does_not_hide_that_jobs_wait_for_ever(monkeypatch):
    monkeypatch.setattr(simulator.core.start, "IDLE_EVENTS", 100)
    with pytest.raises(InfeasibleDecision, match="1 jobs wait for ever, the first is 'j1'"):
        run(fixed([0, 0], [10, 10], [1, 2]), nodes(1), "fifo-backfill", Looping(), check=False)


class Standstill(Feature):
    """Speed 0 for ever."""

    def rate(self, execution: Execution) -> float:
        return 0.0


def test_speed_0_that_nothing_changes_is_told():
    with pytest.raises(
        InfeasibleDecision, match="1 of them run at speed 0, and nothing will change it"
    ):
        run(fixed([0], [10]), nodes(), "fifo-strict", Standstill())


class WarmUp(Feature):
    """Nodes work at half speed for so long after a repair."""

    def __init__(self, warm_up_s: float) -> None:
        self.warm_up_s, self.cold = warm_up_s, set[int]()
        self.told: list[tuple[str, float, tuple[int, ...]]] = []

    def on_nodes_down(self, controller: Controller, nodes: Sequence[int]) -> None:
        self.told.append(("down", controller.clock.now, tuple(nodes)))
        self.cold.difference_update(nodes)

    def on_nodes_up(self, controller: Controller, nodes: Sequence[int]) -> None:
        self.told.append(("up", controller.clock.now, tuple(nodes)))
        self.cold.update(nodes)
        controller.clock.process(self.warm(controller, nodes))

    def warm(self, controller: Controller, nodes: Sequence[int]) -> ProcessGenerator:
        yield controller.clock.timeout(self.warm_up_s)
        self.cold.difference_update(nodes)
        for execution in controller.executions.values():
            execution.rate_may_change()

    def rate(self, execution: Execution) -> float:
        return 0.5 if any(share.node in self.cold for share in execution.shares) else 1.0


def test_a_warm_up_after_repair_needs_no_edit_of_the_core():
    """Down from 10 to 20 s; from 20 to 26 s at half speed: 3 s of 10 s are done, 7 s are left at 26 s."""
    outage = Failures(
        [Outages(Once(10.0), Deterministic(10.0), [(0,)])], Checkpoints(interval_s=0.0)
    )
    warm_up = WarmUp(6.0)
    result = run(fixed([0, 5], [10, 10]), nodes(), "fifo-strict", outage, warm_up)
    assert result.completion_s.tolist() == [10, 33]
    assert warm_up.told == [("down", 10.0, (0,)), ("up", 20.0, (0,))]
