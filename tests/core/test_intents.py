"""Small cases that state what the engine means, where a plausible mistake would change little."""

from __future__ import annotations

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
    InputError,
    NodeType,
    Placement,
    ServerSpec,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.laws import Deterministic
from tests.core.jobs import fixed

ONE_GPU = NodeType("one", "GPU", 1)


def test_a_preempted_job_waits_behind_those_that_waited_before() -> None:
    """`waiting` is ordered by time in the queue, so a job that comes back stands last."""
    queues: list[list[int]] = []

    def youngest(view: View) -> Decision:
        queues.append(list(view.waiting))
        return Decision([Placement(int(view.jobs[-1]), 0, 1)])

    simulate(fixed([0, 1, 2, 3], [9, 9, 9, 9], [1] * 4), Cluster.of_nodes(ONE_GPU, 1), youngest)
    # 0 runs and is sent back by 1, that by 2; then 3 comes.
    assert queues[:4] == [[0], [1], [0, 2], [0, 1, 3]]


def test_cpus_are_metered_as_cpus() -> None:
    """Two GPUs and five of ten CPUs for 100 s, then nothing else."""
    node = NodeType("n", "GPU", 4, cpus=10, memory_gb=64)

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 0, 2, cpus=5, memory_gb=8)])

    result = simulate(fixed([0], [100], [2]), Cluster.of_nodes(node, 1), policy)
    assert result.meters.cpu_seconds == 500
    assert result.meters.gpu_seconds == 200
    assert result.summary()["cpu_utilisation"] == 0.5
    assert result.summary()["gpu_utilisation"] == 0.5


def test_the_time_is_that_of_the_node_s_own_type() -> None:
    """One GPU on each of two nodes: half a second on the first, a quarter on the second."""
    kinds = (NodeType("slow", "A", 2), NodeType("fast", "B", 2))
    times_s = np.full((2, 2, 3), np.inf)
    times_s[:, 0, 1], times_s[:, 1, 1] = 0.5, 0.25
    result = simulate(
        Workload(["a", "b"], np.zeros(2), TimeTable(times_s)),
        Cluster(kinds, 2, (0, 1)),
        lambda view: Decision([Placement(j, j, 1) for j in view.jobs.tolist()]),
    )
    assert result.completion_s.tolist() == [0.5, 0.25]


def test_a_job_never_runs_where_it_has_no_time() -> None:
    """Also where decisions are not checked: it would run for ever."""
    times_s = np.full((1, 1, 3), np.inf)
    times_s[0, 0, 1] = 5.0
    with pytest.raises(InfeasibleDecision, match="job a cannot run on 2 GPUs of n"):
        simulate(
            Workload(["a"], np.zeros(1), TimeTable(times_s)),
            Cluster.of_nodes(NodeType("n", "A", 2), 1),
            lambda view: Decision([Placement(0, 0, 2)]),
            check=False,
        )


@pytest.mark.parametrize(("duration_s", "end_s"), [(60.0, 60.0), (60.5, 120.0), (100.0, 120.0)])
def test_jobs_may_end_at_ticks_only(duration_s: float, end_s: float) -> None:
    """Rounds of a minute: a job that fills its rounds ends with them, any other at the next tick."""
    result = simulate(
        fixed([0], [duration_s], [1]),
        Cluster.of_nodes(ONE_GPU, 1),
        make_policy("fifo"),
        decision_points=DecisionPoints.rounds(60.0, True),
    )
    assert result.completion_s.tolist() == [end_s]


class SecondsForEachGb(FixedDuration):
    """As many seconds as a job has CPUs and GB."""

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        return cpus + memory_gb


def test_a_job_on_two_nodes_has_what_it_gets_on_both() -> None:
    node = NodeType("n", "GPU", 1, cpus=8, memory_gb=8)
    gpus = np.array([2])
    result = simulate(
        Workload(["a"], np.zeros(1), SecondsForEachGb(np.ones(1), gpus), num_gpus=gpus),
        Cluster.of_nodes(node, 2),
        lambda view: Decision([Placement(0, 0, 1, -1, 1, 3), Placement(0, 1, 1, -1, 2, 4)]),
        check=False,
    )
    assert result.completion_s.tolist() == [10.0]


def decisions_of(coalesce: bool) -> list[tuple[float, int]]:
    """Time and controller of each decision; two controllers, one server of 10 s, four arrivals."""
    cluster = Cluster.of_nodes(ONE_GPU, 2, 2)
    server = ServerSpec(Deterministic(10), 1, coalesce)
    result = simulate(
        fixed([0, 1, 2, 3], [1000] * 4, [1] * 4), cluster, make_policy("fifo-strict"), server=server
    )
    log = result.decisions
    return [(t, k) for t, k in zip(log.time_s, log.controller, strict=True) if t < 100]


