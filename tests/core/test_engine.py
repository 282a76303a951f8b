"""The engine against schedules and costs worked out by hand."""

import math

import numpy as np
import pytest

from experiments.scenario.run import summarise
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    ServerSpec,
    SpeedupCurve,
    TimeTable,
    View,
    Workload,
)
from simulator.core.wake_ups import IDLE_TICKS
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from simulator.model import feasibility
from tests.core.jobs import fixed, nodes, run

ONE_GPU = NodeType("one", "GPU", 1)


def latest_first(view: View) -> Decision:
    """One GPU, preemptive, the youngest job runs."""
    return Decision([Placement(int(view.jobs[-1]), 0, 1)])


@pytest.mark.parametrize("delay_s", [0, 2])
def test_preemption_keeps_progress_and_a_delay_comes_on_top(delay_s):
    result = run(fixed([0, 4], [10, 3]), nodes(), latest_first, Delays.of(delay_s))
    assert result.completion_s.tolist() == pytest.approx([13 + delay_s, 7])
    assert result.preemptions.tolist() == [1, 0]
    assert result.gpu_seconds.tolist() == pytest.approx([10 + delay_s, 3])
    shares = [(r.job, r.start_s, r.end_s) for r in result.schedule or ()]
    assert shares == [(0, 0, 4), (1, 4, 7), (0, 7, 13 + delay_s)]


def test_vm_is_paid_while_it_is_open_and_its_type_sets_the_pace():
    """Two types; a job starts on the slow one and moves to the fast one at the next arrival; two VMs stay closed."""
    slow = NodeType("slow", "A", 1, price_per_hour=1.0)
    fast = NodeType("fast", "B", 2, price_per_hour=10.0)
    times = np.full((2, 2, 3), math.inf)
    times[:, 0, 1], times[:, 1, 1], times[:, 1, 2] = 7200.0, 3600.0, 1800.0
    columns = {"due_s": [3600, math.inf], "weight_per_s": [0.01, 0]}
    workload = Workload(["a", "b"], [0, 1800], TimeTable(times), **columns)

    def policy(view: View) -> Decision:
        if view.now_s < 1800:
            return Decision([Placement(0, 0, 1, node_type=0)])
        return Decision([Placement(j, 0, 1, node_type=1) for j in view.jobs.tolist()])

    result = run(workload, Cluster.of_vms([slow, fast], 3), policy)
    # a: a quarter done by 1800 s, the rest at 1/3600 -> 1800 + 2700; b alone until 5400.
    assert result.completion_s.tolist() == pytest.approx([4500, 5400])
    assert result.meters.leasing_cost == pytest.approx(1.0 * 0.5 + 10.0 * 1.0)
    assert result.tardiness_cost == pytest.approx(900 * 0.01)
    assert result.total_cost == pytest.approx(10.5 + 9)
    assert result.meters.open_gpu_seconds == 1800 + 2 * 3600
    assert result.summary()["gpu_utilisation"] == pytest.approx((4500 + 3600) / (1800 + 2 * 3600))


def test_pool_gives_real_valued_gpus_and_is_paid_by_the_gpu():
    size, curve = np.array([3600.0, 3600.0]), np.array([0, 0])
    workload = Workload(["a", "b"], [0, 0], SpeedupCurve(size, curve, [math.sqrt]))

    def policy(view: View) -> Decision:
        return Decision([Placement(j, 0, 2.25) for j in view.waiting], keep_running=True)

    result = run(workload, Cluster.rental_pool(4.0), policy)
    assert result.completion_s.tolist() == pytest.approx([2400, 2400])
    assert result.meters.leasing_cost == pytest.approx(2 * 2.25 * 4.0 * 2400 / 3600)


def test_late_decision_is_applied_to_what_still_exists():
    """Decided at 0 for one job, in force at 5; at 4 another came, decided after it."""

    def policy(view: View) -> Decision:
        return Decision([Placement(int(j), 0, 1) for j in view.jobs.tolist()[:2]])

    result = run(fixed([0, 4], [3, 3]), nodes(2), policy, server_s=5)
    assert result.first_start_s.tolist() == pytest.approx([5, 10])
    assert result.completion_s.tolist() == pytest.approx([8, 13])
    assert result.server_wait_s.tolist() == pytest.approx([0, 1, 2])
    assert result.server_response_s.tolist() == pytest.approx([5, 6, 7])


