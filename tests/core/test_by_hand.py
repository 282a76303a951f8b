"""Nodes, partitions and ticks in cases that are done on paper."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.core import occasions
from simulator.core.clock import Clock, Order
from simulator.core.node import Node
from tests.core.jobs import fixed

# -- a node -------------------------------------------------------------------------------------


class Bench:
    """A node on a clock of its own, and when its jobs ended."""

    def __init__(self, fixed_type: tuple[int, float] | None = (0, 4.0), begin_s: float = 0.0):
        self.clock = Clock()
        self.ended: list[tuple[float, int]] = []
        self.node = Node(self.clock, fixed_type, begin_s, self.finish)

    def finish(self, job: int) -> None:
        self.ended.append((self.clock.now_s, job))
        self.node.remove(job, self.clock.now_s)

    def at(self, time_s: float, call: object) -> None:
        self.clock.call_at(time_s, Order.ARRIVAL, call)  # type: ignore[arg-type]


def share(job: int, gpus: float, cpus: float = 0.0, node_type: int = 0) -> Placement:
    return Placement(job, 0, gpus, node_type=node_type, cpus=cpus)


def test_free_gpus_of_a_node_and_its_meter() -> None:
    """1 GPU from 2 s, 3 from 5 s, 2 from 9 s, none from 10 s; 1 and 2 CPUs a share."""
    node = Bench().node
    assert node.add(share(7, 1, cpus=1), 2.0) == 3
    assert node.add(share(8, 2, cpus=2), 5.0) == 1
    assert node.remove(7, 9.0) == 2
    assert node.remove(8, 10.0) == 4
    node.settle(12.0)
    assert node.use_s == {(0, 0): 4.0, (0, 1): 3.0, (0, 3): 4.0, (0, 2): 1.0}
    assert node.gpu_seconds == 3 + 12 + 2
    assert node.cpu_seconds == 3 + 12 + 2
    node.settle(11.0)  # the past is settled
    assert node.use_s[0, 0] == 4.0
    assert (node.gpus_used, node.cpus_used, node.shares) == (0, 0, {})


def test_a_vm_is_open_as_the_type_of_its_shares_while_it_has_any() -> None:
    node = Bench(None).node
    # It offers nothing by itself: another decision may open it as another type.
    assert node.add(share(1, 2, node_type=3), 1.0) == 0
    assert node.add(share(2, 1, node_type=3), 4.0) == 0
    assert node.remove(1, 5.0) == 0
    assert node.remove(2, 7.0) == 0
    node.add(share(3, 1, node_type=1), 20.0)
    node.settle(21.5)
    assert node.use_s == {(3, 2): 3.0, (3, 3): 1.0, (3, 1): 2.0, (1, 1): 1.5}


def test_no_time_is_no_use() -> None:
    node = Bench((0, 4.0), begin_s=3.0).node
    node.add(share(1, 1), 3.0)
    node.settle(3.0)
    assert node.use_s == {}
    node.remove(1, 3.0)
    node.settle(5.0)
    assert node.use_s == {(0, 0): 2.0}
    assert node.gpu_seconds == 0


def test_a_node_is_open_from_the_begin_and_not_while_it_is_away() -> None:
    bench = Bench((2, 4.0), begin_s=3.0)
    bench.at(5.0, bench.node.close)
    bench.at(9.0, lambda: bench.node.reopen(2))
    bench.clock.run()
    bench.node.settle(10.0)
    assert bench.node.use_s == {(2, 0): 3.0}


def test_jobs_end_in_order_of_their_ends_whatever_the_order_of_starting() -> None:
    bench = Bench()
    for job, end_s in ((0, 10.0), (1, 5.0), (2, 7.0), (3, 7.0)):
        bench.node.add(share(job, 1), 0.0)
        bench.node.lead(job, end_s)
    bench.at(6.0, lambda: bench.node.remove(2, 6.0))
    bench.clock.run()
    assert bench.ended == [(5.0, 1), (7.0, 3), (10.0, 0)]


def test_an_end_that_was_moved_is_the_last_one_that_was_said() -> None:
    bench = Bench()
    bench.node.add(share(0, 1), 0.0)
    bench.node.lead(0, 5.0)

    def restart(end_s: float) -> None:
        bench.node.remove(0, bench.clock.now_s)
        bench.node.add(share(0, 1), bench.clock.now_s)
        bench.node.lead(0, end_s)

    bench.at(2.0, lambda: restart(9.0))
    bench.at(3.0, lambda: restart(6.0))
    bench.at(4.0, lambda: restart(8.0))
    bench.clock.run()
    assert bench.ended == [(8.0, 0)]


def test_a_job_that_is_moved_very_often_leaves_no_long_list() -> None:
    bench = Bench()
    ends = [100.0 + (17 * k) % 50 for k in range(60)]
    for end_s in ends:
        if 0 in bench.node.shares:
            bench.node.remove(0, 0.0)
        bench.node.add(share(0, 1), 0.0)
        bench.node.lead(0, end_s)
    assert len(bench.node._ends) <= 12
    bench.clock.run()
    assert bench.ended == [(ends[-1], 0)]


def test_ends_that_no_longer_hold_are_kept_up_to_a_number() -> None:
    """Twice as many as the jobs that it leads, and eight: then those alone that hold."""
    node = Bench().node
    lengths = []
    for k in range(14):
        node.lead(0, 100.0 - k)
        lengths.append(len(node._ends))
    assert lengths == [*range(1, 12), 1, 2, 3]
    assert node._ends[0] == (87.0, 0)
    # Those of two jobs: fourteen, twelve of which are two jobs' and eight more.
    node = Bench().node
    node.lead(1, 50.0)
    for k in range(13):
        node.lead(0, 100.0 - k)
    assert len(node._ends) == 2
    assert sorted(node._ends) == [(50.0, 1), (88.0, 0)]


def test_many_jobs_of_one_node_are_added_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """To sort all of them anew for each would be quadratic."""
    sorted_anew = []
    monkeypatch.setattr("simulator.core.node.heapify", sorted_anew.append)
    bench = Bench((0, 100.0))
    for job in range(100):
        bench.node.add(share(job, 1), 0.0)
        bench.node.lead(job, 10.0 + 7 * job % 100)
    assert not sorted_anew
    bench.clock.run()
    assert [job for _, job in bench.ended] == sorted(range(100), key=lambda job: 7 * job % 100)


def test_timers_that_were_overtaken_can_be_dropped_and_no_others() -> None:
    bench = Bench()
    for job, end_s in ((0, 30.0), (1, 20.0), (2, 10.0)):
        bench.node.add(share(job, 1), 0.0)
        bench.node.lead(job, end_s)
    bench.node.remove(1, 0.0)
    calls = [(30.0, bench.node._on_timer), (20.0, bench.node._on_timer), (10.0, bench.finish)]
    assert [Node.is_overtaken(*call) for call in calls] == [False, True, False]
    assert not Node.is_overtaken(10.0, bench.node._on_timer)
    assert not Node.is_overtaken(20.0, lambda: None)
    bench.clock.drop(Node.is_overtaken)
    bench.clock.run()
    assert bench.ended == [(10.0, 2), (30.0, 0)]


# -- a partition --------------------------------------------------------------------------------


def test_controllers_have_nodes_and_jobs_in_turn() -> None:
    """Six nodes of 2 GPUs, two controllers: 0, 2, 4 and 1, 3, 5. Round robin sends jobs 0, 2 and 1, 3."""
    seen: list[tuple[float, int, list[int], list[int], float]] = []

    def policy(view: View) -> Decision:
        seen.append(
            (
                view.now_s,
                view.controller,
                view.nodes.tolist(),
                view.jobs.tolist(),
                view.free_gpus_total,
            )
        )
        return Decision([Placement(int(j), int(view.nodes[i]), 2) for i, j in enumerate(view.jobs)])

    cluster = Cluster.of_nodes(NodeType("n", "GPU", 2), 6, 2)
    simulate(fixed([0, 1, 2, 3], [10] * 4, [2] * 4), cluster, policy)
    assert seen == [
        (0, 0, [0, 2, 4], [0], 6),
        (1, 1, [1, 3, 5], [1], 6),
        (2, 0, [0, 2, 4], [0, 2], 4),
        (3, 1, [1, 3, 5], [1, 3], 4),
        (10, 0, [0, 2, 4], [2], 4),
        (11, 1, [1, 3, 5], [3], 4),
    ]


def on_two_nodes(types: tuple[NodeType, NodeType], times: object) -> float:
    """When a job ends that has a GPU on node 0 and one on node 1."""
    cluster = Cluster(types, 2, (0, 1))
    workload = Workload(["wide"], np.zeros(1), times, num_gpus=np.array([2]))  # type: ignore[arg-type]

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 0, 1), Placement(0, 1, 1)])

    return float(simulate(workload, cluster, policy).completion_s[0])


def times(on_first: float, on_second: float) -> TimeTable:
    """Seconds of one job on two GPUs of either type, and on no other number."""
    return TimeTable(np.array([[[np.inf, np.inf, on_first], [np.inf, np.inf, on_second]]]))


def test_a_job_over_two_types_runs_as_on_the_slower() -> None:
    types = NodeType("fast", "A", 2), NodeType("slow", "B", 2)
    assert on_two_nodes(types, times(10, 15)) == 15
    assert on_two_nodes(types, times(15, 10)) == 15
    assert on_two_nodes(types, times(0.25, 0.5)) == 0.5


def test_a_job_that_has_no_time_on_a_type_is_named_with_gpus_and_type() -> None:
    types = NodeType("fast", "A", 2), NodeType("slow", "B", 2)
    with pytest.raises(InfeasibleDecision, match="at 0 s: job wide cannot run on 2 GPUs of slow"):
        on_two_nodes(types, times(10, np.inf))


# -- ticks --------------------------------------------------------------------------------------


def times_of(points: DecisionPoints, submit_s: list[float], duration_s: list[float]) -> list[float]:
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    jobs = fixed(submit_s, duration_s, [1] * len(submit_s))
    result = simulate(jobs, cluster, make_policy("fifo-strict"), decision_points=points)
    return list(result.decisions.time_s)


def test_rounds_are_at_multiples_of_the_period_and_stop_without_jobs() -> None:
    """Arrivals at 3 and at 45 s, which last 25 and 5 s; a job that comes at a tick is in it."""
    assert times_of(DecisionPoints.rounds(10.0), [3, 45], [25, 5]) == [10, 20, 30, 50]
    assert times_of(DecisionPoints.rounds(10.0), [20], [15]) == [20, 30]
    assert times_of(DecisionPoints.rounds(0.1), [0.25], [0.25]) == pytest.approx([0.3, 0.4, 0.5])


def test_a_period_that_is_much_too_short_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occasions, "MAX_TICKS", 5)
    assert len(times_of(DecisionPoints.rounds(10.0), [0], [45])) == 5
    with pytest.raises(
        InputError, match=r"^period is 10 s: more than 5 periodic decisions by 50 s"
    ):
        times_of(DecisionPoints.rounds(10.0), [0], [55])


def test_wake_ups_that_are_much_too_many_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occasions, "MAX_TICKS", 5)

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 0, 1)], again_s=10.0)

    jobs, cluster = fixed([0], [55], [1]), Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    assert len(simulate(jobs, cluster, policy).decisions.time_s) == 6
    with pytest.raises(
        InfeasibleDecision, match="at 60 s: asked to be asked again more than 5 tim"
    ):
        simulate(fixed([0], [65], [1]), cluster, policy)


def test_a_preempted_and_a_moved_job_are_counted() -> None:
    """At 10 s job 0 goes from node 0 to 1 (a move), and job 1, which was there, is sent away."""
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 2)

    def policy(view: View) -> Decision:
        if view.now_s < 10:
            return Decision([Placement(int(j), int(j), 1) for j in view.jobs])
        return Decision([Placement(int(view.jobs[0]), 1, 1)])

    jobs = Workload(
        ["a", "b", "c"],
        np.array([0.0, 0.0, 10.0]),
        FixedDuration(np.array([20.0, 30.0, 5.0]), np.ones(3, dtype=np.int64)),
        num_gpus=np.ones(3),
    )
    result = simulate(jobs, cluster, policy, reconfiguration_s=2.0)
    assert result.reconfigurations.tolist()[:2] == [1, 0]
    assert result.preemptions.tolist() == [0, 1, 0]
    # Job 0 stands still for 2 s; job 1 has 20 s left, stands still for 2 s; then job 2.
    assert result.completion_s.tolist() == [22, 44, 49]
