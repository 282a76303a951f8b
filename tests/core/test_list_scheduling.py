"""Placements of list scheduling for jobs of fixed demand, worked out by hand."""

import pytest

from policies import make_policy
from simulator import NO_CHANGE, Cluster, Decision, NodeType, Result, View
from tests.core.jobs import fixed, nodes
from tests.core.jobs import run as simulated


def run(cluster: Cluster, gpus: list[int], policy: str = "fifo-strict", **columns) -> Result:
    """Jobs of 10 s, all at 0."""
    return simulated(fixed([0] * len(gpus), [10] * len(gpus), gpus, **columns), cluster, policy)


def shares(result: Result) -> list[tuple[int, int, float, float, float]]:
    found = [(s.job, s.node, s.gpus, s.cpus, s.memory_gb) for s in result.schedule or ()]
    return sorted(found)


RICH = NodeType("rich", "A", 4, cpus=16, memory_gb=64)
POOR = NodeType("poor", "A", 4, cpus=4, memory_gb=32)


def test_proportional_share_is_that_of_the_node():
    result = run(Cluster((RICH, POOR), 2, (0, 1)), [4, 4])
    assert result.completion_s.tolist() == [10, 10]
    assert shares(result) == [(0, 0, 4, 16, 64), (1, 1, 4, 4, 32)]


def test_proportional_share_over_nodes_of_two_types():
    result = run(Cluster((POOR, RICH), 2, (0, 1)), [8])
    assert shares(result) == [(0, 0, 4, 4, 32), (0, 1, 4, 16, 64)]


def test_stated_cpus_count_on_nodes_that_have_a_limit_even_if_the_first_type_has_none():
    without = NodeType("without", "A", 4)
    result = run(Cluster((without, POOR), 2, (0, 1)), [4, 4], num_cpus=[8, 8])
    assert result.completion_s.tolist() == [10, 20]
    assert {s[1] for s in shares(result)} == {0}


def test_cpus_of_a_job_over_nodes_follow_its_gpus():
    result = run(Cluster((RICH, POOR), 2, (0, 1)), [6], num_cpus=[6.0], memory_gb=[24.0])
    assert shares(result) == [(0, 0, 4, 4, 16), (0, 1, 2, 2, 8)]


@pytest.mark.parametrize(("policy", "second"), [("fifo-strict", 20), ("fifo-backfill", 10)])
def test_head_of_the_queue_blocks_or_is_skipped(policy, second):
    """The second job's CPUs are not free; the third would fit."""
    result = run(nodes(4, cpus=4), [2, 2, 1], policy, num_cpus=[3, 3, 1])
    assert result.completion_s.tolist() == [10, 20, second]


def test_a_pool_holds_every_job():
    result = run(Cluster.rental_pool(3.6), [1, 2, 9])
    assert result.completion_s.tolist() == [10, 10, 10]
    assert result.meters.leasing_cost == pytest.approx(12 * 10 * 3.6 / 3600)


def test_an_object_that_has_decided_elsewhere_forgets_the_other_jobs():
    """Its indexes are of the workload that it knows: of another one it makes them anew."""
    policy = make_policy("fifo-strict")

    def decide(view: View) -> Decision:
        return policy.decide(view) if view.waiting else NO_CHANGE

    simulated(fixed([0], [10], [8]), nodes(4, 2), decide)
    result = simulated(fixed([0, 1], [10, 10]), nodes(4, 2), policy)
    assert result.completion_s.tolist() == [10, 11]
