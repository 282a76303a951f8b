"""Hysteresis by hand: moves that pay, moves that do not, and what then starts beside those that stay."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from experiments.scenario.run import run
from experiments.scenario.schema import Scenario
from policies import make_policy, missing_requirements, requirements_of
from policies.wrappers.hysteresis import Hysteresis, groups_of
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    InputError,
    NodeType,
    Placement,
    SpeedupCurve,
    TimeTable,
    Workload,
    simulate,
)
from simulator.features.reconfiguration import Delays
from simulator.model.speedup import Power
from tests.core.jobs import fixed, nodes
from tests.errors import input_error

DELAY_S = 300.0


def ends(workload: Workload, cluster: Cluster, policy: object, delay_s: float = DELAY_S):
    result = simulate(workload, cluster, policy, features=[Delays.of(delay_s)])
    return result.completion_s.tolist()


@dataclass
class Scripted:
    """Decisions by the clock: the last one at or before now."""

    script: dict[float, list[Placement]]
    name: str = "scripted"

    def decide(self, view) -> Decision:
        latest = max(t for t in self.script if t <= view.now_s)
        return Decision([p for p in self.script[latest] if p.job in view.active])


# -- one GPU ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second_s", "plain", "steady"),
    [
        # A has 3000 s left. B of 1000 s saves 2000 s > 300 s: A resumes at 2000 and loses 300 s.
        (1000.0, [5300.0, 2000.0], [5300.0, 2000.0]),
        # B of 2800 s saves 200 s < 300 s: A goes on.
        (2800.0, [7100.0, 3800.0], [4000.0, 6800.0]),
        # B of 2700 s saves what it costs: A goes on.
        (2700.0, [7000.0, 3700.0], [4000.0, 6700.0]),
        (2699.0, [6999.0, 3699.0], [6999.0, 3699.0]),
    ],
)
def test_a_swap_pays_or_does_not(second_s, plain, steady):
    two = fixed([0.0, 1000.0], [4000.0, second_s])
    assert ends(two, nodes(), make_policy("srpt")) == pytest.approx(plain)
    assert ends(two, nodes(), make_policy("srpt@hysteresis")) == pytest.approx(steady)


def test_the_factor():
    two = fixed([0.0, 1000.0], [4000.0, 1000.0])  # saves 2000 s, costs 300 s
    swapped, stayed = [5300.0, 2000.0], [4000.0, 5000.0]
    for factor, expected in ((6.6, swapped), (6.7, stayed), (0.0, swapped)):
        policy = make_policy("srpt@hysteresis", **{"hysteresis.threshold": factor})
        assert ends(two, nodes(), policy) == pytest.approx(expected)


# -- several jobs and nodes ------------------------------------------------------------------


def test_one_large_job_gives_way_to_many():
    """Four GPUs: A (4000 s left) gives way to four jobs of 3950 s; to one of 4 GPUs it does not."""
    many = fixed([0.0] + [1000.0] * 4, [5000.0] + [3950.0] * 4, [4, 1, 1, 1, 1])
    one = fixed([0.0, 1000.0], [5000.0, 3950.0], [4, 4])
    cluster = nodes(4)
    policy = make_policy("srpt@hysteresis")
    # Saved: 4 x 4000 - 3950 s, 300 s lost. Against one: 4000 - 3950 s.
    assert ends(many, cluster, policy) == pytest.approx([9250.0] + [4950.0] * 4)
    assert ends(one, cluster, make_policy("srpt@hysteresis")) == pytest.approx([5000.0, 8950.0])


def test_each_group_of_nodes_by_itself():
    """On node 0 the swap saves 2000 s, on node 1 it saves 100 s: one of the two is carried out."""
    four = fixed([0.0, 0.0, 1000.0, 1000.0], [4000.0, 4000.0, 1000.0, 2900.0])
    script = {
        0.0: [Placement(0, 0, 1), Placement(1, 1, 1)],
        1000.0: [Placement(2, 0, 1), Placement(3, 1, 1)],
        2000.0: [Placement(0, 0, 1), Placement(1, 1, 1)],
        4000.0: [Placement(0, 0, 1), Placement(3, 1, 1)],
    }
    found = ends(four, nodes(1, 2), Hysteresis(Scripted(script), "scripted"))
    assert found == pytest.approx([5300.0, 4000.0, 2000.0, 6900.0])


def test_waiting_jobs_start_where_there_is_room():
    """A would go to node 1 to give B node 0; A stays, and B starts on node 1."""
    two = fixed([0.0, 1000.0], [4000.0, 1000.0])
    script = {0.0: [Placement(0, 0, 1)], 1000.0: [Placement(0, 1, 1), Placement(1, 0, 1)]}
    assert ends(two, nodes(1, 2), Scripted(script)) == pytest.approx([4300.0, 2000.0])
    policy = Hysteresis(Scripted(script), "scripted")
    assert ends(two, nodes(1, 2), policy) == pytest.approx([4000.0, 2000.0])


def test_jobs_make_room_for_one_that_fits_nowhere():
    """A (2900 s left) moves to node 1, so that B (2 GPUs) need not wait: 2900 s saved for 300 s lost."""
    two = fixed([0.0, 100.0], [3000.0, 1000.0], [1, 2])
    script = {0.0: [Placement(0, 0, 1)], 100.0: [Placement(0, 1, 1), Placement(1, 0, 2)]}
    cluster = Cluster((NodeType("a", "K80", 2, 1.0), NodeType("b", "K80", 1, 1.0)), 2, (0, 1))
    policy = Hysteresis(Scripted(script), "scripted")
    assert ends(two, cluster, policy) == pytest.approx([3300.0, 1100.0])


def test_gpus_that_stay_free_are_filled():
    """B (4 GPUs) does not get A's 2; then C (2 GPUs, not chosen by the policy) has room beside A."""
    three = fixed([0.0, 100.0, 100.0], [1000.0, 800.0, 5000.0], [2, 4, 2])
    script = {0.0: [Placement(0, 0, 2)], 100.0: [Placement(1, 0, 4)], 1800.0: [Placement(2, 0, 2)]}
    policy = Hysteresis(Scripted(script), "scripted")
    result = simulate(three, nodes(4), policy, features=[Delays.of(DELAY_S)])
    assert result.first_start_s[2] == 100.0
    # A is not stopped. When it ends, B takes C's place: 4100 s of C are left.
    assert result.completion_s.tolist() == [1000.0, 1800.0, 1800.0 + DELAY_S + 4100.0]


