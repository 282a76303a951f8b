"""Each process of the engine at the instants where two things meet, with times that are done on paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from simulator import Decision, FixedDuration, Placement, View, Workload
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from tests.core.jobs import Once, fixed, nodes, run


def outage(
    at_s: float, for_s: float, interval_s: float | None = None, cost_s: float = 0.0
) -> Failures:
    """The node goes down at ``at_s``, and then very late again."""
    cause = Outages(Once(at_s), Deterministic(for_s), [(0,)])
    return Failures([cause], Checkpoints(interval_s=interval_s, cost_s=cost_s))


def shortest_first(view: View) -> Decision:
    job = min(view.active, key=lambda j: view.workload.performance.time_s(j, 0, 1, 0, 0))
    return Decision([Placement(job, 0, 1)])


def test_a_job_is_preempted_during_its_restart_delay():
    """Job 0: 0 to 2 s, resumes at 3 s with 5 s of delay, is preempted at 4 s for 1 s, waits out the 5 s anew."""
    result = run(fixed([0, 2, 4], [10, 1, 1]), nodes(), shortest_first, Delays.of(5.0))
    assert result.completion_s.tolist() == [5 + 5 + 8, 3, 5]
    assert result.preemptions.tolist() == [2, 0, 0]


def test_a_job_is_preempted_during_a_checkpoint():
    """It works 4 s, saves from 4 to 6 s, is preempted at 5 s for 1 s; then 4 + 2 + 2 s more."""
    saving = Failures((), Checkpoints(interval_s=4.0, cost_s=2.0))
    result = run(fixed([0, 5], [10, 1]), nodes(), shortest_first, saving)
    assert result.completion_s.tolist() == [6 + 4 + 2 + 2, 6]
    assert result.parts["failures"].overhead_gpu_s.tolist() == [1 + 2, 0]
    assert result.parts["failures"].lost_gpu_s.tolist() == [0, 0]


def test_a_decision_at_the_instant_of_an_end_finds_the_job_gone():
    """Job 1 arrives when job 0 ends: nobody is preempted."""
    result = run(fixed([0, 10], [10, 1]), nodes(), shortest_first)
    assert result.completion_s.tolist() == [10, 11]
    assert result.preemptions.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("submit_s", "duration_s", "down_s", "end_s"),
    [([0], [10], 10, [10]), ([0, 20], [1, 3], 20, [1, 28]), ([0, 25], [1, 3], 20, [1, 28])],
    ids=["end and fault", "arrival and fault", "arrival and repair"],
)
def test_a_node_is_away_for_5_s_at_the_instant_of_another_event(
    submit_s, duration_s, down_s, end_s
):
    result = run(fixed(submit_s, duration_s), nodes(), shortest_first, outage(down_s, 5.0))
    assert result.completion_s.tolist() == end_s


def test_a_fault_during_a_checkpoint_loses_what_was_done_since_the_one_before():
    """It works to 4 s, saves to 6 s, works to 10 s; the fault at 11 s finds the second checkpoint open."""
    result = run(fixed([0], [10]), nodes(), shortest_first, outage(11.0, 9.0, 4.0, 2.0))
    assert result.completion_s.tolist() == [20 + 4 + 2 + 2]
    assert result.parts["failures"].lost_gpu_s.tolist() == [4]


def test_patience_that_ends_at_the_instant_of_a_start_is_in_time():
    """Job 1 starts at 10 s, when its patience ends; job 2 leaves at 10 s."""
    result = run(fixed([0, 2, 3], [10, 5, 5], patience_s=[math.inf, 8.0, 7.0]), nodes())
    assert result.completion_s.tolist() == [10, 15, 10]
    assert result.left is not None
    assert result.left.tolist() == [False, False, True]


# -- rates ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Phases(FixedDuration):
    """Jobs that are twice as fast when a third of their work is done, and save in a unit of time."""

    time_unit_s: float = 0.0

    def rate(self, job: int, shares: Sequence[Placement], configuration: Any, left: float) -> float:
        batch = configuration or (1,)
        return float((1.0 if left > 2 / 3 else 2.0) * batch[0] / self.duration_s[job])

    def next_change(self, job: int, left: float) -> float:
        return 2 / 3 if left > 2 / 3 else 0.0


def phased(
    duration_s: Sequence[float], submit_s: Sequence[float] = (0,), **options: float
) -> Workload:
    times = Phases(np.array(duration_s), np.ones(len(duration_s), dtype=int), **options)
    return Workload([f"j{k}" for k in range(len(duration_s))], submit_s, times)


def test_a_rate_changes_with_progress():
    """90 s of work: 30 s for the first third, then 30 s for the other two."""
    assert run(phased([90.0]), nodes()).completion_s.tolist() == pytest.approx([60.0])


def test_a_rate_changes_between_checkpoints():
    """Checkpoints come after 20 s of work and take 15 s: 20 + 15 + 10 at the first rate, then 10 + 15 + 20."""
    saving = Failures((), Checkpoints(interval_s=20.0, cost_s=15.0))
    result = run(phased([90.0]), nodes(), "fifo-strict", saving)
    assert result.completion_s.tolist() == pytest.approx([20 + 15 + 10 + 10 + 15 + 20])


def test_a_preempted_job_goes_on_in_its_phase():
    """At 40 s it is 10 s in its second phase, and has 20 s left; it waits for 5 s."""
    result = run(phased([90.0, 10.0], [0, 40]), nodes(), shortest_first)
    slow = 10 / 3  # a third of its 10 s of work; the rest takes half the time
    assert result.completion_s.tolist() == pytest.approx([60 + slow + slow, 40 + slow + slow])


def test_times_to_changes_are_whole_units():
    """32 s of work: 10.67 s and 10.67 s, in units of a second 11 and 11."""
    assert run(phased([32.0], time_unit_s=1.0), nodes()).completion_s.tolist() == [22.0]


def test_a_configuration_that_the_policy_chooses_changes_the_rate_at_once():
    """Twice the batch from 10 s on: 80 of 90 s of work are left, 20 at two and 60 at four times the speed."""
    seen: list[Any] = []

    def policy(view: View) -> Decision:
        seen.append(dict(view.configuration_of))
        chosen = {0: (2,)} if view.now_s >= 10 else None
        return Decision([Placement(0, 0, 1)], configuration_of=chosen)

    result = run(phased([90.0]), nodes(), policy, period_s=10)
    assert result.completion_s.tolist() == pytest.approx([10 + 10 + 15])
    assert result.reconfigurations.tolist() == [0]
    assert seen == [{}, {}, {0: (2,)}, {0: (2,)}][: len(seen)]


def test_the_three_delays_are_told_apart():
    """1 s after the first start, 10 s after a move, which policies see, 100 s after a preemption."""
    seen = []

    def policy(view: View) -> Decision:
        seen.append(view.reconfiguration)
        where = {0: 0, 10: 0, 20: 1, 30: None}.get(int(view.now_s), 1)
        return Decision([] if where is None else [Placement(0, where, 1)])

    result = run(
        fixed([0], [50]),
        nodes(1, 2),
        policy,
        Delays(first_s=1.0, resume_s=100.0, move_s=10.0),
        period_s=10,
    )
    # 19 s of work to 20 s, none to 30 s, waiting to 40 s, work again from 140 s.
    assert result.completion_s.tolist() == [140 + 50 - 19]
    assert (result.reconfigurations.tolist(), result.preemptions.tolist()) == ([1], [1])
    assert set(seen) == {10.0}


# -- an own feature -------------------------------------------------------------------------------


class PowerCap(Feature):
    """All jobs run at half their speed while more than so many GPUs are in use."""

    name = "power_cap"

    def __init__(self, most: int) -> None:
        self.most = most

    def attach(self, simulation: Any) -> None:
        self._simulation = simulation

    def _running(self) -> list[Execution]:
        return [e for c in self._simulation.controllers for e in c.executions.values()]

    def rate(self, execution: Execution) -> float:
        return 1.0 if sum(e.gpus for e in self._running()) <= self.most else 0.5

    def affected(self, execution: Execution) -> list[Execution]:
        return self._running()

    def seen(self, controller: Any) -> int:
        return self.most


def test_a_rate_changes_during_a_checkpoint():
    """Saved from 10 to 14 s; from 12 to 22 s two run: 4 s of work by then, 2 more to the next save at 24 s, then 4."""
    saving = Failures((), Checkpoints(interval_s=10.0, cost_s=4.0))
    result = run(fixed([0, 12], [20, 5]), nodes(count=2), "fifo-strict", PowerCap(1), saving)
    assert result.completion_s.tolist() == pytest.approx([28 + 4, 12 + 2 * 5])


def test_an_own_feature_changes_rates_and_is_seen():
    """Alone 4 s, then both at half speed: job 1 ends at 14 s, and job 0 has 1 s left."""
    seen: list[int] = []

    def policy(view: View) -> Decision:
        seen.append(view.power_cap)
        return Decision([Placement(j, j, 1) for j in view.active])

    result = run(fixed([0, 4], [10, 5]), nodes(1, 2), policy, PowerCap(1))
    assert result.completion_s.tolist() == [15, 14]
    assert set(seen) == {1}
