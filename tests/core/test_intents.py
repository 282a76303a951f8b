"""Small cases that state what the engine means, where a plausible mistake would change little."""

import numpy as np
import pytest

from experiments.scenario.run import summarise
from simulator import (
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    Placement,
    ServerSpec,
    TimeTable,
    Workload,
)
from simulator.laws import Deterministic
from tests.core.jobs import fixed, nodes, run


def test_a_job_never_runs_where_it_has_no_time():
    """Also where decisions are not checked: it would run for ever."""
    jobs = Workload(["a"], np.zeros(1), TimeTable(np.array([[[np.inf, 5.0, np.inf]]])))
    with pytest.raises(InfeasibleDecision, match="job a cannot run on 2 GPUs of n"):
        run(jobs, nodes(2), lambda view: Decision([Placement(0, 0, 2)]), check=False)


@pytest.mark.parametrize(("duration_s", "end_s"), [(60.0, 60.0), (60.5, 120.0), (100.0, 120.0)])
def test_jobs_may_end_at_ticks_only(duration_s, end_s):
    """Rounds of a minute: a job that fills its rounds ends with them, any other at the next tick."""
    points = DecisionPoints.rounds(60.0, True)
    result = run(fixed([0], [duration_s]), nodes(), decision_points=points)
    assert result.completion_s.tolist() == [end_s]


class SecondsForEachGb(FixedDuration):
    """As many seconds as a job has CPUs and GB."""

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        return cpus + memory_gb


def test_a_job_on_two_nodes_has_what_it_gets_on_both():
    gpus = np.array([2])
    jobs = Workload(["a"], np.zeros(1), SecondsForEachGb(np.ones(1), gpus), num_gpus=gpus)
    both = Decision([Placement(0, 0, 1, -1, 1, 3), Placement(0, 1, 1, -1, 2, 4)])
    result = run(jobs, nodes(1, 2, cpus=8, memory_gb=8), lambda view: both, check=False)
    assert result.completion_s.tolist() == [10.0]


def decisions_of(coalesce: bool) -> list[tuple[float, int]]:
    """Time and controller of each decision; two controllers, one server of 10 s, four arrivals."""
    server = ServerSpec(Deterministic(10), 1, coalesce)
    log = run(fixed([0, 1, 2, 3], [1000] * 4), nodes(1, 2, 2), server=server).decisions
    return [(t, k) for t, k in zip(log.time_s, log.controller, strict=True) if t < 100]


def test_requests_of_one_controller_are_coalesced_never_those_of_two():
    # Jobs 0 and 2 are controller 0's. Its request of 2 s finds the one of 0 s in service, so it
    # queues; controller 1 asks at 1 s and queues too; its request of 3 s joins that one.
    assert decisions_of(coalesce=True) == [(0, 0), (10, 1), (20, 0)]
    assert decisions_of(coalesce=False) == [(0, 0), (10, 1), (20, 0), (30, 1)]


def test_as_many_requests_are_served_at_once_as_there_are_servers():
    """Three controllers ask at once, two servers take 10 s each: the third request waits."""
    result = run(fixed([0, 0, 0], [100] * 3), nodes(1, 3, 3), server_s=10, servers=2)
    assert result.server_wait_s.tolist()[:3] == [0, 0, 10]
    assert result.server_response_s.tolist()[:3] == [10, 10, 20]


def test_a_job_that_ends_on_its_due_date_is_in_time():
    result = run(fixed([0, 0], [10, 10], due_s=[10, 9.5], weight_per_s=[1, 2]), nodes(1, 2))
    assert result.summary()["late_jobs"] == 1
    assert result.tardiness_cost == 1.0


def test_quantiles_are_those_of_their_names():
    """101 jobs, each alone on a node of its own: completion times of 1, 2, .., 101 s."""
    result = run(fixed([0] * 101, range(1, 102)), nodes(1, 101))
    summary = summarise(result)
    assert [summary[f"p{q}_jct_s"] for q in (50, 95, 99)] == pytest.approx([51, 96, 100])
    assert summarise(result, (0, 51))["p50_jct_s"] == pytest.approx(26)


def test_quantiles_of_waits_and_slowdowns_are_those_of_their_names():
    """101 jobs of 1 s one after another: waits of 0, 1, .., 100 s, slowdowns of 1, 2, .., 101."""
    found = run(fixed([0] * 101, [1] * 101), nodes()).summary()
    assert [found[f"p{q}_wait_s"] for q in (95, 99)] == pytest.approx([95, 99])
    assert [found[f"p{q}_slowdown"] for q in (95, 99)] == pytest.approx([96, 100])
    assert [found["mean_wait_s"], found["mean_slowdown"]] == pytest.approx([50, 51])
