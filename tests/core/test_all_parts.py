"""Tenants, admission, racks, failures, shared GPUs and wrong predictions, switched on at random, every policy."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import make_policy, policy_names
from policies.registry import needs_of
from policies.synergy import names
from simulator import Cluster, DecisionPoints, NodeType, Result, ServerSpec, Workload, simulate
from simulator.admission import Admission
from simulator.failures import Checkpoints, Failures, Outages
from simulator.laws import Exponential
from simulator.neighbours import neighbours_of, published_rates, with_parts
from simulator.network import network_of
from simulator.performance import FixedDuration, TimeTable
from simulator.predictions import Predictions, Shown, predicted
from simulator.statistics import Streams
from simulator.tenancy import tenants_of
from simulator.workloads.reshaping import time_shared

MODELS = published_rates()[0]
SOME_OF_SYNERGY = ("srtf+tune", "las+greedy", "ftf+proportional", "drf+tune")
POLICIES = [
    name
    for name in (*policy_names(), *(n for n in names() if n in SOME_OF_SYNERGY))
    if {"fixed-demand", "time-shared", "list-or-node"} & set(needs_of(name))
]


def jobs_of(rng: np.random.Generator, count: int, leaving: bool) -> Workload:
    gpus = rng.choice([1, 1, 1, 2, 4], count)
    duration_s = rng.uniform(20, 400, count)
    submit_s = np.cumsum(rng.exponential(20, count))
    late_s = submit_s + duration_s * rng.uniform(1, 5, count)
    return Workload(
        [f"j{k}" for k in range(count)],
        submit_s,
        FixedDuration(duration_s, gpus),
        num_gpus=gpus,
        due_s=np.where(rng.random(count) < 0.5, late_s, np.inf),
        weight_per_s=rng.uniform(0.001, 0.01, count),
        model=rng.choice([*MODELS, "other"], count).tolist(),
        vc=rng.choice(["a", "b", "c"], count).tolist(),
        patience_s=rng.uniform(300, 3000, count) if leaving else None,
    )


def trouble_of(rng: np.random.Generator, warns: bool) -> Failures:
    """Nodes fail, racks fail, a spot VM leaves with notice, and jobs fail by themselves."""
    causes = [
        Outages.of_each_node(4, Exponential(3000.0), Exponential(200.0)),
        Outages.of_racks(4, 2, Exponential(9000.0), Exponential(100.0)),
        Outages(Exponential(4000.0), Exponential(300.0), [(3,)], 60.0, name="spot", warns=warns),
    ]
    some = [cause for cause in causes if rng.random() < 0.7] or causes[:1]
    return Failures(some, Checkpoints(60.0, 2.0, 5.0), Exponential(4000.0), 5)


def check_paid(result: Result, held: np.ndarray) -> None:
    """GPU time held is work, lost work and overhead; nodes that are away cost nothing."""
    damage, cluster = result.damage, result.cluster
    assert damage is not None
    up_s = result.makespan_s * cluster.num_nodes - damage.down_s.sum()
    assert result.meters.leasing_cost == pytest.approx(2.0 * up_s / 3600)
    assert (damage.lost_gpu_s >= -1e-6).all()
    assert (damage.overhead_gpu_s >= -1e-6).all()
    kept = damage.killed == 0
    if result.left is not None:
        kept &= ~result.left
    spent = held - damage.lost_gpu_s - damage.overhead_gpu_s
    work = result.workload.performance.work_gpu_s(cluster)
    # Networks and neighbours slow jobs down: the same work then holds GPUs for longer.
    assert (spent[kept] >= work[kept] * (1 - 1e-6) - 1e-3).all()


def check(result: Result) -> None:
    """No GPU over capacity, quotas kept, GPU time and money recomputed from the schedule."""
    cluster, tenants = result.cluster, result.tenants
    assert np.isfinite(result.completion_s).all()
    of_node, of_tenant = defaultdict(list), defaultdict(list)
    held = np.zeros(len(result.workload))
    for share in result.schedule or ():
        held[share.job] += share.gpus * (share.end_s - share.start_s)
        for table, key in (
            (of_node, share.node),
            (of_tenant, int(tenants.of[share.job]) if tenants else 0),
        ):
            table[key] += [(share.start_s, share.gpus), (share.end_s, -share.gpus)]
    for node, changes in of_node.items():
        assert peak(changes) <= cluster.node_types[cluster.node_type_of[node]].gpus + 1e-6
    if tenants is not None and tenants.is_limited:
        for tenant, changes in of_tenant.items():
            assert peak(changes) <= tenants.quota[tenant] + 1e-6
    np.testing.assert_allclose(held, result.gpu_seconds, rtol=1e-6, atol=1e-3)
    if result.damage is not None:
        check_paid(result, held)
    else:
        hours = result.makespan_s * cluster.num_nodes / 3600
        assert result.meters.leasing_cost == pytest.approx(2.0 * hours)
        served = np.ones(len(held), dtype=bool) if result.left is None else ~result.left
        work = result.workload.performance.work_gpu_s(cluster)
        # Nobody is faster than alone on one node; networks and neighbours only cost time.
        assert (held[served] >= work[served] * (1 - 1e-6)).all()


def peak(changes: list[tuple[float, float]]) -> float:
    total = most = 0.0
    for _, gpus in sorted(changes, key=lambda c: (c[0], c[1])):
        total += gpus
        most = max(most, total)
    return most


@pytest.mark.parametrize("name", POLICIES)
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_policy_with_all_parts_at_random(name: str, data: st.DataObject) -> None:
    def on() -> bool:
        return data.draw(st.booleans())

    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    jobs = jobs_of(rng, 15, on())
    shares_gpus = on() and "time-shared" not in needs_of(name)
    if shares_gpus:
        jobs = with_parts(jobs, 0.5)
    elif "time-shared" in needs_of(name):
        jobs = time_shared(jobs)
    server = NodeType("server", "GPU", 4, 2.0, cpus=12, memory_gb=200)
    cluster = Cluster.of_nodes(server, 4)
    tenants = admission = network = failures = neighbours = shown = service = None
    if on():
        tenants = tenants_of(
            jobs, quota={"a": 4.0, "b": 4.0, "c": 5.0}, borrowing=on(), known=("a", "b", "c")
        )
    if on():
        admission = Admission("reject" if on() else "downgrade")
    if on():
        network = network_of(jobs, 4, 2, 1.2, 1.5)
    if shares_gpus:
        neighbours = neighbours_of(jobs, "published", gpu_memory_gb=16.0)
    if on():
        failures = trouble_of(rng, on())
    if on():
        shown = Shown(predicted(jobs, Predictions(0.1, 0.3), Streams(seed)))
    points = DecisionPoints.rounds(60.0) if "+" in name or on() else None
    if points is None and on():
        service = ServerSpec(Exponential(10.0))
    again = {
        "seed": seed, "tenants": tenants, "admission": admission, "network": network,
        "failures": failures, "neighbours": neighbours, "shown": shown, "server": service,
        "decision_points": points,
    }  # fmt: skip
    result = simulate(jobs, cluster, make_policy(name), **again)
    check(result)
    twice = simulate(jobs, cluster, make_policy(name), **again)
    assert twice.schedule_table().to_csv() == result.schedule_table().to_csv()


ELASTIC = ("fifo", "edf", "greedy", "randomised-greedy", "local-search", "milp", "foresight")
OPTIONS = {"randomised-greedy": {"iterations": 5}, "local-search": {"iterations": 5}}


@pytest.mark.parametrize("name", ELASTIC)
@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(seed=st.integers(0, 1000), failing=st.booleans(), wrong=st.booleans())
def test_elastic_jobs_with_parts_at_random(
    name: str, seed: int, failing: bool, wrong: bool
) -> None:
    """Tenants whose quotas are guarantees, failures and wrong predictions, on VMs."""
    rng = np.random.default_rng(seed)
    count = 8
    times = rng.uniform(100, 4000, (count, 2, 3))
    submit_s = np.cumsum(rng.exponential(300, count))
    jobs = Workload(
        [f"j{k}" for k in range(count)],
        submit_s,
        TimeTable(times),
        due_s=submit_s + rng.uniform(0, 5000, count),
        weight_per_s=rng.uniform(0.001, 0.01, count),
        vc=rng.choice(["a", "b"], count).tolist(),
    )
    cluster = Cluster.of_vms([NodeType("v", "A", 1, 0.5), NodeType("w", "B", 2, 1.2)], 2)
    tenants = tenants_of(jobs, quota={"a": 1.0}, borrowing=True, known=("a", "b"))
    cause = Outages.of_each_node(2, Exponential(5000.0), Exponential(300.0))
    failures = Failures([cause], Checkpoints(300.0, 5.0, 10.0)) if failing else None
    shown = Shown(predicted(jobs, Predictions(0.1, 0.3), Streams(seed)), True) if wrong else None
    policy = make_policy(name, **OPTIONS.get(name, {}))
    run = simulate(
        jobs, cluster, policy, seed=seed, tenants=tenants, failures=failures, shown=shown
    )
    assert np.isfinite(run.completion_s).all()
    held = np.zeros(count)
    used = defaultdict(list)
    for share in run.schedule or ():
        held[share.job] += share.gpus * (share.end_s - share.start_s)
        used[share.node] += [(share.start_s, share.gpus), (share.end_s, -share.gpus)]
    assert all(peak(changes) <= 2 for changes in used.values())
    np.testing.assert_allclose(held, run.gpu_seconds, rtol=1e-6)
    table = run.tenants_table().set_index("tenant")
    assert table["gpu_h"].sum() * 3600 == pytest.approx(held.sum())
