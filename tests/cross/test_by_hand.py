"""A hand-made case for the mechanism behind each question that no other room has one for.

Dispatchers are in tests/core/test_dispatcher.py, predictions in tests/adaptation/test_predictions.py,
reconfiguration in tests/core/test_corner_cases.py and tests/hysteresis, bounds in tests/foresight.
"""

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, ServerSpec, Workload, simulate
from simulator.laws import Deterministic
from simulator.model.performance import FixedDuration, TimeTable

ONE_GPU = NodeType("n", "GPU", 1)


def jobs(submit_s: list[float], duration_s: list[float]) -> Workload:
    ones = [1] * len(submit_s)
    return Workload(
        [f"j{i}" for i in range(len(ones))], submit_s, FixedDuration(duration_s, ones), ones
    )


@pytest.mark.parametrize(("controllers", "last_s"), [(1, 20.0), (2, 110.0)])
def test_splitting_lets_a_node_idle_while_the_queue_of_the_other_waits(
    controllers: int, last_s: float
) -> None:
    """100, 10 and 10 s on two nodes: the third goes behind the first by round robin, though node 1 is free."""
    cluster = Cluster.of_nodes(ONE_GPU, 2, controllers)
    result = simulate(jobs([0, 0, 0], [100, 10, 10]), cluster, make_policy("fifo-strict"))
    assert result.jct_s.tolist() == [100.0, 10.0, last_s]


@pytest.mark.parametrize(
    ("controllers", "servers", "jct_s"),
    [(1, 1, [110.0, 110.0]), (2, 1, [110.0, 120.0]), (2, 2, [110.0, 110.0])],
)
def test_more_controllers_wait_for_one_server_and_not_for_two(
    controllers: int, servers: int, jct_s: list[float]
) -> None:
    """A decision takes 10 s. One controller starts both jobs with one; two queue for one server."""
    cluster = Cluster.of_nodes(ONE_GPU, 2, controllers)
    server = ServerSpec(Deterministic(10), servers, coalesce=True)
    result = simulate(jobs([0, 0], [100, 100]), cluster, make_policy("fifo-strict"), server=server)
    assert result.jct_s.tolist() == jct_s


def test_a_period_makes_a_job_wait_for_its_end() -> None:
    """Submitted at 1 s: it starts then, or at the round at 60 s."""
    cluster, one = Cluster.of_nodes(ONE_GPU, 1), jobs([0, 1], [0.5, 10])
    policy = make_policy("fifo-strict")
    assert simulate(one, cluster, policy).jct_s[1] == 10
    rounds = DecisionPoints.rounds(60.0)
    assert simulate(one, cluster, policy, decision_points=rounds).jct_s[1] == 69


def test_elastic_jobs_share_a_node_that_fixed_demands_take_in_turn() -> None:
    """Each takes 100 s on two GPUs and 120 s on one, due at 130 s: in turn the second is 70 s late."""
    node = NodeType("n", "GPU", 2, 1.0)
    cluster = Cluster.of_nodes(node, 1)
    due = {"due_s": [130.0, 130.0], "weight_per_s": [1.0, 1.0]}
    fixed = Workload(["a", "b"], [0.0, 0.0], FixedDuration([100.0] * 2, [2] * 2), [2] * 2, **due)
    table = TimeTable(np.array([[[np.inf, 120.0, 100.0]]] * 2))
    elastic = Workload(["a", "b"], [0.0, 0.0], table, **due)
    in_turn = simulate(fixed, cluster, make_policy("fifo-backfill"))
    at_once = simulate(elastic, cluster, make_policy("greedy"))
    assert in_turn.tardiness_s.tolist() == [0.0, 70.0]
    assert at_once.jct_s.tolist() == [120.0, 120.0]
    assert at_once.total_cost < in_turn.total_cost
