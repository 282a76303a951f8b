"""Packing by prices of slots: a packing that fits, a bound that holds, exact transport."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from policies import make_policy
from policies.foresight import ascent
from policies.foresight.machines import Machines
from policies.foresight.packing import Packing, pose, solve
from policies.foresight.transport import Transport
from simulator import Cluster, simulate
from tests.core.test_invariants import check
from tests.foresight.test_packing import brute_force, earned, servers, vms
from tests.foresight.test_policy import CATALOG, ODD, jobs

STEP_S = 2000.0


def posed(cluster: Cluster, count: int, seed: int) -> tuple[Machines, np.ndarray, Packing]:
    rng = np.random.default_rng(seed)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    gain = rng.uniform(-0.5, 3.0, (count, len(machines.config_type)))
    gain[rng.random(gain.shape) < 0.15] = -np.inf
    if seed % 3 == 0:
        gain = np.round(gain)  # many ties
    return machines, gain, pose(machines, gain, STEP_S)


clusters = st.sampled_from(
    [vms(1), vms(2), vms(6), servers((0,)), servers((0, 1)), servers((0, 0, 1, 1))]
)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(clusters, st.integers(1, 14), st.integers(0, 10_000))
def test_it_fits_and_its_gap_holds(cluster: Cluster, count: int, seed: int) -> None:
    """Never beyond capacity; worth what it says; the exact packing lies within the recorded gap."""
    machines, gain, packing = posed(cluster, count, seed)
    found, exact = ascent.solve(packing, 1e-4), solve(packing, 0.0)
    assert earned(machines, gain, STEP_S, found.assignments) == pytest.approx(found.value, abs=1e-7)
    assert found.value <= exact.value + 1e-7
    assert exact.value <= found.bound + 1e-7


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.sampled_from([vms(2), servers((0, 1))]), st.integers(1, 3), st.integers(0, 10_000))
def test_its_bound_is_above_every_packing(cluster: Cluster, count: int, seed: int) -> None:
    machines, gain, packing = posed(cluster, count, seed)
    found, best = ascent.solve(packing, 1e-4), brute_force(machines, gain, STEP_S)
    assert found.value <= best + 1e-7 <= found.bound + 2e-7


@pytest.mark.parametrize("cluster", [vms(60), servers((0,) * 30 + (1,) * 30)])
def test_the_gap_is_small_where_nodes_are_many(cluster: Cluster) -> None:
    """300 jobs on 60 nodes: within half a per cent of the bound, which is near the optimum."""
    _, _, packing = posed(cluster, 300, 1)
    found, exact = ascent.solve(packing, 1e-4), solve(packing, 1e-6)
    assert found.bound == pytest.approx(exact.value, rel=5e-3)
    assert found.value >= 0.995 * found.bound


def test_equal_jobs_by_the_hundred() -> None:
    """Three of them on each of the large nodes, 9 - 2.5 a node, as the exact packing has it."""
    cluster = vms(20)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    gain = np.tile([2.0, 3.0, 3.0, 3.0], (300, 1))
    found = ascent.solve(pose(machines, gain, 3600.0), 1e-9)
    assert found.value == pytest.approx(20 * 6.5)
    assert found.bound == pytest.approx(20 * 6.5)


def test_nothing_runs_where_nothing_pays_unless_it_must() -> None:
    cluster = vms(2)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    packing = pose(machines, np.full((2, len(machines.config_type)), 0.1), 3600.0)
    assert ascent.solve(packing, 0.0).assignments == []
    forced = ascent.solve(packing, 0.0, at_least_one=True)
    assert forced.value == pytest.approx(0.1 - 1.0)
    assert len(forced.assignments) == 1
    nobody = pose(machines, np.full((2, len(machines.config_type)), -1.0), 3600.0)
    assert ascent.solve(nobody, 0.0).assignments == []


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 10_000), st.booleans())
def test_transport_is_the_assignment(n: int, kinds: int, seed: int, ties: bool) -> None:
    """From any prices, and again after the capacities have changed: what SciPy finds."""
    rng = np.random.default_rng(seed)
    gain = rng.uniform(-1.0, 3.0, (n, kinds))
    gain = np.round(gain) if ties else gain
    gain[rng.random(gain.shape) < 0.15] = -np.inf
    transport = Transport(gain, rng.uniform(0.0, 3.0, kinds))
    for _ in range(3):
        capacity = rng.integers(0, 4, kinds)
        transport.fill(capacity)
        taken = np.bincount(transport.kind, minlength=kinds + 1)[:-1]
        assert (taken <= capacity).all()
        worth = np.maximum(gain[:, np.repeat(np.arange(kinds), capacity)], 0.0)
        best = worth[linear_sum_assignment(worth, maximize=True)].sum()
        assert transport.value() == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "cluster", [Cluster.of_vms(CATALOG, 3), Cluster(CATALOG, 3, (1, 0, 1))], ids=["VMs", "fixed"]
)
def test_whole_runs_without_exact_packing(odd: str, cluster: Cluster) -> None:
    result = simulate(
        ODD[odd](jobs(2, 6)), cluster, make_policy("foresight", exact_up_to=0), seed=1
    )
    check(result)
    table = result.decisions_table()
    assert "ascent" in set(table["method"])
    assert (table["gap"].dropna() >= -1e-12).all()


def test_the_rule_and_what_is_recorded() -> None:
    """Few pairs: exact, and no gap is recorded. The costs of the two are near each other."""
    workload, cluster = jobs(3, 8), Cluster.of_vms(CATALOG, 3)
    exact, prices = (
        simulate(workload, cluster, make_policy("foresight", exact_up_to=limit), seed=1)
        for limit in (40_000, 0)
    )
    assert "gap" not in exact.decisions_table()
    assert prices.total_cost == pytest.approx(exact.total_cost, rel=0.1)
    again = simulate(workload, cluster, make_policy("foresight", exact_up_to=0), seed=1)
    assert again.jobs_table().to_csv() == prices.jobs_table().to_csv()
