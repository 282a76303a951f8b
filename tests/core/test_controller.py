"""A controller in cases that are done on paper: what it asks, checks, remembers and starts anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

from policies import make_policy
from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    NodeType,
    Placement,
    ServerSpec,
    View,
    Workload,
    simulate,
)
from simulator.core import wake_ups
from simulator.features.fractional import SharedDuration
from simulator.features.network import network_of
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from simulator.model.performance import Sensitivity, SensitivityMatrix
from tests.core.jobs import fixed

TWO_CPUS = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=2), 1)


# -- decisions ------------------------------------------------------------------------------------


def at_5(decision: Decision) -> object:
    """Job 0 has both CPUs of the node from 0 s; at 5 s this decision is made, then all goes on."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(0, 0, 1, cpus=2)])
        if view.now_s == 5:
            return decision
        return NO_CHANGE if view.running else Decision([Placement(0, 0, 1, cpus=2)])

    return policy


def test_what_stops_leaves_its_cpus_to_what_starts() -> None:
    """Job 1 takes the CPUs of job 0 at 5 s, for 3 s; then job 0 has 5 s left. Placements by job are as good."""
    policy = at_5(Decision({1: (Placement(1, 0, 1, cpus=2),)}, info={"bound": 7}))
    result = simulate(fixed([0, 5], [10, 3], [1, 1]), TWO_CPUS, policy)  # type: ignore[arg-type]
    assert result.completion_s.tolist() == [13, 8]
    assert result.preemptions.tolist() == [1, 0]
    assert result.reconfigurations.tolist() == [0, 0]
    assert result.decisions_table()["bound"].tolist()[1] == 7
    assert math.isnan(result.decisions_table()["bound"].tolist()[0])


def test_a_change_that_overdraws_a_node_is_refused() -> None:
    policy = at_5(Decision([Placement(1, 0, 1, cpus=2)], keep_running=True))
    with pytest.raises(InfeasibleDecision, match="policy policy at 5 s: node 0: 4 CPUs used of 2"):
        simulate(fixed([0, 5], [10, 3], [1, 1]), TWO_CPUS, policy)  # type: ignore[arg-type]


def test_an_order_of_nodes_is_no_move() -> None:
    """The same two shares named in another order leave the job as it is."""
    shares = [Placement(0, 0, 1), Placement(0, 1, 1)]

    def policy(view: View) -> Decision:
        return Decision(shares if view.now_s < 5 else shares[::-1])

    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 2)
    points = DecisionPoints(period_s=5.0)
    result = simulate(
        fixed([0], [12], [2]), cluster, policy, decision_points=points, features=[Delays.of(100.0)]
    )
    assert result.completion_s.tolist() == [12]
    assert result.reconfigurations.tolist() == [0]


def test_a_job_that_grows_to_two_nodes_is_moved() -> None:
    one, two = [Placement(0, 0, 2)], [Placement(0, 0, 1), Placement(0, 1, 1)]

    def policy(view: View) -> Decision:
        return Decision(one if view.now_s < 5 else two)

    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 2)
    points = DecisionPoints(period_s=5.0)
    result = simulate(
        fixed([0], [12], [2]), cluster, policy, decision_points=points, features=[Delays.of(100.0)]
    )
    assert result.completion_s.tolist() == [112]
    assert result.reconfigurations.tolist() == [1]


def test_those_who_are_sent_away_queue_behind_those_who_wait() -> None:
    """At 5 s jobs 0 and 1 stop for job 3, in the order in which they ran."""
    seen: list[list[int]] = []

    def policy(view: View) -> Decision:
        seen.append(list(view.waiting))
        if view.now_s < 5:
            return Decision([Placement(0, 0, 1), Placement(1, 0, 1)])
        if 3 in view.active:
            return Decision([Placement(3, 0, 2)])
        return Decision([Placement(int(j), 0, 1) for j in list(view.active)[:2]])

    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 1)
    jobs = fixed([0, 0, 1, 5], [10, 10, 10, 2], [1, 1, 1, 2])
    result = simulate(jobs, cluster, policy)
    assert seen[:4] == [[0, 1], [2], [2, 3], [2, 0, 1]]
    assert result.preemptions.tolist() == [1, 1, 0, 0]


