"""A controller in cases that are done on paper: what it asks, checks, remembers and starts anew."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    InfeasibleDecision,
    NodeType,
    Placement,
    View,
    Workload,
)
from simulator.core import wake_ups
from simulator.features.network import network_of
from simulator.features.reconfiguration import Delays
from simulator.model.performance import Sensitivity, SensitivityMatrix
from tests.core.jobs import fixed, nodes, run, sharing

TWO_CPUS = nodes(4, cpus=2)


# -- decisions ------------------------------------------------------------------------------------


def at_5(decision: Decision) -> Callable[[View], Decision]:
    """Job 0 has both CPUs of the node from 0 s; at 5 s this decision is made, then all goes on."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(0, 0, 1, cpus=2)])
        if view.now_s == 5:
            return decision
        return NO_CHANGE if view.running else Decision([Placement(0, 0, 1, cpus=2)])

    return policy


def test_what_stops_leaves_its_cpus_to_what_starts():
    """Job 1 takes the CPUs of job 0 at 5 s, for 3 s; then job 0 has 5 s left. Placements by job are as good."""
    policy = at_5(Decision({1: (Placement(1, 0, 1, cpus=2),)}, info={"bound": 7}))
    result = run(fixed([0, 5], [10, 3]), TWO_CPUS, policy)
    assert result.completion_s.tolist() == [13, 8]
    assert result.preemptions.tolist() == [1, 0]
    assert result.reconfigurations.tolist() == [0, 0]
    bound = result.decisions_table()["bound"]
    assert bound[1] == 7
    assert math.isnan(bound[0])


def test_a_job_that_is_stopped_by_name_waits_and_the_others_go_on():
    """At 5 s job 1 stops and job 3 takes its GPU for 3 s; jobs 0 and 2 do not notice. Job 1 then has 5 s left."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(job, 0, 1) for job in range(3)])
        if view.now_s == 5:
            return Decision([Placement(3, 0, 1)], keep_running=True, stopped=[1])
        return Decision([Placement(j, 0, 1) for j in view.waiting], keep_running=True)

    result = run(fixed([0, 0, 0, 5], [10, 10, 20, 3]), nodes(3), policy)
    assert result.completion_s.tolist() == [10, 13, 20, 8]
    assert result.preemptions.tolist() == [0, 1, 0, 0]


def test_jobs_are_stopped_in_the_order_that_is_given():
    """They queue again in this order, and so start in it at 6 s, on one GPU each as far as there are any."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(job, 0, 1) for job in range(2)])
        if view.now_s == 5:
            return Decision([Placement(2, 0, 2)], keep_running=True, stopped=[1, 0])
        return Decision([Placement(next(iter(view.waiting)), 0, 1)], keep_running=True)

    result = run(fixed([0, 0, 5], [10, 10, 1], [1, 1, 2]), nodes(2), policy)
    assert result.completion_s.tolist() == [16, 11, 6]


def test_a_change_that_overdraws_a_node_is_refused():
    policy = at_5(Decision([Placement(1, 0, 1, cpus=2)], keep_running=True))
    with pytest.raises(InfeasibleDecision, match="policy policy at 5 s: node 0: 4 CPUs used of 2"):
        run(fixed([0, 5], [10, 3]), TWO_CPUS, policy)


ON_BOTH = [Placement(0, 0, 1), Placement(0, 1, 1)]


@pytest.mark.parametrize(
    ("before", "after", "end_s", "moves"),
    [(ON_BOTH, ON_BOTH[::-1], 12, 0), ([Placement(0, 0, 2)], ON_BOTH, 112, 1)],
    ids=["order of nodes", "one node more"],
)
def test_another_order_of_shares_is_no_move(before, after, end_s, moves):
    result = run(
        fixed([0], [12], [2]),
        nodes(2, 2),
        lambda view: Decision(before if view.now_s < 5 else after),
        Delays.of(100.0),
        period_s=5,
    )
    assert result.completion_s.tolist() == [end_s]
    assert result.reconfigurations.tolist() == [moves]


def test_those_who_are_sent_away_queue_behind_those_who_wait():
    """At 5 s jobs 0 and 1 stop for job 3, in the order in which they ran."""
    seen: list[list[int]] = []

    def policy(view: View) -> Decision:
        seen.append(list(view.waiting))
        if view.now_s < 5:
            return Decision([Placement(0, 0, 1), Placement(1, 0, 1)])
        if 3 in view.active:
            return Decision([Placement(3, 0, 2)])
        return Decision([Placement(int(j), 0, 1) for j in list(view.active)[:2]])

    result = run(fixed([0, 0, 1, 5], [10, 10, 10, 2], [1, 1, 1, 2]), nodes(2), policy)
    assert seen[:4] == [[0, 1], [2], [2, 3], [2, 0, 1]]
    assert result.preemptions.tolist() == [1, 1, 0, 0]


