"""`Decision.again_s`: one wake-up a controller, void once a newer decision is made."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    InfeasibleDecision,
    NodeType,
    Placement,
    Result,
    ServerSpec,
    View,
    simulate,
)
from simulator.core.wake_ups import IDLE_TICKS
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from simulator.model.contract import NO_CHANGE
from tests.core.jobs import fixed

ONE_GPU = NodeType("server", "GPU", 1)


def first_come(view: View) -> list[Placement]:
    """The first job on the only GPU of each of the controller's nodes."""
    return [
        Placement(int(job), int(node), 1) for job, node in zip(view.jobs, view.nodes, strict=False)
    ]


def times(result: Result) -> list[float]:
    return list(result.decisions.time_s)


def asks(again_s: float) -> Callable[[View], Decision]:
    return lambda view: Decision(first_come(view), again_s=again_s)


def test_it_is_asked_again_until_a_newer_decision_is_made() -> None:
    """Wake-ups at 4 and 8; the arrival at 9 voids the one at 12 and begins anew: 13, 17."""
    jobs = fixed([0, 9], [10, 10], [1, 1])
    result = simulate(jobs, Cluster.of_nodes(ONE_GPU, 1), asks(4.0))
    # The completions at 10 and 20 are decision points as well; nothing is left to ask about at 20.
    assert times(result) == [0, 4, 8, 9, 10, 14, 18]
    table = result.decisions_table()
    assert table["again_s"].tolist() == [4.0] * 7
    assert result.completion_s.tolist() == [10, 20]


def test_nobody_is_asked_who_does_not_ask() -> None:
    """Runs without wake-ups have the columns and the rows that they always had."""
    jobs = fixed([0, 9], [10, 10], [1, 1])
    result = simulate(jobs, Cluster.of_nodes(ONE_GPU, 1), lambda view: Decision(first_come(view)))
    assert times(result) == [0, 9, 10]
    assert "again_s" not in result.decisions_table()


def test_only_the_last_request_counts() -> None:
    """The wake-up of the decision at 0 (due at 5) is void after the one of 2, which asks none."""

    def policy(view: View) -> Decision:
        return Decision(first_come(view), again_s=5.0 if view.now_s == 0 else None)

    result = simulate(fixed([0, 2], [10, 10], [1, 1]), Cluster.of_nodes(ONE_GPU, 1), policy)
    assert times(result) == [0, 2, 10]
    table = result.decisions_table()["again_s"]
    assert table[0] == 5
    assert table[1:].isna().all()


def test_a_later_wake_up_replaces_an_earlier_one_and_an_earlier_one_a_later() -> None:
    """Asked at 0 for 100, at 1 for 101 - 1 = 100 later, at 2 for 3 s: it comes at 5 alone."""
    wants = {0.0: 50.0, 1.0: 100.0, 2.0: 3.0}

    def policy(view: View) -> Decision:
        return Decision(first_come(view), again_s=wants.get(view.now_s))

    result = simulate(fixed([0, 1, 2], [9, 9, 9], [1, 1, 1]), Cluster.of_nodes(ONE_GPU, 1), policy)
    assert times(result) == [0, 1, 2, 5, 9, 18]


def test_no_change_can_ask_as_well() -> None:
    """A policy that leaves everything as it is may want to look again."""

    def policy(view: View) -> Decision:
        if view.running:
            return Decision(keep_running=True, again_s=3.0) if view.now_s < 6 else NO_CHANGE
        return Decision(first_come(view), keep_running=True, again_s=3.0)

    result = simulate(fixed([0], [10], [1]), Cluster.of_nodes(ONE_GPU, 1), policy)
    assert times(result) == [0, 3, 6]


