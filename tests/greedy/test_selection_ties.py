"""Ties of the selection rule: equal costs go to the shorter time, equal times to the lower cost."""

from __future__ import annotations

import numpy as np
import pytest

from policies.selection import (
    CostOf,
    choose_configuration,
    configuration_price_per_hour,
    selection_price_per_hour,
)
from simulator import Cluster, NodeType


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
