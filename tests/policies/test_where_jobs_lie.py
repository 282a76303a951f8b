"""Where jobs of fixed demand lie, what they take there, and what waits for it: schedules by hand."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import Cluster, NodeType, Workload
from tests.core.jobs import fixed, nodes, run

ORDERS = ("fifo-strict", "fifo-backfill", "sjf", "easy-backfill", "conservative-backfill")
BACKFILL = ("easy-backfill", "conservative-backfill")


def machines(*gpus: int, size: int | None = None, **more) -> Cluster:
    """Nodes of so many GPUs, ``size`` to a rack; ``more`` : lists of CPUs or GB."""
    types = [
        NodeType(f"n{k}", "A100", count, **{name: each[k] for name, each in more.items()})
        for k, count in enumerate(gpus)
    ]
    return Cluster(types, len(types), node_type_of=tuple(range(len(types))), nodes_per_rack=size)


def lies(jobs: Workload, cluster: Cluster, policy: str) -> list[list[tuple]]:
    """Of each job its shares: node, GPUs, CPUs, GB."""
    found = [[] for _ in range(len(jobs))]
    for share in run(jobs, cluster, policy).schedule:
        found[share.job].append((share.node, share.gpus, share.cpus, share.memory_gb))
    return [sorted(shares) for shares in found]


def starts(jobs: Workload, cluster: Cluster, policy: str) -> list[float]:
    return run(jobs, cluster, policy).first_start_s.tolist()


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        # nodes of 8, 4 and 2 GPUs: the fullest that holds the job whole
        (1, [(2, 1)]), (2, [(2, 2)]), (3, [(1, 3)]), (4, [(1, 4)]), (5, [(0, 5)]), (8, [(0, 8)]),
        # none does: the emptiest first
        (9, [(0, 8), (1, 1)]), (13, [(0, 8), (1, 4), (2, 1)]), (14, [(0, 8), (1, 4), (2, 2)]),
    ],
)  # fmt: skip
def test_on_the_fullest_node_that_holds_it_else_on_the_emptiest(policy, gpus, expected):
    (shares,) = lies(fixed([0], [10], [gpus]), machines(8, 4, 2), policy)
    assert [share[:2] for share in shares] == expected


@pytest.mark.parametrize("policy", ORDERS)
def test_of_equal_nodes_the_first(policy):
    found = lies(fixed([0, 0], [10, 10], [2, 2]), nodes(2, 3), policy)
    assert [[share[:2] for share in shares] for shares in found] == [[(0, 2)], [(1, 2)]]


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize("name", ["cpus", "memory_gb"])
def test_a_gang_has_what_it_states_in_all_in_proportion_to_its_gpus(policy, name):
    """Six GPUs and 12 CPUs on nodes of four: eight and four, so that another job fits beside it at once."""
    column = "num_cpus" if name == "cpus" else "memory_gb"
    jobs = fixed([0, 0], [10, 10], [6, 2], **{column: np.array([12.0, 4.0])})
    found = lies(jobs, nodes(4, 2, **{name: 8}), policy)
    at = 2 if name == "cpus" else 3
    assert [[(s[0], s[1], s[at]) for s in shares] for shares in found] == [
        [(0, 4, 8.0), (1, 2, 4.0)], [(1, 2, 4.0)],
    ]  # fmt: skip
    assert starts(jobs, nodes(4, 2, **{name: 8}), policy) == [0, 0]
    assert starts(jobs, nodes(4, 2, **{name: 7}), policy) == [0, 10]


@pytest.mark.parametrize("policy", ORDERS)
def test_who_states_nothing_has_each_nodes_own_part_a_gpu(policy):
    """Nodes of 4 GPUs with 8 CPUs and of 2 GPUs with 12."""
    (shares,) = lies(fixed([0], [10], [6]), machines(4, 2, cpus=[8, 12]), policy)
    assert [share[:3] for share in shares] == [(0, 4, 8.0), (1, 2, 12.0)]


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize(
    ("cpus", "node"),
    [(1.0, 1), (4.0, 1), (4.5, 0), (16.0, 0)],
)
def test_a_node_that_lacks_cpus_is_passed_over(policy, cpus, node):
    """Of nodes of 8 GPUs and 16 CPUs, and of 4 GPUs and 4 CPUs: the smaller one while its CPUs suffice."""
    jobs = fixed([0], [10], [2], num_cpus=np.array([cpus]))
    ((share,),) = lies(jobs, machines(8, 4, cpus=[16, 4]), policy)
    assert share[:3] == (node, 2, cpus)


@pytest.mark.parametrize("policy", ORDERS)
def test_a_gang_takes_of_each_node_what_its_cpus_allow(policy):
    """Six GPUs with two CPUs each: of nodes of 4 GPUs with 8, 4 and 8 CPUs four, and two of the third."""
    jobs = fixed([0], [10], [6], num_cpus=np.array([12.0]))
    (shares,) = lies(jobs, machines(4, 4, 4, cpus=[8, 4, 8]), policy)
    assert [share[:3] for share in shares] == [(0, 4, 8.0), (2, 2, 4.0)]


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, [(0, 4)]), (2, [(1, 2), (2, 2)]), (4, [(0, 1), (1, 1), (2, 1), (3, 1)])],
)
def test_on_a_number_of_nodes_the_fullest_that_hold_their_part(policy, count, expected):
    """Four GPUs on nodes of 4, 2, 2 and 8."""
    jobs = fixed([0], [10], [4], num_nodes=np.array([count]))
    (shares,) = lies(jobs, machines(4, 2, 2, 8), policy)
    assert [share[:2] for share in shares] == expected


# -- racks --------------------------------------------------------------------------------------


def in_racks(*rows: tuple, racks: str = "", **columns) -> Workload:
    """Jobs of (submission, duration, GPUs); of the letters of ``racks`` each "1" wants one rack."""
    submit_s, duration_s, gpus = zip(*rows, strict=True)
    one = np.array([letter == "1" for letter in racks])
    return fixed(list(submit_s), list(duration_s), list(gpus), one_rack=one, **columns)


@pytest.mark.parametrize("policy", ORDERS)
def test_in_the_fullest_rack_that_holds_it(policy):
    """Racks of 16, 8 and 12 GPUs: 6 lie in the second, 10 in the third, 14 in the first."""
    cluster = machines(8, 8, 4, 4, 6, 6, size=2)
    for gpus, rack in ((6, {2, 3}), (8, {2, 3}), (10, {4, 5}), (14, {0, 1})):
        (shares,) = lies(in_racks((0, 10, gpus), racks="1"), cluster, policy)
        assert {share[0] for share in shares} == rack


@pytest.mark.parametrize("policy", BACKFILL)
def test_a_reservation_is_in_the_fullest_rack_too(policy):
    """At 10 s the first rack has 16 free GPUs, the second 12 (j2 holds 4 there): j3 of 12 waits for the second.

    So j4, of 4 GPUs there from 2 s on for 100 s, would delay it, and starts when j3 has ended.
    """
    jobs = in_racks(
        (0, 10, 16), (0, 10, 8), (0, 200, 4), (1, 50, 12), (2, 100, 4), racks="11111",
    )  # fmt: skip
    assert starts(jobs, machines(8, 8, 8, 8, size=2), policy) == [0, 0, 0, 10, 10]
    # In the rack that j3 leaves free another job of 4 may begin at once.
    longer = in_racks((0, 10, 12), (0, 10, 8), (0, 200, 4), (1, 50, 12), (2, 8, 4), racks="11111")
    assert starts(longer, machines(8, 8, 8, 8, size=2), policy)[4] == 2


@pytest.mark.parametrize("policy", ["conservative-backfill"])
def test_who_comes_after_has_the_emptier_rack_whole(policy):
    """j3 of 12 is reserved in the second rack, which holds it, so that j4 of 16 has the first at 10 s as well."""
    jobs = in_racks((0, 10, 16), (0, 10, 8), (0, 200, 4), (1, 50, 12), (2, 20, 16), racks="11111")
    assert starts(jobs, machines(8, 8, 8, 8, size=2), policy) == [0, 0, 0, 10, 10]


@pytest.mark.parametrize("policy", ORDERS)
def test_types_that_are_asked_for(policy):
    """The job lies on a T4, though the A100 node is fuller."""
    types = (NodeType("a", "A100", 2), NodeType("t", "T4", 8))
    cluster = Cluster(types, 2, node_type_of=(0, 1))
    jobs = replace(fixed([0, 0], [10, 10], [2, 2]), gpu_types=("T4", "A100|H100"))
    found = lies(jobs, cluster, policy)
    assert [[share[:2] for share in shares] for shares in found] == [[(1, 2)], [(0, 2)]]