def test_measured_service_takes_the_policy_s_cpu_time():
    def slow(view: View) -> Decision:
        sum(range(200_000))
        return Decision([Placement(int(view.jobs[0]), 0, 1)])

    result = run(fixed([0], [10]), nodes(), slow, server=ServerSpec(service="measured"))
    assert 1e-4 < result.first_start_s[0] == result.decisions.cpu_s[0]


# -- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Cluster.of_nodes(ONE_GPU, 5, 2), "2 controllers for 5 nodes"),
        (lambda: Cluster.of_nodes(ONE_GPU, 0), "num_nodes is 0, expected a whole number >= 1"),
        (lambda: Cluster.of_vms([], 1), "no node types"),
        (lambda: NodeType("n", "G", 0), "gpus is 0"),
        (lambda: NodeType("n", "G", 2.5), "gpus is 2.5, expected a whole number"),
        (lambda: NodeType("n", "G", 1, power_w=(1.0, math.nan)), "power_w is"),
        (lambda: Cluster((ONE_GPU,), 1, pue=math.nan), "pue is nan"),
        (lambda: NodeType("n", "G", 1, price_per_hour=-1), "price_per_hour is -1"),
        (lambda: NodeType("n", "G", 2, power_w=(1.0,)), "power_w has 1 values"),
        (lambda: fixed([], []), "no jobs"),
        (lambda: fixed([2, 1], [1, 1]), "ascending submission times"),
        (lambda: fixed([math.nan], [1]), "submit_s is nan"),
        (lambda: Workload(["a", "a"], [0, 1], _NOTHING), "job 'a' occurs twice"),
        (lambda: Workload(["a"], [5], _NOTHING, due_s=[4]), "due date after the submission"),
        (lambda: Workload(["a"], [5], _NOTHING, weight_per_s=[-1]), "weight_per_s is -1"),
        (lambda: Workload(["a"], [5, 6], _NOTHING), r"submit_s has shape \(2,\)"),
        (lambda: fixed([0], [1], [1.5]), "num_gpus of job 0 is 1.5"),
        (lambda: fixed([0], [1], [math.nan]), "num_gpus of job 0 is nan"),
        (lambda: TimeTable(np.ones((1, 1, 2)), num_gpus=[-1]), "num_gpus of job 0 is -1"),
        (lambda: fixed([0], [-1]), "duration_s of job 0 is -1"),
        (lambda: fixed([0], [math.nan]), "duration_s of job 0 is nan"),
        (lambda: fixed([0], [1], [0]), "num_gpus of job 0 is 0"),
        (lambda: SpeedupCurve(np.array([0.0]), np.array([0]), [math.sqrt]), "job 0 is 0.0"),
        (lambda: TimeTable(np.ones((2, 2))), r"shape is \(2, 2\)"),
        (lambda: TimeTable(np.full((1, 2, 3), -5.0)), "job 0 on 1 GPUs of node type 0 is -5.0 s"),
    ],
)  # fmt: skip
def test_bad_data_is_one_line(make, complaint):
    with pytest.raises(InputError, match=complaint):
        make()


