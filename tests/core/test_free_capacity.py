"""What is free on nodes and on VMs, and where a job fits there, by hand."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from policies.queues.free_capacity import FreeCapacity
from simulator import Cluster, Decision, InputError, NodeType, Placement, View, Workload
from tests.core.jobs import elastic, fixed, nodes, run


class Seen(Exception):
    """What was looked at, which ends the run."""


def at_1_s(jobs: Workload, cluster: Cluster, look: Callable[[View], Any], *first: Placement) -> Any:
    """What ``look`` makes of the view at 1 s, when a job comes; ``first`` are placed at 0 s."""

    def decide(view: View) -> Decision:
        if view.now_s < 1:
            return Decision(first)
        raise Seen(look(view))

    with pytest.raises(Seen) as seen:
        run(jobs, cluster, decide)
    return seen.value.args[0]


def where(shares: tuple[Placement, ...]) -> list[tuple[int, float]]:
    return [(share.node, share.gpus) for share in shares]


@pytest.mark.parametrize(
    ("last_first", "over_two"), [(False, [(0, 4), (1, 2)]), (True, [(2, 4), (1, 2)])]
)
def test_of_equal_nodes_the_first_holds_a_job_and_several_go_from_either_end(last_first, over_two):
    """Three empty nodes of four GPUs; the last one first changes only where a job of six lies."""
    jobs = fixed([1, 1, 1], [9, 9, 9], [2, 6, 12])

    def look(view: View) -> list[Any]:
        free = FreeCapacity(view, last_first=last_first)
        return [where(free.place(job)) for job in range(3)]

    order = [0, 1, 2][:: -1 if last_first else 1]
    assert at_1_s(jobs, nodes(4, 3), look) == [[(0, 2)], over_two, [(n, 4) for n in order]]


def test_what_runs_at_the_beginning_has_its_cpus_and_memory():
    """j0 has 6 of 8 CPUs of node 0 and 10 of 64 GB. j1 asks for 3 CPUs, so node 0 does not hold it; j2 asks for 2."""
    jobs = fixed([0, 1, 1], [9, 9, 9], num_cpus=[6, 3, 2], memory_gb=[10, 1, 54])
    held = Placement(0, 0, 1, cpus=6, memory_gb=10)

    def look(view: View) -> list[Any]:
        kinds = (FreeCapacity(view), FreeCapacity(view, empty=True))
        return [[free.place(job)[0].node for job in (1, 2)] for free in kinds]

    cluster = nodes(4, 2, cpus=8, memory_gb=64)
    assert at_1_s(jobs, cluster, look, held) == [[1, 0], [0, 0]]


def test_gpus_of_a_node_that_it_did_not_know_are_free_once_they_are_given_back():
    """Only node 0 of four GPUs is shown, which j1 of six does not fit. Two GPUs of node 1 come back."""

    def look(view: View) -> list[Any]:
        free = FreeCapacity(view.showing(nodes=np.array([0]), free_gpus_total=4.0))
        before = where(free.place(1))
        free.add([Placement(0, 1, 2)], -1)
        return [before, where(free.place(1)), free.gpus_on([1])]

    found = at_1_s(fixed([0, 1], [9, 9], [2, 6]), nodes(4, 2), look, Placement(0, 1, 2))
    assert found == [[], [(0, 4), (1, 2)], 2.0]


TWELVE = Cluster((NodeType("a", "K80", 4),), 3, (0, 0, 0))
TWO = Cluster((NodeType("a", "K80", 4, cpus=4),), 2, (0, 0))
SMALL, LARGE = 0, 1
VMS = Cluster((NodeType("small", "K80", 2, cpus=4), NodeType("large", "V100", 4, cpus=8)), 3)


def test_an_empty_vm_has_any_type_and_then_that_of_its_first_share_until_it_is_empty_again():
    """Of three VMs the second runs j0 on one of two GPUs of the small type."""
    jobs = elastic([[[math.inf, 9, 9, 9, 9]] * 2] * 2, [0, 1])

    def one(node: int, node_type: int, gpus: int = 1, cpus: float = 1.0) -> tuple[Placement, ...]:
        return (Placement(1, node, gpus, node_type, cpus),)

    def look(view: View) -> list[Any]:
        free, found = FreeCapacity(view), []
        found.append([free.holds(one(0, v, gpus)) for v, gpus in ((0, 2), (0, 3), (1, 4), (1, 5))])
        found.append([free.holds(one(1, v, gpus)) for v, gpus in ((0, 1), (0, 2), (1, 1))])
        found.append([free.holds(one(1, SMALL, 1, cpus)) for cpus in (3.0, 3.5)])
        # As it asks; else on the fullest of its type; else on an empty one, the first in order.
        found.append(
            [free.nearby(one(1, v, g), [0, 1, 2])[0].node for v, g in ((0, 1), (0, 2), (1, 1))]
        )
        free.add(one(2, LARGE, 3))
        found.append(free.nearby(one(1, LARGE), [0, 1, 2])[0].node)
        found.append(free.nearby((*one(1, LARGE), *one(0, LARGE)), [0, 1, 2]))
        found.append(free.holds(one(2, SMALL)))
        free.add(one(2, LARGE, 3), -1)
        found.append(free.holds(one(2, SMALL)))
        kept = free
        kept.refresh(view)
        found.append([kept.holds(one(1, v)) for v in (SMALL, LARGE)])
        found.append(FreeCapacity(view, empty=True).holds(one(1, LARGE, 4)))
        with pytest.raises(InputError, match=r"FreeCapacity.place: the nodes are VMs"):
            free.place(1, 1)
        return found

    assert at_1_s(jobs, VMS, look, Placement(0, 1, 1, SMALL, 1.0)) == [
        [True, False, True, False],
        [True, False, False],
        [True, False],
        [1, 0, 0],
        2,
        (),
        False,
        True,
        [True, False],
        True,
    ]


def test_a_vm_that_is_down_holds_nothing():
    jobs = elastic([[[math.inf, 9, 9, 9, 9]] * 2], [1])

    def look(view: View) -> list[bool]:
        free = FreeCapacity(view.showing(down={1}))
        return [free.holds([Placement(0, node, 1, LARGE, 1.0)]) for node in range(3)]

    assert at_1_s(jobs, VMS, look) == [True, False, True]


def test_a_share_goes_to_no_node_of_another_type():
    """Node 0 of type a is full. Node 1 is of type b, node 2 of type a."""
    cluster = Cluster((NodeType("a", "K80", 2), NodeType("b", "V100", 4)), 4, (0, 1, 0, 0))

    def look(view: View) -> list[Any]:
        free, share = FreeCapacity(view), Placement(1, 0, 1)
        free.add([Placement(1, 3, 1)])
        return [free.nearby((share,), nodes) for nodes in ([1], [0, 1, 2], [0, 1, 2, 3])]

    found = at_1_s(fixed([0, 1], [9, 9], [2, 1]), cluster, look, Placement(0, 0, 2))
    assert [where(shares) for shares in found] == [[], [(2, 1)], [(3, 1)]]


@pytest.mark.parametrize(
    ("nodes", "expected"), [([1, 2], [(2, 1)]), ([0], []), ([1], [(1, 1)]), ([], []), (None, [(0, 1)])]
)  # fmt: skip
def test_a_job_is_placed_on_these_nodes_alone(nodes, expected):
    """Free are 1, 4 and 3 GPUs; the job of one lies on the fullest of the nodes that are given. Node 0 is down to none."""

    def look(view: View) -> list[Any]:
        free = FreeCapacity(view)
        if nodes == [0]:
            free.add([Placement(0, 0, 1)])
        return where(free.place(2, nodes=nodes))

    jobs = fixed([0, 0, 1], [9, 9, 9], [3, 1, 1])
    held = Placement(0, 0, 3), Placement(1, 2, 1)
    assert at_1_s(jobs, TWELVE, look, *held) == expected


@pytest.mark.parametrize(("cpus", "node"), [(0.0, 0), (0.5, 0), (0.6, 1), (1.0, 1), (4.0, 1)])
def test_less_than_a_cpu_a_gpu_is_counted(cpus, node):
    """Node 0 has half of a CPU left, node 1 all 4; both have the GPUs."""
    jobs = fixed([0, 1], [9, 9], num_cpus=[3.5, cpus])
    held = Placement(0, 0, 1, cpus=3.5)
    found = at_1_s(jobs, TWO, lambda view: where(FreeCapacity(view).place(1)), held)
    assert found == [(node, 1)]
