"""Nodes, partitions and ticks in cases that are done on paper."""

from __future__ import annotations

import numpy as np
import pytest
from simpy.events import ProcessGenerator

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
from simulator.core import wake_ups
from simulator.core.clock import Clock, Order
from simulator.core.node import Node
from simulator.features.reconfiguration import Delays
from tests.core.jobs import fixed

# -- a node -------------------------------------------------------------------------------------


def share(job: int, gpus: float, cpus: float = 0.0, node_type: int = 0) -> Placement:
    return Placement(job, 0, gpus, node_type=node_type, cpus=cpus)


def free_after(node: Node, now_s: float, *, add: Placement | None = None, end: int = 0) -> float:
    if add is not None:
        node.add(add, (), now_s)
    else:
        node.remove(end, (), now_s)
    return node.free_gpus


def test_free_gpus_of_a_node_and_its_meter() -> None:
    """1 GPU from 2 s, 3 from 5 s, 2 from 9 s, none from 10 s; 1 and 2 CPUs a share."""
    node = Node(0, 4.0, 0.0)
    assert free_after(node, 2.0, add=share(7, 1, cpus=1)) == 3
    assert free_after(node, 5.0, add=share(8, 2, cpus=2)) == 1
    assert free_after(node, 9.0, end=7) == 2
    assert free_after(node, 10.0, end=8) == 4
    node.settle(12.0)
    assert node.use_s == {(0, 0): 4.0, (0, 1): 3.0, (0, 3): 4.0, (0, 2): 1.0}
    assert node.gpu_seconds == 3 + 12 + 2
    assert node.cpu_seconds == 3 + 12 + 2
    node.settle(11.0)  # the past is settled
    assert node.use_s[0, 0] == 4.0
    assert (node.gpus_used, node.cpus_used, node.shares) == (0, 0, {})


def test_a_vm_is_open_as_the_type_of_its_shares_while_it_has_any() -> None:
    node = Node(None, 0.0, 0.0)
    # It offers nothing by itself: another decision may open it as another type.
    assert free_after(node, 1.0, add=share(1, 2, node_type=3)) == 0
    assert free_after(node, 4.0, add=share(2, 1, node_type=3)) == 0
    assert free_after(node, 5.0, end=1) == 0
    assert free_after(node, 7.0, end=2) == 0
    node.add(share(3, 1, node_type=1), (), 20.0)
    node.settle(21.5)
    assert node.use_s == {(3, 2): 3.0, (3, 3): 1.0, (3, 1): 2.0, (1, 1): 1.5}


def test_gpus_that_jobs_share_count_once() -> None:
    """Two jobs on GPU 1, one on GPU 2, and one that names no GPU: three GPUs are in use, then two."""
    node = Node(0, 4.0, 0.0)
    node.add(share(1, 0.3), (1,), 0.0)
    node.add(share(2, 0.5), (1,), 0.0)
    node.add(share(3, 0.25), (2,), 0.0)
    node.add(share(4, 1), (), 0.0)
    node.remove(3, (2,), 10.0)
    node.remove(1, (1,), 14.0)
    node.settle(15.0)
    assert node.use_s == {(0, 3): 10.0, (0, 2): 5.0}
    assert node.gpu_seconds == pytest.approx(10 * 2.05 + 4 * 1.8 + 1.5)


def test_no_time_is_no_use() -> None:
    node = Node(0, 4.0, 3.0)
    node.add(share(1, 1), (), 3.0)
    node.settle(3.0)
    assert node.use_s == {}
    node.remove(1, (), 3.0)
    node.settle(5.0)
    assert node.use_s == {(0, 0): 2.0}
    assert node.gpu_seconds == 0


def test_a_node_is_open_from_the_begin_and_not_while_it_is_down() -> None:
    node = Node(2, 4.0, 3.0)
    node.go_down(5.0)
    assert node.free_gpus == 0
    node.come_up(9.0)
    assert node.free_gpus == 4
    node.settle(10.0)
    assert node.use_s == {(2, 0): 3.0}


# -- the clock ----------------------------------------------------------------------------------


def test_events_of_one_instant_come_in_their_order() -> None:
    """Whatever the order in which they were made; an event in the past comes now."""
    clock, seen = Clock(), []
    for order in (Order.DECISION, Order.COMPLETION, Order.RENEGING, Order.ARRIVAL):
        clock.at(5.0, order).callbacks.append(
            lambda _, order=order: seen.append((clock.now, order))
        )

    def late() -> ProcessGenerator:
        yield clock.at(7.0, Order.TICK)
        yield clock.at(6.0, Order.TICK)
        seen.append((clock.now, Order.TICK))

    clock.process(late())
    clock.run()
    assert seen == [
        (5.0, Order.COMPLETION), (5.0, Order.ARRIVAL), (5.0, Order.DECISION), (5.0, Order.RENEGING),
        (7.0, Order.TICK),
    ]  # fmt: skip


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
    """End of a job that has a GPU on node 0 and one on node 1."""
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
    monkeypatch.setattr(wake_ups, "MAX_TICKS", 5)
    assert len(times_of(DecisionPoints.rounds(10.0), [0], [45])) == 5
    with pytest.raises(
        InputError, match=r"^period is 10 s: more than 5 periodic decisions by 50 s"
    ):
        times_of(DecisionPoints.rounds(10.0), [0], [55])


def test_wake_ups_that_are_much_too_many_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_ups, "MAX_TICKS", 5)

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
    result = simulate(jobs, cluster, policy, features=[Delays.of(2.0)])
    assert result.reconfigurations.tolist()[:2] == [1, 0]
    assert result.preemptions.tolist() == [0, 1, 0]
    # Job 0 stands still for 2 s; job 1 has 20 s left, stands still for 2 s; then job 2.
    assert result.completion_s.tolist() == [22, 44, 49]
