"""The greedy family in cases computed by hand: what the kernels and their twins could get wrong together.

Each case is asked of the compiled kernel; test_construction and test_search hold its plain-Python twin to it. VMs
cost 1 $/s unless a case names another price. A running job costs its weight times its tardiness, a postponed one its weight
times ``rho`` times what the slowest run would be late, and a node its price times the time of its
cheapest job.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from policies.greedy import neighbourhoods, search
from policies.greedy.plan import FREE, HOSTED, TYPE
from policies.greedy.policy import GreedyPolicy
from policies.greedy.pool import randomised_greedy
from policies.greedy.problem import PAPER, Jobs, Settings, machines_of, profile_of
from policies.greedy.queue import pressure_order
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, NodeType

INF = math.inf
Nodes = list[tuple[str, dict[str, int]]]
"""Open nodes: the type, and the GPUs of each job."""


def vm(name: str, gpus: int, usd_per_s: float = 1.0) -> NodeType:
    """A type called by its GPU and their number: ``A2`` has two GPUs of A."""
    return NodeType(f"{name}{gpus}", name, gpus, usd_per_s * SECONDS_PER_HOUR)


@dataclass
class Case:
    """A decision: seconds of each job with 1, 2, .. GPUs by type, due dates in s, weights in $/s."""

    cluster: Cluster
    times: Mapping[str, Sequence[Sequence[float]]]
    due: Sequence[float]
    weight: Sequence[float] = ()
    rho: float = 1.0

    def __post_init__(self) -> None:
        self.names, n = list(self.times), len(self.times)
        self.types = [t.name for t in self.cluster.node_types]
        times = np.full((n, len(self.types), self.cluster.max_gpus_per_node + 1), INF)
        for j, rows in enumerate(self.times.values()):
            for v, seconds in enumerate(rows):
                times[j, v, 1 : len(seconds) + 1] = seconds
        due, weight = np.array(self.due, dtype=float), np.array(self.weight or [1.0] * n)
        self.jobs = Jobs(np.arange(n), np.ones(n), due, weight.astype(float))
        nodes = range(self.cluster.num_nodes)
        self.machines, price = machines_of(self.cluster, nodes, "share", times)
        self.profile = profile_of(times, self.machines, price)
        self.settings = Settings(rho=float(self.rho))  # with an int the kernels are compiled anew

    def named(self, place: Sequence[int], nodes: list[tuple[int, list[list[int]]]]) -> Nodes:
        """Nodes by name; ``place`` says which job stands where in the queue."""
        return [
            (self.types[v], {self.names[int(place[i])]: int(g) for i, g in hosted})
            for v, hosted in nodes
        ]


def built(case: Case) -> tuple[list[int], tuple]:
    """Order of the jobs, and the answer of the compiled pure greedy."""
    order = pressure_order(case.jobs, case.profile)
    problem = (order, case.jobs, case.profile, case.machines, case.settings)
    return order.tolist(), randomised_greedy(*problem, 1, 1, np.uint64(0))


def named_nodes(case: Case, order: list[int], nodes, hosted, gpus) -> Nodes:
    """Nodes by name, of the compiled arrays."""
    jobs = np.stack([hosted, gpus], axis=2)
    kept = [(int(n[TYPE]), jobs[k, : n[HOSTED]].tolist()) for k, n in enumerate(nodes)]
    return case.named(order, kept)


def best_move(case: Case, start: Nodes) -> tuple[Nodes, float]:
    """The best move of the compiled search, and the objective after it."""
    order, (queue, *_) = built(case)
    most = case.machines.price_per_s.shape[1] - 1
    nodes = np.zeros((1, len(start), 4), dtype=np.int64)
    hosted, gpus = (np.zeros((1, len(start), most), dtype=np.int64) for _ in range(2))
    position = {case.names[j]: i for i, j in enumerate(order)}
    for n, (node_type, jobs) in enumerate(start):
        v = case.types.index(node_type)
        nodes[0, n, [TYPE, FREE, HOSTED]] = v, case.machines.gpus[v] - sum(jobs.values()), len(jobs)
        for a, (name, g) in enumerate(jobs.items()):
            hosted[0, n, a], gpus[0, n, a] = position[name], g
    promise = neighbourhoods.promises(queue, case.profile)
    found = search.local_search(
        queue, np.array([len(start)]), nodes, hosted, gpus, np.argsort(-promise, kind="stable"),
        promise, case.profile, case.machines, PAPER, 0.0, 1, 3,
    )  # fmt: skip
    return named_nodes(case, order, *found[:3]), found[3]


def plan(case: Case) -> Nodes:
    """Plan of the compiled pure greedy."""
    order, (_, opens, *plans, _, _) = built(case)
    return named_nodes(case, order, *(part[0, : opens[0]] for part in plans))


# -- the seven neighbourhoods ----------------------------------------------------------------

SLOW, FAST = vm("slow", 1), vm("fast", 1)
A1_OR_A2 = Cluster.of_vms([vm("A", 1), vm("A", 2, 2.0)], 1)
SLOW2_OR_FAST2 = Cluster.of_vms([vm("slow", 2), vm("fast", 2)], 1)


def waiting(due_waits: float, due_runs: float, weight: float) -> Case:
    """Two jobs of 10 s for one node of one GPU."""
    times = {"waits": [[10]], "runs": [[10]]}
    return Case(Cluster.of_nodes(SLOW, 1), times, [due_waits, due_runs], [weight, 1], rho=10)


MOVES = {
    # ``a`` is 20 s late on the slow node. With ``b`` or ``c`` it would change places for the same
    # 42 $ in all: 30 $ less. Of the two, ``c`` costs more now, so it stands first in the list.
    "1-with-the-costliest-on-time": (
        Case(
            Cluster((SLOW, FAST), 3, (0, 1, 1)),
            {"a": [[30], [10]], "b": [[20], [10]], "c": [[22], [12]]},
            due=[10, 100, 200],
        ),
        [("slow1", {"a": 1}), ("fast1", {"b": 1}), ("fast1", {"c": 1})],
        [("slow1", {"c": 1}), ("fast1", {"b": 1}), ("fast1", {"a": 1})],
        22 + 10 + 10,
    ),
    # Nobody is on time. Before: 3 * 20 + 5 late, nodes 30 + 10. After: 0 + 25, nodes 30 + 10.
    "2-with-another-tardy-one": (
        Case(
            Cluster((SLOW, FAST), 2, (0, 1)),
            {"a": [[30], [10]], "b": [[30], [10]]},
            due=[10, 5],
            weight=[3, 1],
        ),
        [("slow1", {"a": 1}), ("fast1", {"b": 1})],
        [("slow1", {"b": 1}), ("fast1", {"a": 1})],
        25 + 40,
    ),
    # Postponed, ``waits`` costs 10 times the 5 s that it would be late, the node 10: 60 $. Running
    # it is 5 s late, and ``runs`` can wait at no cost: 15 $.
    "3-in-place-of-lower-pressure": (
        waiting(5, 100, 1), [("slow1", {"runs": 1})], [("slow1", {"waits": 1})], 15,
    ),
    # ``runs`` has 5 s less of slack: it stays, though ``waits`` costs 100 * 10 * 1 s meanwhile.
    "3-never-of-higher-pressure": (
        waiting(9, 4, 100), [("slow1", {"runs": 1})], [("slow1", {"runs": 1})], 1000 + 6 + 10,
    ),
    # ``a`` would be on time on the fast VM (10 $), not 20 s late (20 + 20 $). But the times of both
    # jobs must add up to less than the 50 s of now; ``b`` itself has all the time there is.
    "4-times-add-up-to-49": (
        Case(SLOW2_OR_FAST2, {"a": [[30], [10]], "b": [[20], [39]]}, [10, INF], [1, 0]),
        [("slow2", {"a": 1, "b": 1})], [("fast2", {"a": 1, "b": 1})], 10,
    ),
    "4-times-add-up-to-51": (
        Case(SLOW2_OR_FAST2, {"a": [[30], [10]], "b": [[20], [41]]}, [10, INF], [1, 0]),
        [("slow2", {"a": 1, "b": 1})], [("slow2", {"a": 1, "b": 1})], 40,
    ),
    # 20 s late and 30 s for 1 $/s, or 5 s late and 15 s for 2 $/s.
    "5-twice-the-gpus": (
        Case(A1_OR_A2, {"a": [[30], [30, 15]]}, [10]), [("A1", {"a": 1})], [("A2", {"a": 2})], 35,
    ),
    # 5 s late and 15 s for 2 $/s, or 6 s late and 16 s for 1 $/s: 35 $ or 22 $.
    "6-half-the-gpus": (
        Case(A1_OR_A2, {"a": [[16], [16, 15]]}, [10]), [("A2", {"a": 2})], [("A1", {"a": 1})], 22,
    ),
    # Three GPUs cannot be halved, so the dearer VM stays: 6 s late and 16 s for 4 $/s.
    "6-an-odd-share-has-no-half": (
        Case(
            Cluster.of_vms([vm("A", 2, 2.0), vm("A", 4, 4.0)], 1),
            {"a": [[17], [INF, INF, 16]]},
            due=[10],
        ),
        [("A4", {"a": 3})], [("A4", {"a": 3})], 6 + 64,
    ),
    # 20 s late and 30 $; with the second GPU 5 s late and 15 $.
    "7-an-idle-gpu": (
        Case(Cluster.of_nodes(vm("A", 2), 1), {"a": [[30, 15]]}, [10]),
        [("A2", {"a": 1})], [("A2", {"a": 2})], 5 + 15,
    ),
    # The node is full. ``b`` has time enough for one GPU; ``a`` is 5 s late with two, not 20 s.
    "7-a-gpu-handed-to-a-tardy-one": (
        Case(Cluster.of_nodes(vm("A", 3), 1), {"a": [[30, 15]], "b": [[20, 10]]}, [10, 100]),
        [("A3", {"a": 1, "b": 2})], [("A3", {"a": 2, "b": 1})], 5 + 15,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("case", "start", "after", "value"), MOVES.values(), ids=MOVES)
def test_best_move(case, start, after, value):
    assert best_move(case, start) == (after, value)


# -- the construction ------------------------------------------------------------------------


def shrinking(on_one: float, on_two: float) -> Case:
    """A job with due date enough. A VM opens as A2; with one of its GPUs the job takes 10 s."""
    return Case(A1_OR_A2, {"a": [[on_one], [10, on_two]]}, [1000])


# One GPU for three jobs of 10 s: that with the earliest due date has it, whatever its weight.
PRESSED = Case(Cluster.of_nodes(SLOW, 1), {n: [[10]] for n in "abc"}, [100, 12, 50], [1000, 1, 1])
PLANS = [
    (PRESSED, ("slow1", {"b": 1})),
    # A VM shrinks only where no job gets slower.
    (shrinking(10, 10), ("A1", {"a": 1})),
    (shrinking(10.1, 10), ("A2", {"a": 1})),
    # An idle GPU of a VM that cannot shrink is given away for any speed-up at all.
    (shrinking(11, 9.9), ("A2", {"a": 2})),
    (shrinking(11, 10), ("A2", {"a": 1})),
    (shrinking(11, 10.1), ("A2", {"a": 1})),
]


@pytest.mark.parametrize(("case", "node"), PLANS)
def test_plan(case, node):
    assert plan(case) == [node]


def test_late_jobs_press_by_their_weight_where_the_released_program_says_so():
    """``a`` is 5 s late, ``b`` 3 s at twice the weight, ``c`` has 1 s left at a weight of 100."""
    times = {name: [[10]] for name in "cba"}
    case = Case(Cluster.of_nodes(SLOW, 1), times, due=[11, 7, 5], weight=[100, 2, 1])
    by_time, by_weight = (pressure_order(case.jobs, case.profile, w).tolist() for w in (0, 1))
    assert [case.names[j] for j in by_time] == ["a", "b", "c"]
    assert [case.names[j] for j in by_weight] == ["b", "a", "c"]


def test_the_policy_plans_as_the_kernels_do():
    case = shrinking(10, 10)
    solution, _ = GreedyPolicy(rho=1, horizon_s=0).solve(case.jobs, case.profile, case.machines, 0)
    assert [case.types[v] for v in solution.node_type] == ["A1"]
    assert solution.objective == 10
