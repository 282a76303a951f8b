"""The end of the lease: the least end against a linear program, two due dates against brute force, ties by hand."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.foresight.due_dates import NEVER_S, DueDates
from policies.foresight.lease_end import LeaseEnd, hull_lines
from policies.foresight.machines import Machines
from policies.foresight.value import SingleValue, Value, step_gain
from simulator import Cluster, NodeType, simulate
from tests.core.jobs import elastic, nodes

quick = settings(max_examples=40, deadline=None, derandomize=True)
INF = np.inf


def least_end(cluster: Cluster, times_s: np.ndarray, left: np.ndarray, speed: np.ndarray) -> float:
    lease = LeaseEnd(Machines.of(cluster, cluster.nodes_of(0)))
    lease.update(times_s, speed)
    return lease.least_s(np.arange(len(left)), left, times_s.min(axis=1))


def by_program(times_s: np.ndarray, left: np.ndarray, share: np.ndarray, nodes: float) -> float:
    """The least C by a linear program: x_jk is the part of a job's work that it does on a configuration."""
    n, configs = times_s.shape
    possible = np.isfinite(times_s)
    times = np.where(possible, times_s, 0.0)
    all_work = np.kron(np.eye(n), np.ones(configs))
    in_time = np.hstack([np.kron(np.eye(n), np.ones(configs)) * times.ravel(), -np.ones((n, 1))])
    fits = np.append((times * share).ravel(), -nodes)
    found = scipy.optimize.linprog(
        np.append(np.zeros(n * configs), 1.0),
        A_ub=np.vstack([in_time, fits]),
        b_ub=np.zeros(n + 1),
        A_eq=np.hstack([all_work, np.zeros((n, 1))]),
        b_eq=left,
        bounds=[(0, INF if p else 0) for p in possible.ravel()] + [(0, INF)],
    )
    return float(found.fun)


def test_the_least_end_by_hand():
    """Two nodes of two GPUs; jobs of 100 s on one GPU, and 50 s or 80 s on two.

    Alone, the first takes 50 s. Three of them need 3 x 50 = 150 node-seconds on any number of GPUs, so 75 s. Five
    that scale badly need 50 to 80 node-seconds each, and 5 x 50 = 250: all on one GPU they would need 125 s. One of
    those has at best its fastest time, 80 s.
    """
    cluster, speed = nodes(2, 2, price_per_hour=1.0), np.ones(2)
    for row, count, end_s in (([100, 50], 1, 50), ([100, 50], 3, 75), ([100, 80], 5, 125), ([100, 80], 1, 80)):  # fmt: skip
        found = least_end(cluster, np.array([row] * count, dtype=float), np.ones(count), speed)
        assert found == pytest.approx(end_s)
    # Four that scale badly, 0.9 of each left. On one GPU all take 90 s and 45 node-seconds: 4 x 45 = 2 x 90.
    found = least_end(cluster, np.array([[100.0, 80.0]] * 4), np.full(4, 0.9), speed)
    assert found == pytest.approx(90.0)


@quick
@given(st.integers(1, 8), st.integers(1, 3), st.booleans(), st.integers(0, 10_000))
def test_the_least_end_is_that_of_a_linear_program(count, num_nodes, typed, seed):
    """Times at random, some configurations impossible; on nodes of two types each counts by its speed."""
    rng = np.random.default_rng(seed)
    a, b = NodeType("a", "A", 4, 1.0), NodeType("b", "B", 2, 0.5)
    cluster = Cluster((a, b), 2 * num_nodes, (0, 1) * num_nodes) if typed else nodes(4, num_nodes, price_per_hour=1.0)  # fmt: skip
    machines = Machines.of(cluster, cluster.nodes_of(0))
    times = rng.uniform(1.0, 100.0, (count, len(machines.config_share)))
    times[rng.random(times.shape) < 0.2] = INF
    times[:, 0] = np.minimum(times[:, 0], 200.0)
    speed = np.where(machines.config_type == 0, 1.0, 0.4)
    left = rng.uniform(0.1, 1.0, count)
    found = least_end(cluster, times, left, speed)
    supply = num_nodes * (1.4 if typed else 1.0)
    expected = by_program(times, left, machines.config_share * speed, supply)
    assert found == pytest.approx(expected, rel=1e-6)


