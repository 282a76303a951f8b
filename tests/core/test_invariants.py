"""Invariants of every policy of elastic jobs on random scenarios: capacities and conservation."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import make_policy, policy_names, requirements_of
from simulator import Cluster, NodeType, Result, ServerSpec, TimeTable, Workload
from simulator.laws import Exponential
from tests.core.jobs import elastic, run

OPTIONS = {
    "randomised-greedy": {"iterations": 10},
    "local-search": {"iterations": 10},
    "path-relinking": {"iterations": 10},
    "milp-literal": {"time_limit_s": 5.0},
}

common = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def without(*requirements: str) -> list[str]:
    """Policies that have none of these requirements."""
    return [n for n in policy_names() if not {*requirements} & {*requirements_of(n)}]


ELASTIC = without("fixed-demand", "stated-demand", "time-shared", "pool", "one-type", "types-known")
"""Those that choose the GPUs of jobs on nodes; tests/features and tests/rental have those for equal nodes."""


def elastic_jobs(seed: int, count: int, types: int, width: int) -> Workload:
    """Jobs with random times, some configurations impossible, times not monotone in GPUs."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(100, 4000, (count, types, width + 1))
    times[:, :, 0] = math.inf
    times[:, :, 1:][rng.random((count, types, width)) < 0.2] = math.inf
    times[:, 0, 1] = rng.uniform(100, 4000, count)
    submit_s = np.cumsum(rng.exponential(300, count))
    due_s, weight_per_s = submit_s + rng.uniform(0, 5000, count), rng.uniform(0, 0.01, count)
    return elastic(times, submit_s, due_s=due_s, weight_per_s=weight_per_s)


def check(result: Result) -> None:
    """Invariants of every policy."""
    workload, cluster = result.workload, result.cluster
    assert np.isfinite(result.completion_s).all()
    assert (result.first_start_s >= workload.submit_s - 1e-9).all()
    assert (result.completion_s > result.first_start_s).all()
    progress = np.zeros(len(workload))
    held = np.zeros(len(workload))
    events = defaultdict(list)
    for share in result.schedule or ():
        assert share.end_s > share.start_s
        events[share.node].append((share.start_s, share.gpus, share.node_type))
        events[share.node].append((share.end_s, -share.gpus, share.node_type))
        held[share.job] += share.gpus * (share.end_s - share.start_s)
    for node, changes in events.items():
        used = 0.0
        for _, gpus, v in sorted(changes, key=lambda c: (c[0], c[1])):
            used += gpus
            assert used <= cluster.node_types[v].gpus + 1e-9, f"node {node} oversubscribed"
    np.testing.assert_allclose(held, result.gpu_seconds, rtol=1e-9, atol=1e-6)
    assert result.meters.gpu_seconds == pytest.approx(result.gpu_seconds.sum())
    whole = [s for s in result.schedule or () if _is_whole(workload, s)]
    for s in whole:
        fixed = cluster.node_type_of
        v = s.node_type if fixed is None else fixed[s.node]
        time_s = workload.performance.time_s(s.job, v, s.gpus, s.cpus, s.memory_gb)
        progress[s.job] += (s.end_s - s.start_s) / time_s
    parts = {s.job for s in result.schedule or () if not _is_whole(workload, s)}
    done = np.array([progress[s.job] for s in whole if s.job not in parts])
    np.testing.assert_allclose(done, 1.0, rtol=1e-6)
    assert result.total_cost == pytest.approx(
        result.meters.leasing_cost + result.meters.energy_cost + result.tardiness_cost
    )


def _is_whole(workload: Workload, share) -> bool:
    demand = workload.num_gpus[share.job]
    return bool(demand in (0, share.gpus))


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [n for n in ELASTIC if "servers" not in requirements_of(n) and n != "milp-literal"]
)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 12),
    controllers=st.sampled_from([1, 2]),
    period_s=st.sampled_from([None, 700.0]),
    latency=st.booleans(),
)
@common
def test_vms(name, seed, count, controllers, period_s, latency):
    workload = elastic_jobs(seed, count, 3, 4)
    sizes = {"small": ("A", 1, 0.5), "wide": ("A", 4, 1.8), "other": ("B", 2, 0.7)}
    catalog = [NodeType(of, *size) for of, size in sizes.items()]
    cluster = Cluster.of_vms(catalog, 2 * controllers, controllers)
    policy = make_policy(name, **OPTIONS.get(name, {}))
    server = ServerSpec(service=Exponential(50.0)) if latency else None
    check(run(workload, cluster, policy, seed=seed, server=server, period_s=period_s))


@pytest.mark.long
@pytest.mark.parametrize("name", ELASTIC)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 10))
@common
def test_heterogeneous_nodes(name, seed, count):
    workload = elastic_jobs(seed, count, 2, 4)
    types = (
        NodeType("v100", "V100", 4, power_w=(0.0, 500.0, 700.0, 850.0, 1000.0)),
        NodeType("t4", "T4", 2, power_w=(0.0, 400.0, 470.0)),
    )
    cluster = Cluster(types, 3, (0, 1, 1), energy_price_per_kwh=0.2, pue=1.3)
    if not _runs_somewhere(workload):
        return
    check(run(workload, cluster, make_policy(name, **OPTIONS.get(name, {})), seed=seed))


def _runs_somewhere(workload: Workload) -> bool:
    performance = workload.performance
    assert isinstance(performance, TimeTable)
    usable = performance.times_s[:, :, 1:].copy()
    usable[:, 1, 2:] = math.inf
    return bool(np.isfinite(usable).any(axis=(1, 2)).all())
