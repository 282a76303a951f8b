"""The value of a job alone, against the bound, its closed form, and its shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.bounds import alone
from policies.foresight.due_dates import NEVER_S, DueDates
from policies.foresight.machines import Machines, share_price_per_s
from policies.foresight.value import SingleValue, Value, step_gain
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.energy import ENERGY_EUR_PER_KWH, PUE
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from simulator.workloads.table import Setting
from tests.core.jobs import nodes
from tests.families import module

andreas = module("simulator.workloads.andreas")

quick = settings(max_examples=40, deadline=None, derandomize=True)


def one(due_in_s, weight):
    return DueDates.of(np.array([due_in_s]), np.array([weight]))


def value_of(times_s, price_per_s, weight, slopes=24):
    """V of one job without a price of node-time, by its due date."""
    times, price = np.array([times_s]), np.array(price_per_s)
    return lambda d: Value.of(one(d, weight), times, price, slopes)


def at(value, r: float, d: float) -> float:
    return float(value(d)(np.array([r]), 0.0)[0])


def test_by_hand():
    """100 s at 0.5 a second, 2 a second late: 50 in time; 10 s too late, 20 more.

    Slow 100 s for 10, fast 50 s for 30; due after 75 s half of the work is done on each: 20.
    """
    value = value_of([100.0], [0.5], 2.0)
    for r, d, cost in ((1, 100, 50), (1, 90, 70), (1, NEVER_S, 50), (0.5, 40, 25 + 20)):
        assert at(value, r, d) == pytest.approx(cost)
    value = value_of([100.0, 50.0], [0.1, 0.6], 10.0, 4000)
    for d, cost in ((100, 10), (50, 30), (75, 20)):
        assert at(value, 1, d) == pytest.approx(cost, rel=1e-3)


@pytest.mark.parametrize("kind", ["vms", "nodes"])
def test_it_is_the_bound_of_a_job_alone(kind):
    """With many slopes, V(1, slack) of a new job is `bounds.alone`; 24 slopes lose little."""
    if kind == "vms":
        scenario = HierarchicalJobs(num_nodes=5, jobs_per_node=4, seed=3)
        workload, cluster = generate(scenario), scenario.cluster(1)
    else:
        workload, cluster = andreas.AndreasJobs(num_nodes=4).make(Setting(3))
    machines = Machines.of(cluster, cluster.nodes_of(0))
    table = workload.performance.table_s(np.arange(len(workload)), cluster)
    times = table[:, machines.config_type, machines.config_gpus]
    exact, whole = alone(workload, cluster), np.ones(len(workload))
    for slopes, worst in ((2000, 1e-3), (24, 0.06)):
        dates = DueDates.of(workload.due_s - workload.submit_s, workload.weight_per_s)
        found = Value.of(dates, times, machines.config_price_per_s, slopes)(whole, 0.0)
        assert (found <= exact * (1 + 1e-9)).all()
        assert found == pytest.approx(exact, rel=worst)


configurations = st.lists(
    st.tuples(st.floats(1.0, 1e4), st.floats(0.0, 10.0)), min_size=1, max_size=5
)


@quick
@given(configurations, st.floats(0.0, 5.0), st.floats(0.01, 1.0), st.floats(-1e4, 1e4))
def test_it_is_convex_in_the_due_date_and_grows_with_work(configs, weight, r, d):
    value = value_of([t for t, _ in configs], [p for _, p in configs], weight)
    left, middle, right = (at(value, r, d + step) for step in (-100.0, 0.0, 100.0))
    assert left + right >= 2 * middle - 1e-6 * max(1.0, abs(middle))
    assert left >= middle >= right  # more time never costs more
    assert at(value, 0.9 * r, d) <= middle + 1e-9 * max(1.0, abs(middle))


def single_of(times_s, price_per_s, weight):
    """V of one job that keeps its configuration, by its due date."""
    times, price = np.array([times_s]), np.array(price_per_s)
    return lambda d: SingleValue(one(d, weight), times, price)


def test_without_the_hull_one_configuration_does_all_the_work():
    """Slow 100 s for 10, fast 50 s for 30. Due after 75 s: 30 in time, where the hull has 20. Due after
    99 s the slow one is 1 s late and costs 20. Of half the work, each costs half. What cannot run
    counts for nothing."""
    value = single_of([100.0, np.inf, 50.0], [0.1, 0.0, 0.6], 10.0)
    assert at(value, 1.0, 75.0) == pytest.approx(30.0)
    assert at(value, 1.0, 99.0) == pytest.approx(20.0)
    assert at(value, 0.5, 75.0) == pytest.approx(5.0)
    assert at(value, 1.0, -10.0) == pytest.approx(30.0 + 600.0)


@quick
@given(configurations, st.floats(0.0, 5.0), st.floats(0.01, 1.0), st.floats(-1e4, 1e4))
def test_the_hull_lies_below_single_configurations_and_touches_them(configs, weight, r, d):
    """With one configuration both values are the same."""
    times, prices = [t for t, _ in configs], [p for _, p in configs]
    hull, single = (at(of(times, prices, weight), r, d) for of in (value_of, single_of))
    assert hull <= single + 1e-9 * max(1.0, abs(single))
    same = [at(of(times[:1], prices[:1], weight), r, d) for of in (value_of, single_of)]
    assert same[0] == pytest.approx(same[1], rel=1e-9, abs=1e-9)


def test_gain_of_a_step():
    """Overdue, 100 s left at no price: a step of 10 s saves 10 s of lateness at 2 a second."""
    times = np.array([[100.0, np.inf]])
    value = Value.of(one(-5.0, 2.0), times, np.zeros(2))
    gain = step_gain(value, np.ones(1), times, 10.0)
    assert gain[0, 0] == pytest.approx(20.0)
    assert gain[0, 1] == -np.inf
    # 5 s of work left: it ends within the step, 10 s late; waiting first makes it 20 s late.
    short = step_gain(value, np.array([0.05]), times, 10.0)
    assert short[0, 0] == pytest.approx(2.0 * 20.0 - 2.0 * 10.0)
    # Half of the step goes to a reconfiguration.
    half = step_gain(value, np.ones(1), times, 10.0, np.array([[0.5, 0.5]]))
    assert half[0, 0] == pytest.approx(10.0)


def test_the_example_of_the_page():
    """docs/foresight.md: waiting for 10 s leaves 24 of cost, a step on the slow machine 19, on the fast one 14."""
    times = np.array([[100.0, 50.0]])
    value = Value.of(one(75.0, 10.0), times, np.array([0.1, 0.6]), 4000)
    assert value(np.ones(1), 10.0)[0] == pytest.approx(24.0, rel=1e-3)
    assert value(np.array([[0.9, 0.8]]), 10.0)[0] == pytest.approx([19.0, 14.0], rel=1e-3)
    gain = step_gain(value, np.ones(1), times, 10.0)
    assert gain[0] == pytest.approx([5.0, 10.0], rel=1e-3)


def test_share_prices():
    """2 GPUs for 3, 1 for 2: one GPU pays at least half of the full node."""
    price = np.array([[0.0, 2.0, 3.0]])
    assert share_price_per_s(price, np.array([2]))[0, 1:].tolist() == [1.5, 3.0]


def test_nodes_of_fixed_type_pay_what_comes_on_top_of_idling():
    _, cluster = andreas.AndreasJobs(num_nodes=2, idle_w=50.0).make(Setting(1))
    _, free = andreas.AndreasJobs(num_nodes=2).make(Setting(1))
    with_idle, without = (Machines.of(c, c.nodes_of(0)) for c in (cluster, free))
    idle = 50.0 / 1000 * PUE * ENERGY_EUR_PER_KWH / 3600
    difference = without.node_price_per_s[0, 1] - with_idle.node_price_per_s[0, 1]
    assert difference == pytest.approx(idle)
    assert with_idle.by_use
    assert (with_idle.config_price_per_s == without.config_price_per_s).all()  # the full price


def test_a_step_on_a_leased_node_is_free_and_work_pays_its_share():
    cluster = nodes(4, 2, price_per_hour=3.0)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    assert not machines.node_price_per_s.any()
    assert machines.config_price_per_s == pytest.approx(3.0 / 3600 * machines.config_gpus / 4)


def test_prices_of_vms_are_the_catalogue_s():
    scenario = HierarchicalJobs(num_nodes=5, seed=1)
    cluster = scenario.cluster(1)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    assert not machines.by_use
    for k, (v, g) in enumerate(zip(machines.config_type, machines.config_gpus, strict=True)):
        spec = read_catalog("hierarchical")[v]
        expected = spec.price_per_hour / 3600 * g / spec.gpus
        assert machines.config_price_per_s[k] == pytest.approx(expected)
