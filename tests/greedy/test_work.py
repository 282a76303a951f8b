"""Operations of the greedy at a decision, counted: many nodes and jobs must not make all of it longer."""

import numpy as np
import pytest

from policies.greedy.policy import GreedyPolicy
from policies.greedy.pool import randomised_greedy
from policies.greedy.problem import Jobs, machines_of, profile_of
from policies.greedy.queue import ON_TIME, UNKNOWN, pressure_order
from simulator import Cluster, NodeType

SERVER = NodeType("server", "A", 4, price_per_hour=1.0)


@pytest.mark.parametrize("waiting", [60, 200, 2000])
def test_a_long_queue_is_left_where_the_last_gpu_is_taken(waiting):
    """Ten nodes of four GPUs, jobs of one GPU: the candidates of 40 jobs are worked out, never more."""
    times_s = np.full((waiting, 1, 5), np.inf)
    times_s[:, 0, 1] = 100.0
    cluster = Cluster.of_nodes(SERVER, 10)
    machines, price = machines_of(cluster, range(10), "share", times_s)
    profile = profile_of(times_s, machines, price, None)
    jobs = Jobs(
        np.arange(waiting), np.ones(waiting), np.linspace(-500, 500, waiting), np.ones(waiting)
    )
    settings = GreedyPolicy().settings
    order = pressure_order(jobs, profile, settings.weigh_late)
    queue, opens, *_ = randomised_greedy(
        order, jobs, profile, machines, settings, 1, 1, np.uint64(0)
    )
    visited = np.flatnonzero(queue.known[:, ON_TIME] != UNKNOWN)
    assert visited.tolist() == list(range(40))
    assert opens.tolist() == [10]
