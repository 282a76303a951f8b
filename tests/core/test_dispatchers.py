"""Controller of a job, by dispatcher."""

from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator import Cluster, FixedDuration, InputError, NodeType, Result, Workload
from simulator.core.controller import Controller
from simulator.core.dispatchers import DISPATCHERS, make_dispatcher
from simulator.core.jobs import JobStates
from simulator.model.cluster import FloatArray
from tests.core.jobs import elastic, fixed, nodes, run


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
    jobs = elastic(times, due_s=[1e3] * 3)
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


# -- queues that stand still -------------------------------------------------------------------


def sent(
    rule: str,
    queues: Sequence[Sequence[int]],
    jobs: Workload,
    left: dict[int, float] | None = None,
    times: int = 1,
) -> list[int]:
    """Controller of the last job, at 0 s, when these jobs wait at the controllers; each has 4 GPUs."""
    states = JobStates.of_size(len(jobs))
    for job, fraction in (left or {}).items():
        states.remaining[job] = fraction
    cluster, clock = nodes(4, len(queues), len(queues)), SimpleNamespace(now=0.0)
    simulation = SimpleNamespace(
        shown=jobs, rows=jobs, all_jobs=jobs, cluster=cluster, clock=clock, jobs=states
    )
    controllers: Any = [
        SimpleNamespace(simulation=simulation, active=dict.fromkeys(queue)) for queue in queues
    ]
    dispatch = make_dispatcher(rule)(controllers, np.random.default_rng(5))
    return [controllers.index(dispatch(len(jobs) - 1)) for _ in range(times)]


def due(
    duration_s: list[float], due_s: list[float], weight_per_s: list[float] | None = None
) -> Workload:
    """Jobs of one GPU, all there at 0 s."""
    return fixed([0] * len(due_s), duration_s, due_s=due_s, weight_per_s=weight_per_s)


# -- least tardiness ----------------------------------------------------------------------------


@pytest.mark.parametrize(("due_s", "where"), [(45.0, 1), (46.0, 0)])
def test_no_job_is_faster_than_at_its_fastest(due_s, where):
    """The first queue has 24 GPU-seconds that go first: on 4 GPUs 6 s, then 40 s on one GPU. On the
    second queue the new job goes first. So the first queue, which has less work, will do from 46 s on."""
    jobs = due([24, 100, 40], [30, 1000, due_s])
    assert sent("least-tardiness", [[0], [1]], jobs) == [where]


def test_what_is_late_anyway_does_not_count():
    """The first queue has a job that cannot be in time. The new job comes behind its 50 s of work, in
    time; on the second queue it would have to wait for 100 s of work, and be late."""
    jobs = due([200, 400, 8], [0, 50, 60], [100, 1, 1])
    assert sent("least-tardiness", [[0], [1]], jobs) == [0]


@pytest.mark.parametrize(("weights", "where"), [([10, 1, 1], 1), ([1, 10, 1], 0)])
def test_seconds_of_tardiness_count_with_their_weight(weights, where):
    """The new job goes first on either queue, and makes the other late there by 4 s."""
    jobs = due([20, 20, 16], [20, 20, 16], weights)
    assert sent("least-tardiness", [[0], [1]], jobs) == [where]


def test_without_weights_each_second_of_tardiness_counts_the_same():
    """Late by 4 s on the first queue, by 3 s on the second."""
    jobs = due([20, 20, 16], [20, 21, 16])
    assert sent("least-tardiness", [[0], [1]], jobs) == [1]


def test_of_equal_tardiness_the_least_work_that_is_left():
    """10 of 100 s and 100 s on the first queue, 60 of 80 s on the second."""
    jobs = due([100, 100, 80, 1], [1e6] * 4)
    assert sent("least-tardiness", [[0, 1], [2]], jobs, {0: 0.1, 2: 0.75}) == [1]
    assert sent("least-tardiness", [[0, 1], [2]], jobs, {0: 0.1, 1: 0.4, 2: 0.75}) == [0]


# -- the other rules ----------------------------------------------------------------------------


