"""Whole runs of foresight: above every bound, blind to the future, whole on odd input."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.analysis.bounds import alone, shared
from experiments.analysis.lagrangian import lagrangian
from policies import make_policy
from policies.foresight.arrival_statistics import ArrivalStatistics
from policies.foresight.due_dates import slopes_of
from policies.foresight.machines import Machines
from policies.foresight.policy import _speed
from policies.foresight.price import CHANCES, DEVIATIONS, Demand, PriceGrid, peak
from simulator import (
    Cluster,
    Decision,
    InputError,
    NodeType,
    Placement,
    Policy,
    Result,
    ServerSpec,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from tests.core.jobs import elastic, fixed, nodes
from tests.core.test_invariants import check
from tests.core.two_types import CATALOG, jobs

INF = np.inf


def run(workload: Workload, cluster: Cluster, **more) -> Result:
    return simulate(workload, cluster, make_policy("foresight"), seed=1, **more)


@settings(
    max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.integers(0, 1000), st.integers(1, 7), st.sampled_from([1, 2]),
    st.sampled_from([0.5, 20.0, 5000.0]), st.booleans(),
)  # fmt: skip
def test_no_run_costs_less_than_a_bound(seed, count, nodes, weight, fixed):
    workload = jobs(seed, count, weight, gap_s=300.0)
    cluster = Cluster.of_vms(CATALOG, nodes)
    if fixed:
        power = (
            replace(CATALOG[0], price_per_hour=0.0, power_w=(0.0, 400.0)),
            replace(CATALOG[1], price_per_hour=0.0, power_w=(0.0, 500.0, 800.0, 1000.0)),
        )
        cluster = Cluster(power, 2, (0, 1), energy_price_per_kwh=1.0)
    result = run(workload, cluster)
    check(result)
    cost = result.total_cost * (1 + 1e-9)
    assert float(alone(workload, cluster).sum()) <= cost
    assert shared(workload, cluster, 20) <= cost
    assert lagrangian(workload, cluster, 15, 40) <= cost


ODD = {
    "one job": lambda w: w.head(1),
    "all overdue": lambda w: replace(w, due_s=w.submit_s),
    "no due dates": lambda w: replace(w, due_s=w.submit_s + INF),
    "weights of zero": lambda w: replace(w, weight_per_s=0 * w.submit_s),
    "neither": lambda w: replace(w, due_s=w.submit_s + INF, weight_per_s=0 * w.submit_s),
    "all at once": lambda w: replace(w, submit_s=0 * w.submit_s),
    "huge weights": lambda w: replace(w, weight_per_s=1e6 * w.weight_per_s),
}


@pytest.mark.long
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "cluster",
    [
        Cluster.of_vms(CATALOG, 1),
        Cluster.of_vms(CATALOG, 20),
        Cluster(CATALOG, 2, (1, 1)),
        Cluster((replace(CATALOG[0], price_per_hour=0.0), CATALOG[1]), 3, (0, 1, 0)),
    ],
    ids=["one VM", "more VMs than jobs", "one type exists", "nodes that cost nothing more"],
)
def test_odd_input_is_carried_out(odd, cluster):
    result = run(ODD[odd](jobs(2, 6)), cluster)
    check(result)
    assert np.isfinite(result.completion_s).all()


def test_equal_jobs_by_the_dozen():
    times = np.tile([[[INF, 900.0, INF, INF], [INF, 800.0, 500.0, 400.0]]], (40, 1, 1))
    workload = elastic(times, due_s=np.full(40, 3000.0), weight_per_s=np.full(40, 1e-3))
    result = run(workload, Cluster.of_vms(CATALOG, 5))
    check(result)
    assert float(alone(workload, result.cluster).sum()) <= result.total_cost


def test_jobs_of_fixed_demand_are_sequenced():
    """Nodes that cost nothing, no due dates: the shortest job goes first."""
    result = run(fixed([0, 0, 0], [1000, 100, 300], [4, 4, 2]), nodes(4))
    check(result)
    assert result.completion_s[1] == 100.0
    assert result.completion_s[0] == max(result.completion_s)


def test_gpus_of_a_leased_node_are_not_free():
    """Two GPUs, leased to the end. Alone the short job takes 20 s on one GPU and 12 s on both, the long one 100 s on
    either. A step of a second saves 10 / 12 node-seconds of the short job on both, and 10 / 20 + 50 / 100 of the jobs side by side."""
    times = [[[INF, 20.0, 12.0]], [[INF, 100.0, 100.0]]]
    result = run(elastic(times), nodes(2, price_per_hour=3.0))
    assert result.completion_s.tolist() == [20.0, 100.0]
    assert result.total_cost == pytest.approx(3.0 * 100 / 3600)


@pytest.mark.parametrize(("haste", "end_s"), [(1e-6, 100.0), (10.0, 56.25)])
def test_haste_takes_the_dearer_machine(haste, end_s):
    """A VM that is twice as fast for three times the price p. The work costs 100 p, and gains count 1.3 times.

    The first step of x = 3.97 s is worth 1.3 p x - p x on the slow one, and 2.6 p x - 3 p x on the fast one. With haste h,
    h 2.6 p x times x / 100 or x / 50 is added: the fast one is better from h = 0.7 / (0.026 x) = 6.8 on.
    The decisions after it are at 6.25, 18.75 and 43.75 s. Then an eighth is left, a step does it on either, and the slow one
    takes 12.5 s.
    """
    types = (NodeType("slow", "A", 1, 1.0), NodeType("fast", "B", 1, 3.0))
    work = elastic([[[INF, 100.0], [INF, 50.0]]], due_s=[1000.0], weight_per_s=[1e-4])
    policy = make_policy("foresight", haste=haste, price=False)
    assert simulate(work, Cluster.of_vms(types, 1), policy).completion_s.tolist() == [end_s]


def test_a_job_that_fits_on_no_node_is_one_line():
    with pytest.raises(InputError, match=r"'j0' fits on no single node"):
        run(fixed([0], [10], [8]), nodes(4, 4))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tilt", -1.0),
        ("haste", -1.0),
        ("dispersion", INF),
        ("spare", 0.0),
        ("forecast", float("nan")),
        ("mip_gap", 2.0),
    ],
)
def test_options_out_of_range(option, value):
    with pytest.raises(InputError, match=f"foresight: {option} is"):
        make_policy("foresight", **{option: value})


def test_it_asks_again_after_one_mean_gap():
    workload = jobs(4, 3)
    table = run(workload, Cluster.of_vms(CATALOG, 2)).decisions_table()
    at = table.iloc[0]
    shortest = workload.performance.table_s(np.array([0]), Cluster.of_vms(CATALOG, 2)).min()
    assert at["again_s"] == pytest.approx(shortest / 8)
    silent = simulate(workload, Cluster.of_vms(CATALOG, 2), make_policy("foresight", wake_up=False))
    assert "again_s" not in silent.decisions_table()


def test_a_delay_of_reconfiguration_is_not_paid_for_nothing():
    """With a delay of ten minutes jobs are moved less often, not counted by run but by hour."""
    workload, cluster = jobs(7, 14, weight=50.0), Cluster.of_vms(CATALOG, 3)
    free, dear = run(workload, cluster), run(workload, cluster, features=[Delays.of(600.0)])
    blind = simulate(workload, cluster, Blind(), seed=1, features=[Delays.of(600.0)])
    moves = [int((r.preemptions + r.reconfigurations).sum()) for r in (free, dear, blind)]
    assert moves[1] < moves[2]
    assert dear.total_cost < blind.total_cost


def test_moves_may_be_left_out_of_the_objective():
    """`moves = false` decides as if the view had no delay, and pays it; without a delay it is the same."""
    workload, cluster = jobs(7, 8, weight=50.0), Cluster.of_vms(CATALOG, 2)

    def schedule(policy: Policy, delay_s: float) -> str:
        result = simulate(workload, cluster, policy, seed=1, features=[Delays.of(delay_s)])
        return str(result.schedule_table().to_csv())

    off, default = ({"moves": False}, {})
    plain, dear = (
        [schedule(make_policy("foresight", **options), delay_s) for options in (off, default)]
        for delay_s in (0.0, 600.0)
    )
    assert plain[0] == plain[1]
    assert dear[0] != dear[1]
    assert dear[0] == schedule(Blind(), 600.0)


def test_the_hull_may_be_left_out():
    """With one configuration a job there is nothing to mix, in the gains nor in the price of node-time."""
    workload, cluster = jobs(3, 8, weight=50.0), Cluster.of_vms(CATALOG, 2)
    only = Cluster.of_vms(CATALOG[:1], 2)
    one = replace(workload, performance=TimeTable(np.array(table_of(workload, cluster)[:, :1, :2])))

    def schedule(jobs: Workload, nodes: Cluster, hull: bool) -> str:
        result = simulate(jobs, nodes, make_policy("foresight", hull=hull), seed=1)
        check(result)
        return str(result.schedule_table().to_csv())

    assert schedule(one, only, True) == schedule(one, only, False)
    assert schedule(workload, cluster, True) != schedule(workload, cluster, False)


def table_of(workload: Workload, cluster: Cluster) -> np.ndarray:
    return workload.performance.table_s(np.arange(len(workload)), cluster)


class Blind:
    """foresight that is not shown the delay, and takes times as they are told."""

    def __init__(self) -> None:
        self.inner = make_policy("foresight")

    def decide(self, view: View) -> Decision:
        return self.inner.decide(view.showing(seen={"learned": True}))


def test_decisions_may_take_time():
    server = ServerSpec(service=Deterministic(120.0))
    check(run(jobs(8, 8), Cluster.of_vms(CATALOG, 2), server=server))


def test_the_dual_is_concave_and_its_peak_is_found():
    """The dual of the price of node-time on its grid, for the active jobs of a view."""
    scenario = HierarchicalJobs(num_nodes=5, seed=4, weights="released")
    workload, cluster = generate(scenario), scenario.cluster(1)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    grid, statistics = PriceGrid(machines), ArrivalStatistics(machines)
    seen: list[np.ndarray] = []

    class Spy:
        def decide(self, view: View) -> Decision:
            rows = statistics.update(view)
            grid.update(statistics.times_s, statistics.weight_per_s)
            demand = statistics.demand(view, rows, view.remaining, 0.5, 3.0)
            slopes = slopes_of(statistics.weight_per_s[demand.rows])
            for deferral in (True, False):
                seen.extend(grid.dual(demand, slopes, 0.9, deferral))
            return make_policy("edf").decide(view)

    simulate(workload.head(20), cluster, Spy(), seed=1)
    assert len(seen) > 40
    for dual in seen:
        slope = np.diff(dual) / np.diff(grid.prices)
        assert (np.diff(slope) <= 1e-6 * np.abs(slope).max()).all()


def test_the_dual_without_the_hull():
    """By hand, on each price of the grid: one job of 100 s on one GPU of three, in a window of 200 s."""
    cluster = Cluster.of_vms(CATALOG[1:], 1)
    machines = Machines.of(cluster, cluster.nodes_of(0))
    times, weight = np.array([[100.0, np.inf, 40.0]]), np.array([0.01])
    grid = PriceGrid(machines, hull=False)
    grid.update(times, weight)
    demand = Demand(np.array([0]), np.ones(1), np.array([70.0]), np.ones((1, 1)), 200.0)
    p, mu = 2.5 / 3600, grid.prices
    slow, fast = 100 * (p + mu) / 3 + 0.01 * 30, 40 * (p + mu)
    later = min(100 * p / 3 + 0.01 * 230, 40 * p + 0.01 * 170)
    now, supply = np.minimum(slow, fast), mu * 0.9 * 200
    slopes = slopes_of(weight)
    for deferral, cost in ((False, now), (True, np.minimum(now, later))):
        (dual,) = grid.dual(demand, slopes, 0.9, deferral)
        assert dual == pytest.approx(cost - supply)


def test_the_price_is_the_expected_one():
    """A window of 100 s on one node of one GPU, and late jobs of 50 s: 0, 0, 1, 2 or 3 of them, at five points of the number.

    At nine tenths of the window one fits, and two or three do not: no price, or the top of the grid.
    """
    cluster = Cluster.of_vms(CATALOG[:1], 1)
    grid = PriceGrid(Machines.of(cluster, cluster.nodes_of(0)))
    weight = np.array([0.01])
    grid.update(np.array([[50.0]]), weight)
    part = np.array([[0.0], [0.0], [1.0], [2.0], [3.0]])
    demand = Demand(np.array([0]), np.ones(1), np.zeros(1), part, 100.0)
    found = grid.best(demand, slopes_of(weight), 0.9, deferral=False)
    assert found == pytest.approx(grid.prices[-1] * CHANCES[3:].sum())


def test_peak_of_a_parabola():
    x = np.linspace(0.0, 4.0, 9)
    assert peak(x, -((x - 1.7) ** 2)) == pytest.approx(1.7)
    assert peak(x, x) == 4.0
    assert peak(x, -x) == 0.0


def test_rivals_are_asked_as_often():
    workload, cluster = jobs(4, 6), Cluster.of_vms(CATALOG, 2)
    plain = simulate(workload, cluster, make_policy("greedy"))
    asked = simulate(workload, cluster, make_policy("greedy@self-timed", rho=50.0))
    assert len(asked.decisions) > len(plain.decisions)
    assert asked.decisions_table()["again_s"].notna().any()
    with pytest.raises(InputError, match="unknown option"):
        make_policy("greedy@self-timed", nonsense=1)
    with pytest.raises(InputError, match="unknown policy"):
        make_policy("nonsense@self-timed")


def test_who_wants_node_time_by_hand():
    """At 40 s: a (100 s on the fastest, due at 300 s) and b (200 s, due at 140 s), none of them has run.

    The window is the median of 300 and 200 s. a lives 300 s, so an arrival like it falls into the window with
    250 / 600; b lives 200 s, 1 - 200 / 500. Of a's 260 s to its due date 250 are in the window, of b's work all.
    The mean gap is (40 + 150 / 8) / 2 = 29.375 s, so that 250 / 29.375 arrivals are expected. Their variance is twice
    as large. Half of them are reckoned with, and never less than none.
    """
    cluster = Cluster.of_vms(CATALOG[:1], 1)
    statistics = ArrivalStatistics(Machines.of(cluster, cluster.nodes_of(0)))
    late = {"due_s": [300.0, 140.0], "weight_per_s": [0.01, 0.01]}
    work = elastic([[[np.inf, 100.0]], [[np.inf, 200.0]]], [0.0, 40.0], **late)
    seen: list[Demand] = []

    class Spy:
        def decide(self, view: View) -> Decision:
            rows = statistics.update(view)
            seen.append(statistics.demand(view, rows, view.remaining, 0.5, 2.0))
            idle = view.now_s < 40.0
            return Decision([]) if idle else make_policy("fifo").decide(view)

    simulate(work, cluster, Spy())
    demand = seen[1]
    expected = 250.0 / 29.375
    numbers = [max(0.5 * expected + z * (2 * expected) ** 0.5, 0.0) for z in DEVIATIONS]
    assert numbers[0] == numbers[1] == 0.0 < numbers[2] < numbers[3]
    assert demand.window_s == pytest.approx(250.0)
    assert demand.due_in_s.tolist() == pytest.approx([260.0, 100.0, 300.0, 100.0])
    for part, number in zip(demand.part, numbers, strict=True):
        arrivals = [number / 2 * 250 / 600, number / 2 * (1 - 200 / 500)]
        assert part.tolist() == pytest.approx([250 / 260, 1.0, *arrivals])


@pytest.mark.parametrize(("two_steps", "step_s"), [(True, 7.9325), (False, 12.5)])
def test_the_steps_by_hand(two_steps, step_s):
    """A late job of 100 s: the first gap is 12.5 s, in two steps 0.63 x 5.25 + 0.37 x 12.5 s on average.

    Running it for a step saves the lateness of that step; what it costs is paid in any case.
    """
    work = elastic([[[np.inf, 100.0]]], due_s=[0.0], weight_per_s=[0.01])
    policy = make_policy("foresight", two_steps=two_steps, tilt=0.0, price=False, hull=False)
    table = simulate(work, Cluster.of_vms(CATALOG[:1], 1), policy).decisions_table()
    assert table["gain"].iloc[0] == pytest.approx(0.01 * step_s, rel=1e-3)


def test_a_move_is_paid_over_two_mean_gaps_or_to_the_end_by_hand():
    """A gap of 50 s, a delay of 10 s. A job of 1000 s on one GPU and 80 s on two: 100 / 110 and 80 / 90; the latter with
    half of it left 40 / 50. Nothing is lost where it runs already, nor at a first start."""
    view = SimpleNamespace(
        reconfiguration=10.0,
        jobs=np.array([0, 1, 2]),
        has_started=np.array([True, True, False]),
        running={1: (Placement(1, 0, 1, node_type=0),)},
        cluster=SimpleNamespace(node_type_of=None),
    )
    machines = SimpleNamespace(config_type=np.array([0, 0]), config_gpus=np.array([1, 2]))
    left = np.array([1.0, 0.5, 1.0])
    speed = _speed(view, machines, np.array([[1000.0, 80.0]] * 3), left, 50.0)
    assert speed.ravel().tolist() == pytest.approx([100 / 110, 80 / 90, 1, 40 / 50, 1, 1])
