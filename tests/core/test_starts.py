"""The short way of list scheduling: decisions that only start jobs, and questions before a view."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from policies import make_policy
from policies.first_principles import FirstPrinciple, by_submission
from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    NodeType,
    Placement,
    View,
    Workload,
    simulate,
)
from simulator.features.predictions import Predictions, Shown, predicted
from simulator.model.short_answers import Moves, Starts
from simulator.statistics import Streams
from tests.core.jobs import fixed

NODES = Cluster.of_nodes(NodeType("server", "GPU", 4), 2)
SHARES = {0: (Placement(0, 0, 4), Placement(0, 1, 2)), 1: (Placement(1, 1, 2),)}


def test_it_reads_like_the_decision_that_it_is() -> None:
    starts = Starts(SHARES)
    same = Decision([*SHARES[0], *SHARES[1]], keep_running=True)
    assert isinstance(starts, Decision)
    for name in ("placements", "keep_running", "info", "fractional", "gpus_of", "again_s"):
        assert getattr(starts, name) == getattr(same, name)
    assert starts.shares_of == SHARES
    # A copy, and one that is changed, are plain decisions.
    assert copy.deepcopy(starts) == same
    assert replace(starts, again_s=5.0) == replace(same, again_s=5.0)


def test_a_node_that_would_give_more_than_it_has() -> None:
    jobs = fixed([0, 0], [10, 10], [3, 2])
    both = {j: (Placement(j, 1, g),) for j, g in ((0, 3), (1, 2))}

    def decide(view: View) -> Decision:
        return Starts(both)

    with pytest.raises(
        InfeasibleDecision, match=r"^policy decide at 0 s: node 1: 5 GPUs used of 4$"
    ):
        simulate(jobs, NODES, decide)


def test_a_job_that_does_not_wait() -> None:
    def decide(view: View) -> Decision:
        return Starts({0: (Placement(0, 0, 1),)})

    with pytest.raises(InfeasibleDecision, match="at 1 s: starts job 0, which does not wait here"):
        simulate(fixed([0, 1], [10, 10], [1, 1]), NODES, decide)


class Asked:
    """FIFO that writes down what it was asked."""

    def __init__(self, says: bool | None) -> None:
        self.inner = make_policy("fifo-strict")
        self.says = says
        self.log: list[tuple[str, float]] = []

    def __deepcopy__(self, memo: object) -> Asked:
        return self

    def cannot_start(
        self, workload: Workload, waiting: Mapping[int, None], free_gpus_total: float
    ) -> bool:
        self.log.append(("quick", free_gpus_total))
        return len(waiting) == 0 if self.says is None else self.says

    def decide(self, view: View) -> Decision:
        self.log.append(("view", view.free_gpus_total))
        return self.inner.decide(view)


JOBS = fixed([0, 1, 2], [10, 10, 10], [8, 8, 1])


def test_the_question_comes_before_the_view() -> None:
    policy = Asked(None)
    result = simulate(JOBS, NODES, policy)
    assert result.completion_s.tolist() == [10, 20, 30]
    # Arrivals at 0, 1, 2, ends at 10, 20, 30; at the last end nobody is left.
    assert policy.log == [
        ("quick", 8), ("view", 8), ("quick", 0), ("view", 0), ("quick", 0), ("view", 0),
        ("quick", 8), ("view", 8), ("quick", 8), ("view", 8),
    ]  # fmt: skip
    assert list(result.decisions.time_s) == [0, 1, 2, 10, 20]
    assert list(result.decisions.active) == [1, 2, 3, 2, 1]


def test_a_policy_that_never_can_is_never_shown_anything() -> None:
    policy = Asked(True)
    with pytest.raises(InfeasibleDecision, match="3 jobs wait for ever"):
        simulate(JOBS, NODES, policy)
    assert {what for what, _ in policy.log} == {"quick"}


@pytest.mark.parametrize(
    "options", [{"measure_decisions": True}, {"decision_points": DecisionPoints(since_last_s=5.0)}]
)
def test_not_asked_where_each_answer_counts(options: dict) -> None:
    """The time of an answer is wanted, or it starts a timer."""
    policy = Asked(True)
    simulate(JOBS, NODES, policy, **options)
    assert {what for what, _ in policy.log} == {"view"}


def test_an_object_that_has_decided_elsewhere_is_asked_about_these_jobs() -> None:
    """Its answers are about the workload that it knows, so it is shown the other one first."""
    policy = make_policy("fifo-strict")

    def decide(view: View) -> Decision:
        return policy.decide(view) if view.waiting else NO_CHANGE

    simulate(fixed([0], [10], [8]), NODES, decide)
    result = simulate(fixed([0, 1], [10, 10], [1, 1]), NODES, policy)
    assert result.completion_s.tolist() == [10, 11]


def test_moves_without_a_change_leave_nothing_behind() -> None:
    """A plain decision after them stops what it does not name."""
    first = [Placement(0, 0, 4)]
    both = [Placement(0, 0, 4), Placement(1, 1, 4)]
    answers = [
        Decision(first),
        Moves.of({}, [], lambda: first, {}),
        Decision([Placement(2, 0, 4)]),
        Decision(both),
        Decision(both[1:]),
    ]

    def decide(view: View) -> Decision:
        return answers.pop(0)

    result = simulate(fixed([0, 10, 20], [100, 100, 100], [4, 4, 4]), NODES, decide)
    assert result.preemptions.tolist() == [1, 0, 0]
    assert result.completion_s.tolist() == [200, 220, 120]


def test_a_class_with_answers_of_its_own_does_not_inherit_the_question() -> None:
    """It preempts, while the class that it is made from says that nothing can start."""

    class Urgent(FirstPrinciple):
        def decide(self, view: View) -> Decision:
            if 2 in view.waiting:
                return Decision([Placement(2, 0, 4)])
            return super().decide(view)

    one = Cluster.of_nodes(NodeType("server", "GPU", 4), 1)
    result = simulate(fixed([0, 0, 1], [10, 10, 10], [4, 4, 4]), one, Urgent("", by_submission))
    assert result.completion_s.tolist() == [30, 21, 11]


def test_views_that_learn_are_made_at_every_decision() -> None:
    """The job is seen at work only at the arrival of one that cannot start."""
    jobs = fixed([0, 50, 200], [100, 10, 10], [8, 8, 8])
    seen: list[float] = []

    class Fifo(FirstPrinciple):
        def cannot_start(self, *state: object) -> bool:
            seen.append(0.0)
            return True

    shown = Shown(predicted(jobs, Predictions(bias=0.5), Streams(0)), learned=True)
    result = simulate(jobs, NODES, Fifo("fifo", by_submission), shown=shown)
    assert result.completion_s.tolist() == [100, 110, 210]
    assert seen == []


def test_fractions_may_miss_a_node_by_their_tolerance() -> None:
    """What the check of a decision lets pass as rounding does not stop the simulation at a start."""
    eight = Cluster.of_nodes(NodeType("server", "GPU", 8), 1)
    jobs = Workload(
        ["a", "b"],
        [0.0, 0.0],
        FixedDuration(np.array([10.0, 10.0]), np.array([8, 8]), time_shared=True),
        num_gpus=[8, 8],
    )

    def decide(view: View) -> Decision:
        part = 4 * (1 + 5e-7) if view.num_active == 2 else 8.0
        return Decision([Placement(j, 0, part) for j in view.active], fractional=True)

    assert simulate(jobs, eight, decide).completion_s == pytest.approx([20.0, 20.0], rel=1e-5)