def test_requests_of_one_controller_are_coalesced_never_those_of_two() -> None:
    # Jobs 0 and 2 are controller 0's. Its request of 2 s finds the one of 0 s in service, so it
    # queues; controller 1 asks at 1 s and queues too; its request of 3 s joins that one.
    assert decisions_of(coalesce=True) == [(0, 0), (10, 1), (20, 0)]
    assert decisions_of(coalesce=False) == [(0, 0), (10, 1), (20, 0), (30, 1)]


def test_as_many_requests_are_served_at_once_as_there_are_servers() -> None:
    """Three controllers ask at once, two servers take 10 s each: the third request waits."""
    cluster = Cluster.of_nodes(ONE_GPU, 3, 3)
    server = ServerSpec(Deterministic(10), 2)
    result = simulate(
        fixed([0, 0, 0], [100] * 3, [1] * 3), cluster, make_policy("fifo-strict"), server=server
    )
    assert result.server_wait_s.tolist()[:3] == [0, 0, 10]
    assert result.server_response_s.tolist()[:3] == [10, 10, 20]


@pytest.mark.parametrize("service_s", [-1.0, np.inf, np.nan])
def test_a_service_takes_a_time_that_ends(service_s: float) -> None:
    with pytest.raises(InputError, match=f"service takes {service_s} s, expected >= 0"):
        simulate(
            fixed([0], [1], [1]),
            Cluster.of_nodes(ONE_GPU, 1),
            make_policy("fifo-strict"),
            server=ServerSpec(lambda rng: service_s),
        )


def test_power_of_two_compares_two_different_queues() -> None:
    """With two controllers it never joins the longer queue, whatever is drawn."""
    count = 40
    workload = Workload(
        [str(j) for j in range(count)],
        np.arange(count, dtype=float),
        FixedDuration(np.full(count, 1e6), np.ones(count, dtype=np.int64)),
        num_gpus=np.ones(count),
    )
    lengths: list[tuple[int, int]] = []
    active = [0, 0]

    def watch(view: View) -> Decision:
        active[view.controller] = len(view.jobs)
        lengths.append((active[0], active[1]))
        return Decision([Placement(int(view.jobs[0]), int(view.nodes[0]), 1)])

    cluster = Cluster.of_nodes(ONE_GPU, 2, 2)
    for seed in range(5):
        lengths.clear()
        active[:] = [0, 0]
        simulate(workload, cluster, watch, dispatcher="power-of-two", seed=seed)
        assert max(abs(a - b) for a, b in lengths[:count]) <= 1


def test_a_job_that_ends_on_its_due_date_is_in_time() -> None:
    workload = Workload(
        ["a", "b"],
        [0, 0],
        FixedDuration(np.array([10.0, 10.0]), np.array([1, 1])),
        num_gpus=[1, 1],
        due_s=[10, 9.5],
        weight_per_s=[1, 2],
    )
    result = simulate(workload, Cluster.of_nodes(ONE_GPU, 2), make_policy("fifo-strict"))
    assert result.summary()["late_jobs"] == 1
    assert result.tardiness_cost == 1.0


def test_quantiles_are_those_of_their_names() -> None:
    """101 jobs, each alone on a node of its own: completion times 0, 1, .., 100 s and a bit."""
    from experiments.scenario.run import summarise

    times = [float(x) for x in range(1, 102)]
    result = simulate(
        fixed([0] * 101, times, [1] * 101),
        Cluster.of_nodes(ONE_GPU, 101),
        make_policy("fifo-strict"),
    )
    summary = summarise(result)
    assert [summary[f"p{q}_jct_s"] for q in (50, 95, 99)] == pytest.approx([51, 96, 100])
    assert summarise(result, (0, 51))["p50_jct_s"] == pytest.approx(26)


def test_quantiles_of_waits_and_slowdowns_are_those_of_their_names() -> None:
    """101 jobs of 1 s one after another: waits of 0, 1, .., 100 s, slowdowns of 1, 2, .., 101."""
    one = Cluster.of_nodes(ONE_GPU, 1)
    summary = simulate(fixed([0] * 101, [1] * 101, [1] * 101), one, make_policy("fifo-strict"))
    found = summary.summary()
    assert [found[f"p{q}_wait_s"] for q in (95, 99)] == pytest.approx([95, 99])
    assert [found[f"p{q}_slowdown"] for q in (95, 99)] == pytest.approx([96, 100])
    assert [found["mean_wait_s"], found["mean_slowdown"]] == pytest.approx([50, 51])


def test_nothing_is_decided_for_a_controller_without_jobs() -> None:
    asked: list[int] = []

    def policy(view: View) -> Decision:
        asked.append(len(view.jobs))
        return (
            Decision([Placement(int(view.jobs[0]), int(view.nodes[0]), 1)]) if asked else NO_CHANGE
        )

    simulate(fixed([0, 50], [10, 10], [1, 1]), Cluster.of_nodes(ONE_GPU, 1), policy)
    assert min(asked) == 1
