"""Controller of a job, by dispatcher."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, TimeTable, Workload, simulate
from simulator.dispatchers import DISPATCHERS


def controllers(
    dispatcher: str, duration_s: list[float], seed: int = 0, number: int = 2
) -> list[int]:
    """Controller of each job; jobs come a second apart, one GPU a controller."""
    count = len(duration_s)
    workload = Workload(
        [str(j) for j in range(count)],
        np.arange(count, dtype=float),
        FixedDuration(np.array(duration_s), np.ones(count, dtype=np.int64)),
        num_gpus=np.ones(count),
    )
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), number, number)
    result = simulate(
        workload, cluster, make_policy("fifo-strict"), dispatcher=dispatcher, seed=seed
    )
    node = {share.job: share.node for share in result.schedule or ()}
    return [node[j] for j in range(count)]


def test_round_robin_goes_from_the_first_to_the_last_and_begins_again() -> None:
    assert controllers("round-robin", [9, 9, 9, 9]) == [0, 1, 0, 1]
    assert controllers("round-robin", [9, 9, 9, 9], number=3) == [0, 1, 2, 0]


def test_shortest_queue_counts_jobs() -> None:
    assert controllers("join-shortest-queue", [100, 0.5, 9, 9]) == [0, 1, 1, 0]


def test_least_work_left_weighs_them() -> None:
    assert controllers("least-work-left", [100, 9, 9, 9]) == [0, 1, 1, 1]


def test_size_interval_splits_the_work_in_halves_by_size() -> None:
    """100 s of work in all: the large job alone, or with what fills the upper half."""
    assert controllers("size-interval", [50, 10, 20, 20]) == [1, 0, 0, 0]
    # From 29 to 64 s of the work lies the job of 35 s, its middle in the lower half.
    assert controllers("size-interval", [35, 36, 29]) == [0, 1, 0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("least-work-left", [0, 1, 0]),
        ("least-tardiness", [0, 1, 0]),
        ("size-interval", [0, 1, 0]),
    ],
)
def test_the_work_of_an_elastic_job_is_that_of_its_most_frugal_configuration(
    name: str, expected: list[int]
) -> None:
    """GPU-seconds on one GPU and on two: 40 and 60, 90 and 80, 10 and 12; all come at once.

    The second job is the largest. On one GPU each, it would still be; counted in seconds on two
    GPUs, 30, 40 and 6, the first two would share a half."""
    times = np.array([[[np.inf, 40.0, 30.0]], [[np.inf, 90.0, 40.0]], [[np.inf, 10.0, 6.0]]])
    workload = Workload(["a", "b", "c"], [0.0, 0.0, 0.0], TimeTable(times), due_s=[1e3] * 3)
    cluster = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 2, 2)
    result = simulate(workload, cluster, make_policy("fifo"), dispatcher=name)
    node = {share.job: share.node for share in result.schedule or ()}
    assert [node[j] for j in range(3)] == expected


def test_least_tardiness_sends_the_urgent_job_where_it_is_on_time() -> None:
    workload = Workload(
        ["long", "short", "lax", "urgent"],
        [0.0, 0.0, 1.0, 2.0],
        FixedDuration([100.0, 20.0, 10.0, 10.0], [1] * 4),
        [1] * 4,
        due_s=[1000.0, 1000.0, 1000.0, 45.0],
    )
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 2, 2)
    result = simulate(workload, cluster, make_policy("fifo-strict"), dispatcher="least-tardiness")
    node = {share.job: share.node for share in result.schedule or ()}
    # Behind 100 s it would be late, behind 20 + 10 s it is not.
    assert (node[0], node[1], node[3]) == (0, 1, 1)
    assert result.tardiness_s.tolist() == [0.0, 0.0, 0.0, 0.0]


def test_least_tardiness_spares_those_who_have_no_time_to_lose() -> None:
    """By due date the urgent job of 10 s goes first. On the short queue it makes 90 s of work late
    that are due at 95 s; the long queue of 100 s has time until 1,000 s."""
    workload = Workload(
        ["lax", "tight", "urgent"],
        [0.0, 0.0, 0.0],
        FixedDuration([100.0, 90.0, 10.0], [1] * 3),
        [1] * 3,
        due_s=[1000.0, 95.0, 20.0],
    )
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 1), 2, 2)

    def nodes(dispatcher: str) -> list[int]:
        policy = make_policy("deadline-first")
        result = simulate(workload, cluster, policy, dispatcher=dispatcher)
        node = {share.job: share.node for share in result.schedule or ()}
        return [node[j] for j in range(3)]

    assert nodes("least-work-left") == [0, 1, 1]
    assert nodes("least-tardiness") == [0, 1, 0]


def test_power_of_two_of_two_is_shortest_queue_up_to_ties() -> None:
    assert controllers("power-of-two", [100, 100, 100, 100])[:2] in ([0, 1], [1, 0])


@pytest.mark.parametrize("name", sorted(DISPATCHERS))
def test_every_dispatcher_serves_one_controller_and_is_repeatable(name: str) -> None:
    durations = np.random.default_rng(1).exponential(3.0, 40).tolist()
    assert controllers(name, durations, 7) == controllers(name, durations, 7)
    assert set(controllers(name, durations, 7)) == {0, 1}
    assert controllers(name, durations[:3], number=1) == [0, 0, 0]
