"""Nodes, partitions and ticks in cases that are done on paper."""

import numpy as np
import pytest
from simpy.events import ProcessGenerator

from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    InfeasibleDecision,
    InputError,
    NodeType,
    Placement,
    TimeTable,
    View,
    Workload,
)
from simulator.core import wake_ups
from simulator.core.clock import Clock, EventOrder
from simulator.core.node import Node
from tests.core.jobs import fixed, nodes, run

# -- a node -------------------------------------------------------------------------------------


def share(job: int, gpus: float, cpus: float = 0.0, node_type: int = 0) -> Placement:
    return Placement(job, 0, gpus, node_type=node_type, cpus=cpus)


def free_after(node: Node, now_s: float, *, add: Placement | None = None, end: int = 0) -> float:
    if add is not None:
        node.add(add, (), now_s)
    else:
        node.remove(end, (), now_s)
    return node.free_gpus


def test_free_gpus_of_a_node_and_its_meter():
    """1 GPU from 2 s, 3 from 5 s, 2 from 9 s, none from 10 s; 1 and 2 CPUs a share."""
    node = Node(0, 4.0, 0.0)
    assert free_after(node, 2.0, add=share(7, 1, cpus=1)) == 3
    assert free_after(node, 5.0, add=share(8, 2, cpus=2)) == 1
    assert free_after(node, 9.0, end=7) == 2
    assert free_after(node, 10.0, end=8) == 4
    node.settle(12.0)
    assert node.use_s == {(0, 0): 4.0, (0, 1): 3.0, (0, 3): 4.0, (0, 2): 1.0}
    assert node.gpu_seconds == node.cpu_seconds == 3 + 12 + 2
    node.settle(11.0)  # the past is settled
    assert node.use_s[0, 0] == 4.0
    assert (node.gpus_used, node.cpus_used, node.shares) == (0, 0, {})


def test_a_vm_is_open_as_the_type_of_its_shares_while_it_has_any():
    node = Node(None, 0.0, 0.0)
    # It offers nothing by itself: another decision may open it as another type.
    assert free_after(node, 1.0, add=share(1, 2, node_type=3)) == 0
    assert free_after(node, 4.0, add=share(2, 1, node_type=3)) == 0
    assert free_after(node, 5.0, end=1) == 0
    assert free_after(node, 7.0, end=2) == 0
    node.add(share(3, 1, node_type=1), (), 20.0)
    node.settle(21.5)
    assert node.use_s == {(3, 2): 3.0, (3, 3): 1.0, (3, 1): 2.0, (1, 1): 1.5}


def test_gpus_that_jobs_share_count_once():
    """Two jobs on GPU 1, one on GPU 2, and one that names no GPU: three GPUs are in use, then two."""
    node = Node(0, 4.0, 0.0)
    for job, gpus, named in ((1, 0.3, (1,)), (2, 0.5, (1,)), (3, 0.25, (2,)), (4, 1, ())):
        node.add(share(job, gpus), named, 0.0)
    node.remove(3, (2,), 10.0)
    node.remove(1, (1,), 14.0)
    node.settle(15.0)
    assert node.use_s == {(0, 3): 10.0, (0, 2): 5.0}
    assert node.gpu_seconds == pytest.approx(10 * 2.05 + 4 * 1.8 + 1.5)


def test_no_time_is_no_use():
    node = Node(0, 4.0, 3.0)
    node.add(share(1, 1), (), 3.0)
    node.settle(3.0)
    assert node.use_s == {}
    node.remove(1, (), 3.0)
    node.settle(5.0)
    assert node.use_s == {(0, 0): 2.0}
    assert node.gpu_seconds == 0


def test_a_node_is_open_from_the_begin_and_not_while_it_is_down():
    node = Node(2, 4.0, 3.0)
    node.go_down(5.0)
    assert node.free_gpus == 0
    node.come_up(9.0)
    assert node.free_gpus == 4
    node.settle(10.0)
    assert node.use_s == {(2, 0): 3.0}


# -- the clock ----------------------------------------------------------------------------------


def test_events_of_one_instant_come_in_their_order():
    """Whatever the order in which they were made; an event in the past comes now."""
    clock, seen = Clock(), []
    for order in (
        EventOrder.DECISION,
        EventOrder.COMPLETION,
        EventOrder.RENEGING,
        EventOrder.ARRIVAL,
    ):
        clock.at(5.0, order).callbacks.append(
            lambda _, order=order: seen.append((clock.now, order))
        )

    def late() -> ProcessGenerator:
        yield clock.at(7.0, EventOrder.TICK)
        yield clock.at(6.0, EventOrder.TICK)
        seen.append((clock.now, EventOrder.TICK))

    clock.process(late())
    clock.run()
    at_5 = [EventOrder.COMPLETION, EventOrder.ARRIVAL, EventOrder.DECISION, EventOrder.RENEGING]
    assert seen == [*((5.0, order) for order in at_5), (7.0, EventOrder.TICK)]


