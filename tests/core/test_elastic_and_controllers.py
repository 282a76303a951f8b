"""What fixed demands and several controllers cost, by hand."""

import numpy as np
import pytest

from simulator import TimeTable, Workload
from tests.core.jobs import fixed, nodes, run


@pytest.mark.parametrize(("controllers", "last_s"), [(1, 20.0), (2, 110.0)])
def test_splitting_lets_a_node_idle_while_the_queue_of_the_other_waits(controllers, last_s):
    """100, 10 and 10 s on two nodes: the third goes behind the first by round robin, though node 1 is free."""
    result = run(fixed([0, 0, 0], [100, 10, 10]), nodes(1, 2, controllers))
    assert result.jct_s.tolist() == [100.0, 10.0, last_s]


def test_elastic_jobs_share_a_node_that_fixed_demands_take_in_turn():
    """Each takes 100 s on two GPUs and 120 s on one, due at 130 s: in turn the second is 70 s late."""
    cluster = nodes(2, price_per_hour=1.0)
    due = {"due_s": [130.0, 130.0], "weight_per_s": [1.0, 1.0]}
    table = TimeTable(np.array([[[np.inf, 120.0, 100.0]]] * 2))
    in_turn = run(fixed([0, 0], [100, 100], [2, 2], **due), cluster, "fifo-backfill")
    at_once = run(Workload(["a", "b"], [0.0, 0.0], table, **due), cluster, "greedy")
    assert in_turn.tardiness_s.tolist() == [0.0, 70.0]
    assert at_once.jct_s.tolist() == [120.0, 120.0]
    assert at_once.total_cost < in_turn.total_cost
