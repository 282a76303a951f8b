"""Ties of the selection rule: equal costs go to the shorter time, equal times to the lower cost."""

from __future__ import annotations

import numpy as np
import pytest

from policies.selection import (
    NONE,
    CostOf,
    choose_configuration,
    configuration_price_per_hour,
    node_price_per_hour,
    require_configurations,
    selection_price_per_hour,
)
from simulator import Cluster, FixedDuration, InputError, NodeType, Workload


def times(*by_gpus: list[float]) -> np.ndarray:
    """One row a node type; column 0, no GPU, is never possible."""
    return np.array([[np.inf, *row] for row in by_gpus])


def test_of_equally_cheap_ones_on_time_the_fastest() -> None:
    # Perfect speed-up on one type: every share costs the same, 4 GPUs take a quarter of the time.
    assert choose_configuration(times([400, 200, np.inf, 100]), 1e9, np.array([4.0]), [4]) == (0, 4)


def test_of_equally_fast_late_ones_the_cheapest() -> None:
    late = choose_configuration(times([100, 100], [100, 100]), -1.0, np.array([6.0, 4.0]), [2, 2])
    assert late == (1, 1)


def test_of_equal_ones_the_first_type_and_the_fewest_gpus() -> None:
    assert choose_configuration(times([100], [100]), 1e9, np.array([1.0, 1.0]), [1, 1]) == (0, 1)


def test_cheapest_on_time_beats_cheaper_but_late_and_faster_but_dearer() -> None:
    # 1 GPU: late and cheapest; 2 GPUs: on time, 200 s * 2/4; 4 GPUs: fastest and dearest.
    found = choose_configuration(times([390, 200, np.inf, 150]), 250.0, np.array([4.0]), [4])
    assert found == (0, 2)


def test_a_share_costs_its_part_of_the_node_and_a_node_all_of_it() -> None:
    price, gpus = np.array([4.0, 9.0]), [2, 3]
    share = configuration_price_per_hour(price, gpus, 3)
    assert share.tolist() == [[np.inf, 2, 4, np.inf], [np.inf, 3, 6, 9]]
    node = configuration_price_per_hour(price, gpus, 3, "node")
    assert node.tolist() == [[np.inf, 4, 4, np.inf], [np.inf, 9, 9, 9]]


@pytest.mark.parametrize(("cost_of", "leasing"), [("share", [1.0, 2.0]), ("node", [2.0, 2.0])])
def test_leasing_is_shared_as_asked_and_energy_is_that_of_the_gpus_in_use(
    cost_of: CostOf, leasing: list[float]
) -> None:
    node = NodeType("n", "GPU", 2, 2.0, power_w=(100.0, 500.0, 700.0))
    cluster = Cluster((node,), 1, (0,), energy_price_per_kwh=0.2)
    found = selection_price_per_hour(cluster, cost_of)
    assert found[0, 0] == np.inf
    assert found[0, 1:].tolist() == pytest.approx([leasing[0] + 0.1, leasing[1] + 0.14])


def test_prices_are_those_of_seconds() -> None:
    """3,600 $/h for 10 s are 10 $; on the other type 11 $, though it takes 1 s."""
    slow_or_dear = times([10.0], [1.0])
    price = np.array([3600.0, 11 * 3600.0])
    assert choose_configuration(slow_or_dear, 1e9, price, [1, 1]) == (0, 1)
    assert choose_configuration(slow_or_dear, 5.0, price, [1, 1]) == (1, 1)


def test_many_jobs_at_once_are_chosen_as_each_by_itself() -> None:
    """The first is late everywhere, the second has time, the third can run nowhere."""
    one = times([40.0, 30.0], [50.0, np.inf])
    table = np.stack([one, one, np.full_like(one, np.inf)])
    v, g = choose_configuration(table, np.array([5, 100, 100]), np.array([2.0, 1.0]), [2, 1])
    assert v.tolist() == [0, 0, NONE]
    assert g.tolist() == [2, 1, 0]
    assert choose_configuration(table[2], 5, np.array([2.0, 1.0]), [2, 1]) == (NONE, 0)


def test_what_a_node_costs_by_the_gpus_in_use() -> None:
    """1 kW idle, 2 kW with one GPU at 0.5 a kWh; types have no more configurations than GPUs."""
    types = (
        NodeType("small", "A", 1, power_w=(1000.0, 2000.0)),
        NodeType("large", "B", 2, power_w=(1000.0, 2000.0, 4000.0)),
    )
    found = node_price_per_hour(Cluster(types, 2, (0, 1), energy_price_per_kwh=0.5))
    assert found.tolist() == [[0.5, 1.0, np.inf], [0.5, 1.0, 2.0]]
    # Shared or not, energy is that of the GPUs in use; no GPU is no configuration.
    chosen = selection_price_per_hour(Cluster(types, 2, (0, 1), energy_price_per_kwh=0.5))
    assert chosen.tolist() == [[np.inf, 1.0, np.inf], [np.inf, 1.0, 2.0]]


def test_a_job_that_could_never_start_is_refused_with_its_reason() -> None:
    cluster = Cluster.of_nodes(NodeType("n", "A", 4), 1)
    table = np.full((4, 1, 5), np.inf)
    table[[0, 2], 0, 1] = 10.0
    require_configurations("greedy", table[[0, 2]], _jobs([1, 1]), cluster)
    asks = r"policy 'greedy': job 'j1' asks for 8 GPUs on any node \(of 4 GPUs at the most\), "
    with pytest.raises(InputError, match=asks + ".*; 2 of 4 jobs are so"):
        require_configurations("greedy", table, _jobs([1, 8, 1, 4]), cluster)
    with pytest.raises(InputError, match="job 'j1' has no time on any node"):
        require_configurations("greedy", table, _jobs([1, 4, 1, 8]), cluster)


def _jobs(gpus: list[int]) -> Workload:
    ones = np.ones(len(gpus))
    names = [f"j{j}" for j in range(len(gpus))]
    return Workload(names, 0 * ones, FixedDuration(ones, np.array(gpus)), num_gpus=gpus)
