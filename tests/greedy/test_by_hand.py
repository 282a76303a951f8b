"""The greedy family in cases computed by hand: what the kernels and their twins could get wrong together.

Each case is asked of the compiled kernel and of its plain-Python twin. VMs cost 1 $/s unless a case
names another price, so costs can be added up in the head. A running job costs its weight times its
tardiness, a postponed one its weight times ``rho`` times what the slowest run would be late, and a
node costs its price times the time of its cheapest job.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
from tests.greedy import reference, reference_search

Nodes = list[tuple[str, dict[str, int]]]
"""Open nodes: the type, and the GPUs of each job."""


def vm(name: str, gpus: int, usd_per_s: float = 1.0) -> NodeType:
    """A type called by its GPU and their number: ``A2`` has two GPUs of A."""
    return NodeType(f"{name}{gpus}", name, gpus, usd_per_s * SECONDS_PER_HOUR)


@dataclass
class Case:
    """One decision: jobs with a due date in s, a weight in $/s, and times in s by (type, GPUs)."""

    cluster: Cluster
    due: Mapping[str, float]
    times: Mapping[str, Mapping[tuple[str, int], float]]
    weight: Mapping[str, float]
    rho: float = 1.0

    def __post_init__(self) -> None:
        self.names = list(self.times)
        self.types = [t.name for t in self.cluster.node_types]
        times = np.full(
            (len(self.names), len(self.types), self.cluster.max_gpus_per_node + 1), np.inf
        )
        for j, name in enumerate(self.names):
            for (node_type, gpus), seconds in self.times[name].items():
                times[j, self.types.index(node_type), gpus] = seconds
        n = len(self.names)
        self.jobs = Jobs(
            np.arange(n),
            np.ones(n),
            np.array([self.due[name] for name in self.names], dtype=float),
            np.array([self.weight.get(name, 1.0) for name in self.names], dtype=float),
        )
        self.machines, price = machines_of(
            self.cluster, range(self.cluster.num_nodes), "share", times
        )
        self.profile = profile_of(times, self.machines, price)
        # With an int the kernels would be compiled once more.
        self.settings = Settings(rho=float(self.rho))

    def named(self, place: Sequence[int], nodes: list[tuple[int, list[list[int]]]]) -> Nodes:
        """Nodes by name; ``place`` says which job stands where in the queue."""
        return [
            (self.types[v], {self.names[int(place[i])]: int(g) for i, g in hosted})
            for v, hosted in nodes
        ]


def kernel_move(case: Case, start: Nodes) -> tuple[Nodes, float]:
    """The best move of the compiled search, and the objective after it."""
    order = pressure_order(case.jobs, case.profile)
    queue = randomised_greedy(
        order, case.jobs, case.profile, case.machines, case.settings, 1, 1, np.uint64(0)
    )[0]
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
    after = [
        (int(found[0][n, TYPE]), np.stack([found[1][n], found[2][n]], axis=1)[:k].tolist())
        for n, k in enumerate(found[0][:, HOSTED])
    ]
    return case.named(order.tolist(), after), found[3]


def twin_move(case: Case, start: Nodes) -> tuple[Nodes, float]:
    """The same of the twin."""
    x = reference.Instance(case.jobs, case.profile, case.machines, case.settings)
    position = {case.names[j]: i for i, j in enumerate(x.order)}
    nodes = []
    for node_type, jobs in start:
        v = case.types.index(node_type)
        hosted = [[position[name], g] for name, g in jobs.items()]
        nodes.append(reference.Node(v, int(case.machines.gpus[v]) - sum(jobs.values()), hosted))
    found, value = reference_search.local_search(x, [reference.Plan(nodes, 0.0)], PAPER, 1, 3)
    return case.named(x.order, [(n.node_type, n.hosted) for n in found]), value


def kernel_plan(case: Case) -> Nodes:
    """Plan of the compiled pure greedy."""
    order = pressure_order(case.jobs, case.profile)
    found = randomised_greedy(
        order, case.jobs, case.profile, case.machines, case.settings, 1, 1, np.uint64(0)
    )
    _, opens, nodes, hosted, gpus, _, _ = found
    plan = [
        (int(nodes[0, n, TYPE]), np.stack([hosted[0, n], gpus[0, n]], axis=1)[:k].tolist())
        for n, k in enumerate(nodes[0, : opens[0], HOSTED])
    ]
    return case.named(order.tolist(), plan)


def twin_plan(case: Case) -> Nodes:
    """The same of the twin."""
    x, pool = reference.randomised_greedy(
        case.jobs, case.profile, case.machines, case.settings, 1, 1, 0
    )
    return case.named(x.order, [(n.node_type, n.hosted) for n in pool[0].nodes])


Move = Callable[[Case, Nodes], tuple[Nodes, float]]
moved_by = pytest.mark.parametrize("best_move", [kernel_move, twin_move], ids=["kernel", "twin"])
planned_by = pytest.mark.parametrize("plan_of", [kernel_plan, twin_plan], ids=["kernel", "twin"])

# -- the seven neighbourhoods ----------------------------------------------------------------

SLOW, FAST = vm("slow", 1), vm("fast", 1)


@moved_by
def test_1_a_tardy_job_takes_the_place_of_the_costliest_job_on_time(best_move: Move) -> None:
    """``a`` is 20 s late on the slow node. With ``b`` or ``c`` it would change places for the same
    42 $ in all: 30 $ less. Of the two, ``c`` costs more now, so it stands first in the list."""
    case = Case(
        Cluster((SLOW, FAST), 3, (0, 1, 1)),
        due={"a": 10, "b": 100, "c": 200},
        times={
            "a": {("slow1", 1): 30, ("fast1", 1): 10},
            "b": {("slow1", 1): 20, ("fast1", 1): 10},
            "c": {("slow1", 1): 22, ("fast1", 1): 12},
        },
        weight={},
    )
    start: Nodes = [("slow1", {"a": 1}), ("fast1", {"b": 1}), ("fast1", {"c": 1})]
    after, value = best_move(case, start)
    assert after == [("slow1", {"c": 1}), ("fast1", {"b": 1}), ("fast1", {"a": 1})]
    assert value == 22 + 10 + 10


@moved_by
def test_2_a_tardy_job_changes_places_with_another_tardy_one(best_move: Move) -> None:
    """Nobody is on time. Before: 3 * 20 + 5 late, nodes 30 + 10. After: 0 + 25, nodes 30 + 10."""
    case = Case(
        Cluster((SLOW, FAST), 2, (0, 1)),
        due={"a": 10, "b": 5},
        times={name: {("slow1", 1): 30, ("fast1", 1): 10} for name in "ab"},
        weight={"a": 3},
    )
    after, value = best_move(case, [("slow1", {"a": 1}), ("fast1", {"b": 1})])
    assert after == [("slow1", {"b": 1}), ("fast1", {"a": 1})]
    assert value == 25 + 40


def waiting(due_waits: float, due_runs: float, weight: float, rho: float) -> Case:
    """Two jobs of 10 s for one node of one GPU."""
    return Case(
        Cluster.of_nodes(SLOW, 1),
        due={"waits": due_waits, "runs": due_runs},
        times={name: {("slow1", 1): 10} for name in ("waits", "runs")},
        weight={"waits": weight},
        rho=rho,
    )


@moved_by
def test_3_a_postponed_job_takes_the_place_of_one_of_lower_pressure(best_move: Move) -> None:
    """Postponed, ``waits`` costs 10 times the 5 s that it would be late, the node 10: 60 $. Running
    it is 5 s late, and ``runs`` can wait at no cost: 15 $."""
    after, value = best_move(waiting(5, 100, 1, 10), [("slow1", {"runs": 1})])
    assert after == [("slow1", {"waits": 1})]
    assert value == 15


@moved_by
def test_3_never_that_of_one_of_higher_pressure(best_move: Move) -> None:
    """``runs`` has 5 s less of slack: it stays, though ``waits`` costs 100 * 10 * 1 s meanwhile."""
    after, value = best_move(waiting(9, 4, 100, 10), [("slow1", {"runs": 1})])
    assert after == [("slow1", {"runs": 1})]
    assert value == 1000 + 6 + 10


@moved_by
@pytest.mark.parametrize(("other_s", "moves"), [(39, True), (41, False)])
def test_4_another_gpu_type_where_the_times_add_up_to_less(
    best_move: Move, other_s: float, moves: bool
) -> None:
    """``a`` would be on time on the fast VM (10 $), not 20 s late (20 + 20 $). But the times of both
    jobs must add up to less than the 50 s of now; ``b`` itself has all the time there is."""
    case = Case(
        Cluster.of_vms([vm("slow", 2), vm("fast", 2)], 1),
        due={"a": 10, "b": math.inf},
        times={
            "a": {("slow2", 1): 30, ("fast2", 1): 10},
            "b": {("slow2", 1): 20, ("fast2", 1): other_s},
        },
        weight={"b": 0},
    )
    after, value = best_move(case, [("slow2", {"a": 1, "b": 1})])
    assert after == [("fast2" if moves else "slow2", {"a": 1, "b": 1})]
    assert value == (10 if moves else 40)


@moved_by
def test_5_twice_the_gpus_on_twice_the_vm(best_move: Move) -> None:
    """20 s late and 30 s for 1 $/s, or 5 s late and 15 s for 2 $/s."""
    case = Case(
        Cluster.of_vms([vm("A", 1), vm("A", 2, 2.0)], 1),
        due={"a": 10},
        times={"a": {("A1", 1): 30, ("A2", 1): 30, ("A2", 2): 15}},
        weight={},
    )
    assert best_move(case, [("A1", {"a": 1})]) == ([("A2", {"a": 2})], 5 + 30)


@moved_by
def test_6_half_the_gpus_on_half_the_vm(best_move: Move) -> None:
    """5 s late and 15 s for 2 $/s, or 6 s late and 16 s for 1 $/s: 35 $ or 22 $."""
    case = Case(
        Cluster.of_vms([vm("A", 1), vm("A", 2, 2.0)], 1),
        due={"a": 10},
        times={"a": {("A1", 1): 16, ("A2", 1): 16, ("A2", 2): 15}},
        weight={},
    )
    assert best_move(case, [("A2", {"a": 2})]) == ([("A1", {"a": 1})], 6 + 16)


@moved_by
def test_6_an_odd_share_has_no_half(best_move: Move) -> None:
    """Three GPUs cannot be halved, so the dearer VM stays: 6 s late and 16 s for 4 $/s."""
    case = Case(
        Cluster.of_vms([vm("A", 2, 2.0), vm("A", 4, 4.0)], 1),
        due={"a": 10},
        times={"a": {("A2", 1): 17, ("A4", 3): 16}},
        weight={},
    )
    assert best_move(case, [("A4", {"a": 3})]) == ([("A4", {"a": 3})], 6 + 64)


@moved_by
def test_7_a_tardy_job_gets_an_idle_gpu(best_move: Move) -> None:
    """20 s late and 30 $; with the second GPU 5 s late and 15 $."""
    case = Case(
        Cluster.of_nodes(vm("A", 2), 1),
        due={"a": 10},
        times={"a": {("A2", 1): 30, ("A2", 2): 15}},
        weight={},
    )
    assert best_move(case, [("A2", {"a": 1})]) == ([("A2", {"a": 2})], 5 + 15)


@moved_by
def test_7_a_job_hands_a_gpu_to_a_tardy_one(best_move: Move) -> None:
    """The node is full. ``b`` has time enough for one GPU; ``a`` is 5 s late with two, not 20 s."""
    case = Case(
        Cluster.of_nodes(vm("A", 3), 1),
        due={"a": 10, "b": 100},
        times={
            "a": {("A3", 1): 30, ("A3", 2): 15},
            "b": {("A3", 1): 20, ("A3", 2): 10},
        },
        weight={},
    )
    after, value = best_move(case, [("A3", {"a": 1, "b": 2})])
    assert after == [("A3", {"a": 2, "b": 1})]
    assert value == 5 + 15


# -- the construction ------------------------------------------------------------------------


@planned_by
def test_the_most_pressed_job_chooses_first(plan_of: Callable[[Case], Nodes]) -> None:
    """One GPU for three jobs of 10 s: that with the earliest due date has it, whatever its weight."""
    case = Case(
        Cluster.of_nodes(SLOW, 1),
        due={"a": 100, "b": 12, "c": 50},
        times={name: {("slow1", 1): 10} for name in "abc"},
        weight={"a": 1000},
    )
    assert plan_of(case) == [("slow1", {"b": 1})]
    order = pressure_order(case.jobs, case.profile)
    assert [case.names[j] for j in order] == ["b", "c", "a"]


def test_late_jobs_press_by_their_weight_where_the_released_program_says_so() -> None:
    """``a`` is 5 s late, ``b`` 3 s at twice the weight, ``c`` has 1 s left at a weight of 100."""
    case = Case(
        Cluster.of_nodes(SLOW, 1),
        due={"c": 11, "b": 7, "a": 5},
        times={name: {("slow1", 1): 10} for name in "cba"},
        weight={"b": 2, "c": 100},
    )
    by_time, by_weight = (pressure_order(case.jobs, case.profile, w).tolist() for w in (0, 1))
    assert [case.names[j] for j in by_time] == ["a", "b", "c"]
    assert [case.names[j] for j in by_weight] == ["b", "a", "c"]


def shrinking(on_one: float, on_two: float) -> Case:
    """A job with due date enough. A VM opens as A2; with one of its GPUs the job takes 10 s."""
    return Case(
        Cluster.of_vms([vm("A", 1), vm("A", 2, 2.0)], 1),
        due={"a": 1000},
        times={"a": {("A1", 1): on_one, ("A2", 1): 10, ("A2", 2): on_two}},
        weight={},
    )


@planned_by
def test_a_vm_shrinks_only_where_no_job_gets_slower(plan_of: Callable[[Case], Nodes]) -> None:
    assert plan_of(shrinking(10, 10)) == [("A1", {"a": 1})]
    assert plan_of(shrinking(10.1, 10)) == [("A2", {"a": 1})]
    assert plan_of(shrinking(14, 10)) == [("A2", {"a": 1})]


@planned_by
def test_idle_gpus_go_to_a_job_that_they_speed_up(plan_of: Callable[[Case], Nodes]) -> None:
    """An idle GPU of a VM that cannot shrink is given away for any speed-up at all."""
    assert plan_of(shrinking(11, 9.9)) == [("A2", {"a": 2})]
    assert plan_of(shrinking(11, 10)) == [("A2", {"a": 1})]
    assert plan_of(shrinking(11, 10.1)) == [("A2", {"a": 1})]


def test_the_policy_plans_as_the_kernels_do() -> None:
    case = shrinking(10, 10)
    solution, _ = GreedyPolicy(rho=1, horizon_s=0).solve(case.jobs, case.profile, case.machines, 0)
    assert [case.types[v] for v in solution.node_type] == ["A1"]
    assert solution.objective == 10