@pytest.mark.parametrize(("left", "where"), [({0: 0.5}, 0), ({1: 0.25}, 1), ({}, 1)])
def test_least_work_left_counts_what_is_left(left, where):
    """100 s against 60 s."""
    assert sent("least-work-left", [[0], [1]], due([100, 60, 1], [1e6] * 3), left) == [where]


def test_power_of_two_takes_the_shorter_of_two_at_random():
    """Of queues of 0, 1 and 2 jobs: the longest never, the shortest in two of three pairs."""
    found = Counter(sent("power-of-two", [[], [0], [1, 2]], due([9] * 4, [1e6] * 4), times=600))
    assert found[2] == 0
    assert abs(found[0] - 400) < 5 * (600 * 2 / 9) ** 0.5
    assert sent("power-of-two", [[0, 1]], due([9] * 3, [1e6] * 3)) == [0]


def test_random_is_equally_often_each():
    found = Counter(sent("random", [[], [0], [1, 2]], due([9] * 4, [1e6] * 4), times=900))
    assert all(abs(found[k] - 300) < 5 * (900 * 2 / 9) ** 0.5 for k in range(3))


def test_of_equally_short_queues_the_first():
    jobs = due([9] * 4, [1e6] * 4)
    for rule in ("join-shortest-queue", "least-work-left", "least-tardiness"):
        assert sent(rule, [[0, 1], [2], []], jobs) == [2]
        assert sent(rule, [[0], [1], [2]], jobs) == [0]


def test_jobs_of_equal_size_are_split_in_order_of_submission():
    assert where(fixed(range(40), [1e6] * 40), "size-interval", 2) == [0] * 20 + [1] * 20


class AsTheClusterIs(FixedDuration):
    """A performance model of one's own, whose work depends on the cluster."""

    def work_gpu_s(self, cluster: Cluster) -> FloatArray:
        return np.asarray(100 - cluster.num_nodes * self.duration_s)


@pytest.mark.parametrize("rule", ["least-work-left", "size-interval", "least-tardiness"])
def test_the_work_is_that_on_this_cluster(rule):
    """80, 40 and 60: the shortest job is the most work."""
    performance = AsTheClusterIs([10.0, 30.0, 20.0], [1] * 3)
    jobs = Workload(["a", "b", "c"], [0.0] * 3, performance, due_s=[1e6] * 3)
    assert where(jobs, rule, 2) == ([1, 0, 0] if rule == "size-interval" else [0, 1, 1])


# -- a rule of one's own ------------------------------------------------------------------------


def where(jobs: Workload, rule: Any, number: int) -> list[int]:
    """The controller of each job; of 4 GPUs each."""
    return node_of(run(jobs, nodes(4, number, number), dispatcher=rule, seed=3))


def test_a_rule_of_ones_own_sees_controllers_and_random_numbers():
    seen: list[tuple[int, float]] = []

    def rule(controllers: Sequence[Controller], rng: np.random.Generator) -> Callable[[int], Any]:
        def dispatch(job: int) -> Controller:
            seen.append((job, float(rng.random())))
            return controllers[-1 - job % 2]

        return dispatch

    jobs = fixed([0, 1, 2, 3], [9] * 4)
    assert where(jobs, rule, 3) == [2, 1, 2, 1]
    assert [job for job, _ in seen] == [0, 1, 2, 3]
    first = seen.copy()
    seen.clear()
    where(jobs, rule, 3)
    assert seen == first
    assert len({drawn for _, drawn in seen}) == 4


@pytest.mark.parametrize(("answer", "kind"), [(1, "int"), (None, "NoneType")])
def test_a_rule_of_ones_own_answers_with_a_controller(answer, kind):
    def rule(controllers: Sequence[Controller], rng: object) -> Callable[[int], Any]:
        return lambda job: answer if job else controllers[0]

    told = f"^dispatcher: answered with {kind} for job 1, expected one of the controllers$"
    with pytest.raises(InputError, match=told):
        where(fixed([0, 1], [9, 9]), rule, 2)


def test_an_unknown_rule_is_answered_with_all_names():
    told = f"^unknown dispatcher 'shortest', expected one of {', '.join(DISPATCHERS)}$"
    assert "round-robin, join-shortest-queue, " in told
    with pytest.raises(InputError, match=told):
        where(fixed([0], [9]), "shortest", 2)