def test_at_one_instant_there_is_one_decision() -> None:
    """An arrival, a completion and a wake-up of the same instant lead to one decision after all."""
    seen: list[tuple[float, list[int]]] = []

    def policy(view: View) -> Decision:
        seen.append((view.now_s, view.jobs.tolist()))
        return Decision(first_come(view), again_s=10.0)

    simulate(fixed([0, 10], [10, 5], [1, 1]), Cluster.of_nodes(ONE_GPU, 1), policy)
    assert seen == [(0.0, [0]), (10.0, [1])]


def test_each_controller_has_its_own() -> None:
    """Jobs go to the controllers in turn; the second's decision does not void the first's."""
    cluster = Cluster.of_nodes(ONE_GPU, 2, num_controllers=2)
    result = simulate(fixed([0, 1], [10, 10], [1, 1]), cluster, asks(4.0))
    log = result.decisions
    of = [[t for t, k in zip(log.time_s, log.controller, strict=True) if k == i] for i in (0, 1)]
    assert of == [[0, 4, 8], [1, 5, 9]]


def test_an_optimization_server_counts_from_when_the_decision_comes_into_force() -> None:
    """Service takes 2 s: decided at 0, in force at 2, asked again at 2 + 4 = 6, and so on."""
    server = ServerSpec(Deterministic(2.0))
    result = simulate(fixed([0], [20], [1]), Cluster.of_nodes(ONE_GPU, 1), asks(4.0), server=server)
    assert times(result) == [0, 6, 12, 18]
    assert result.completion_s.tolist() == [22]


@pytest.mark.parametrize(
    ("submit_s", "service_s", "decided_s"),
    [
        # In force at 3, so asked again at 8; but job 2 asks at 5 and is served at 7: void.
        ([0, 4, 5], 3.0, [0, 7]),
        # In force at 6, so asked again at 11, while job 2's request of 2 waits until 12: one.
        ([0, 1, 2], 6.0, [0, 12]),
    ],
)
def test_a_wake_up_beside_a_request_is_no_second_one(
    submit_s: list[float], service_s: float, decided_s: list[float]
) -> None:
    """The one server is busy with the other controller, whose job is the second."""

    def policy(view: View) -> Decision:
        wants = view.controller == 0 and view.now_s == 0
        return Decision(first_come(view), again_s=5.0 if wants else None)

    result = simulate(
        fixed(submit_s, [30, 30, 30], [1, 1, 1]),
        Cluster.of_nodes(ONE_GPU, 2, num_controllers=2),
        policy,
        server=ServerSpec(Deterministic(service_s)),
    )
    mine = [t for t, k in zip(times(result), result.decisions.controller, strict=True) if k == 0]
    assert [t for t in mine if t < 20] == decided_s


def test_a_plan_overtaken_by_a_newer_one_wakes_nobody() -> None:
    """Two servers: the decision made at 1 is in force before that of 0, whose wake-up is void."""
    services = iter([10.0, 2.0, *[0.0] * 50])

    def policy(view: View) -> Decision:
        return Decision(first_come(view), again_s=1.0 if view.now_s == 0 else None)

    result = simulate(
        fixed([0, 1], [30, 30], [1, 1]),
        Cluster.of_nodes(ONE_GPU, 1),
        policy,
        server=ServerSpec(lambda rng: next(services), servers=2),
    )
    assert times(result) == [0, 1, 33]


def test_rounds_are_the_cluster_s() -> None:
    """A cluster that decides in rounds only is not asked in between."""
    points = DecisionPoints.rounds(6.0)
    cluster = Cluster.of_nodes(ONE_GPU, 1)
    result = simulate(fixed([0], [10], [1]), cluster, asks(1.0), decision_points=points)
    assert times(result) == [0, 6]
    assert "again_s" not in result.decisions_table()


def test_with_periods_both_count() -> None:
    points = DecisionPoints(period_s=5.0)
    cluster = Cluster.of_nodes(ONE_GPU, 1)
    result = simulate(fixed([0], [10], [1]), cluster, asks(4.0), decision_points=points)
    assert times(result) == [0, 4, 5, 9]