@pytest.mark.parametrize(("fast_s", "resized"), [(2200.0, True), (2700.0, False)])
def test_resizing(fast_s, resized):
    """At 1000 s the job has 3/4 of 4000 s left: 2 GPUs save 3000 - 3/4 fast_s, against 300 s or more."""
    table = TimeTable(np.array([[[np.inf, 4000.0, fast_s]], [[np.inf, 1e5, np.inf]]]))
    one = Workload(["a", "b"], [0.0, 1000.0], table)
    script = {0.0: [Placement(0, 0, 1)], 1000.0: [Placement(0, 0, 2), Placement(1, 1, 1)]}
    policy = Hysteresis(Scripted(script), "scripted", 4.0)  # 4 x 300 s
    end = ends(one, nodes(2, 2), policy)[0]
    assert end == pytest.approx(1000.0 + 300.0 + 0.75 * fast_s if resized else 4000.0)


def test_a_stop_for_nobody_is_not_carried_out():
    one = fixed([0.0, 1000.0], [4000.0, 10.0])
    script = {0.0: [Placement(0, 0, 1)], 1000.0: [Placement(1, 1, 1)], 1010.0: [Placement(0, 0, 1)]}
    policy = Hysteresis(Scripted(script), "scripted")
    assert ends(one, nodes(1, 2), policy) == pytest.approx([4000.0, 1010.0])


