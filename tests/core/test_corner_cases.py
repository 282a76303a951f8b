"""Corners of the engine: empty queues, late plans, rounding at large clocks, answers of no use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from policies import make_policy
from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    DecisionPoints,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    ServerSpec,
    SpeedupCurve,
    View,
    Workload,
    simulate,
)
from simulator.core.wake_ups import IDLE_TICKS
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic, Exponential
from simulator.model import feasibility
from tests.core.jobs import fixed

ONE = Cluster.of_nodes(NodeType("one", "GPU", 1), 1)


def elastic(count: int, duration_s: float) -> Workload:
    duration = np.full(count, duration_s)
    curve = np.zeros(count, dtype=np.int64)
    return Workload(
        [str(j) for j in range(count)], np.arange(count), SpeedupCurve(duration, curve, [math.sqrt])
    )


def srtf(view: View) -> Decision:
    """One GPU, preemptive, the shortest remaining time runs."""
    duration_s = view.workload.performance.work_gpu_s(view.cluster)
    first = int(np.argmin(view.remaining * duration_s[view.jobs]))
    return Decision([Placement(int(view.jobs[first]), 0, 1)])


def test_a_policy_is_not_asked_about_nothing() -> None:
    """Between two jobs the queue is empty; the completion is a decision point all the same."""
    asked: list[int] = []

    def policy(view: View) -> Decision:
        asked.append(len(view.jobs))
        return Decision([Placement(int(view.jobs[0]), 0, 1)])

    result = simulate(fixed([0, 100], [1, 1], [1, 1]), ONE, policy)
    assert asked == [1, 1]
    assert list(result.decisions.active) == [1, 0, 1]


def test_no_change_changes_nothing_of_a_plan_that_is_under_way() -> None:
    """Two servers decide on the same state; the second, told of no news, has nothing to add."""

    def policy(view: View) -> Decision:
        if not view.changed:
            return NO_CHANGE
        return Decision([Placement(j, 0, 1) for j in view.jobs.tolist()])

    result = simulate(
        fixed([0, 0], [30, 30], [1, 1]),
        Cluster.of_nodes(NodeType("two", "GPU", 2), 1),
        policy,
        server=ServerSpec(Deterministic(10.0), servers=2),
    )
    assert result.first_start_s.tolist() == [10, 10]
    assert result.preemptions.sum() == 0


def test_the_order_in_which_shares_are_named_does_not_matter() -> None:
    turn = [0]

    def policy(view: View) -> Decision:
        turn[0] += 1
        shares = [Placement(0, 0, 2), Placement(0, 1, 2)]
        return Decision(shares[:: (-1) ** turn[0]])

    result = simulate(
        fixed([0], [100], [4]),
        Cluster.of_nodes(NodeType("n", "GPU", 2), 2),
        policy,
        decision_points=DecisionPoints(period_s=10),
        features=[Delays.of(5)],
    )
    assert result.completion_s.tolist() == [100]
    assert result.reconfigurations.tolist() == [0]


def test_decisions_at_arrivals_alone_are_enough_without_a_queue() -> None:
    result = simulate(
        elastic(3, 10.0),
        Cluster.rental_pool(),
        lambda view: Decision([Placement(j, 0, 4.0) for j in view.waiting], keep_running=True),
        decision_points=DecisionPoints(on_completion=False),
    )
    assert result.completion_s.tolist() == [5, 6, 7]


def test_preempted_at_every_tick_on_a_clock_of_1e9_s() -> None:
    """Rounding of the clock (1e-7 s there) neither loses nor adds work."""
    rng = np.random.default_rng(0)
    submit_s = 1e9 + np.cumsum(rng.exponential(1.0, 150))
    workload = fixed(submit_s.tolist(), rng.exponential(0.9, 150).tolist(), [1] * 150)
    result = simulate(workload, ONE, srtf, decision_points=DecisionPoints(period_s=0.1))
    worked = workload.performance.work_gpu_s(ONE)
    np.testing.assert_allclose(result.gpu_seconds, worked, atol=1e-5)
    assert result.preemptions.sum() > 20


@pytest.mark.parametrize("rounds", [6, 13, 59])
def test_rounding_costs_no_round(rounds: int) -> None:
    """Two jobs of so many rounds each take turns: both are done after twice as many."""
    turn = [0]

    def policy(view: View) -> Decision:
        turn[0] += 1
        jobs = view.jobs.tolist()
        return Decision([Placement(jobs[turn[0] % len(jobs)], 0, 1)])

    result = simulate(
        fixed([0, 0], [300 * rounds] * 2, [1, 1]),
        ONE,
        policy,
        decision_points=DecisionPoints.rounds(300),
    )
    assert sorted(result.completion_s) == [300 * (2 * rounds - 1), 300 * 2 * rounds]


def test_reconfiguration_longer_than_the_work_left_and_interrupted() -> None:
    result = simulate(
        fixed([0, 4, 5, 6], [10, 3, 2, 1], [1] * 4),
        ONE,
        lambda view: Decision([Placement(int(view.jobs[-1]), 0, 1)]),
        features=[Delays.of(50)],
    )
    assert result.completion_s.tolist() == [166, 110, 58, 7]
    assert result.gpu_seconds.tolist() == [60, 53, 52, 1]


def test_moved_before_every_end_of_reconfiguration_is_noticed() -> None:
    """Two jobs take turns in every round, and a round is shorter than the reconfiguration."""
    turn = [0]

    def policy(view: View) -> Decision:
        turn[0] += 1
        return Decision([Placement(turn[0] % 2, 0, 1)])

    with pytest.raises(InfeasibleDecision, match="none of 2 jobs got on with its work"):
        simulate(
            fixed([0, 0], [1000, 1000], [1, 1]),
            ONE,
            policy,
            decision_points=DecisionPoints.rounds(300),
            features=[Delays.of(400)],
        )


def test_a_reconfiguration_of_many_periods_is_waited_for() -> None:
    def policy(view: View) -> Decision:
        first = 1 if view.now_s in (1, 2) else 0
        return Decision([Placement(first, 0, 1)] if first in view.jobs else [Placement(0, 0, 1)])

    result = simulate(
        fixed([0, 0], [10, 1], [1, 1]),
        ONE,
        policy,
        decision_points=DecisionPoints.rounds(1),
        features=[Delays.of(2.5 * IDLE_TICKS)],
    )
    assert result.completion_s.tolist() == [2 + 2.5 * IDLE_TICKS + 9, 2]


def test_the_check_does_not_look_at_all_that_runs_on_a_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """500 jobs run side by side; each decision looks at the one new share."""
    looked = [0]
    add = feasibility._add

    def counted(*arguments: Any) -> None:
        looked[0] += 1
        add(*arguments)

    monkeypatch.setattr(feasibility, "_add", counted)
    result = simulate(
        elastic(500, 1e6),
        Cluster.rental_pool(1.0),
        lambda view: Decision([Placement(j, 0, 1.5) for j in view.waiting], keep_running=True),
    )
    assert looked[0] == 500
    assert result.meters.leasing_cost == pytest.approx(500 * 1.5 * 1e6 / 1.5**0.5 / 3600)


@pytest.mark.parametrize(("answer", "kind"), [(None, "NoneType"), ([Placement(0, 0, 1)], "list")])
def test_an_answer_that_is_no_decision(answer: object, kind: str) -> None:
    with pytest.raises(InfeasibleDecision, match=f"answered with {kind}, expected a Decision"):
        simulate(fixed([0], [1], [1]), ONE, lambda view: answer)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("cluster", [ONE, Cluster.rental_pool()])
@pytest.mark.parametrize("what", ["gpus", "cpus", "memory_gb"])
def test_infinite_shares_are_refused(cluster: Cluster, what: str) -> None:
    share = Placement(0, 0, 1)._replace(**{what: math.inf})
    with pytest.raises(InfeasibleDecision, match=r"gives job 0 .*inf"):
        simulate(elastic(1, 1.0), cluster, lambda view: Decision([share]))


def test_server_of_no_use() -> None:
    with pytest.raises(InputError, match="0 servers, expected at least 1"):
        ServerSpec("measured", servers=0)
    with pytest.raises(InputError, match="service takes nan s"):
        simulate(
            fixed([0], [1], [1]),
            ONE,
            make_policy("fifo-strict"),
            server=ServerSpec(lambda rng: math.nan),
        )


def test_facts_named_like_a_column_of_the_table_are_kept_beside_it() -> None:
    share = Placement(0, 0, 1)
    result = simulate(
        fixed([0], [1], [1]), ONE, lambda view: Decision([share], info={"active": 7, "gap": 0.5})
    )
    row = result.decisions_table().iloc[0]
    assert (row["active"], row["active_told"], row["gap"]) == (1, 7, 0.5)


def test_several_servers_never_preempt_for_a_policy_that_does_not() -> None:
    rng = np.random.default_rng(1)
    count = 300
    workload = fixed(
        np.cumsum(rng.exponential(5, count)).tolist(),
        rng.exponential(15, count).tolist(),
        rng.integers(1, 3, count).tolist(),
    )
    result = simulate(
        workload,
        Cluster.of_nodes(NodeType("n", "GPU", 4), 2),
        make_policy("fifo-strict"),
        server=ServerSpec(Exponential(20.0), servers=3),
    )
    assert result.preemptions.sum() == 0