def test_a_whole_decision_that_names_nobody_stops_everybody():
    """Job 0 stands still from 5 to 10 s."""

    def policy(view: View) -> Decision:
        return Decision([] if view.now_s == 5 else [Placement(0, 0, 1)])

    result = run(fixed([0], [12]), nodes(), policy, period_s=5)
    assert result.completion_s.tolist() == [17]
    assert result.preemptions.tolist() == [1]


# -- parts of GPUs --------------------------------------------------------------------------------


def test_a_job_that_gets_another_gpu_of_its_node_starts_anew():
    """GPU 0, still GPU 0 at 5 s, GPU 1 from 10 s: one move of 3 s."""

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 0, 0.5)], gpus_of={0: (0 if view.now_s < 10 else 1,)})

    result = run(sharing([0], [20]), nodes(2), policy, Delays.of(3.0), period_s=5)
    assert result.reconfigurations.tolist() == [1]
    assert result.completion_s.tolist() == [23]


@pytest.mark.parametrize(("gpu", "start_s"), [(0, 130.0), (1, 12.0)])
def test_a_plan_finds_its_gpu_taken_by_another_plan(gpu, start_s):
    """Two servers take 10 s. By the first plan job 0 gets half of GPU 0. The second plan, made at 2 s,
    gives three quarters of a GPU to job 1. On GPU 0 they are not left; job 0 ends at 120 s."""

    def policy(view: View) -> Decision:
        if view.now_s == 0:
            return Decision([Placement(0, 0, 0.5)], True, gpus_of={0: (0,)})
        if 1 not in view.waiting:
            return NO_CHANGE
        return Decision([Placement(1, 0, 0.75)], True, gpus_of={1: (gpu,)})

    jobs = sharing([0, 2], [110, 5], [0.5, 0.75])
    result = run(jobs, nodes(2), policy, server_s=10, servers=2)
    assert result.first_start_s.tolist() == [10, start_s]


# -- periods and runs in which nothing moves ------------------------------------------------------


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_ups, "IDLE_TICKS", 5)


@pytest.mark.usefixtures("five")
def test_idling_is_counted_from_the_last_arrival():
    """Rounds of 10 s. The last job comes at 91 s, so the round of 100 s is the first that has seen
    it; those of 110 to 160 s are the first and the sixth in which nothing moved."""
    told = r" at 160 s: none of 2 jobs made progress for 5 periods$"
    with pytest.raises(InfeasibleDecision, match=told):
        run(fixed([0, 91], [5, 5]), nodes(), lambda view: NO_CHANGE, round_s=10)


@pytest.mark.usefixtures("five")
def test_one_job_that_works_is_enough():
    """It runs through 30 periods, while the other waits; a job that is moved each time too, while
    moving takes less than a period."""
    assert run(fixed([0, 0], [300, 5]), nodes(), period_s=10).makespan_s == 305

    def to_and_fro(view: View) -> Decision:
        return Decision([Placement(0, int(view.now_s / 10) % 2, 1)])

    result = run(fixed([0], [100]), nodes(1, 2), to_and_fro, Delays.of(9.0), period_s=10)
    # 10 s of work before the first move, then 1 s in each period.
    assert result.completion_s.tolist() == [10 + 90 * 10]


@pytest.mark.parametrize(("period_s", "k"), [(0.1, 9), (0.3, 3), (0.7, 17), (1.1, 5)])
def test_a_job_that_comes_a_rounding_after_a_tick_waits_for_the_next(period_s, k):
    submit_s = math.nextafter(k * period_s, math.inf)
    result = run(fixed([submit_s], [0.01]), nodes(), round_s=period_s)
    assert list(result.decisions.time_s) == pytest.approx([(k + 1) * period_s])


def test_an_end_that_misses_a_tick_by_a_rounding_is_at_the_tick():
    """0.1 + 0.7 is 0.7999999999999999; the eighth tick is 0.8. An end at 0.75 stays there."""
    ends = [run(fixed([0.1], [x]), nodes(), round_s=0.1).completion_s[0] for x in (0.7, 0.65)]
    assert ends == [8 * 0.1, 0.1 + 0.65]


# -- times over several nodes ---------------------------------------------------------------------