def test_a_whole_decision_that_names_nobody_stops_everybody() -> None:
    """Job 0 stands still from 5 to 10 s."""

    def policy(view: View) -> Decision:
        return Decision([] if view.now_s == 5 else [Placement(0, 0, 1)])

    points = DecisionPoints(period_s=5.0)
    result = simulate(fixed([0], [12], [1]), TWO_CPUS, policy, decision_points=points)
    assert result.completion_s.tolist() == [17]
    assert result.preemptions.tolist() == [1]


# -- parts of GPUs --------------------------------------------------------------------------------

TWO_GPUS = Cluster.of_nodes(NodeType("n", "GPU", 2), 1)


def halves(count: int, submit_s: list[float], duration_s: list[float]) -> Workload:
    """Jobs that want half a GPU each."""
    ones = np.ones(count, dtype=np.int64)
    times = SharedDuration(np.array(duration_s), ones, part=ones * 0.5)
    return Workload([f"j{k}" for k in range(count)], submit_s, times, num_gpus=ones)


def half(job: int, gpu: int, keep_running: bool = False) -> Decision:
    return Decision([Placement(job, 0, 0.5)], keep_running, gpus_of={job: (gpu,)})


def test_a_job_that_gets_another_gpu_of_its_node_starts_anew() -> None:
    """GPU 0, still GPU 0 at 5 s, GPU 1 from 10 s: one move of 3 s."""

    def policy(view: View) -> Decision:
        return half(0, 0 if view.now_s < 10 else 1)

    result = simulate(
        halves(1, [0.0], [20.0]),
        TWO_GPUS,
        policy,
        decision_points=DecisionPoints(period_s=5.0),
        features=[Delays.of(3.0)],
    )
    assert result.reconfigurations.tolist() == [1]
    assert result.completion_s.tolist() == [23]


def test_a_gpu_that_is_held_is_not_given_again() -> None:
    """Job 0 holds half of GPU 0, so half of it is free; job 2 asks for a third half."""

    def policy(view: View) -> Decision:
        return half(int(view.now_s), 0, keep_running=True)

    jobs = halves(3, [0.0, 1.0, 2.0], [20.0] * 3)
    with pytest.raises(InfeasibleDecision, match=r"policy policy at 2 s: .*GPU 0"):
        simulate(jobs, TWO_GPUS, policy, decision_points=DecisionPoints(on_completion=False))


