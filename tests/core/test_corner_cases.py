"""Corners of the engine: empty queues, rounding at large clocks, answers of no use."""

import math

import numpy as np
import pytest

from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    InfeasibleDecision,
    InputError,
    Placement,
    ServerSpec,
    SpeedupCurve,
    View,
    Workload,
)
from simulator.core.wake_ups import IDLE_TICKS
from simulator.features.reconfiguration import Delays
from simulator.model import feasibility
from tests.core.jobs import fixed, nodes, run


def elastic(count: int, duration_s: float) -> Workload:
    times = SpeedupCurve(np.full(count, duration_s), np.zeros(count, dtype=int), [math.sqrt])
    return Workload([str(j) for j in range(count)], np.arange(count), times)


def srtf(view: View) -> Decision:
    """One GPU, preemptive, the shortest remaining time runs."""
    duration_s = view.workload.performance.work_gpu_s(view.cluster)
    first = int(np.argmin(view.remaining * duration_s[view.jobs]))
    return Decision([Placement(int(view.jobs[first]), 0, 1)])


def test_a_policy_is_not_asked_about_nothing():
    """Between two jobs the queue is empty; the completion is a decision point all the same, the last one is none."""
    asked: list[int] = []

    def policy(view: View) -> Decision:
        asked.append(len(view.jobs))
        return Decision([Placement(int(view.jobs[0]), 0, 1)])

    result = run(fixed([0, 100], [1, 1]), nodes(), policy)
    assert asked == [1, 1]
    assert list(result.decisions.time_s) == [0, 1, 100]
    assert list(result.decisions.active) == [1, 0, 1]


def test_decisions_at_arrivals_alone_are_enough_without_a_queue():
    def policy(view: View) -> Decision:
        return Decision([Placement(j, 0, 4.0) for j in view.waiting], keep_running=True)

    points = DecisionPoints(on_completion=False)
    result = run(elastic(3, 10.0), Cluster.rental_pool(), policy, decision_points=points)
    assert result.completion_s.tolist() == [5, 6, 7]


def test_preempted_at_every_tick_on_a_clock_of_1e9_s():
    """Rounding of the clock (1e-7 s there) neither loses nor adds work."""
    rng = np.random.default_rng(0)
    submit_s = 1e9 + np.cumsum(rng.exponential(1.0, 150))
    workload = fixed(submit_s.tolist(), rng.exponential(0.9, 150).tolist())
    result = run(workload, nodes(), srtf, period_s=0.1)
    worked = workload.performance.work_gpu_s(nodes())
    np.testing.assert_allclose(result.gpu_seconds, worked, atol=1e-5)
    assert result.preemptions.sum() > 20


@pytest.mark.parametrize("rounds", [6, 13, 59])
def test_rounding_costs_no_round(rounds):
    """Two jobs of so many rounds each take turns: both are done after twice as many."""
    turn = [0]

    def policy(view: View) -> Decision:
        turn[0] += 1
        jobs = view.jobs.tolist()
        return Decision([Placement(jobs[turn[0] % len(jobs)], 0, 1)])

    result = run(fixed([0, 0], [300 * rounds] * 2), nodes(), policy, round_s=300)
    assert sorted(result.completion_s) == [300 * (2 * rounds - 1), 300 * 2 * rounds]


def test_reconfiguration_longer_than_the_work_left_and_interrupted():
    result = run(
        fixed([0, 4, 5, 6], [10, 3, 2, 1]),
        nodes(),
        lambda view: Decision([Placement(int(view.jobs[-1]), 0, 1)]),
        Delays.of(50),
    )
    assert result.completion_s.tolist() == [166, 110, 58, 7]
    assert result.gpu_seconds.tolist() == [60, 53, 52, 1]


@pytest.mark.parametrize(("round_s", "again_s"), [(1, None), (None, 1.0)], ids=["round", "wake-up"])
def test_a_reconfiguration_of_many_decisions_is_waited_for(round_s, again_s):
    """A job that moves once and is then left alone is not idle, however often its policy looks at it."""
    seconds = 2.5 * IDLE_TICKS

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 0 if view.now_s < 2 else 1, 1)], again_s=again_s)

    result = run(fixed([0], [10]), nodes(1, 2), policy, Delays.of(seconds), round_s=round_s)
    assert result.completion_s.tolist() == [2 + seconds + 8]


@pytest.mark.parametrize(("round_s", "again_s"), [(1, None), (None, 1.0)], ids=["round", "wake-up"])
def test_a_job_that_is_moved_at_each_decision_is_stopped(round_s, again_s):
    """Every reconfiguration begins before the last one ended, so no work is ever done."""

    def policy(view: View) -> Decision:
        return Decision([Placement(0, int(view.now_s) % 2, 1)], again_s=again_s)

    with pytest.raises(InfeasibleDecision, match=f"none of 1 jobs got on .* for {IDLE_TICKS}"):
        run(fixed([0], [10]), nodes(1, 2), policy, Delays.of(100.0), round_s=round_s)


def test_the_check_does_not_look_at_all_that_runs_on_a_pool(monkeypatch):
    """500 jobs run side by side; each decision looks at the one new share."""
    looked = [0]
    add = feasibility._add

    def counted(*arguments: object) -> None:
        looked[0] += 1
        add(*arguments)

    def policy(view: View) -> Decision:
        return Decision([Placement(j, 0, 1.5) for j in view.waiting], keep_running=True)

    monkeypatch.setattr(feasibility, "_add", counted)
    result = run(elastic(500, 1e6), Cluster.rental_pool(1.0), policy)
    assert looked[0] == 500
    assert result.meters.leasing_cost == pytest.approx(500 * 1.5 * 1e6 / 1.5**0.5 / 3600)


@pytest.mark.parametrize(("answer", "kind"), [(None, "NoneType"), ([Placement(0, 0, 1)], "list")])
def test_an_answer_that_is_no_decision(answer, kind):
    with pytest.raises(InfeasibleDecision, match=f"answered with {kind}, expected a Decision"):
        run(fixed([0], [1]), nodes(), lambda view: answer)


@pytest.mark.parametrize("cluster", [nodes(), Cluster.rental_pool()])
@pytest.mark.parametrize("what", ["gpus", "cpus", "memory_gb"])
def test_infinite_shares_are_refused(cluster, what):
    share = Placement(0, 0, 1)._replace(**{what: math.inf})
    with pytest.raises(InfeasibleDecision, match=r"gives job 0 .*inf"):
        run(elastic(1, 1.0), cluster, lambda view: Decision([share]))


def test_server_of_no_use():
    with pytest.raises(InputError, match="0 servers, expected at least 1"):
        ServerSpec("measured", servers=0)
    for service_s in (-1.0, math.inf, math.nan):
        with pytest.raises(InputError, match=f"service takes {service_s} s, expected >= 0"):
            run(fixed([0], [1]), nodes(), server=ServerSpec(lambda rng, s=service_s: s))
