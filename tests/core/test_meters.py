"""Meters of nodes, computed by hand: uses of GPUs and CPUs, and what open nodes cost."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import (
    NO_CHANGE,
    Cluster,
    Decision,
    NodeType,
    Placement,
    TimeTable,
    View,
    Workload,
    simulate,
)
from tests.core.jobs import fixed

HOUR = 3600.0


def test_cpus_of_jobs_that_end_apart() -> None:
    """On one node 5 CPUs for 100 s and 2 for 300 s; at 200 s a third job has 3 for 50 s."""
    node = NodeType("n", "GPU", 4, 4.0, cpus=10, memory_gb=64)
    cpus, memory_gb = {0: 5, 1: 2, 2: 3}, {0: 40, 1: 8, 2: 10}

    def policy(view: View) -> Decision:
        placements = [
            Placement(int(j), 0, 1, cpus=cpus[int(j)], memory_gb=memory_gb[int(j)])
            for j in view.jobs
        ]
        return Decision(placements)

    jobs = fixed([0, 0, 200], [100, 300, 50], [1, 1, 1])
    meters = simulate(jobs, Cluster.of_nodes(node, 1), policy).meters
    assert meters.cpu_seconds == 500 + 600 + 150
    assert meters.gpu_seconds == 100 + 300 + 50
    assert meters.open_cpu_seconds == 10 * 300
    assert meters.open_gpu_seconds == 4 * 300


def test_every_fixed_node_is_paid_until_the_last_completion() -> None:
    """At 6 an hour each: one that is idle for the last half second, one that was never used."""
    node = NodeType("n", "GPU", 1, 6.0)
    result = simulate(
        fixed([0, 0], [10, 10.5], [1, 1]), Cluster.of_nodes(node, 3), make_policy("fifo-strict")
    )
    assert result.meters.leasing_cost == pytest.approx(3 * 6 * 10.5 / HOUR)
    assert result.meters.open_gpu_seconds == pytest.approx(3 * 10.5)


def test_fixed_nodes_open_with_the_first_submission() -> None:
    node = NodeType("n", "GPU", 1, 6.0)
    result = simulate(fixed([50], [10], [1]), Cluster.of_nodes(node, 2), make_policy("fifo-strict"))
    assert result.meters.leasing_cost == pytest.approx(2 * 6 * 10 / HOUR)


def test_a_vm_is_paid_while_it_has_a_job_and_may_come_back_as_another() -> None:
    """As ``small`` for 10 s, closed for 20 s, then as ``large`` for 30 s with one GPU of four."""
    small, large = NodeType("small", "A", 1, 1.0), NodeType("large", "A", 4, 8.0)
    times = np.array([[[np.inf, 10.0, *[np.inf] * 3], [np.inf, 30.0, *[np.inf] * 3]]] * 2)
    jobs = Workload(["a", "b"], [0.0, 30.0], TimeTable(times))

    def policy(view: View) -> Decision:
        return Decision([Placement(int(j), 0, 1, node_type=int(j)) for j in view.jobs])

    meters = simulate(jobs, Cluster.of_vms([small, large], 1), policy).meters
    assert meters.leasing_cost == pytest.approx((1 * 10 + 8 * 30) / HOUR)
    assert meters.open_gpu_seconds == 1 * 10 + 4 * 30
    assert meters.gpu_seconds == 10 + 30


def test_vms_that_were_never_opened_cost_nothing() -> None:
    """Of three the second alone is used, for 10 s."""
    times = TimeTable(np.array([[[np.inf, 10.0]]]))

    def policy(view: View) -> Decision:
        return Decision([Placement(0, 1, 1, node_type=0)])

    vms = Cluster.of_vms([NodeType("vm", "A", 1, 7.2)], 3)
    meters = simulate(Workload(["a"], [0.0], times), vms, policy).meters
    assert meters.leasing_cost == pytest.approx(7.2 * 10 / HOUR)
    assert (meters.gpu_seconds, meters.open_gpu_seconds) == (10, 10)


def test_nodes_may_cost_a_part_of_the_price_of_their_type() -> None:
    """One at the price, one at a third of it, which is never used; both are open for 10 s."""
    node = NodeType("n", "GPU", 1, 6.0, power_w=(100.0, 100.0))
    cluster = Cluster((node,), 2, (0, 0), price_factor=(1.0, 1 / 3), energy_price_per_kwh=1.0)
    meters = simulate(fixed([0], [10], [1]), cluster, make_policy("fifo-strict")).meters
    assert meters.leasing_cost == pytest.approx((6 + 2) * 10 / HOUR)
    assert meters.energy_cost == pytest.approx(0.2 * 10 / HOUR)


def test_power_follows_the_gpus_in_use() -> None:
    """100 W idle, 300 W with one GPU, 400 W with two; PUE 1.5, 0.2 a kWh, 500 g of CO2 a kWh."""
    node = NodeType("n", "GPU", 2, 0.0, power_w=(100.0, 300.0, 400.0))
    cluster = Cluster((node,), 1, (0,), energy_price_per_kwh=0.2, pue=1.5, carbon_g_per_kwh=500.0)
    # One GPU for an hour, two for an hour, none for an hour, one for an hour.
    jobs = fixed([0, HOUR, 3 * HOUR], [2 * HOUR, HOUR, HOUR], [1, 1, 1])
    summary = simulate(jobs, cluster, make_policy("fifo-strict")).summary()
    kwh = 1.5 * (0.3 + 0.4 + 0.1 + 0.3)
    assert summary["energy_kwh"] == pytest.approx(kwh)
    assert summary["energy_cost"] == pytest.approx(0.2 * kwh)
    assert summary["carbon_kg"] == pytest.approx(0.5 * kwh)
    assert summary["leasing_cost"] == 0
    assert summary["total_cost"] == pytest.approx(0.2 * kwh)
    assert summary["gpu_utilisation"] == 0.5


def test_a_pool_is_paid_by_the_gpu() -> None:
    """One GPU for 4 s, then two for 3 s, at 3.6 an hour each."""
    jobs = fixed([0, 4], [4, 3], [1, 2])

    def policy(view: View) -> Decision:
        if not len(view.waiting):
            return NO_CHANGE
        job = next(iter(view.waiting))
        return Decision([Placement(job, 0, job + 1)], keep_running=True)

    meters = simulate(jobs, Cluster.rental_pool(3.6), policy).meters
    assert meters.leasing_cost == pytest.approx(3.6 * (4 + 6) / HOUR)
    assert meters.gpu_seconds == 10