def test_lines_of_a_hull():
    """Points (1, 8), (2, 3), (3, 5), (4, 1): the lines from 1 to 2 and from 2 to 4, then level. 3 is above."""
    times, work = np.array([[4.0, 2.0, 1.0, 3.0, INF]]), np.array([[1.0, 3.0, 8.0, 5.0, INF]])
    level, slope = hull_lines(times, work)[0]
    for at, least in ((1.0, 8.0), (1.5, 5.5), (2.0, 3.0), (3.0, 2.0), (4.0, 1.0), (9.0, 1.0)):
        assert (level + slope * at).max() == pytest.approx(least)


def test_a_type_of_no_speed_counts_for_nothing():
    """Nobody can run on the second type, whose omega is 0: jobs of 30, 30 and 20 s on one of two GPUs."""
    cluster = Cluster((NodeType("a", "A", 2, 1.0), NodeType("b", "B", 2, 0.5)), 3, (0, 1, 1))
    times = np.array([[30.0, INF, INF, INF], [30.0, INF, INF, INF], [20.0, INF, INF, INF]])
    speed = np.array([1.0, 1.0, 0.0, 0.0])
    assert least_end(cluster, times, np.ones(3), speed) == pytest.approx(40.0)


def test_lines_are_kept_and_laid_anew_for_other_speeds():
    """The end is the same whether jobs were taken in one by one or at once, and follows omega."""
    rng = np.random.default_rng(1)
    a, b = NodeType("a", "A", 2, 1.0), NodeType("b", "B", 2, 0.5)
    cluster, times = Cluster((a, b), 2, (0, 1)), rng.uniform(1.0, 9.0, (200, 4))
    lease, rows = LeaseEnd(Machines.of(cluster, cluster.nodes_of(0))), np.arange(200)
    for speed in (np.ones(4), np.array([1.0, 1.0, 0.5, 0.5])):
        for count in (1, 70, 71, 200):
            lease.update(times[:count], speed)
        found = lease.least_s(rows, np.ones(200), times.min(axis=1))
        assert found == least_end(cluster, times, np.ones(200), speed)


def test_a_second_after_the_end_costs_the_lease_unless_somebody_arrives():
    """Three nodes at 2 $/h. 100 s to the end, a gap of 50 s: exp(-2); the last arrival 200 s ago: exp(-0.5).

    A node of 100 W that draws 300 W in use costs 0.1 $/h while it is idle, at 1 $/kWh. VMs are paid while they are
    open: their lease has no end.
    """
    cluster = nodes(4, 3, price_per_hour=2.0)
    lease = LeaseEnd(Machines.of(cluster, cluster.nodes_of(0)))
    assert lease.weight_per_s(100.0, 50.0, 0.0) == pytest.approx(6.0 / 3600 * np.exp(-2.0))
    assert lease.weight_per_s(100.0, 50.0, 200.0) == pytest.approx(6.0 / 3600 * np.exp(-0.5))
    drawing = replace(NodeType("a", "A", 1, 0.0), power_w=(100.0, 300.0))
    power = Cluster((drawing,), 2, (0, 0), energy_price_per_kwh=1.0)
    found = LeaseEnd(Machines.of(power, power.nodes_of(0))).price_per_s
    assert found == pytest.approx(0.2 / 3600)
    vms = Cluster.of_vms((NodeType("a", "A", 4, 2.0),), 3)
    assert LeaseEnd(Machines.of(vms, vms.nodes_of(0))).price_per_s == 0.0


def test_a_decision_counts_from_the_last_arrival(monkeypatch):
    """Jobs of 100 s come at 0 and 40 s on one GPU. At 40 s the second needs more of the 160 s that are left, so
    it runs; when it ends at 140 s, the last arrival was 100 s ago, and 60 s of work are left."""
    asked = []

    def weight(lease, end_s, tau_s, silent_s):
        asked.extend((end_s, silent_s))
        return 0.0

    monkeypatch.setattr(LeaseEnd, "weight_per_s", weight)
    policy = make_policy("foresight", wake_up=False)
    simulate(elastic([[[INF, 100.0]]] * 2, [0.0, 40.0]), nodes(1, price_per_hour=1.0), policy)
    assert asked == pytest.approx([100.0, 0.0, 160.0, 0.0, 60.0, 100.0])


def dates_of(d: float, w: float, end_s: float, price: float) -> DueDates:
    return DueDates.of(np.array([d]), np.array([w])).beside(end_s, price)