_NOTHING = FixedDuration(np.array([1.0, 1.0]), np.array([1, 1]))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"decision_points": DecisionPoints(round_s=5.0, round_ends="last-finisher"), "server": ServerSpec(service=Deterministic(1.0))}, "expected no optimization server"),
        ({"decision_points": DecisionPoints(least_gap_s=5.0), "server": ServerSpec(service=Deterministic(1.0))}, "both least_gap_s"),
        ({"seed": -1}, "seed is -1"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_line(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        run(fixed([0], [1]), nodes(), latest_first, *arguments.pop("features", ()), **arguments)


# -- where a plausible mistake would change little ---------------------------------------------


def test_a_job_never_runs_where_it_has_no_time():
    """Also where decisions are not checked: it would run for ever."""
    jobs = Workload(["a"], np.zeros(1), TimeTable(np.array([[[np.inf, 5.0, np.inf]]])))
    with pytest.raises(InfeasibleDecision, match="job a cannot run on 2 GPUs of n"):
        run(jobs, nodes(2), lambda view: Decision([Placement(0, 0, 2)]), check=False)


@pytest.mark.parametrize(("duration_s", "end_s"), [(60.0, 60.0), (60.5, 120.0), (100.0, 120.0)])
def test_jobs_may_end_at_ticks_only(duration_s, end_s):
    """Rounds of a minute: a job that fills its rounds ends with them, any other at the next tick."""
    points = DecisionPoints(round_s=60.0, finish_at_round=True)
    result = run(fixed([0], [duration_s]), nodes(), decision_points=points)
    assert result.completion_s.tolist() == [end_s]


class SecondsForEachGb(FixedDuration):
    """As many seconds as a job has CPUs and GB."""

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        return cpus + memory_gb


def test_a_job_on_two_nodes_has_what_it_gets_on_both():
    gpus = np.array([2])
    jobs = Workload(["a"], np.zeros(1), SecondsForEachGb(np.ones(1), gpus))
    both = Decision([Placement(0, 0, 1, -1, 1, 3), Placement(0, 1, 1, -1, 2, 4)])
    result = run(jobs, nodes(1, 2, cpus=8, memory_gb=8), lambda view: both, check=False)
    assert result.completion_s.tolist() == [10.0]


def decisions_of(coalesce: bool) -> list[tuple[float, int]]:
    """Time and controller of each decision; two controllers, one server of 10 s, four arrivals."""
    server = ServerSpec(service=Deterministic(10), servers=1, coalesce=coalesce)
    log = run(fixed([0, 1, 2, 3], [1000] * 4), nodes(1, 2, 2), server=server).decisions
    return [(t, k) for t, k in zip(log.time_s, log.controller, strict=True) if t < 100]


def test_requests_of_one_controller_are_coalesced_never_those_of_two():
    # Jobs 0 and 2 are controller 0's. Its request of 2 s finds the one of 0 s in service, so it
    # queues; controller 1 asks at 1 s and queues too; its request of 3 s joins that one.
    assert decisions_of(coalesce=True) == [(0, 0), (10, 1), (20, 0)]
    assert decisions_of(coalesce=False) == [(0, 0), (10, 1), (20, 0), (30, 1)]


def test_as_many_requests_are_served_at_once_as_there_are_servers():
    """Three controllers ask at once, two servers take 10 s each: the third request waits."""
    result = run(fixed([0, 0, 0], [100] * 3), nodes(1, 3, 3), server_s=10, servers=2)
    assert result.server_wait_s.tolist()[:3] == [0, 0, 10]
    assert result.server_response_s.tolist()[:3] == [10, 10, 20]


def test_a_job_that_ends_on_its_due_date_is_in_time():
    result = run(fixed([0, 0], [10, 10], due_s=[10, 9.5], weight_per_s=[1, 2]), nodes(1, 2))
    assert result.summary()["late_jobs"] == 1
    assert result.tardiness_cost == 1.0


def test_quantiles_are_those_of_their_names():
    """101 jobs, each alone on a node of its own: completion times of 1, 2, .., 101 s."""
    result = run(fixed([0] * 101, range(1, 102)), nodes(1, 101))
    summary = summarise(result)
    assert [summary[f"p{q}_jct_s"] for q in (50, 95, 99)] == pytest.approx([51, 96, 100])
    assert summarise(result, (0, 51))["p50_jct_s"] == pytest.approx(26)


def test_quantiles_of_waits_and_slowdowns_are_those_of_their_names():
    """101 jobs of 1 s one after another: waits of 0, 1, .., 100 s, slowdowns of 1, 2, .., 101."""
    found = run(fixed([0] * 101, [1] * 101), nodes()).summary()
    assert [found[f"p{q}_wait_s"] for q in (95, 99)] == pytest.approx([95, 99])
    assert [found[f"p{q}_slowdown"] for q in (95, 99)] == pytest.approx([96, 100])
    assert [found["mean_wait_s"], found["mean_slowdown"]] == pytest.approx([50, 51])


# -- empty queues, rounding at large clocks, answers of no use ---------------------------------


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

    with pytest.raises(InfeasibleDecision, match=f"none of 1 jobs made progress for {IDLE_TICKS}"):
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
    with pytest.raises(InputError, match="servers: got 0, expected an integer >= 1"):
        ServerSpec(service="measured", servers=0)
    for service_s in (-1.0, math.inf, math.nan):
        with pytest.raises(InputError, match=f"service takes {service_s} s, expected >= 0"):
            run(fixed([0], [1]), nodes(), server=ServerSpec(service=lambda rng, s=service_s: s))
