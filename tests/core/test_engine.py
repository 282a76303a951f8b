"""The engine against schedules and costs worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator import (
    NO_CHANGE,
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
    simulate,
)
from simulator.features.reconfiguration import Delays
from simulator.features.rounds import Rounds
from simulator.laws import Deterministic, Exponential
from simulator.statistics import student
from simulator.theory import mg1_mean_response_s
from tests.core.jobs import fixed

ONE_GPU = NodeType("one", "GPU", 1, price_per_hour=2.0)
FOUR_GPUS = NodeType("four", "GPU", 4)


def latest_first(view: View) -> Decision:
    """One GPU, preemptive, the youngest job runs."""
    return Decision([Placement(int(view.jobs[-1]), 0, 1)])


def test_preemption_keeps_progress() -> None:
    result = simulate(fixed([0, 4], [10, 3], [1, 1]), Cluster.of_nodes(ONE_GPU, 1), latest_first)
    assert result.completion_s.tolist() == pytest.approx([13, 7])
    assert result.preemptions.tolist() == [1, 0]
    assert result.gpu_seconds.tolist() == pytest.approx([10, 3])
    assert [(r.job, r.start_s, r.end_s) for r in result.schedule or ()] == [
        (0, 0, 4), (1, 4, 7), (0, 7, 13)
    ]  # fmt: skip


def test_reconfiguration_delays_what_had_started_before() -> None:
    result = simulate(
        fixed([0, 4], [10, 3], [1, 1]),
        Cluster.of_nodes(ONE_GPU, 1),
        latest_first,
        features=[Delays.of(2)],
    )
    assert result.completion_s.tolist() == pytest.approx([15, 7])
    assert result.gpu_seconds.tolist() == pytest.approx([12, 3])


def test_vm_is_paid_while_it_is_open_and_its_type_sets_the_pace() -> None:
    """Two types; a job starts on the slow one and moves to the fast one at the next arrival."""
    slow = NodeType("slow", "A", 1, price_per_hour=1.0)
    fast = NodeType("fast", "B", 2, price_per_hour=10.0)
    times = np.full((2, 2, 3), math.inf)
    times[:, 0, 1] = 7200.0
    times[:, 1, 1] = 3600.0
    times[:, 1, 2] = 1800.0
    workload = Workload(
        ["a", "b"], [0, 1800], TimeTable(times), due_s=[3600, math.inf], weight_per_s=[0.01, 0]
    )

    def policy(view: View) -> Decision:
        if view.now_s < 1800:
            return Decision([Placement(0, 0, 1, node_type=0)])
        return Decision([Placement(j, 0, 1, node_type=1) for j in view.jobs.tolist()])

    result = simulate(workload, Cluster.of_vms([slow, fast], 3), policy)
    # a: a quarter done by 1800 s, the rest at 1/3600 -> 1800 + 2700; b alone until 5400.
    assert result.completion_s.tolist() == pytest.approx([4500, 5400])
    assert result.meters.leasing_cost == pytest.approx(1.0 * 0.5 + 10.0 * 1.0)
    assert result.tardiness_cost == pytest.approx(900 * 0.01)
    assert result.total_cost == pytest.approx(10.5 + 9)
    assert result.summary()["gpu_utilisation"] == pytest.approx((4500 + 3600) / (1800 + 2 * 3600))


def test_energy_by_gpus_in_use_with_idle_power() -> None:
    node = NodeType("n", "V100", 2, power_w=(100.0, 500.0, 700.0))
    cluster = Cluster(
        (node,), 1, (0,), currency="EUR", energy_price_per_kwh=0.2, pue=1.5, carbon_g_per_kwh=300
    )
    workload = fixed([0, 1800, 7200], [3600, 1800, 3600], [1, 1, 2])

    def policy(view: View) -> Decision:
        places = [Placement(j, 0, int(view.workload.num_gpus[j])) for j in view.waiting]
        return Decision(places, keep_running=True)

    result = simulate(workload, cluster, policy)
    # 0-0.5 h one GPU, 0.5-1 h two, 1-2 h idle, 2-3 h two.
    kwh = (0.5 * 500 + 0.5 * 700 + 1 * 100 + 1 * 700) / 1000 * 1.5
    assert result.meters.energy_kwh == pytest.approx(kwh)
    assert result.meters.energy_cost == pytest.approx(kwh * 0.2)
    assert result.summary()["carbon_kg"] == pytest.approx(kwh * 0.3)


def test_job_over_several_nodes_runs_at_the_slowest_type_and_frees_all() -> None:
    quick, slow = NodeType("q", "A", 2), NodeType("s", "B", 2)
    times = np.full((1, 2, 5), math.inf)
    times[0, 0, 4], times[0, 1, 4] = 10.0, 30.0
    workload = Workload(["a"], [0], TimeTable(times), num_gpus=[4])
    cluster = Cluster((quick, slow), 2, (0, 1))
    result = simulate(
        workload, cluster, lambda v: Decision([Placement(0, 0, 2), Placement(0, 1, 2)])
    )
    assert result.completion_s.tolist() == [30.0]
    assert result.gpu_seconds.tolist() == [120.0]


def test_pool_gives_real_valued_gpus_and_is_paid_by_the_gpu() -> None:
    workload = Workload(
        ["a", "b"],
        [0, 0],
        SpeedupCurve(np.array([3600.0, 3600.0]), np.array([0, 0]), [math.sqrt]),
    )

    def policy(view: View) -> Decision:
        return Decision([Placement(j, 0, 2.25) for j in view.waiting], keep_running=True)

    result = simulate(workload, Cluster.rental_pool(4.0), policy)
    assert result.completion_s.tolist() == pytest.approx([2400, 2400])
    assert result.meters.leasing_cost == pytest.approx(2 * 2.25 * 4.0 * 2400 / 3600)


def test_rounds_decide_only_at_multiples_and_may_finish_there() -> None:
    workload = fixed([0, 10, 301], [100, 250, 10], [1, 1, 1])
    cluster = Cluster.of_nodes(NodeType("two", "GPU", 2), 1)

    def policy(view: View) -> Decision:
        free = int(view.free_gpus_total)
        return Decision([Placement(j, 0, 1) for j in list(view.waiting)[:free]], keep_running=True)

    exact = simulate(workload, cluster, policy, decision_points=DecisionPoints.rounds(300))
    assert exact.first_start_s.tolist() == [0, 300, 600]
    assert exact.completion_s.tolist() == pytest.approx([100, 550, 610])
    rounded = simulate(
        workload, cluster, policy, decision_points=DecisionPoints.rounds(300, finish_at_tick=True)
    )
    assert rounded.completion_s.tolist() == [300, 600, 900]


def test_periods_come_on_top_of_events_and_stop_with_the_jobs() -> None:
    seen: list[float] = []

    def policy(view: View) -> Decision:
        seen.append(view.now_s)
        return Decision([Placement(int(j), 0, 1) for j in view.jobs])

    workload = fixed([5, 100], [20, 3], [1, 1])
    simulate(
        workload, Cluster.of_nodes(ONE_GPU, 1), policy, decision_points=DecisionPoints(period_s=10)
    )
    assert seen == [5, 10, 20, 100]  # at 25 nothing is left to decide


def test_simultaneous_events_are_one_decision_after_all_of_them() -> None:
    seen: list[tuple[float, int]] = []

    def policy(view: View) -> Decision:
        seen.append((view.now_s, view.num_active))
        return Decision([Placement(int(view.jobs[0]), 0, 1)])

    simulate(fixed([0, 2, 2, 2], [2, 1, 1, 1], [1] * 4), Cluster.of_nodes(ONE_GPU, 1), policy)
    assert seen[:2] == [(0, 1), (2, 3)]


# -- the optimization server -----------------------------------------------------------------


def test_late_decision_is_applied_to_what_still_exists() -> None:
    """Decided at 0 for one job, in force at 5; at 4 another came, decided after it."""

    def policy(view: View) -> Decision:
        return Decision([Placement(int(j), 0, 1) for j in view.jobs.tolist()[:2]])

    cluster = Cluster.of_nodes(NodeType("two", "GPU", 2), 1)
    result = simulate(
        fixed([0, 4], [3, 3], [1, 1]), cluster, policy, server=ServerSpec(Deterministic(5.0))
    )
    assert result.first_start_s.tolist() == pytest.approx([5, 10])
    assert result.completion_s.tolist() == pytest.approx([8, 13])
    assert result.server_wait_s.tolist() == pytest.approx([0, 1, 2])
    assert result.server_response_s.tolist() == pytest.approx([5, 6, 7])


@pytest.mark.parametrize("law", [Exponential(40.0), Deterministic(40.0)])
def test_server_is_the_paper_s_mg1_queue(law) -> None:  # type: ignore[no-untyped-def]
    """Requests at 1/225 s, 40 s each: 48.65 s with exponential, 44.32 s with fixed service."""
    means = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        submit_s = np.cumsum(rng.exponential(225.0, 1000))
        workload = fixed(submit_s.tolist(), [1e-3] * 1000, [1] * 1000)
        result = simulate(
            workload,
            Cluster.of_nodes(NodeType("n", "GPU", 4), 1),
            lambda view: NO_CHANGE if not view.waiting else _start_all(view),
            server=ServerSpec(law),
            decision_points=DecisionPoints(on_completion=False, period_s=1e12),
            seed=seed,
        )
        means.append(float(result.server_response_s.mean()))
    estimate = student(means, level=0.99)
    assert estimate.lower <= mg1_mean_response_s(1 / 225, law) <= estimate.upper


def _start_all(view: View) -> Decision:
    free = int(view.free_gpus_total)
    return Decision([Placement(j, 0, 1) for j in list(view.waiting)[:free]], keep_running=True)


def test_measured_service_takes_the_policy_s_cpu_time() -> None:
    def slow(view: View) -> Decision:
        sum(range(200_000))
        return Decision([Placement(int(view.jobs[0]), 0, 1)])

    result = simulate(
        fixed([0], [10], [1]), Cluster.of_nodes(ONE_GPU, 1), slow, server=ServerSpec("measured")
    )
    assert 1e-4 < result.first_start_s[0] == result.decisions.cpu_s[0]


# -- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("placements", "complaint"),
    [
        ([Placement(0, 0, 5)], "node 0: 5 GPUs used of 4"),
        ([Placement(0, 0, 3), Placement(1, 0, 3)], "node 0: 6 GPUs used of 4"),
        ([Placement(0, 0, 1, cpus=9)], "node 0: 9 CPUs used of 8"),
        ([Placement(0, 0, 1, memory_gb=99)], "node 0: 99 GB of memory used of 64"),
        ([Placement(0, 7, 1)], "node 7, which does not exist"),
        ([Placement(0, 0, 1, 1)], "configures node 0, whose type is fixed"),
        ([Placement(9, 0, 1)], "places job 9, which is not active"),
        ([Placement(0, 0, 1), Placement(0, 0, 1)], "two shares of one node"),
        ([Placement(0, 0, 0)], "gives job 0 0 GPUs"),
        ([Placement(0, 0, 1.5)], "not a whole number"),
        ([Placement(0, 0, math.nan)], "gives job 0 nan GPUs"),
        ([Placement(0, 0, 3)], "job j0 cannot run on 3 GPUs"),
    ],
)  # fmt: skip
def test_a_decision_that_cannot_be_carried_out(placements: list[Placement], complaint: str) -> None:
    node = NodeType("n", "GPU", 4, cpus=8, memory_gb=64)
    workload = fixed([0, 0], [1, 1], [1, 3])

    def wrong(view: View) -> Decision:
        return Decision(placements)

    with pytest.raises(InfeasibleDecision, match="policy wrong at 0 s: .*" + complaint):
        simulate(workload, Cluster.of_nodes(node, 2), wrong)


def test_two_types_for_one_vm_and_a_foreign_node() -> None:
    workload = Workload(["a", "b"], [0, 0], TimeTable(np.full((2, 2, 2), 5.0)))
    types = [NodeType("x", "A", 1), NodeType("y", "B", 1)]
    with pytest.raises(InfeasibleDecision, match="configures node 0 as x and as y"):
        simulate(
            workload,
            Cluster.of_vms(types, 2),
            lambda v: Decision([Placement(0, 0, 1, 0), Placement(1, 0, 1, 1)]),
        )
    with pytest.raises(InfeasibleDecision, match="node 1, which is not of controller 0"):
        simulate(workload, Cluster.of_vms(types, 2, 2), lambda v: Decision([Placement(0, 1, 1, 0)]))


def test_incremental_decision_is_checked_against_what_runs() -> None:
    def greedy(view: View) -> Decision:
        return Decision([Placement(j, 0, 3) for j in view.waiting], keep_running=True)

    with pytest.raises(InfeasibleDecision, match="at 1 s: node 0: 6 GPUs used of 4"):
        simulate(fixed([0, 1], [9, 9], [3, 3]), Cluster.of_nodes(FOUR_GPUS, 1), greedy)


def test_policies_that_never_run_a_job_are_stopped() -> None:
    workload = fixed([0], [1], [1])
    with pytest.raises(InfeasibleDecision, match="1 jobs wait for ever, the first is 'j0'"):
        simulate(workload, Cluster.of_nodes(ONE_GPU, 1), lambda v: NO_CHANGE)
    with pytest.raises(InfeasibleDecision, match="none of 1 jobs got on with its work"):
        simulate(
            workload,
            Cluster.of_nodes(ONE_GPU, 1),
            lambda v: NO_CHANGE,
            decision_points=DecisionPoints.rounds(1),
        )


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Cluster.of_nodes(ONE_GPU, 5, 2), "2 controllers for 5 nodes"),
        (lambda: Cluster.of_nodes(ONE_GPU, 0), "0 nodes, expected at least 1"),
        (lambda: Cluster.of_vms([], 1), "no node types"),
        (lambda: NodeType("n", "G", 0), "gpus is 0"),
        (lambda: NodeType("n", "G", 2.5), "gpus is 2.5, expected a whole number"),
        (lambda: NodeType("n", "G", 1, power_w=(1.0, math.nan)), "power_w is"),
        (lambda: Cluster((ONE_GPU,), 1, pue=math.nan), "pue is nan"),
        (lambda: NodeType("n", "G", 1, price_per_hour=-1), "price_per_hour is -1"),
        (lambda: NodeType("n", "G", 2, power_w=(1.0,)), "power_w has 1 values"),
        (lambda: fixed([], [], []), "no jobs"),
        (lambda: fixed([2, 1], [1, 1], [1, 1]), "ascending submission times"),
        (lambda: fixed([math.nan], [1], [1]), "submit_s is nan"),
        (lambda: Workload(["a", "a"], [0, 1], _NOTHING), "job 'a' occurs twice"),
        (lambda: Workload(["a"], [5], _NOTHING, due_s=[4]), "due date after the submission"),
        (lambda: Workload(["a"], [5], _NOTHING, weight_per_s=[-1]), "weight_per_s is -1"),
        (lambda: Workload(["a"], [5, 6], _NOTHING), r"submit_s has shape \(2,\)"),
        (lambda: Workload(["a"], [5], _NOTHING, num_gpus=[1.5]), "num_gpus has a 1.5"),
        (lambda: Workload(["a"], [5], _NOTHING, num_gpus=[math.nan]), "num_gpus has a nan"),
        (lambda: fixed([0], [-1], [1]), "duration_s of job 0 is -1"),
        (lambda: fixed([0], [math.nan], [1]), "duration_s of job 0 is nan"),
        (lambda: fixed([0], [1], [0]), "num_gpus of job 0 is 0"),
        (lambda: SpeedupCurve(np.array([0.0]), np.array([0]), [math.sqrt]), "job 0 is 0.0"),
        (lambda: TimeTable(np.ones((2, 2))), r"shape is \(2, 2\)"),
        (lambda: TimeTable(np.full((1, 2, 3), -5.0)), "job 0 on 1 GPUs of node type 0 is -5.0 s"),
    ],
)  # fmt: skip
def test_bad_data_is_one_line(make, complaint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=complaint) as error:
        make()
    assert "\n" not in str(error.value)


_NOTHING = FixedDuration(np.array([1.0, 1.0]), np.array([1, 1]))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"decision_points": DecisionPoints(period_s=-1)}, "period is -1"),
        ({"decision_points": DecisionPoints(on_arrival=False)}, "wait for ever"),
        ({"decision_points": DecisionPoints(finish_at_tick=True)}, "need rounds"),
        ({"features": [Rounds(5.0)], "server": ServerSpec(Deterministic(1.0))}, "no optimization"),
        ({"dispatcher": "nearest"}, "unknown dispatcher 'nearest'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_arguments_are_one_line(arguments, complaint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=complaint):
        simulate(fixed([0], [1], [1]), Cluster.of_nodes(ONE_GPU, 1), latest_first, **arguments)