# -- a partition --------------------------------------------------------------------------------


def test_controllers_have_nodes_and_jobs_in_turn():
    """Six nodes of 2 GPUs, two controllers: 0, 2, 4 and 1, 3, 5. Round robin sends jobs 0, 2 and 1, 3."""
    seen: list[tuple[float, int, list[int], list[int], float]] = []

    def policy(view: View) -> Decision:
        mine = (view.nodes.tolist(), view.jobs.tolist(), view.free_gpus_total)
        seen.append((view.now_s, view.controller, *mine))
        return Decision([Placement(int(j), int(view.nodes[i]), 2) for i, j in enumerate(view.jobs)])

    run(fixed([0, 1, 2, 3], [10] * 4, [2] * 4), nodes(2, 6, 2), policy)
    assert seen == [
        (0, 0, [0, 2, 4], [0], 6),
        (1, 1, [1, 3, 5], [1], 6),
        (2, 0, [0, 2, 4], [0, 2], 4),
        (3, 1, [1, 3, 5], [1, 3], 4),
        (10, 0, [0, 2, 4], [2], 4),
        (11, 1, [1, 3, 5], [3], 4),
    ]


def on_two_types(on_first: float, on_second: float) -> float:
    """End of a job of two GPUs, one on either type, with a time on two GPUs of each and on no other number."""
    cluster = Cluster((NodeType("fast", "A", 2), NodeType("slow", "B", 2)), 2, (0, 1))
    times = TimeTable(np.array([[[np.inf, np.inf, on_first], [np.inf, np.inf, on_second]]]))
    both = Decision([Placement(0, 0, 1), Placement(0, 1, 1)])
    workload = Workload(["wide"], np.zeros(1), times)
    return float(run(workload, cluster, lambda view: both).completion_s[0])


def test_a_job_over_two_types_runs_as_on_the_slower():
    assert on_two_types(10, 15) == on_two_types(15, 10) == 15
    assert on_two_types(0.25, 0.5) == 0.5
    with pytest.raises(InfeasibleDecision, match="at 0 s: job wide cannot run on 2 GPUs of slow"):
        on_two_types(10, np.inf)


# -- ticks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "submit_s", "duration_s", "decided_s"),
    [
        ({"round_s": 10}, [3, 45], [25, 5], [10, 20, 30, 50]),
        ({"round_s": 10}, [20], [15], [20, 30]),  # who comes at a tick is in it
        ({"round_s": 0.1}, [0.25], [0.25], [0.3, 0.4, 0.5]),
        ({"period_s": 10}, [5, 100], [20, 3], [5, 10, 20, 25, 100]),
        # 0 and 35: arrivals; 100: a completion; the others 30 s after the one before
        (
            {"decision_points": DecisionPoints(since_last_s=30.0)},
            [0, 35],
            [100, 20],
            [0, 30, 35, 65, 95, 100],
        ),
        # The second waits from 10 to 60, the third, which comes 40 s after that, until 120
        (
            {"decision_points": DecisionPoints(least_gap_s=60.0)},
            [0, 10, 100],
            [20] * 3,
            [0, 60, 120],
        ),
    ],
)
def test_times_of_decisions(options, submit_s, duration_s, decided_s):
    gpus = 1 if len(submit_s) == 2 else 4
    result = run(fixed(submit_s, duration_s), nodes(gpus), **options)
    assert list(result.decisions.time_s) == pytest.approx(decided_s)


def test_a_period_that_is_much_too_short_is_given_up(monkeypatch):
    monkeypatch.setattr(wake_ups, "MAX_TICKS", 5)
    assert len(run(fixed([0], [45]), nodes(), round_s=10).decisions.time_s) == 5
    told = "^period is 10 s: more than 5 periodic decisions by 50 s"
    with pytest.raises(InputError, match=told):
        run(fixed([0], [55]), nodes(), round_s=10)


def test_wake_ups_that_are_much_too_many_are_given_up(monkeypatch):
    monkeypatch.setattr(wake_ups, "MAX_TICKS", 5)
    again = Decision([Placement(0, 0, 1)], again_s=10.0)
    assert len(run(fixed([0], [55]), nodes(), lambda view: again).decisions.time_s) == 6
    told = "at 60 s: asked to be asked again more than 5 tim"
    with pytest.raises(InfeasibleDecision, match=told):
        run(fixed([0], [65]), nodes(), lambda view: again)