def test_groups_share_no_node():
    """0 moves from node 0 to 1, 1 stops on node 1: one group; 2 starts on node 3: another."""

    @dataclass
    class View:
        running: dict[int, tuple[Placement, ...]]

    before = {0: (Placement(0, 0, 1),), 1: (Placement(1, 1, 1),), 3: (Placement(3, 2, 1),)}
    plan = {0: (Placement(0, 1, 1),), 2: (Placement(2, 3, 1),), 3: before[3]}
    found = groups_of(plan, View(before))
    assert [(g.nodes, g.stopped, g.moved, g.starts) for g in found] == [
        ({0, 1}, [1], [0], []),
        ({3}, [], [], [2]),
    ]


# -- what stays the same ---------------------------------------------------------------------

TRACE = {
    "workload": {"kind": "synergy", "multi_gpu": True, "num_jobs": 40, "jobs_per_hour": 0.6},
    "cluster": {
        "kind": "nodes", "num_nodes": 2, "gpus_per_node": 8, "cpus_per_node": 24.0,
        "memory_gb_per_node": 500.0,
    },
}  # fmt: skip
ELASTIC = {
    "workload": {"kind": "hierarchical", "num_nodes": 3, "jobs_per_node": 8},
    "cluster": {"kind": "vms"},
}
ROUNDS = {"decisions": {"round_s": 300.0}}


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "base"),
    [
        *((name, TRACE | ROUNDS) for name in ("srtf+tune", "las+proportional")),
        *((name, TRACE) for name in ("srpt", "fifo-backfill")),
        *((name, ELASTIC) for name in ("greedy", "milp")),
    ],
)
def test_without_delay_it_is_the_policy(policy, base):
    plain, steady = (
        run(Scenario.model_validate({**base, "policy": name, "seed": 2}))
        for name in (policy, f"{policy}@hysteresis")
    )
    assert plain.jobs_table().equals(steady.jobs_table())
    assert plain.schedule_table().equals(steady.schedule_table())


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "base"),
    [
        *((name, TRACE | ROUNDS) for name in ("srtf+tune", "las+proportional", "tetris+greedy")),
        ("srpt", TRACE),
        *((name, ELASTIC) for name in ("greedy", "local-search", "milp", "greedy@self-timed")),
    ],
)
def test_it_moves_less_with_a_delay(policy, base):
    """The engine checks every decision; all jobs end; there are fewer interruptions."""
    late = {**base, "seed": 2, "reconfiguration_s": 1200.0}
    interruptions = []
    for name in (policy, f"{policy}@hysteresis"):
        result = run(Scenario.model_validate({**late, "policy": name}))
        assert np.isfinite(result.completion_s).all()
        interruptions.append(int(result.preemptions.sum() + result.reconfigurations.sum()))
    assert interruptions[1] < interruptions[0]