def test_over_several_nodes_cpus_add_up_and_the_network_costs():
    """Two GPUs for 10 s at 3 CPUs each; with 1 CPU each at half speed. Over nodes 1.5 times as long."""
    rates = np.array([[0.5, 0.5], [1.0, 1.0]])
    matrix = SensitivityMatrix(np.array([1.0, 3.0]), np.array([1.0, 2.0]), rates)
    times = Sensitivity(np.array([10.0]), np.array([2]), np.array([0]), [matrix])
    jobs = Workload(["a"], [0.0], times)
    network = network_of(jobs, 2, same_rack=1.5)

    def end_s(*cpus: int) -> float:
        shares = [Placement(0, n, 2 / len(cpus), -1, c, 4) for n, c in enumerate(cpus)]
        machines = nodes(2, 2, cpus=6, memory_gb=8)
        return float(run(jobs, machines, lambda view: Decision(shares), network).completion_s[0])

    assert [end_s(6), end_s(2), end_s(3, 3), end_s(1, 1)] == [10, 20, 15, 30]


@pytest.mark.parametrize("are_fixed", [True, False])
def test_the_type_of_the_node_sets_the_time(are_fixed):
    """The model of the first type gives a rate of 1 at any share, that of the second type 0.5."""
    even, half_speed = (
        SensitivityMatrix(np.array([1.0, 3.0]), np.array([1.0, 2.0]), np.full((2, 2), rate))
        for rate in (1.0, 0.5)
    )
    times = Sensitivity(np.array([10.0]), np.array([2]), np.array([[0, 1]]), [even, half_speed])
    jobs = Workload(["a"], [0.0], times)
    types = [NodeType(name, "GPU", 2, 1.0, cpus=6, memory_gb=8) for name in ("a", "b")]
    cluster = Cluster(types, 2, (0, 1)) if are_fixed else Cluster.of_vms(types, 2)

    def end_s(node: int) -> float:
        share = Placement(0, node, 2, -1 if are_fixed else node, cpus=6, memory_gb=4)
        return float(run(jobs, cluster, lambda view: Decision([share])).completion_s[0])

    assert [end_s(0), end_s(1)] == [10, 20]


def test_a_job_of_another_number_of_gpus_than_its_own_is_refused_by_name():
    three = Decision([Placement(0, 0, 2), Placement(0, 1, 1)])
    with pytest.raises(InfeasibleDecision, match=r"job j0 cannot run on 3 GPUs of n$"):
        run(fixed([0], [9], [2]), nodes(4, 2), lambda view: three)


# -- the server and the clock of the processor ----------------------------------------------------


def test_a_decision_without_jobs_is_recorded_and_costs_nothing():
    """The end at 10 s asks the server while a job is to come; at 12 s nobody is left to ask about."""
    jobs = fixed([0, 50], [10, 10])
    log = run(jobs, nodes(), server_s=2, measure_decisions=True).decisions
    assert list(zip(log.time_s, log.active, strict=True)) == [(0, 1), (12, 0), (50, 1)]
    assert log.cpu_s[1] == 0
    assert min(log.cpu_s[0], log.cpu_s[2]) > 0
    assert len(log.cpu_s) == 3


def test_a_plan_of_no_change_stops_nobody():
    """Three servers take 10 s: job 0 starts at 10 s, at 11 s nothing changes, job 2 starts at 12 s."""

    def policy(view: View) -> Decision:
        job = {0.0: 0, 2.0: 2}.get(view.now_s)
        return NO_CHANGE if job is None else Decision([Placement(job, job, 1)], keep_running=True)

    jobs = fixed([0, 1, 2], [100, 100, 100])
    with pytest.raises(InfeasibleDecision, match="1 jobs wait for ever, the first is 'j1'"):
        run(jobs, nodes(1, 3), policy, server_s=10, servers=3)

    def to_the_end(view: View) -> Decision:
        if view.now_s > 50 and 1 in view.waiting:
            return Decision([Placement(1, 1, 1)], keep_running=True)
        return policy(view)

    result = run(jobs, nodes(1, 3), to_the_end, server_s=10, servers=3)
    assert result.first_start_s.tolist() == [10, 120, 12]
    assert result.preemptions.tolist() == [0, 0, 0]


def test_a_plan_that_changes_a_job_counts_its_own_gpus_as_free():
    """Job 0 has all GPUs of node 0. The plan of 21 s gives it another CPU there. It comes into force
    after the plan of 20 s, which starts job 1 elsewhere."""
    one, two = Placement(0, 0, 4, cpus=1), Placement(0, 0, 4, cpus=2)
    shares = {0.0: one, 20.0: Placement(1, 1, 4), 21.0: two}

    def policy(view: View) -> Decision:
        share = shares.get(view.now_s)
        if share is None and 2 in view.waiting and view.free_gpus[0] == 4:
            share = Placement(2, 0, 4)
        return NO_CHANGE if share is None else Decision([share], keep_running=True)

    jobs = fixed([0, 20, 21], [100, 200, 1], [4, 4, 4])
    result = run(jobs, nodes(4, 2, cpus=4), policy, Delays.of(5.0), server_s=10, servers=3)
    assert result.reconfigurations.tolist() == [1, 0, 0]
    assert result.completion_s.tolist() == [115, 230, 126]
