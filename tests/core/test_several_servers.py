"""Several optimization servers: plans that were made side by side and come into force one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import make_policy
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    NodeType,
    Placement,
    Result,
    ServerSpec,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.laws import Deterministic, Exponential
from simulator.model import feasibility
from tests.core.test_invariants import check

ON_NODES = ["fifo", "fifo-strict", "fifo-backfill", "edf", "edf-backfill", "ps"]
ON_SHARED_NODES = ["fifo-shared", "edf-shared", "ps-shared"]
ON_VMS = ["fifo", "edf", "ps"]

common = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def runs_once_to_its_end(result: Result) -> None:
    """No running job is ever moved, resized or sent back to wait; and the general invariants."""
    check(result)
    assert result.preemptions.sum() == result.reconfigurations.sum() == 0
    stretches = {(s.job, s.start_s, s.end_s) for s in result.schedule or ()}
    assert sorted(job for job, _, _ in stretches) == list(range(len(result.workload)))
    for job, start_s, end_s in stretches:
        assert (start_s, end_s) == (result.first_start_s[job], result.completion_s[job])
    within_cpus(result)


def within_cpus(result: Result) -> None:
    for node in range(result.cluster.num_nodes):
        mine = [s for s in result.schedule or () if s.node == node]
        for one in mine:
            beside = [s for s in mine if s.start_s <= one.start_s < s.end_s]
            cpus = result.cluster.node_types[one.node_type].cpus
            assert sum(s.cpus for s in beside) <= cpus * (1 + 1e-9)


def of_fixed_demand(seed: int, count: int) -> Workload:
    rng = np.random.default_rng(seed)
    demand = 2 ** rng.integers(0, 4, count)
    submit_s = np.cumsum(rng.exponential(200, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        FixedDuration(rng.uniform(50, 3000, count), demand),
        num_gpus=demand,
        num_cpus=np.where(rng.random(count) < 0.5, np.nan, demand * rng.uniform(0, 4, count)),
        due_s=submit_s + rng.uniform(0, 9000, count),
        weight_per_s=rng.uniform(0, 1, count),
    )


def of_elastic_jobs(seed: int, count: int, types: int) -> Workload:
    rng = np.random.default_rng(seed)
    submit_s = np.cumsum(rng.exponential(200, count))
    return Workload(
        [f"j{j}" for j in range(count)],
        submit_s,
        TimeTable(rng.uniform(100, 3000, (count, types, 5))),
        due_s=submit_s + rng.uniform(0, 5000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


def server(servers: int, service_s: float, coalesce: bool) -> ServerSpec:
    return ServerSpec(Exponential(service_s), servers, coalesce)


@pytest.mark.parametrize("name", ON_NODES)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 40),
    servers=st.integers(1, 4),
    service_s=st.sampled_from([1.0, 100.0, 900.0]),
    coalesce=st.booleans(),
    period_s=st.sampled_from([None, 300.0]),
)
@common
def test_jobs_of_fixed_demand_are_never_touched(
    name: str,
    seed: int,
    count: int,
    servers: int,
    service_s: float,
    coalesce: bool,
    period_s: float | None,
) -> None:
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4, cpus=12, memory_gb=200), 4)
    runs_once_to_its_end(
        simulate(
            of_fixed_demand(seed, count),
            cluster,
            make_policy(name),
            seed=seed,
            server=server(servers, service_s, coalesce),
            decision_points=DecisionPoints(period_s=period_s),
        )
    )


@pytest.mark.parametrize("name", ON_SHARED_NODES)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 20), servers=st.integers(1, 4))
@common
def test_elastic_jobs_on_shared_nodes_are_never_touched(
    name: str, seed: int, count: int, servers: int
) -> None:
    types = (NodeType("v100", "V100", 4), NodeType("t4", "T4", 2))
    runs_once_to_its_end(
        simulate(
            of_elastic_jobs(seed, count, 2),
            Cluster(types, 3, (0, 1, 1)),
            make_policy(name),
            seed=seed,
            server=server(servers, 200.0, False),
        )
    )


@pytest.mark.parametrize("name", ON_VMS)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(2, 20),
    servers=st.integers(1, 4),
    controllers=st.sampled_from([1, 2]),
)
@common
def test_jobs_on_vms_are_never_touched(
    name: str, seed: int, count: int, servers: int, controllers: int
) -> None:
    catalog = [NodeType("a", "A", 1, 0.5), NodeType("b", "B", 4, 1.8)]
    runs_once_to_its_end(
        simulate(
            of_elastic_jobs(seed, count, 2),
            Cluster.of_vms(catalog, 2 * controllers, controllers),
            make_policy(name),
            seed=seed,
            server=server(servers, 200.0, False),
        )
    )


@pytest.mark.parametrize("name", ["greedy", "randomised-greedy", "milp"])
@given(seed=st.integers(0, 10_000), servers=st.integers(2, 4))
@settings(common, max_examples=5)
def test_full_decisions_stay_feasible(name: str, seed: int, servers: int) -> None:
    catalog = [NodeType("a", "A", 1, 0.5), NodeType("b", "B", 4, 1.8)]
    result = simulate(
        of_elastic_jobs(seed, 10, 2),
        Cluster.of_vms(catalog, 2),
        make_policy(name),
        seed=seed,
        server=server(servers, 200.0, False),
    )
    check(result)


def jobs(submit_s: list[float], gpus: list[int], due_s: list[float] | None = None) -> Workload:
    """Jobs of 100 s."""
    return Workload(
        [f"j{j}" for j in range(len(submit_s))],
        submit_s,
        FixedDuration(np.full(len(submit_s), 100.0), np.array(gpus)),
        num_gpus=gpus,
        due_s=due_s,
    )


FOUR = Cluster.of_nodes(NodeType("four", "GPU", 4), 1)


def test_a_start_that_no_longer_fits_is_left_to_the_next_decision() -> None:
    """Both see the node empty: the first plan starts a, the second wants b, due earlier, there."""
    result = simulate(
        jobs([0, 5], [4, 4], [1000, 500]),
        FOUR,
        make_policy("edf"),
        server=ServerSpec(Deterministic(10.0), servers=2),
    )
    assert result.first_start_s.tolist() == [10, 120]  # asked at a's end, 110 s
    assert result.completion_s.tolist() == [110, 220]
    assert result.preemptions.sum() == 0


def test_of_several_starts_those_are_made_that_fit() -> None:
    """The second plan names b and c; b's GPUs went to a, c's did not."""

    def policy(view: View) -> Decision:
        wanted = [0] if view.now_s == 0 else [1, 2]
        return Decision(
            [Placement(j, 0, int(view.workload.num_gpus[j])) for j in wanted if j in view.waiting],
            keep_running=True,
        )

    result = simulate(
        jobs([0, 5, 5], [3, 2, 1]),
        FOUR,
        policy,
        server=ServerSpec(Deterministic(10.0), servers=3, coalesce=True),
    )
    assert result.first_start_s.tolist() == [10, 120, 15]


@pytest.mark.parametrize(
    ("share", "fits"),
    [
        (Placement(1, 0, 2, 0, 4, 32), True),
        (Placement(1, 0, 3, 0, 4, 32), False),
        (Placement(1, 0, 2, 0, 5, 32), False),
        (Placement(1, 0, 2, 0, 4, 33), False),
        (Placement(1, 0, 1, 1, 0, 0), False),  # another type than the VM is open as
        (Placement(0, 0, 4, 1, 8, 64), True),  # job 0 leaves what it has
        (Placement(1, 1, 4, 1, 8, 64), True),
    ],
)
def test_room_beside_what_runs(share: Placement, fits: bool) -> None:
    types = [NodeType(name, "A", 4, 1.0, cpus=8, memory_gb=64) for name in ("a", "b")]
    runs = [{0: Placement(0, 0, 2, 0, 4, 32)}, {}]
    assert feasibility.has_room(share.job, [share], runs, Cluster.of_vms(types, 2)) == fits


def test_a_change_of_a_job_that_another_plan_has_changed_is_dropped() -> None:
    """One plan moves a to node 1; the other, to node 2, was made while a still ran on node 0."""
    planned = {0.0: Placement(0, 0, 4), 20.0: Placement(0, 1, 4), 21.0: Placement(0, 2, 4)}

    def policy(view: View) -> Decision:
        if view.now_s in planned:
            return Decision([planned[view.now_s]], keep_running=True)
        free = [n for n in view.nodes.tolist() if view.free_gpus[n] == 4]
        starts = [Placement(j, n, 4) for j, n in zip(view.waiting, free, strict=False)]
        return Decision(starts, keep_running=True)

    result = simulate(
        jobs([0, 20, 21], [4, 4, 4]),
        Cluster.of_nodes(NodeType("four", "GPU", 4), 3),
        policy,
        server=ServerSpec(Deterministic(10.0), servers=3),
    )
    assert result.reconfigurations.tolist() == [1, 0, 0]
    places = [(r.node, r.start_s, r.end_s) for r in result.schedule or () if r.job == 0]
    assert places == [(0, 10, 30), (1, 30, 110)]


def test_a_full_decision_says_all_that_runs() -> None:
    """A job that an older plan has started since, and the newer one leaves out, waits again."""

    def policy(view: View) -> Decision:
        return Decision([Placement(max(view.jobs.tolist()), 0, 4)])

    result = simulate(
        jobs([0, 5], [4, 4]), FOUR, policy, server=ServerSpec(Deterministic(10.0), servers=2)
    )
    assert result.first_start_s.tolist() == [10, 15]
    assert result.preemptions.tolist() == [1, 0]
