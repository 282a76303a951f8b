"""Exact packing against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.foresight import ascent
from policies.foresight.machines import Machines
from policies.foresight.packing import PackingProblem, patterns_of, pose, solve
from policies.solving.tree import Learned
from simulator.model.cluster import Cluster, NodeType

STEP_S = 2000.0


def vms(nodes: int) -> Cluster:
    return Cluster.of_vms((NodeType("one", "A", 1, 1.0), NodeType("three", "B", 3, 2.5)), nodes)


def servers(types: tuple[int, ...]) -> Cluster:
    power = NodeType("two", "A", 2, power_w=(0.0, 900.0, 1000.0))
    small = NodeType("single", "B", 1, power_w=(0.0, 300.0))
    return Cluster((power, small), len(types), types, energy_price_per_kwh=3.0)


def brute_force(machines: Machines, gain: np.ndarray, step_s: float) -> float:
    """Every assignment of jobs to nodes of every type, node by node."""
    kinds = range(len(machines.gpus))
    layouts = itertools.product(kinds, repeat=machines.num_nodes)
    if machines.nodes_of_type is not None:
        layouts = iter([tuple(np.repeat(kinds, machines.nodes_of_type).tolist())])
    best = 0.0
    for layout in layouts:
        sizes = machines.gpus[list(layout)]
        places = [(n, g) for n, size in enumerate(sizes) for g in range(1, int(size) + 1)]
        for choice in itertools.product([None, *places], repeat=len(gain)):
            used, value = np.zeros(len(layout), dtype=int), 0.0
            for job, place in enumerate(choice):
                if place is not None:
                    used[place[0]] += place[1]
                    value += gain[job, machines.config_index[layout[place[0]], place[1]]]
            if (used <= sizes).all():
                price = machines.node_price_per_s[layout, used if machines.by_use else sizes]
                best = max(best, value - price[used > 0].sum() * step_s)
    return best


def drawn(cluster: Cluster, jobs: int, seed: int) -> tuple[Machines, np.ndarray, PackingProblem]:
    """Gains of jobs on all configurations, some of which are impossible, and their packing."""
    rng = np.random.default_rng(seed)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    gain = rng.uniform(-0.5, 3.0, (jobs, len(machines.config_type)))
    gain[rng.random(gain.shape) < 0.15] = -np.inf
    return machines, gain, pose(machines, gain, STEP_S)


def earned(machines: Machines, gain: np.ndarray, step_s: float, assignments) -> float:
    value, used, types = 0.0, {}, {}
    jobs = [a.job for a in assignments]
    assert len(set(jobs)) == len(jobs)
    for a in assignments:
        value += gain[a.job, machines.config_index[a.node_type, a.gpus]]
        used[a.node] = used.get(a.node, 0) + a.gpus
        assert types.setdefault(a.node, a.node_type) == a.node_type
    assert len(used) <= machines.num_nodes
    for node, u in used.items():
        v = types[node]
        assert u <= machines.gpus[v]
        value -= machines.node_price_per_s[v, u if machines.by_use else machines.gpus[v]] * step_s
    if machines.nodes_of_type is not None:
        count = np.bincount(list(types.values()), minlength=len(machines.gpus))
        assert (count <= machines.nodes_of_type).all()
    return value


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.sampled_from([vms(1), vms(2), servers((0,)), servers((0, 1)), servers((1, 1))]),
    st.integers(1, 3),
    st.integers(0, 10_000),
)
def test_it_is_the_best_of_all_packings(cluster, jobs, seed):
    machines, gain, packing = drawn(cluster, jobs, seed)
    packed, best = solve(packing, 0.0), brute_force(machines, gain, STEP_S)
    assert packed.value == pytest.approx(best, abs=1e-7)
    assert packed.bound >= best - 1e-7
    assert earned(machines, gain, STEP_S, packed.assignments) == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("solver", [solve, ascent.solve])
def test_nothing_runs_where_nothing_pays_unless_it_must(solver):
    machines = Machines.of(vms(2), vms(2).nodes_of(0))
    packing, nobody = (
        pose(machines, np.full((2, len(machines.config_type)), gain), 3600.0)
        for gain in (0.1, -1.0)
    )
    assert solver(packing, 0.0).assignments == solver(nobody, 0.0).assignments == []
    forced = solver(packing, 0.0, at_least_one=True)
    assert len(forced.assignments) == 1
    assert forced.value == pytest.approx(0.1 - 1.0)


@pytest.mark.parametrize("solver", [solve, ascent.solve])
def test_equal_jobs_by_the_hundred(solver):
    """Three of them on each of the large nodes: 9 - 2.5 a node."""
    machines = Machines.of(vms(20), vms(20).nodes_of(0))
    packed = solver(pose(machines, np.tile([2.0, 3.0, 3.0, 3.0], (300, 1)), 3600.0), 1e-9)
    assert packed.value == packed.bound == pytest.approx(20 * 6.5)
    assert len(packed.assignments) == 60


def test_patterns():
    full = patterns_of((1, 3), False)
    assert full.parts == ((1,), (3,), (2, 1), (1, 1, 1))
    by_use = patterns_of((2,), True)
    assert by_use.parts == ((1,), (2,), (1, 1))
    assert by_use.in_use.tolist() == [1, 2, 2]


def test_what_earlier_packings_taught_changes_no_optimum():
    """Twenty packings in a row, of 20 jobs on six nodes: each as good as when it is the first."""
    rng, learned, saved = np.random.default_rng(3), Learned(), []
    machines = Machines.of(vms(6), vms(6).nodes_of(0))
    for _ in range(20):
        packing = pose(machines, rng.uniform(-0.5, 3.0, (20, len(machines.config_type))), 2000.0)
        first, later = solve(packing, 0.0), solve(packing, 0.0, learned=learned)
        assert later.value == pytest.approx(first.value, abs=1e-7)
        saved.append(later.assignments)
    again = Learned()
    rng = np.random.default_rng(3)
    for expected in saved:  # the same history, the same answers
        packing = pose(machines, rng.uniform(-0.5, 3.0, (20, len(machines.config_type))), 2000.0)
        assert solve(packing, 0.0, learned=again).assignments == expected


def test_the_gap_is_of_gains_and_prices():
    """Gains and prices nearly cancel: the value may be off by a part of their sum, not more."""
    rng = np.random.default_rng(5)
    machines = Machines.of(vms(8), vms(8).nodes_of(0))
    for _ in range(20):
        gain = rng.uniform(0.3, 0.6, (12, len(machines.config_type)))
        packing = pose(machines, gain, 3600.0)
        near, best = solve(packing, 0.05), solve(packing, 0.0)
        gross = sum(
            gain[a.job, machines.config_index[a.node_type, a.gpus]] for a in best.assignments
        )
        assert best.value >= near.value >= best.value - 0.05 * 1.5 * gross - 1e-9
        assert near.bound >= best.value - 1e-7