def test_options():
    assert requirements_of("greedy@hysteresis") == requirements_of("greedy")
    assert make_policy("greedy@hysteresis", rho=50.0).policy.rho == 50.0
    assert make_policy("srpt@hysteresis@self-timed").policy.threshold == 1.0


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("srpt@hysteresis", {"hysteresis.threshold": -1.0}, "threshold is -1.0, expected a number >= 0"),
        ("greedy@hysteresis", {"nonsense": 1}, "unknown option 'nonsense'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(name, options, told):
    with input_error(told):
        make_policy(name, **options)


@pytest.mark.parametrize("name", ["shared", "greedy@fractional"])
def test_policies_that_name_gpus_are_refused(name):
    with input_error(f"{name} names the GPUs of each job", f"expected '{name}'"):
        make_policy(f"{name}@hysteresis")


def test_rounds_shorter_than_the_delay_end():
    """LAS moves jobs in every round before they get on; with hysteresis all jobs end."""
    four = fixed([0.0] * 3, [20_000.0] * 3)
    points = DecisionPoints(round_s=300.0)
    policy = make_policy("las@hysteresis")
    four = replace(four, performance=replace(four.performance, time_shared=True))
    result = simulate(four, nodes(), policy, decision_points=points, features=[Delays.of(600.0)])
    assert np.isfinite(result.completion_s).all()


def test_who_takes_the_place_of_a_move_lies_where_it_asks_to():
    """At 1 s SRPT would stop j0 for j2, which saves too little. Two GPUs are left, for j5: j3 wants type B, and j4 two nodes."""
    types = (NodeType("a", "A", 4), NodeType("b", "B", 4))
    jobs = fixed([0, 0, 1, 1, 1, 1], [100, 300, 95, 400, 500, 600], [2, 4, 4, 1, 2, 1],
                 gpu_types=["A", "B", "A", "B", "", "A"], num_nodes=[0, 0, 0, 0, 2, 0])  # fmt: skip
    cluster = Cluster(types, 2, node_type_of=(0, 1))
    result = simulate(jobs, cluster, make_policy("srpt@hysteresis"), features=[Delays.of(20.0)])
    assert result.first_start_s[[0, 1, 5]].tolist() == [0, 0, 1]
    assert {s.node for s in result.schedule if s.job == 3} == {1}
    assert {s.node for s in result.schedule if s.job == 4} == {0, 1}


def test_a_pool_has_room_for_more_than_is_rented():
    curves = SpeedupCurve(np.ones(2), np.zeros(2, dtype=np.int64), [Power(0.5)])
    two = Workload(["a", "b"], np.array([0.0, 0.5]), curves)
    line = "rental pool, expected nodes or VMs"
    with pytest.raises(InputError, match=line):
        ends(two, Cluster.rental_pool(1.0), make_policy("rental-equi@hysteresis", gpus=2.0))
    lack, *_ = missing_requirements("rental-equi@hysteresis", two, Cluster.rental_pool(1.0))
    assert "rental pool, the policy needs nodes" in lack.missing


def test_of_equal_nodes_the_first():
    """A stays on node 0, where B should go; nodes 1 and 2 are empty."""
    two = fixed([0.0, 1000.0], [4000.0, 1000.0])
    script = {0.0: [Placement(0, 0, 1)], 1000.0: [Placement(0, 1, 1), Placement(1, 0, 1)]}
    policy = Hysteresis(Scripted(script), "scripted")
    result = simulate(two, nodes(1, 3), policy, features=[Delays.of(DELAY_S)])
    assert [(s.job, s.node) for s in result.schedule] == [(1, 1), (0, 0)]


def test_the_least_remaining_time_first_and_not_the_shortest_job():
    """C of 2900 s makes room for E at 1900 s, with 1000 s left. At 1910 s B does not get all 4 GPUs, for A has but
    900 s left; the two that are free go to C, and not to D of 2000 s."""
    jobs = fixed(
        [0.0, 0.0, 1900.0, 1905.0, 1905.0], [2810.0, 2900.0, 10.0, 800.0, 2000.0], [2, 2, 2, 4, 2]
    )
    script = {
        0.0: [Placement(0, 0, 2), Placement(1, 0, 2)],
        1900.0: [Placement(0, 0, 2), Placement(2, 0, 2)],
        1910.0: [Placement(3, 0, 4)],
        4000.0: [Placement(4, 0, 2)],
    }
    policy = Hysteresis(Scripted(script), "scripted")
    result = simulate(jobs, nodes(4), policy, features=[Delays.of(DELAY_S)])
    assert result.first_start_s.tolist() == [0.0, 0.0, 1900.0, 3210.0, 2810.0]
    assert result.completion_s[1] == 1910.0 + DELAY_S + 1000.0
