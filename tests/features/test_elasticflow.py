"""ElasticFlow: promises are kept, by hand and at random; what is left goes where it speeds up most."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from policies.goodput import elasticflow
from policies.goodput.elasticflow import ElasticFlow, spread
from simulator import InputError, TimeTable, Workload
from simulator.features.admission import Admission
from simulator.features.admission.elastic import Ask, Piece, packed, within
from tests.core.jobs import nodes
from tests.core.jobs import run as simulated
from tests.core.test_invariants import check
from tests.features.test_elastic_admission import elastic, of_two_types

NODES = ((1, 4), (2, 4), (3, 6), (2, 3), (4, 2))


def random_jobs(seed, count, nodes, gpus):
    """Speed-ups that are linear, less, rough, or missing on some numbers of GPUs; four of five have a due date."""
    rng = np.random.default_rng(seed)
    power = rng.choice([1.0, 0.8, 0.5, 0.2], count)
    times = np.full((count, 1, gpus + 1), np.inf)
    wide = np.arange(1, gpus + 1)
    times[:, 0, 1:] = rng.uniform(20, 400, count)[:, None] / wide ** power[:, None]
    if seed % 2:
        times[:, 0, 1:] *= rng.uniform(0.7, 1.5, (count, gpus))
    if seed % 3 == 0:
        times[:, 0, 1:-1][rng.random((count, gpus - 1)) < 0.3] = np.inf
    submit_s = np.cumsum(rng.exponential(120 / (nodes * gpus), count))
    due_s = submit_s + times[:, 0].min(axis=1) * rng.uniform(1, 6, count)
    due_s[rng.random(count) < 0.2] = np.inf
    due_s[0] = 1e6  # one at least
    return Workload([f"j{k}" for k in range(count)], submit_s, TimeTable(times), due_s=due_s)


def run(seed, rule="reject", count=25, policy="elasticflow"):
    hosts, gpus = NODES[seed % 5]
    jobs = random_jobs(seed, count, hosts, gpus)
    return simulated(jobs, nodes(gpus, hosts), policy, Admission(rule=rule))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from(["reject", "downgrade"]))
@example(17, "reject")  # here a new plan fails, and the one before goes on
def test_every_promise_is_kept(seed, rule):
    result = run(seed, rule)
    assert result.summary()["promised_jobs"] > 0
    assert result.summary()["broken_promises"] == 0
    if rule == "downgrade":
        check(result)


def test_others_break_them():
    """The same jobs, earliest due date first."""
    assert run(0, policy="edf-shared").summary()["broken_promises"] > 0


def test_a_job_alone_gets_what_speeds_it_up():
    """100 s on one GPU, 60 on two, 80 on three: its due date needs one, and it gets two."""
    jobs = elastic([100.0, 60.0, 80.0], [0.0], [150.0])
    result = simulated(jobs, nodes(3), "elasticflow", Admission())
    assert result.completion_s.tolist() == [60.0]
    assert [s.gpus for s in result.schedule] == [2]


def test_the_least_share_first_then_who_gains():
    """Two GPUs. The second job needs both from 100 s on to be on time; the first has no due date and makes room."""
    jobs = elastic([100.0, 60.0], [0.0, 40.0], [math.inf, 100.0])
    result = simulated(jobs, nodes(2), "elasticflow", Admission())
    # Alone, the first does 40/60 on both GPUs; its last third takes 20 s on both.
    assert result.completion_s.tolist() == [pytest.approx(120.0), 100.0]
    loose = elastic([100.0, 60.0], [0.0, 40.0], [math.inf, 140.0])
    result = simulated(loose, nodes(2), "elasticflow", Admission())
    # One GPU is enough for the second; the first has the other for its last third.
    first = 40 + 100 / 3
    done = (first - 40) / 100
    assert result.completion_s.tolist() == pytest.approx([first, first + (1 - done) * 60])


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(10, 99), st.floats(0.1, 0.95)), min_size=1, max_size=3),
    st.integers(0, 7),
)
def test_spreading_against_brute_force(rows, free):
    """With decreasing gains of each GPU, no other way to give them away is faster in sum."""
    left_s = {
        j: [math.inf, *(t / g**power for g in range(1, 5))] for j, (t, power) in enumerate(rows)
    }
    has = dict.fromkeys(left_s, 0)
    spread(has, left_s, free)

    def speed(widths):
        return sum(left_s[j][1] / left_s[j][g] for j, g in enumerate(widths))

    ways = itertools.product(range(5), repeat=len(rows))
    most = max(speed(w) for w in ways if sum(w) <= free)
    assert speed(has.values()) == pytest.approx(most)
    assert sum(has.values()) == min(free, 4 * len(rows))


def test_numbers_of_gpus_that_always_fit():
    assert packed(6, 1).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert packed(6, 2).tolist() == [0, 1, 1, 3, 3, 3, 6]
    assert packed(8, 2).tolist() == [0, 1, 2, 2, 4, 4, 4, 4, 8]
    # A job of three GPUs is kept four where it fits on none of the others.
    times_s = np.array([[math.inf, math.inf, math.inf, 30.0, 40.0]])
    kept = within(times_s, packed(4, 2))[0].tolist()
    assert kept == [math.inf, math.inf, math.inf, math.inf, 30.0]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.sampled_from([4, 6, 8, 12]), st.integers(2, 4), st.data())
def test_they_fit_the_largest_first(gpus, nodes, data):
    sizes = sorted({int(s) for s in packed(gpus, nodes) if s})
    left = gpus * nodes
    wanted = []
    while left and (some := [s for s in sizes if s <= left]):
        wanted.append(data.draw(st.sampled_from(some)))
        left -= wanted[-1]
    free = [gpus] * nodes
    for size in sorted(wanted, reverse=True):
        node = next(k for k, room in enumerate(free) if room >= size)
        free[node] -= size


@pytest.mark.parametrize(
    ("before", "now", "goes_on"),
    [(2, 2, True), (2, 3, True), (3, 2, False), (1, 2, False), (2, 1, False), (1, 1, True)],
)
def test_whether_a_plan_goes_on_where_a_node_goes_or_comes_back(monkeypatch, before, now, goes_on):
    """Jobs for which a new plan fails. With fewer nodes its GPUs are not there; a plan for a single node holds any
    number of GPUs, so its jobs need not fit on two. With more nodes it fits as before."""
    ask = Ask(90.0, 0, [math.inf, 160.0, 80.0])
    piece = Piece(0.0, 80.0, 2)
    policy = ElasticFlow()
    monkeypatch.setattr(elasticflow, "shares_in_turn", lambda asks, total: {0: [piece]})
    assert policy._planned([ask], 4 * before, before, 0.0) == {0: [piece]}
    policy._plan = {0: [piece]}
    monkeypatch.setattr(elasticflow, "shares_in_turn", lambda asks, total: {})
    assert policy._planned([ask], 4 * now, now, 0.0) == ({0: [piece]} if goes_on else {})


def test_other_machines_are_one_line():
    with pytest.raises(InputError, match="elasticflow: expected equal nodes of a fixed type"):
        simulated(*of_two_types(), "elasticflow")


def test_the_speed_for_each_gpu_counts_from_what_a_job_has():
    """A second GPU doubles the speed of the first job, from 1 to 2; the other would have a speed of 0.8 on it."""
    has = {0: 1, 1: 0}
    spread(has, {0: [math.inf, 100.0, 50.0], 1: [math.inf, 100.0, 40.0]}, 1)
    assert has == {0: 2, 1: 0}


@pytest.mark.parametrize(("left_s", "on_time"), [(50.0, True), (51.0, False)])
def test_what_has_passed_of_a_plan_does_no_work(left_s, on_time):
    """50 s of the 100 s of a plan are left."""
    ask = Ask(60.0, 0, [math.inf, left_s])
    assert elasticflow._on_time([Piece(0.0, 100.0, 1)], ask, 50.0) is on_time
