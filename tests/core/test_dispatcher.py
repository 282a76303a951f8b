"""Controller of a job, by dispatcher."""

import numpy as np
import pytest

from simulator import Cluster, NodeType, Result, TimeTable, Workload
from simulator.dispatchers import DISPATCHERS
from tests.core.jobs import fixed, nodes, run


def node_of(result: Result) -> list[int]:
    """The node of each job, which is its controller."""
    node = {share.job: share.node for share in result.schedule or ()}
    return [node[j] for j in range(len(result.workload))]


def controllers(name: str, duration_s: list[float], seed: int = 0, number: int = 2) -> list[int]:
    """Controller of each job; jobs come a second apart, one GPU a controller."""
    jobs = fixed([float(j) for j in range(len(duration_s))], duration_s)
    return node_of(run(jobs, nodes(1, number, number), dispatcher=name, seed=seed))


@pytest.mark.parametrize(
    ("name", "number", "duration_s", "expected"),
    [
        ("round-robin", 2, [9, 9, 9, 9], [0, 1, 0, 1]),
        ("round-robin", 3, [9, 9, 9, 9], [0, 1, 2, 0]),
        ("join-shortest-queue", 2, [100, 0.5, 9, 9], [0, 1, 1, 0]),
        ("least-work-left", 2, [100, 9, 9, 9], [0, 1, 1, 1]),
        # 100 s of work in all: the large job alone, or with what fills the upper half
        ("size-interval", 2, [50, 10, 20, 20], [1, 0, 0, 0]),
        # From 29 to 64 s of the work lies the job of 35 s, its middle in the lower half
        ("size-interval", 2, [35, 36, 29], [0, 1, 0]),
    ],
)
def test_where_each_job_goes(name, number, duration_s, expected):
    assert controllers(name, duration_s, number=number) == expected


@pytest.mark.parametrize("name", ["least-work-left", "least-tardiness", "size-interval"])
def test_the_work_of_an_elastic_job_is_that_of_its_most_frugal_configuration(name):
    """GPU-seconds on one GPU and on two: 40 and 60, 90 and 80, 10 and 12; all come at once.

    The second job is the largest. On one GPU each, it would still be; counted in seconds on two
    GPUs, 30, 40 and 6, the first two would share a half."""
    times = np.array([[[np.inf, 40.0, 30.0]], [[np.inf, 90.0, 40.0]], [[np.inf, 10.0, 6.0]]])
    jobs = Workload(["a", "b", "c"], [0.0, 0.0, 0.0], TimeTable(times), due_s=[1e3] * 3)
    vms = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 2, 2)
    assert node_of(run(jobs, vms, "fifo", dispatcher=name)) == [0, 1, 0]


def test_least_tardiness_sends_the_urgent_job_where_it_is_on_time():
    """Behind 100 s the last job would be late, behind 20 + 10 s it is not."""
    jobs = fixed([0, 0, 1, 2], [100, 20, 10, 10], due_s=[1000, 1000, 1000, 45])
    result = run(jobs, nodes(1, 2, 2), dispatcher="least-tardiness")
    assert [node_of(result)[j] for j in (0, 1, 3)] == [0, 1, 1]
    assert result.tardiness_s.tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", sorted(DISPATCHERS))
def test_every_dispatcher_serves_one_controller_and_is_repeatable(name):
    durations = np.random.default_rng(1).exponential(3.0, 40).tolist()
    assert controllers(name, durations, 7) == controllers(name, durations, 7)
    assert set(controllers(name, durations, 7)) == {0, 1}
    assert controllers(name, durations[:3], number=1) == [0, 0, 0]