@pytest.mark.parametrize(("gpu", "start_s"), [(0, 130.0), (1, 12.0)])
def test_a_plan_finds_its_gpu_taken_by_another_plan(gpu: int, start_s: float) -> None:
    """Two servers take 10 s. By the first plan job 0 gets half of GPU 0. The second plan, made at 2 s,
    gives three quarters of a GPU to job 1. On GPU 0 they are not left; job 0 ends at 120 s."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return half(0, 0, True)
        if 1 not in view.waiting:
            return NO_CHANGE
        return Decision([Placement(1, 0, 0.75)], True, gpus_of={1: (gpu,)})

    ones = np.ones(2, dtype=np.int64)
    times = SharedDuration(np.array([110.0, 5.0]), ones, part=np.array([0.5, 0.75]))
    result = simulate(
        Workload(["a", "b"], [0.0, 2.0], times, num_gpus=ones),
        TWO_GPUS,
        policy,
        server=ServerSpec(Deterministic(10.0), servers=2),
    )
    assert result.first_start_s.tolist() == [10, start_s]


# -- periods and runs in which nothing moves ------------------------------------------------------


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_ups, "IDLE_TICKS", 5)


ONE = Cluster.of_nodes(NodeType("n", "GPU", 1), 1)


@pytest.mark.usefixtures("five")
def test_idling_is_counted_from_the_last_arrival() -> None:
    """Rounds of 10 s. The last job comes at 91 s, so the round of 100 s is the first that has seen
    it; those of 110 to 160 s are the first and the sixth in which nothing moved."""
    points = DecisionPoints.rounds(10.0)
    with pytest.raises(
        InfeasibleDecision,
        match=r"policy policy at 160 s: none of 2 jobs got on with its work for 5 periods$",
    ):
        simulate(fixed([0, 91], [5, 5], [1, 1]), ONE, idle(), decision_points=points)


def idle() -> object:
    def policy(view: View) -> Decision:
        return NO_CHANGE

    return policy


@pytest.mark.usefixtures("five")
def test_one_job_that_works_is_enough() -> None:
    """It runs through 30 periods, while the other waits; a job that is moved each time too, while
    moving takes less than a period."""
    points = DecisionPoints(period_s=10.0)
    jobs = fixed([0, 0], [300, 5], [1, 1])
    assert simulate(jobs, ONE, make_policy("fifo-strict"), decision_points=points).makespan_s == 305

    def to_and_fro(view: View) -> Decision:
        return Decision([Placement(0, int(view.now_s / 10) % 2, 1)])

    two = Cluster.of_nodes(NodeType("n", "GPU", 1), 2)
    result = simulate(
        fixed([0], [100], [1]), two, to_and_fro, decision_points=points, features=[Delays.of(9.0)]
    )
    # 10 s of work before the first move, then 1 s in each period.
    assert result.completion_s.tolist() == [10 + 90 * 10]


@pytest.mark.parametrize(("period_s", "k"), [(0.1, 9), (0.3, 3), (0.7, 17), (1.1, 5)])
def test_a_job_that_comes_a_rounding_after_a_tick_waits_for_the_next(
    period_s: float, k: int
) -> None:
    submit_s = math.nextafter(k * period_s, math.inf)
    points = DecisionPoints.rounds(period_s)
    result = simulate(
        fixed([submit_s], [0.01], [1]), ONE, make_policy("fifo-strict"), decision_points=points
    )
    assert list(result.decisions.time_s) == pytest.approx([(k + 1) * period_s])


def test_an_end_that_misses_a_tick_by_a_rounding_is_at_the_tick() -> None:
    """0.1 + 0.7 is 0.7999999999999999; the eighth tick is 0.8. An end at 0.75 stays there."""
    points = DecisionPoints.rounds(0.1)
    policy = make_policy("fifo-strict")
    ends = [
        simulate(fixed([0.1], [x], [1]), ONE, policy, decision_points=points).completion_s[0]
        for x in (0.7, 0.65)
    ]
    assert ends == [8 * 0.1, 0.1 + 0.65]


# -- times over several nodes ---------------------------------------------------------------------


def test_over_several_nodes_cpus_add_up_and_the_network_costs() -> None:
    """Two GPUs for 10 s at 3 CPUs each; with 1 CPU each at half speed. Over nodes 1.5 times as long."""
    matrix = SensitivityMatrix(
        np.array([1.0, 3.0]), np.array([1.0, 2.0]), np.array([[0.5, 0.5], [1.0, 1.0]])
    )
    times = Sensitivity(np.array([10.0]), np.array([2]), np.array([0]), [matrix])
    jobs = Workload(["a"], [0.0], times, num_gpus=np.array([2]))
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2, cpus=6, memory_gb=8), 2)

    def end_s(*shares: Placement) -> float:
        network = network_of(jobs, 2, same_rack=1.5)
        run = simulate(jobs, cluster, lambda view: Decision(shares), features=[network])
        return float(run.completion_s[0])

    assert end_s(Placement(0, 0, 2, cpus=6, memory_gb=4)) == 10
    assert end_s(Placement(0, 0, 2, cpus=2, memory_gb=4)) == 20
    shares = [Placement(0, n, 1, cpus=3, memory_gb=2) for n in (0, 1)]
    assert end_s(*shares) == 15
    uneven = [Placement(0, n, 1, cpus=c, memory_gb=2) for n, c in ((0, 1), (1, 1))]
    assert end_s(*uneven) == 30


@pytest.mark.parametrize("are_fixed", [True, False])
def test_the_type_of_the_node_sets_the_time(are_fixed: bool) -> None:
    """The model of the first type gives a rate of 1 at any share, that of the second type 0.5."""
    even, half_speed = (
        SensitivityMatrix(np.array([1.0, 3.0]), np.array([1.0, 2.0]), np.full((2, 2), rate))
        for rate in (1.0, 0.5)
    )
    times = Sensitivity(np.array([10.0]), np.array([2]), np.array([[0, 1]]), [even, half_speed])
    jobs = Workload(["a"], [0.0], times, num_gpus=np.array([2]))
    types = [NodeType(name, "GPU", 2, 1.0, cpus=6, memory_gb=8) for name in ("a", "b")]
    cluster = Cluster(types, 2, (0, 1)) if are_fixed else Cluster.of_vms(types, 2)

    def end_s(node: int) -> float:
        share = Placement(0, node, 2, -1 if are_fixed else node, cpus=6, memory_gb=4)
        return float(simulate(jobs, cluster, lambda view: Decision([share])).completion_s[0])

    assert [end_s(0), end_s(1)] == [10, 20]


def test_a_job_of_another_number_of_gpus_than_its_own_is_refused_by_name() -> None:
    jobs = Workload(["wide"], [0.0], FixedDuration(np.array([9.0]), np.array([2])), num_gpus=[2])
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 4), 2)

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 0, 2), Placement(0, 1, 1)])

    with pytest.raises(InfeasibleDecision, match=r"job wide cannot run on 3 GPUs of n$"):
        simulate(jobs, cluster, policy)


# -- the server and the clock of the processor ----------------------------------------------------


def test_a_decision_without_jobs_is_recorded_and_costs_nothing() -> None:
    """The end at 10 s asks the server while a job is to come; at 12 s nobody is left to ask about."""
    result = simulate(
        fixed([0, 50], [10, 10], [1, 1]),
        ONE,
        make_policy("fifo-strict"),
        measure_decisions=True,
        server=ServerSpec(Deterministic(2.0)),
    )
    log = result.decisions
    assert list(zip(log.time_s, log.active, strict=True)) == [(0, 1), (12, 0), (50, 1)]
    assert log.cpu_s[1] == 0
    assert min(log.cpu_s[0], log.cpu_s[2]) > 0
    assert len(log.cpu_s) == 3


def test_ends_of_the_last_jobs_ask_nobody() -> None:
    """After the end at 10 s a job is to come, so the policy is asked; after the last end it is not."""
    result = simulate(fixed([0, 50], [10, 10], [1, 1]), ONE, make_policy("fifo-strict"))
    assert list(result.decisions.time_s) == [0, 10, 50]
    assert list(result.decisions.active) == [1, 0, 1]


def test_a_plan_of_no_change_stops_nobody() -> None:
    """Three servers take 10 s: job 0 starts at 10 s, at 11 s nothing changes, job 2 starts at 12 s."""

    def policy(view: View) -> Decision:
        job = {0.0: 0, 2.0: 2}.get(view.now_s)
        return NO_CHANGE if job is None else Decision([Placement(job, job, 1)], keep_running=True)

    three = Cluster.of_nodes(NodeType("n", "GPU", 1), 3)
    jobs = fixed([0, 1, 2], [100, 100, 100], [1, 1, 1])
    with pytest.raises(InfeasibleDecision, match="1 jobs wait for ever, the first is 'j1'"):
        simulate(jobs, three, policy, server=ServerSpec(Deterministic(10.0), servers=3))

    def to_the_end(view: View) -> Decision:
        if view.now_s > 50 and 1 in view.waiting:
            return Decision([Placement(1, 1, 1)], keep_running=True)
        return policy(view)

    result = simulate(jobs, three, to_the_end, server=ServerSpec(Deterministic(10.0), servers=3))
    assert result.first_start_s.tolist() == [10, 120, 12]
    assert result.preemptions.tolist() == [0, 0, 0]


def test_a_plan_that_changes_a_job_counts_its_own_gpus_as_free() -> None:
    """Job 0 has all GPUs of node 0. The plan of 21 s gives it another CPU there. It comes into force
    after the plan of 20 s, which starts job 1 elsewhere."""

    def policy(view: View) -> Decision:
        shares = {
            0.0: Placement(0, 0, 4, cpus=1),
            20.0: Placement(1, 1, 4),
            21.0: Placement(0, 0, 4, cpus=2),
        }
        share = shares.get(view.now_s)
        if share is None and 2 in view.waiting and view.free_gpus[0] == 4:
            share = Placement(2, 0, 4)
        return NO_CHANGE if share is None else Decision([share], keep_running=True)

    result = simulate(
        fixed([0, 20, 21], [100, 200, 1], [4, 4, 4]),
        Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=4), 2),
        policy,
        server=ServerSpec(Deterministic(10.0), servers=3),
        features=[Delays.of(5.0)],
    )
    assert result.reconfigurations.tolist() == [1, 0, 0]
    assert result.completion_s.tolist() == [115, 230, 126]
