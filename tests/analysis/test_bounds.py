"""Lower bounds on the cost of any schedule."""

import numpy as np
import pytest

from experiments.analysis.bounds import alone, shared
from policies.registry.making import make_policy
from simulator import Cluster, InputError, NodeType, TimeTable, Workload, simulate
from tests.greedy.instances import CATALOG
from tests.greedy.test_policy import powered, workload_on


def one_type(times, due, weight, submit=None, nodes=1):
    cluster = Cluster.of_vms([NodeType("a", "A", 2, 3600.0)], nodes)
    count = len(times)
    table = np.full((count, 1, 3), np.inf)
    table[:, 0, 1:] = times
    submit = submit or [0.0] * count
    names = [f"j{i}" for i in range(count)]
    return Workload(names, submit, TimeTable(table), due_s=due, weight_per_s=weight), cluster


def test_a_job_alone_by_hand():
    # 1 $/s a node: 10 s on one GPU costs 5 (half a node), 6 s on two costs 6.
    for due, weight, expected in [
        (20.0, 1.0, 5.0),  # slow and cheap
        (8.0, 10.0, 5.5),  # half of the work either way is just on time
        (4.0, 10.0, 26.0),  # 2 s late at the best
        (4.0, 0.1, 5.6),  # 6 s late, but that is cheaper than two GPUs
    ]:
        workload, cluster = one_type([[10.0, 6.0]], [due], [weight])
        assert alone(workload, cluster) == pytest.approx([expected])
        assert shared(workload, cluster, 30) == pytest.approx(expected)


def test_jobs_that_must_queue_by_hand():
    # Four jobs of 10 s that need a whole node each, all due at 10 s: 0, 10, 20 and 30 s late. The
    # bound counts mean starts of intervals, half of a job's time before its end.
    workload, cluster = one_type([[np.inf, 10.0]] * 4, [10.0] * 4, [1.0] * 4)
    assert alone(workload, cluster).sum() == pytest.approx(40.0)
    value = shared(workload, cluster, 400)
    assert 40.0 + 30.0 < value <= 40.0 + 60.0


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_no_policy_is_below_the_floor(fixed, seed):
    cluster = powered(3) if fixed else Cluster.of_vms(CATALOG, 3)
    workload = workload_on(cluster, 25, seed, load=3.0)
    low, high = float(alone(workload, cluster).sum()), shared(workload, cluster, 25)
    assert low <= high
    for name in ("greedy", "local-search", "edf"):
        options = {"iterations": 50} if name == "local-search" else {}
        cost = simulate(workload, cluster, make_policy(name, **options)).total_cost
        assert cost >= high * (1 - 1e-9)


def test_more_jobs_than_the_nodes_can_take_raise_the_floor():
    cluster = Cluster.of_vms(CATALOG, 2)
    workload = workload_on(cluster, 30, 1, load=20.0)
    assert shared(workload, cluster, 40) > 1.2 * alone(workload, cluster).sum()


def test_rental_pools_have_no_floor():
    workload = Workload(["a"], [0.0], TimeTable(np.ones((1, 1, 2))))
    with pytest.raises(InputError, match="unlimited"):
        alone(workload, Cluster.rental_pool())
