"""Fixed configurations: costs, placement on VMs, and the budget kept on the hierarchical jobs."""

import numpy as np
import pytest

from experiments.papers.rental.bridge import run_bridge
from policies.rental.configurations import OwnConfiguration, cheapest, costs_by_the_gpu
from simulator import Cluster, NodeType, Workload, simulate
from simulator.model.performance import TimeTable

SMALL = NodeType("small", "A", 1, price_per_hour=1.0)
LARGE = NodeType("large", "B", 4, price_per_hour=2.0)
INF = np.inf
TIMES_S = np.array(
    [
        [[INF, 7200, INF, INF, INF], [INF, 3600, 2400, 2000, 1800]],
        [[INF, 3600, INF, INF, INF], [INF, 7200, 3600, 3600, INF]],
    ]
)


def workload(submit_s: list[float]) -> Workload:
    return Workload(["a", "b"], np.array(submit_s), TimeTable(TIMES_S))


def test_costs_by_the_gpu():
    costs = costs_by_the_gpu(TIMES_S, Cluster.of_vms([SMALL, LARGE], 2))
    assert costs[0, 0, 1] == pytest.approx(2.0)
    assert costs[0, 1, 2] == pytest.approx(2400 / 3600 * 2 * 0.5)
    assert np.isinf(costs[:, :, 0]).all()
    assert cheapest(costs).tolist() == [[1, 1], [0, 1]]
    assert cheapest(TIMES_S).tolist() == [[1, 4], [0, 1]]


def test_vms_are_shared_where_there_is_room():
    cluster = Cluster.of_vms([SMALL, LARGE], 2)
    both_large = OwnConfiguration(np.array([[1, 1], [1, 2]]))
    result = simulate(workload([0.0, 60.0]), cluster, both_large)
    assert result.completion_s.tolist() == pytest.approx([3600, 3660])
    assert result.meters.leasing_cost == pytest.approx(2.0 * 3660 / 3600)
    whole = OwnConfiguration(np.array([[1, 4], [1, 2]]))
    result = simulate(workload([0.0, 60.0]), cluster, whole)
    assert result.meters.leasing_cost == pytest.approx(2.0 * (1800 + 3600) / 3600)


def test_jobs_wait_where_all_vms_are_open():
    own = OwnConfiguration(np.array([[1, 4], [0, 1]]))
    result = simulate(workload([0.0, 60.0]), Cluster.of_vms([SMALL, LARGE], 1), own)
    assert result.first_start_s.tolist() == pytest.approx([0, 1800])


@pytest.mark.long
def test_every_way_and_rule_on_the_same_jobs():
    outcome = run_bridge(
        {"num_nodes": 5, "jobs_per_node": 4, "gap": 1.0, "due": "min-2max", "seed": 2}
    )
    table = outcome.tables["methods"].set_index("method")
    assert len(table) == 10
    budget = outcome.scalars["budget"]
    assert table.loc["hierarchical", "leasing_cost"] == budget
    kept = table[table["within_budget"]]
    assert {"by the GPU, response time", "whole VMs, response time"} <= set(kept.index)
    # Without machines to share, less choice costs time; and cost is what the other rule is for.
    response = table["mean_response_time_h"]
    assert response["by the GPU, response time"] <= response["whole VMs, response time"]
    assert response["by the GPU, response time"] <= response["by the GPU, total cost"]
    cost = table["total_cost"]
    assert cost["by the GPU, total cost"] <= cost["by the GPU, response time"]
