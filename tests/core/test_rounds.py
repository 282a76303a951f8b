"""Rounds that end with their last job, with times that are done on paper."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from experiments.scenario.build import decision_points
from experiments.scenario.schema import Decisions
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    InputError,
    NodeType,
    Placement,
    ServerSpec,
    View,
    Workload,
    simulate,
)
from simulator.features.round_work import Part
from simulator.laws import Deterministic
from simulator.model.performance import FixedDuration
from tests.core.jobs import fixed

TWO = Cluster.of_nodes(NodeType("n", "GPU", 1), 2)
ROUNDS = DecisionPoints.rounds(10.0, ends="last-finisher")


def first_two(view: View) -> Decision:
    return Decision([Placement(j, n, 1) for n, j in enumerate(view.jobs.tolist()[:2])])


def test_a_round_ends_with_its_last_job() -> None:
    """Jobs of 4 and 7 s; a job of 12 s that comes at 1 s waits for 7 s and takes two rounds, 7 to 17 and 17 to 19."""
    jobs = fixed([0, 0, 1, 30], [4, 7, 12, 1], [1, 1, 1, 1])
    result = simulate(jobs, TWO, first_two, decision_points=ROUNDS)
    assert result.completion_s.tolist() == [4, 7, 19, 31]
    assert list(result.decisions.time_s) == [0, 7, 17, 30]
    assert result.preemptions.sum() == result.reconfigurations.sum() == 0


def test_a_round_without_jobs_lasts_its_full_length() -> None:
    def from_15_s(view: View) -> Decision:
        return first_two(view) if view.now_s >= 15 else Decision()

    result = simulate(fixed([0], [5], [1]), TWO, from_15_s, decision_points=ROUNDS)
    assert list(result.decisions.time_s) == [0, 10, 20]
    assert result.completion_s.tolist() == [25]


@dataclass(frozen=True, eq=False)
class Steps(FixedDuration):
    """Jobs make whole steps of 3 s; to resume takes 2 s."""

    starts: list[tuple[int, str]] = field(default_factory=list)

    def in_round(
        self, job: int, node_type: int, gpus: float, left: float, start: str, round_s: float
    ) -> Part:
        """The steps that fit."""
        self.starts.append((job, start))
        lost_s = 2.0 if start == "resumed" else 0.0
        todo_s = left * float(self.duration_s[job])
        work_s = min(3.0 * ((round_s - lost_s) // 3.0), todo_s)
        after_s = todo_s - work_s
        return Part(lost_s + work_s, lost_s, after_s / float(self.duration_s[job]))


def steps(
    submit_s: list[float], duration_s: list[float], model: type[Steps] = Steps
) -> tuple[Workload, Steps]:
    gpus = [1] * len(submit_s)
    performance = model(np.array(duration_s), np.array(gpus))
    return replace(fixed(submit_s, duration_s, gpus), performance=performance), performance


def test_a_performance_model_says_what_a_job_does_in_a_round() -> None:
    """One GPU: job 0 works 9 s in rounds 1 and 3, job 1 6 s in round 2, then each ends: 9, 18, 2 + 6, 2 + 3.

    Round 1: job 0, 0 to 9 s. Round 2: job 1, 9 to 18 s. Round 3: job 0, 2 s lost and 6 s of work, ends at 26 s.
    Round 4: job 1, 2 s lost and 3 s of work, ends at 31 s.
    """
    seen = []

    def in_turn(view: View) -> Decision:
        seen.append(dict(view.round_work.parts))
        assert not view.running
        return Decision([Placement(next(iter(view.waiting)), 0, 1)])

    jobs, performance = steps([0, 1], [15, 12])
    result = simulate(
        jobs, Cluster.of_nodes(NodeType("n", "GPU", 1), 1), in_turn, decision_points=ROUNDS
    )
    assert result.completion_s == pytest.approx([26, 31], abs=1e-9)
    assert list(result.decisions.time_s) == pytest.approx([0, 9, 18, 26], abs=1e-9)
    assert performance.starts == [(0, "begin"), (1, "first"), (0, "resumed"), (1, "resumed")]
    assert result.gpu_seconds == pytest.approx([9 + 8, 9 + 5], abs=1e-9)
    assert seen[1] == {0: Part(9, 0, 0.4)}
    assert result.preemptions.tolist() == [1, 1]
    assert result.reconfigurations.tolist() == [0, 0]


def test_a_job_that_goes_on_is_kept_or_moved() -> None:
    """The job changes its node in the third round, and is not preempted."""

    def moves(view: View) -> Decision:
        return Decision([Placement(0, 1 if view.now_s > 15 else 0, 1)])

    jobs, performance = steps([0], [24])
    result = simulate(jobs, TWO, moves, decision_points=ROUNDS)
    assert performance.starts == [(0, "begin"), (0, "kept"), (0, "moved")]
    assert result.completion_s == pytest.approx([24], abs=1e-9)
    assert result.preemptions.tolist() == [0]
    assert result.reconfigurations.tolist() == [1]


def test_a_job_may_do_nothing_in_a_round_and_be_done_at_once_in_the_next() -> None:
    class Idle(Steps):
        def in_round(self, job: int, *others: object) -> Part:  # type: ignore[override]
            self.starts.append((job, ""))
            return Part(4.0, 4.0, 1.0) if len(self.starts) == 1 else Part(0.0, 0.0, 0.0)

    jobs, _ = steps([0], [24], Idle)
    result = simulate(jobs, TWO, first_two, decision_points=ROUNDS)
    assert list(result.decisions.time_s) == [0, 4]
    assert result.completion_s == pytest.approx([4], abs=1e-8)


def test_what_does_not_fit_into_a_round_is_refused() -> None:
    class Long(Steps):
        def in_round(self, *_: object) -> Part:  # type: ignore[override]
            return Part(11.0, 0.0, 0.5)

    jobs, _ = steps([0], [24], Long)
    with pytest.raises(InputError, match=r"job j0 with 1 of its work left has .* round of 10 s"):
        simulate(jobs, TWO, first_two, decision_points=ROUNDS)


def test_such_rounds_have_no_optimization_server() -> None:
    server = ServerSpec(Deterministic(1.0))
    with pytest.raises(InputError, match="expected no optimization server"):
        simulate(fixed([0], [1], [1]), TWO, first_two, decision_points=ROUNDS, server=server)


def test_a_scenario_file_may_ask_for_such_rounds() -> None:
    decisions = Decisions(round_s=10.0, round_ends="last-finisher")
    assert decision_points(decisions) == ROUNDS
    with pytest.raises(InputError, match="round_ends"):
        decision_points(Decisions(round_ends="last-finisher"))
