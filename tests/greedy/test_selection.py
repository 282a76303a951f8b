"""The selection rule: cheapest on time, else fastest; ties by time, then type, then fewest GPUs."""

import numpy as np
import pytest

from policies.queues.selection import (
    NONE,
    choose_configuration,
    configuration_price_per_hour,
    node_price_per_hour,
    require_configurations,
    selection_price_per_hour,
)
from simulator import Cluster, InputError, NodeType
from tests.core.jobs import fixed

INF = np.inf


def times(*by_gpus: list[float]) -> np.ndarray:
    """One row a node type; column 0, no GPU, is never possible."""
    return np.array([[INF, *row] for row in by_gpus])


TWO = times([100.0, 80.0], [50.0, 20.0])
"""Shares at 1 and 3 $/h of two GPUs cost 50, 80 and 75, 60; whole nodes 100, 80 and 150, 60."""
DEAR = [3600.0, 11 * 3600.0]
ONE_IN_FOUR = times([390, 200, INF, 150])


@pytest.mark.parametrize(
    ("times_s", "due_s", "price", "gpus", "chosen"),
    [
        pytest.param(TWO, 100.0, [1, 3], [2, 2], (0, 1), id="cheapest share"),
        pytest.param(TWO, 60.0, [1, 3], [2, 2], (1, 2), id="cheapest share on time"),
        pytest.param(TWO, 79.0, [1, 3], [2, 2], (1, 2), id="another is late by a second"),
        # 1 GPU: late and cheapest; 2 GPUs: on time, 200 s * 2/4; 4 GPUs: fastest and dearest.
        pytest.param(ONE_IN_FOUR, 250.0, [4], [4], (0, 2), id="neither cheapest nor fastest"),
        pytest.param(times([30, 40], [25, 26]), -5.0, [1, 3], [2, 2], (1, 1), id="fastest if late"),
        pytest.param(times([30, 30], [INF, INF]), 0.0, [1, 3], [2, 2], (0, 1), id="fewest GPUs"),
        pytest.param(times([30, 20]), 30.0 - 1e-9, [1], [2], (0, 1), id="no slack is on time"),
        pytest.param(times([30, 20], [90, 10]), -1.0, [1, 3], [2, 1], (0, 2), id="no third GPU"),
        # Perfect speed-up: every share costs the same, 4 GPUs take a quarter of the time.
        pytest.param(times([400, 200, INF, 100]), 1e9, [4], [4], (0, 4), id="equal cost: fastest"),
        pytest.param(times([9, 9], [9, 9]), -1, [6, 4], [2, 2], (1, 1), id="equal time: cheapest"),
        pytest.param(times([100], [100]), 1e9, [1, 1], [1, 1], (0, 1), id="equal: first type"),
        # 3,600 $/h for 10 s are 10 $; on the other type 11 $, though it takes 1 s.
        pytest.param(times([10], [1]), 1e9, DEAR, [1, 1], (0, 1), id="price is that of seconds"),
        pytest.param(times([10], [1]), 5.0, DEAR, [1, 1], (1, 1), id="dearer on time"),
        pytest.param(times([INF], [INF]), 1.0, [1, 3], [1, 1], (NONE, 0), id="runs nowhere"),
    ],
)  # fmt: skip
def test_choice(times_s, due_s, price, gpus, chosen):
    assert choose_configuration(times_s, due_s, np.array(price, dtype=float), gpus) == chosen


def test_whole_nodes_are_paid_where_asked():
    assert choose_configuration(TWO, 100.0, np.array([1.0, 3.0]), [2, 2], "node") == (1, 2)


@pytest.mark.parametrize("cost_of", ["share", "node"])
def test_many_jobs_agree_with_one_at_a_time(cost_of):
    rng = np.random.default_rng(1)
    table = rng.uniform(1, 10, (200, 3, 5))
    table[rng.random(table.shape) < 0.3] = INF
    table[0] = INF
    due = rng.uniform(-2, 10, 200)
    price, gpus = np.array([1.0, 2.0, 0.0]), np.array([4, 2, 3])
    v, g = choose_configuration(table, due, price, gpus, cost_of)
    assert (v[0], g[0]) == (NONE, 0)
    for j in range(200):
        assert (v[j], g[j]) == choose_configuration(table[j], due[j], price, gpus, cost_of)


def test_a_share_costs_its_part_of_the_node_and_a_node_all_of_it():
    price, gpus = np.array([4.0, 9.0]), [2, 3]
    share = configuration_price_per_hour(price, gpus, 3)
    assert share.tolist() == [[INF, 2, 4, INF], [INF, 3, 6, 9]]
    node = configuration_price_per_hour(price, gpus, 3, "node")
    assert node.tolist() == [[INF, 4, 4, INF], [INF, 9, 9, 9]]


def test_prices_of_a_cluster():
    """Energy is that of the GPUs in use: 100 W at 2 $/kWh and a PUE of 1.5 are 0.3 $/h."""
    types = (NodeType("a", "A", 2, 4.0, power_w=(50.0, 100.0, 150.0)), NodeType("b", "B", 1, 1.0))
    cluster = Cluster(types, 2, (0, 1), energy_price_per_kwh=2.0, pue=1.5)
    whole = node_price_per_hour(cluster)
    np.testing.assert_allclose(whole, [[4.15, 4.3, 4.45], [1.0, 1.0, INF]])
    share = selection_price_per_hour(cluster)
    np.testing.assert_allclose(share, [[INF, 2.3, 4.45], [INF, 1.0, INF]])
    share = selection_price_per_hour(cluster, "node")
    np.testing.assert_allclose(share, [[INF, 4.3, 4.45], [INF, 1.0, INF]])


def test_a_job_that_could_never_start_is_refused_with_its_reason():
    def jobs(*gpus: int):
        return fixed([0] * len(gpus), [1] * len(gpus), list(gpus))

    cluster = Cluster.of_nodes(NodeType("n", "A", 4), 1)
    table = np.full((4, 1, 5), INF)
    table[[0, 2], 0, 1] = 10.0
    require_configurations("greedy", table[[0, 2]], jobs(1, 1), cluster)
    asks = r"policy 'greedy': job 'j1' asks for 8 GPUs on any node \(of 4 GPUs at the most\), "
    with pytest.raises(InputError, match=asks + ".*; 2 of 4 jobs are so"):
        require_configurations("greedy", table, jobs(1, 8, 1, 4), cluster)
    with pytest.raises(InputError, match="job 'j1' has no time on any node"):
        require_configurations("greedy", table, jobs(1, 4, 1, 8), cluster)