def test_two_dates_by_hand():
    """100 s at 0.5 a second; due in 80 s at 2 a second, the lease ends in 90 s at 3: 50 + 2 x 20 + 3 x 10.

    With the end in 120 s only the due date is missed, 50 + 2 x 20: the maximum is where m is the weight of that date.
    The order of the dates does not matter. Slow 100 s for 10 or fast 50 s for 30: a due date of 75 s at 0.3 a second does
    not pay the 0.4 that a second costs by going faster, nor does an end at 60 s at 0.3. Both together do, down to 75 s, the
    later of them: 20, and 0.3 x 15 beyond the end.
    """
    for dates in (dates_of(80, 2.0, 90, 3.0), dates_of(90, 3.0, 80, 2.0)):
        value = Value.of(dates, np.array([[100.0]]), np.array([0.5]))
        assert value(np.ones(1), 0.0)[0] == pytest.approx(120.0)
    value = Value.of(dates_of(80, 2.0, 120, 3.0), np.array([[100.0]]), np.array([0.5]))
    assert value(np.ones(1), 0.0)[0] == pytest.approx(90.0)
    value = Value.of(dates_of(75, 0.3, 60, 0.3), np.array([[100.0, 50.0]]), np.array([0.1, 0.6]), 4000)  # fmt: skip
    assert value(np.ones(1), 0.0)[0] == pytest.approx(20.0 + 4.5, rel=1e-3)


def brute_force(times_s, rate, r, dates):
    """Least cost over mixtures of two configurations, at all their corners: where the whole time is that of one, or a date."""
    best = INF
    for a, p in zip(times_s, rate, strict=True):
        for b, q in zip(times_s, rate, strict=True):
            parts = [1.0]
            if a != b:
                parts += [(d / r - b) / (a - b) for d, _ in dates]
            for part in parts:
                if 0.0 <= part <= 1.0:
                    time = r * (part * a + (1 - part) * b)
                    cost = r * (part * a * p + (1 - part) * b * q)
                    best = min(best, cost + sum(w * max(time - d, 0.0) for d, w in dates))
    return best


configurations = st.lists(
    st.tuples(st.floats(1.0, 1e3), st.floats(0.0, 10.0)), min_size=1, max_size=4
)
dates_ = st.lists(st.tuples(st.floats(-100.0, 1e3), st.floats(0.0, 5.0)), min_size=2, max_size=2)


@quick
@given(configurations, dates_, st.floats(0.05, 1.0), st.floats(0.0, 200.0))
def test_two_dates_are_those_of_brute_force(configs, dates, r, passed_s):
    """Never above the least cost; 1,000 slopes come near it. Without the hull it is exact, one configuration at a time."""
    times, rate = np.array([[t for t, _ in configs]]), np.array([p for _, p in configs])
    (d, w), (end_s, price) = dates
    both = dates_of(d, w, end_s, price)
    later = [(d - passed_s, w), (end_s - passed_s, price)]
    least = brute_force(times[0], rate, r, later)
    found = float(Value.of(both, times, rate, 1000)(np.array([r]), passed_s)[0])
    assert found <= least + 1e-9 * max(1.0, least)
    assert found == pytest.approx(least, rel=1e-2, abs=1e-6)
    few = float(Value.of(both, times, rate)(np.array([r]), passed_s)[0])
    assert few <= found + 1e-9 * max(1.0, found)
    single = SingleValue(both, times, rate)(np.array([r]), passed_s)[0]
    alone = min(brute_force([t], [p], r, later) for t, p in zip(times[0], rate, strict=True))
    assert single == pytest.approx(alone)


def test_an_end_that_costs_nothing_changes_nothing():
    """The value and the gain of a step with a second date of weight 0 are those with one date."""
    times, rate = np.array([[100.0, 60.0]]), np.array([0.1, 0.3])
    one = DueDates.of(np.array([70.0]), np.array([2.0]))
    for end_s in (-5.0, 20.0, 200.0):
        gain = [
            step_gain(Value.of(dates, times, rate), np.array([0.8]), times, 10.0)
            for dates in (one, one.beside(end_s, 0.0))
        ]
        assert gain[1] == pytest.approx(gain[0])


def test_a_job_that_ends_within_the_step_pays_both_dates():
    """10 s on one GPU, due in 4 s at 2 a second, the end in 7 s at 3: in a step of 20 s it is late by 6 s and 3 s.

    After waiting for the step it would be late by 26 s and 23 s.
    """
    times = np.array([[10.0]])
    value = Value.of(dates_of(4.0, 2.0, 7.0, 3.0), times, np.zeros(1))
    gain = step_gain(value, np.ones(1), times, 20.0)
    assert gain[0, 0] == pytest.approx(2 * 26 + 3 * 23 - (2 * 6 + 3 * 3))


