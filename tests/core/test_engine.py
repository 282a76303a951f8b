"""The engine against schedules and costs worked out by hand."""

import math

import numpy as np
import pytest

from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InputError,
    NodeType,
    Placement,
    ServerSpec,
    SpeedupCurve,
    TimeTable,
    View,
    Workload,
)
from simulator.features.reconfiguration import Delays
from simulator.features.rounds import Rounds
from simulator.laws import Deterministic
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

    result = run(fixed([0], [10]), nodes(), slow, server=ServerSpec("measured"))
    assert 1e-4 < result.first_start_s[0] == result.decisions.cpu_s[0]


# -- errors ----------------------------------------------------------------------------------


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
        (lambda: fixed([], []), "no jobs"),
        (lambda: fixed([2, 1], [1, 1]), "ascending submission times"),
        (lambda: fixed([math.nan], [1]), "submit_s is nan"),
        (lambda: Workload(["a", "a"], [0, 1], _NOTHING), "job 'a' occurs twice"),
        (lambda: Workload(["a"], [5], _NOTHING, due_s=[4]), "due date after the submission"),
        (lambda: Workload(["a"], [5], _NOTHING, weight_per_s=[-1]), "weight_per_s is -1"),
        (lambda: Workload(["a"], [5, 6], _NOTHING), r"submit_s has shape \(2,\)"),
        (lambda: Workload(["a"], [5], _NOTHING, num_gpus=[1.5]), "num_gpus has a 1.5"),
        (lambda: Workload(["a"], [5], _NOTHING, num_gpus=[math.nan]), "num_gpus has a nan"),
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
        ({"decision_points": DecisionPoints(period_s=-1)}, "period is -1"),
        ({"decision_points": DecisionPoints(since_last_s=0.0)}, r"period is 0\.0 s"),
        ({"decision_points": DecisionPoints(on_arrival=False)}, "wait for ever"),
        ({"decision_points": DecisionPoints(finish_at_tick=True)}, "need rounds"),
        ({"features": [Rounds(5.0)], "server": ServerSpec(Deterministic(1.0))}, "expected no optimization server"),
        ({"decision_points": DecisionPoints(least_gap_s=5.0), "server": ServerSpec(Deterministic(1.0))}, "both least_gap_s"),
        ({"seed": -1}, "seed is -1"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_line(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        run(fixed([0], [1]), nodes(), latest_first, *arguments.pop("features", ()), **arguments)
