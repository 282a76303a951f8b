"""Each process of the engine at the instants where two things meet, with times that are done on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from policies import make_policy
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    NodeType,
    Placement,
    ServerSpec,
    View,
    Workload,
    simulate,
)
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from tests.core.jobs import fixed

ONE = Cluster.of_nodes(NodeType("n", "GPU", 1), 1)
TWO = Cluster.of_nodes(NodeType("n", "GPU", 1), 2)


def outage(at_s: float, for_s: float, *checkpoint: float) -> Failures:
    """The node goes down at ``at_s``, and then very late again."""

    class Once:
        mean = 1e9
        drawn = 0

        def __call__(self, rng: np.random.Generator) -> float:
            self.drawn += 1
            return at_s if self.drawn == 1 else 1e9

    cause = Outages(Once(), Deterministic(for_s), [(0,)])  # type: ignore[arg-type]
    return Failures([cause], Checkpoints(*checkpoint))


def shortest_first(view: View) -> Decision:
    job = min(view.active, key=lambda j: view.workload.performance.time_s(j, 0, 1, 0, 0))
    return Decision([Placement(job, 0, 1)])


def test_a_job_is_preempted_during_its_restart_delay() -> None:
    """Job 0: 0 to 2 s, resumes at 3 s with 5 s of delay, is preempted at 4 s for 1 s, waits out the 5 s anew."""
    jobs = fixed([0, 2, 4], [10, 1, 1], [1, 1, 1])
    result = simulate(jobs, ONE, shortest_first, features=[Delays.of(5.0)])
    assert result.completion_s.tolist() == [5 + 5 + 8, 3, 5]
    assert result.preemptions.tolist() == [2, 0, 0]


def test_a_job_is_preempted_during_a_checkpoint() -> None:
    """It works 4 s, saves from 4 to 6 s, is preempted at 5 s for 1 s; then 4 + 2 + 2 s more."""
    jobs = fixed([0, 5], [10, 1], [1, 1])
    result = simulate(jobs, ONE, shortest_first, features=[Failures((), Checkpoints(4.0, 2.0))])
    assert result.completion_s.tolist() == [6 + 4 + 2 + 2, 6]
    assert result.parts["failures"].overhead_gpu_s.tolist() == [1 + 2, 0]
    assert result.parts["failures"].lost_gpu_s.tolist() == [0, 0]


def test_a_decision_at_the_instant_of_an_end_finds_the_job_gone() -> None:
    """Job 1 arrives when job 0 ends: nobody is preempted."""
    result = simulate(fixed([0, 10], [10, 1], [1, 1]), ONE, shortest_first)
    assert result.completion_s.tolist() == [10, 11]
    assert result.preemptions.tolist() == [0, 0]


def test_a_fault_at_the_instant_of_an_end_comes_too_late() -> None:
    result = simulate(fixed([0], [10], [1]), ONE, shortest_first, features=[outage(10.0, 5.0)])
    assert result.completion_s.tolist() == [10]


def test_a_job_that_arrives_when_its_node_fails_waits_for_the_repair() -> None:
    result = simulate(
        fixed([0, 20], [1, 3], [1, 1]), ONE, shortest_first, features=[outage(20.0, 5.0)]
    )
    assert result.completion_s.tolist() == [1, 28]


def test_a_fault_during_a_checkpoint_loses_what_was_done_since_the_one_before() -> None:
    """It works to 4 s, saves to 6 s, works to 10 s; the fault at 11 s finds the second checkpoint open."""
    failures = outage(11.0, 9.0, 4.0, 2.0)
    result = simulate(fixed([0], [10], [1]), ONE, shortest_first, features=[failures])
    assert result.completion_s.tolist() == [20 + 4 + 2 + 2]
    assert result.parts["failures"].lost_gpu_s.tolist() == [4]


def test_a_job_that_arrives_at_the_instant_of_a_repair_starts_at_once() -> None:
    result = simulate(
        fixed([0, 25], [1, 3], [1, 1]), ONE, shortest_first, features=[outage(20.0, 5.0)]
    )
    assert result.completion_s.tolist() == [1, 28]


def test_patience_that_ends_at_the_instant_of_a_start_is_in_time() -> None:
    """Job 1 starts at 10 s, when its patience ends; job 2 leaves at 10 s."""
    jobs = Workload(
        ["a", "b", "c"],
        [0.0, 2.0, 3.0],
        FixedDuration([10.0, 5.0, 5.0], [1, 1, 1]),
        [1, 1, 1],
        patience_s=[math.inf, 8.0, 7.0],
    )
    result = simulate(jobs, ONE, make_policy("fifo-strict"))
    assert result.completion_s.tolist() == [10, 15, 10]
    assert result.left is not None
    assert result.left.tolist() == [False, False, True]


def test_two_controllers_queue_at_one_server() -> None:
    """Both ask at 0 s; the second decision starts when the first is in force, at 4 s."""
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 2, 2)
    result = simulate(
        fixed([0, 0], [10, 10], [1, 1]), cluster, make_policy("fifo-strict"),
        server=ServerSpec(Deterministic(4.0)),
    )  # fmt: skip
    assert result.first_start_s.tolist() == [4, 8]
    assert result.server_response_s.tolist()[:2] == [4, 8]
    assert result.server_wait_s.tolist()[:2] == [0, 4]


def test_a_decision_that_comes_into_force_when_its_job_has_ended_is_left_out() -> None:
    """Asked at 0 and at 8 s; the answer to the second, at 12 s, names job 0, which ended at 10 + 4 - 4 s."""
    named: list[list[int]] = []

    def policy(view: View) -> Decision:
        named.append(list(view.active))
        return Decision([Placement(j, j, 1) for j in view.active])

    server = ServerSpec(Deterministic(4.0))
    result = simulate(fixed([0, 8], [6, 5], [1, 1]), TWO, policy, server=server)
    assert named[:2] == [[0], [0, 1]]
    assert result.completion_s.tolist() == [10, 17]


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


def phased(duration_s: Sequence[float], **options: float) -> Workload:
    count = len(duration_s)
    performance = Phases(np.array(duration_s), np.ones(count, dtype=int), **options)  # type: ignore[arg-type]
    return Workload([f"j{k}" for k in range(count)], [0.0] * count, performance, [1] * count)


def test_a_rate_changes_with_progress() -> None:
    """90 s of work: 30 s for the first third, then 30 s for the other two."""
    result = simulate(phased([90.0]), ONE, make_policy("fifo-strict"))
    assert result.completion_s.tolist() == pytest.approx([60.0])


def test_a_rate_changes_during_a_checkpoint() -> None:
    """Checkpoints come after 20 s of work and take 15 s: 20 + 15 + 10 at the first rate, then 10 + 15 + 20."""
    result = simulate(
        phased([90.0]),
        ONE,
        make_policy("fifo-strict"),
        features=[Failures((), Checkpoints(20.0, 15.0))],
    )
    assert result.completion_s.tolist() == pytest.approx([20 + 15 + 10 + 10 + 15 + 20])


def test_a_preempted_job_goes_on_in_its_phase() -> None:
    """At 40 s it is 10 s in its second phase, and has 20 s left; it waits for 5 s."""
    jobs = phased([90.0, 10.0])
    jobs = Workload(jobs.job_id, [0.0, 40.0], jobs.performance, jobs.num_gpus)
    result = simulate(jobs, ONE, shortest_first)
    slow = 10 / 3  # a third of its 10 s of work; the rest takes half the time
    assert result.completion_s.tolist() == pytest.approx([60 + slow + slow, 40 + slow + slow])


def test_times_to_changes_are_whole_units() -> None:
    """32 s of work: 10.67 s and 10.67 s, in units of a second 11 and 11."""
    result = simulate(phased([32.0], time_unit_s=1.0), ONE, make_policy("fifo-strict"))
    assert result.completion_s.tolist() == [22.0]


def test_a_configuration_that_the_policy_chooses_changes_the_rate_at_once() -> None:
    """Twice the batch from 10 s on: 80 of 90 s of work are left, 20 at two and 60 at four times the speed."""
    seen: list[Any] = []

    def policy(view: View) -> Decision:
        seen.append(dict(view.configuration_of))
        chosen = {0: (2,)} if view.now_s >= 10 else None
        return Decision([Placement(0, 0, 1)], configuration_of=chosen)

    points = DecisionPoints(period_s=10.0)
    result = simulate(phased([90.0]), ONE, policy, decision_points=points)
    assert result.completion_s.tolist() == pytest.approx([10 + 10 + 15])
    assert result.reconfigurations.tolist() == [0]
    assert seen == [{}, {}, {0: (2,)}, {0: (2,)}][: len(seen)]


def test_the_three_delays_are_told_apart() -> None:
    """1 s after the first start, 10 s after a move, 100 s after a preemption."""

    def policy(view: View) -> Decision:
        where = {0: 0, 10: 0, 20: 1, 30: None}.get(int(view.now_s), 1)
        return Decision([] if where is None else [Placement(0, where, 1)])

    result = simulate(
        fixed([0], [50], [1]), TWO, policy, decision_points=DecisionPoints(period_s=10.0),
        features=[Delays(1.0, 100.0, 10.0)],
    )  # fmt: skip
    # 19 s of work to 20 s, none to 30 s, waiting to 40 s, work again from 140 s.
    assert result.completion_s.tolist() == [140 + 50 - 19]


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


def test_an_own_feature_changes_rates_and_is_seen() -> None:
    """Alone 4 s, then both at half speed: job 1 ends at 14 s, and job 0 has 1 s left."""
    seen: list[int] = []

    def policy(view: View) -> Decision:
        seen.append(view.power_cap)
        return Decision([Placement(j, j, 1) for j in view.active])

    result = simulate(fixed([0, 4], [10, 5], [1, 1]), TWO, policy, features=[PowerCap(1)])
    assert result.completion_s.tolist() == [15, 14]
    assert set(seen) == {1}