@pytest.mark.parametrize("again_s", [0.0, -1.0, 1e-4, math.nan, math.inf, "1", True])
def test_what_is_no_number_of_seconds(again_s: object) -> None:
    cluster = Cluster.of_nodes(ONE_GPU, 1)
    with pytest.raises(InfeasibleDecision, match=r"again_s .*, expected at least 0\.001 seconds"):
        simulate(fixed([0], [10], [1]), cluster, asks(again_s))  # type: ignore[arg-type]


def test_numpy_s_seconds_will_do() -> None:
    cluster = Cluster.of_nodes(ONE_GPU, 1)
    result = simulate(fixed([0], [10], [1]), cluster, asks(np.float64(6)))
    assert times(result) == [0, 6]


def test_a_policy_that_only_wakes_up_is_stopped() -> None:
    """It runs no job and asks for ever."""
    cluster = Cluster.of_nodes(ONE_GPU, 1)
    with pytest.raises(InfeasibleDecision, match=f"for {IDLE_TICKS} wake-ups"):
        simulate(fixed([0], [10], [1]), cluster, lambda view: Decision(again_s=1.0))


def test_a_job_that_is_moved_at_each_wake_up_is_stopped() -> None:
    """Every reconfiguration begins before the last one ended, so no work is ever done."""
    cluster = Cluster.of_nodes(ONE_GPU, 2)

    def policy(view: View) -> Decision:
        now = view.running.get(0)
        node = 1 - now[0].node if now else 0
        return Decision([Placement(0, node, 1)], again_s=1.0)

    with pytest.raises(InfeasibleDecision, match="wake-ups"):
        simulate(fixed([0], [10], [1]), cluster, policy, features=[Delays.of(100.0)])


def test_a_reconfiguration_of_many_wake_ups_is_waited_for() -> None:
    """A job that is left alone is not idle, however often its policy looks at it."""
    seconds = 2.5 * IDLE_TICKS

    def policy(view: View) -> Decision:
        node = 0 if view.now_s < 2 else 1
        return Decision([Placement(0, node, 1)], again_s=1.0)

    cluster = Cluster.of_nodes(ONE_GPU, 2)
    result = simulate(fixed([0], [10], [1]), cluster, policy, features=[Delays.of(seconds)])
    assert result.completion_s.tolist() == [2 + seconds + 8]


def test_so_long_after_the_last_decision_whatever_made_it():
    from policies.registry import make_policy
    from simulator import FixedDuration, InputError, Workload

    jobs = Workload(
        ["a", "b"], [0.0, 35.0], FixedDuration(np.array([100.0, 20.0]), np.array([1, 1])),
        num_gpus=np.array([1, 1]),
    )  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "V", 1), 1)
    points = DecisionPoints(since_last_s=30.0)
    result = simulate(jobs, cluster, make_policy("fifo-strict"), decision_points=points)
    # 0 and 35: arrivals; 100: a completion; the others 30 s after the one before.
    assert list(result.decisions.time_s) == [0, 30, 35, 65, 95, 100]
    with pytest.raises(InputError, match=r"period is 0\.0 s"):
        simulate(jobs, cluster, make_policy("fifo-strict"),
                 decision_points=DecisionPoints(since_last_s=0.0))  # fmt: skip


def test_no_decision_sooner_than_the_least_gap_after_the_last():
    from policies.registry import make_policy
    from simulator import FixedDuration, Workload

    jobs = Workload(
        ["a", "b", "c"], [0.0, 10.0, 100.0], FixedDuration(np.full(3, 20.0), np.ones(3, dtype=int)),
        num_gpus=np.ones(3, dtype=int),
    )  # fmt: skip
    points = DecisionPoints(least_gap_s=60.0)
    result = simulate(jobs, Cluster.of_nodes(NodeType("n", "V", 1), 3), make_policy("fifo-strict"),
                      decision_points=points)  # fmt: skip
    # b waits from 10 to 60; c, which comes 40 s after that, until 120.
    assert result.completion_s.tolist() == [20.0, 80.0, 140.0]
