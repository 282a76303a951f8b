import math

import numpy as np
import pytest

from policies.selection import (
    NONE,
    choose_configuration,
    node_price_per_hour,
    selection_price_per_hour,
)
from simulator.model.cluster import Cluster, NodeType

INF = math.inf
PRICE = np.array([1.0, 3.0])
GPUS = np.array([2, 2])


def test_cheapest_that_meets_the_due_date_by_share():
    times = np.array([[INF, 100.0, 80.0], [INF, 50.0, 20.0]])
    # shares: v0: 50, 80; v1: 75, 60
    assert choose_configuration(times, 100.0, PRICE, GPUS) == (0, 1)
    assert choose_configuration(times, 60.0, PRICE, GPUS) == (1, 2)
    assert choose_configuration(times, 79.0, PRICE, GPUS) == (1, 2)
    # whole nodes: v0: 100, 80; v1: 150, 60
    assert choose_configuration(times, 100.0, PRICE, GPUS, "node") == (1, 2)


def test_fastest_when_overdue_and_times_are_not_monotone():
    times = np.array([[INF, 30.0, 40.0], [INF, 25.0, 26.0]])
    assert choose_configuration(times, -5.0, PRICE, GPUS) == (1, 1)


def test_equal_times_go_to_fewer_gpus():
    times = np.array([[INF, 30.0, 30.0], [INF, INF, INF]])
    assert choose_configuration(times, 0.0, PRICE, GPUS) == (0, 1)


def test_zero_slack_is_on_time():
    times = np.array([[INF, 30.0, 20.0], [INF, INF, INF]])
    assert choose_configuration(times, 30.0 - 1e-9, PRICE, GPUS) == (0, 1)


def test_a_job_that_runs_nowhere():
    assert choose_configuration(np.full((2, 3), INF), 1.0, PRICE, GPUS) == (NONE, 0)


def test_configurations_beyond_the_node_do_not_exist():
    times = np.array([[INF, 30.0, 20.0], [INF, 90.0, 10.0]])
    assert choose_configuration(times, -1.0, PRICE, np.array([2, 1])) == (0, 2)


@pytest.mark.parametrize("cost_of", ["share", "node"])
def test_many_jobs_agree_with_one_at_a_time(cost_of):
    rng = np.random.default_rng(1)
    times = rng.uniform(1, 10, (200, 3, 5))
    times[rng.random(times.shape) < 0.3] = INF
    due = rng.uniform(-2, 10, 200)
    price, gpus = np.array([1.0, 2.0, 0.0]), np.array([4, 2, 3])
    v, g = choose_configuration(times, due, price, gpus, cost_of)
    for j in range(200):
        assert (v[j], g[j]) == choose_configuration(times[j], due[j], price, gpus, cost_of)


def test_prices_of_a_cluster():
    watt = (50.0, 100.0, 150.0)
    types = (NodeType("a", "A", 2, 4.0, power_w=watt), NodeType("b", "B", 1, 1.0))
    cluster = Cluster(types, 2, (0, 1), energy_price_per_kwh=2.0, pue=1.5)
    whole = node_price_per_hour(cluster)
    np.testing.assert_allclose(whole, [[4.15, 4.3, 4.45], [1.0, 1.0, INF]])
    share = selection_price_per_hour(cluster)
    np.testing.assert_allclose(share, [[INF, 2.3, 4.45], [INF, 1.0, INF]])
