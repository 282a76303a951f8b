"""Meters of nodes, computed by hand: uses of GPUs and CPUs, and what open nodes cost."""

import pytest

from simulator import Cluster, Decision, NodeType, Placement, View
from tests.core.jobs import fixed, nodes, run

HOUR = 3600.0


def test_cpus_of_jobs_that_end_apart():
    """On one node 5 CPUs for 100 s and 2 for 300 s; at 200 s a third job has 3 for 50 s."""
    shares = [Placement(j, 0, 1, cpus=cpus) for j, cpus in enumerate((5, 2, 3))]

    def policy(view: View) -> Decision:
        return Decision([shares[j] for j in view.jobs.tolist()])

    jobs = fixed([0, 0, 200], [100, 300, 50])
    result = run(jobs, nodes(4, cpus=10, memory_gb=64), policy)
    meters, summary = result.meters, result.summary()
    assert meters.cpu_seconds == 500 + 600 + 150
    assert meters.gpu_seconds == 100 + 300 + 50
    assert meters.open_cpu_seconds == 10 * 300
    assert meters.open_gpu_seconds == 4 * 300
    assert (summary["cpu_utilisation"], summary["gpu_utilisation"]) == (1250 / 3000, 450 / 1200)


def test_every_fixed_node_is_paid_from_the_first_submission_until_the_last_completion():
    """At 6 an hour each: one that is idle for the last half second, one that was never used."""
    result = run(fixed([50, 50], [10, 10.5]), nodes(1, 3, price_per_hour=6.0))
    assert result.meters.leasing_cost == pytest.approx(3 * 6 * 10.5 / HOUR)
    assert result.meters.open_gpu_seconds == pytest.approx(3 * 10.5)


def test_nodes_may_cost_a_part_of_the_price_of_their_type():
    """One at the price, one at a third of it, which is never used; both are open for 10 s."""
    node = NodeType("n", "GPU", 1, 6.0, power_w=(100.0, 100.0))
    cluster = Cluster((node,), 2, (0, 0), price_factor=(1.0, 1 / 3), energy_price_per_kwh=1.0)
    meters = run(fixed([0], [10]), cluster).meters
    assert meters.leasing_cost == pytest.approx((6 + 2) * 10 / HOUR)
    assert meters.energy_cost == pytest.approx(0.2 * 10 / HOUR)


def test_power_follows_the_gpus_in_use():
    """100 W idle, 300 W with one GPU, 400 W with two; PUE 1.5, 0.2 a kWh, 500 g of CO2 a kWh."""
    node = NodeType("n", "GPU", 2, 0.0, power_w=(100.0, 300.0, 400.0))
    cluster = Cluster((node,), 1, (0,), energy_price_per_kwh=0.2, pue=1.5, carbon_g_per_kwh=500.0)
    # One GPU for an hour, two for an hour, none for an hour, one for an hour.
    summary = run(fixed([0, HOUR, 3 * HOUR], [2 * HOUR, HOUR, HOUR]), cluster).summary()
    kwh = 1.5 * (0.3 + 0.4 + 0.1 + 0.3)
    costs = {
        "energy_kwh": kwh, "energy_cost": 0.2 * kwh, "carbon_kg": 0.5 * kwh, "leasing_cost": 0,
        "total_cost": 0.2 * kwh, "gpu_utilisation": 0.5,
    }  # fmt: skip
    assert {name: summary[name] for name in costs} == pytest.approx(costs)