def ties(times_s, due_in_s, end=True, speed=None, haste=0.0) -> list[float]:
    """What decides ties, for jobs whose largest gain is 10, on one configuration each column."""
    n = len(times_s)
    dates = DueDates.of(np.array(due_in_s), np.ones(n))
    dates = dates.beside(200.0, 1.0) if end else dates
    gain = np.full((n, len(times_s[0])), 10.0)
    policy = make_policy("foresight", haste=haste)
    added = policy._haste_and_ties(gain, np.array(times_s), np.ones(n), dates, speed, 10.0)
    return (added / 1e-5).ravel().tolist()


def test_ties_go_to_those_with_the_least_slack():
    """At its fastest, the first needs 50 of 100 s, the second 20 of 100 s, the third 160 of 200 s to the end.

    On the slower configuration each gets on at half the pace. The fourth cannot be in time, nor the fifth, which is late: they go
    by the part of their work that the step of 10 s does. Where there is no end all do.
    """
    times = [[50.0, 100.0], [20.0, 40.0], [160.0, 320.0], [80.0, 160.0], [40.0, 80.0]]
    due = [100.0, 100.0, NEVER_S, 60.0, -5.0]
    found = ties(times, due)
    assert found == pytest.approx([0.5, 0.25, 0.2, 0.1, 0.8, 0.4, 0.125, 0.0625, 0.25, 0.125])
    short = [0.2, 0.1, 0.5, 0.25, 0.0625, 0.03125, 0.125, 0.0625, 0.25, 0.125]
    assert ties(times, due, end=False) == pytest.approx(short)


def test_ties_count_a_move_and_haste_comes_on_top():
    """Half of the run goes to a move; haste of 3e-6 counts the part that a step does three times."""
    moved = ties([[50.0]], [100.0], speed=np.array([[0.5]]))
    assert moved == pytest.approx([0.25])
    assert ties([[50.0]], [100.0], haste=3e-6) == pytest.approx([0.5 + 3 * 0.2])


def test_the_last_jobs_of_a_lease_end_together():
    """One leased node of two GPUs: ten jobs of 10 s on one GPU each, and one of 60 s on one; none has a due date.

    Side by side all is over after 80 s, if the long job runs from 20 s on at the latest. The gains of all are equal, so
    short ones first would leave it alone: 10 jobs on two GPUs take 50 s, and the end would come at 110 s.
    """
    times = [[[INF, 10.0, 10.0]]] * 10 + [[[INF, 60.0, 60.0]]]
    result = simulate(elastic(times), nodes(2, price_per_hour=3.0), make_policy("foresight"))
    assert result.makespan_s == pytest.approx(80.0, rel=1e-3)


@pytest.mark.parametrize("hull", [True, False])
def test_a_lease_by_its_idle_power_has_an_end_too(hull):
    """Nodes that cost what they draw while idle, until the last job ends: 70 s of work on two GPUs."""
    times = [[[INF, 10.0, 10.0]]] * 4 + [[[INF, 30.0, 30.0]]]
    drawing = replace(NodeType("a", "A", 2, 0.0), power_w=(100.0, 100.0, 100.0))
    for cluster in (nodes(2, price_per_hour=0.1), Cluster((drawing,), 1, (0,), energy_price_per_kwh=1.0)):  # fmt: skip
        result = simulate(elastic(times), cluster, make_policy("foresight", hull=hull))
        assert result.makespan_s == pytest.approx(35.0, rel=0.02)


def test_the_end_may_be_left_out():
    """Without it ten jobs of 10 s go before most of one of 60 s, which then is alone on the lease; VMs have no end to leave out."""
    times = [[[INF, 10.0, 10.0]]] * 10 + [[[INF, 60.0, 60.0]]]
    policy = make_policy("foresight", end=False)
    result = simulate(elastic(times), nodes(2, price_per_hour=3.0), policy)
    assert result.makespan_s > 100.0
    vms = Cluster.of_vms((NodeType("a", "A", 2, 3.0),), 1)
    with_it, without = (
        simulate(elastic(times), vms, make_policy("foresight", end=end)).completion_s.tolist()
        for end in (True, False)
    )
    assert with_it == without
