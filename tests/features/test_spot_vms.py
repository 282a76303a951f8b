"""Spot VMs: what they cost, by hand and recomputed from the schedule, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.bounds import alone
from experiments.config import KeyedError
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from simulator import Cluster, InputError, NodeType
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.spot import SpotKeys
from simulator.laws import Deterministic, Exponential
from tests.core.jobs import elastic
from tests.core.jobs import run as simulated
from tests.families import registered

VM = NodeType("vm", "A", 2, 3.6)
ONE = elastic([[[np.inf, 100.0, np.inf]]], due_s=[1e4])


def on_spot(cluster, factor):
    return replace(cluster, price_factor=factor)


def test_one_vm_by_hand():
    """100 s at 3.60 $/h are 0.10 $; on spot 0.03 $. Taken away at 50 s and back at 60 s: as long open."""
    plain = Cluster.of_vms([VM], 1)
    spot = on_spot(plain, (0.3,))
    assert simulated(ONE, plain, "fifo").meters.leasing_cost == pytest.approx(0.1)
    assert simulated(ONE, spot, "fifo").meters.leasing_cost == pytest.approx(0.03)
    cause = Outages(Deterministic(50.0), Deterministic(10.0), [(0,)], 120.0, name="spot")
    result = simulated(ONE, spot, "fifo", Failures([cause], Checkpoints(interval_s=0.0)))
    assert result.completion_s.tolist() == [110.0]
    assert result.meters.leasing_cost == pytest.approx(0.03)
    assert result.table("timeline")["cost_per_h"].tolist() == pytest.approx([1.08, 0.0, 1.08, 0.0])


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    name=st.sampled_from(registered("fifo", "edf", "greedy", "milp")),
    price=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_money_is_that_of_the_schedule(seed, name, price):
    """Each stretch in which a VM is open, at the price of its type and place."""
    rng = np.random.default_rng(seed)
    count = 8
    submit_s = np.cumsum(rng.exponential(300, count))
    times_s = rng.uniform(100, 4000, (count, 2, 3))
    jobs = elastic(times_s, submit_s, due_s=submit_s + rng.uniform(0, 5000, count))
    types = [NodeType("v", "A", 1, 0.5), NodeType("w", "B", 2, 1.2)]
    cluster = on_spot(Cluster.of_vms(types, 3), (1.0, price, price))
    cause = Outages(Exponential(2000.0), Exponential(300.0), [(1,), (2,)], 60.0, name="spot")
    result = simulated(
        jobs, cluster, name, Failures([cause], Checkpoints(interval_s=300.0, cost_s=5.0))
    )
    paid = 0.0
    for node in range(3):
        own = sorted((s for s in result.schedule if s.node == node), key=lambda s: s.start_s)
        until = -np.inf
        for share in own:  # jobs side by side pay once
            begin = max(share.start_s, until)
            until = max(until, share.end_s)
            hours = max(0.0, until - begin) / 3600
            paid += types[share.node_type].price_per_hour * cluster.price_factor[node] * hours
    assert result.meters.leasing_cost == pytest.approx(paid)


def scenario(**tables):
    return Scenario.model_validate({
        "workload": {"kind": "hierarchical", "num_nodes": 5, "jobs_per_node": 2},
        "cluster": {"kind": "vms"}, "policy": "greedy", "seed": 1, **tables,
    })  # fmt: skip


FOR_EVER = {"nodes": 2, "time_to_reclaim": "deterministic:1e12", "down": "deterministic:1"}


def test_the_table_in_a_scenario():
    """Free spot VMs that never go: only the others are paid, and jobs run as they did."""
    plain, cheap = run(scenario()), run(scenario(spot=FOR_EVER | {"price": 0}))
    assert cheap.cluster.price_factor == (0.0, 0.0, 1.0, 1.0, 1.0)
    assert cheap.completion_s.tolist() == plain.completion_s.tolist()
    assert 0 <= cheap.meters.leasing_cost < plain.meters.leasing_cost
    same = run(scenario(spot=FOR_EVER | {"price": 1.0}))
    assert same.meters.leasing_cost == plain.meters.leasing_cost


def test_prices_of_adapt_hold_for_spot_too():
    """Three nodes of 8 GPUs at 1 $ a GPU-hour; the last two, at 0.3 of it, are never away."""
    base = {
        "workload": {"kind": "poisson", "num_jobs": 3, "arrival_rate_per_h": 1, "num_gpus": [1],
                     "duration_s": "deterministic:36000"},
        "cluster": {"kind": "nodes", "num_nodes": 3, "gpus_per_node": 8},
        "policy": "fifo-backfill", "adapt": {"prices": 1.0},
    }  # fmt: skip
    found = run(Scenario.model_validate({**base, "spot": {**FOR_EVER, "price": 0.3}}))
    hours = (found.completion_s.max() - found.workload.submit_s[0]) / 3600
    assert found.meters.leasing_cost == pytest.approx(8 * (1 + 2 * 0.3) * hours)


def test_mistakes_are_one_line():
    keys = SpotKeys(nodes=3, time_to_reclaim="deterministic:1", down="deterministic:1")
    vms = Cluster.of_vms([VM], 2)
    with pytest.raises(KeyedError, match=r"spot\.nodes: got 3, expected at most 2 nodes"):
        keys.on_cluster(vms)
    with pytest.raises(KeyedError, match="spot: given with a rental pool, expected nodes or VMs"):
        keys.on_cluster(Cluster.rental_pool(1.0))
    for bad in ((1.0,), (1.0, -1.0), (1.0, np.nan)):
        with pytest.raises(InputError, match="price_factor needs 2 numbers >= 0"):
            on_spot(vms, bad)
    with pytest.raises(InputError, match="bounds: nodes have prices of their own"):
        alone(ONE, on_spot(vms, (1.0, 0.3)))
