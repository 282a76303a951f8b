"""Packing by prices of slots: a packing that fits, a bound that holds, exact transport."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from policies import make_policy
from policies.foresight import ascent
from policies.foresight.machines import Machines
from policies.foresight.packing import PackingProblem, pose, solve
from policies.foresight.transport import Transport
from simulator import Cluster, simulate
from tests.core.test_invariants import check
from tests.core.two_types import CATALOG, jobs
from tests.foresight.test_packing import STEP_S, drawn, earned, servers, vms
from tests.foresight.test_policy import ODD


def posed(cluster: Cluster, count: int, seed: int) -> tuple[Machines, np.ndarray, PackingProblem]:
    machines, gain, _ = drawn(cluster, count, seed)
    if seed % 3 == 0:
        gain = np.round(gain)  # many ties
    return machines, gain, pose(machines, gain, STEP_S)


clusters = st.sampled_from(
    [vms(1), vms(2), vms(6), servers((0,)), servers((0, 1)), servers((0, 0, 1, 1))]
)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(clusters, st.integers(1, 14), st.integers(0, 10_000))
def test_it_fits_and_its_gap_holds(cluster, count, seed):
    """Never beyond capacity; worth what it says; the exact packing lies within the recorded gap."""
    machines, gain, packing = posed(cluster, count, seed)
    found, exact = ascent.solve(packing, 1e-4), solve(packing, 0.0)
    assert earned(machines, gain, STEP_S, found.assignments) == pytest.approx(found.value, abs=1e-7)
    assert found.value <= exact.value + 1e-7
    assert exact.value <= found.bound + 1e-7


@pytest.mark.parametrize("cluster", [vms(60), servers((0,) * 30 + (1,) * 30)])
def test_the_gap_is_small_where_nodes_are_many(cluster):
    """300 jobs on 60 nodes: within half a per cent of the bound, which is near the optimum."""
    _, _, packing = posed(cluster, 300, 1)
    found, exact = ascent.solve(packing, 1e-4), solve(packing, 1e-6)
    assert found.bound == pytest.approx(exact.value, rel=5e-3)
    assert found.value >= 0.995 * found.bound


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 10_000), st.booleans())
def test_transport_is_the_assignment(n, kinds, seed, ties):
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


@pytest.mark.long
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "cluster", [Cluster.of_vms(CATALOG, 3), Cluster(CATALOG, 3, (1, 0, 1))], ids=["VMs", "fixed"]
)
def test_whole_runs_without_exact_packing(odd, cluster):
    policy = make_policy("foresight", exact_up_to=0)
    result = simulate(ODD[odd](jobs(2, 4)), cluster, policy, seed=1)
    check(result)
    table = result.decisions_table()
    assert "ascent" in set(table["method"])
    assert (table["gap"].dropna() >= -1e-12).all()


def test_the_rule_and_what_is_recorded():
    """Few pairs: exact, and no gap is recorded. The costs of the two are near each other."""
    workload, cluster = jobs(3, 5), Cluster.of_vms(CATALOG, 3)
    exact, prices = (
        simulate(workload, cluster, make_policy("foresight", exact_up_to=limit), seed=1)
        for limit in (40_000, 0)
    )
    assert "gap" not in exact.decisions_table()
    assert prices.total_cost == pytest.approx(exact.total_cost, rel=0.1)
    again = simulate(workload, cluster, make_policy("foresight", exact_up_to=0), seed=1)
    assert again.jobs_table().to_csv() == prices.jobs_table().to_csv()


@pytest.mark.parametrize(
    ("limit", "counts"), [(3, [1, 1, 1, 0]), (2, [0, 1, 1, 0]), (9, [1, 1, 1, 0])]
)
def test_fractions_of_nodes_are_rounded_to_as_many(limit, counts):
    """0.5, 1.3 and 1.2 nodes of three patterns of one type are three, of which the first pattern has lost most; a pattern
    of another type has nothing to do with it."""
    problem = SimpleNamespace(limits=np.array([limit, 5.0]), group=np.array([0, 0, 0, 1]))
    shares = np.array([0.5, 1.3, 1.2, 0.4])
    assert ascent._rounded(problem, shares).tolist() == counts
