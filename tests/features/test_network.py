"""Place and network: exact durations for each placement, waiting for a good place by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.queues.consolidating import skews
from simulator import Decision, Placement, simulate
from simulator.features.network import network_of, published_factors
from simulator.features.predictions import PredictedWorkload
from tests.command import refused
from tests.core.jobs import fixed, nodes
from tests.errors import input_error

SIX, FOUR = nodes(4, 6), nodes(4, 4)  # three racks of two nodes


def jobs_of(gpus, duration_s=100.0, submit_s=None, **columns):
    count = len(gpus)
    durations = np.broadcast_to(duration_s, count)
    return fixed(np.zeros(count) if submit_s is None else submit_s, durations, gpus, **columns)


class Put:
    """Places a job of 4 GPUs on given nodes."""

    def __init__(self, *shares):
        self.shares = shares

    def decide(self, view):
        return Decision([Placement(0, n, g) for n, g in self.shares], keep_running=True)


SPREAD = [([(0, 4)], 100.0), ([(0, 2), (1, 2)], 120.0), ([(1, 2), (2, 2)], 150.0)]
SPREAD.append(([(0, 1), (1, 1), (4, 2)], 150.0))


@pytest.mark.parametrize(("shares", "seconds"), SPREAD)
def test_exact_durations(shares, seconds):
    jobs = jobs_of([4])
    network = network_of(jobs, 6, 2, same_rack=1.2, across_racks=1.5)
    result = simulate(jobs, SIX, Put(*shares), features=[network])
    assert result.completion_s.tolist() == [pytest.approx(seconds, rel=1e-12)]
    alone = simulate(jobs, SIX, Put(*shares))
    assert alone.completion_s.tolist() == [100.0]


def test_factors_by_model():
    jobs = jobs_of([4], model=["vgg16"])
    network = network_of(jobs, 6, 2, 1.1, 1.32, published_factors())
    near = simulate(jobs, SIX, Put((0, 2), (1, 2)), features=[network]).completion_s[0]
    far = simulate(jobs, SIX, Put((0, 2), (5, 2)), features=[network]).completion_s[0]
    assert near == pytest.approx(147.0)
    assert far == pytest.approx(147.0 * 1.2)


def test_a_move_changes_the_speed():
    """50 s over racks at 1.5 are a third of the work; the rest on one node takes 2/3 of 100 s."""
    jobs = jobs_of([4])
    network = network_of(jobs, 6, 2, 1.2, 1.5)

    def moves(view):
        if view.now_s < 50:
            shares = [Placement(0, 0, 2), Placement(0, 5, 2)]
            return Decision(shares, again_s=50.0 - view.now_s)
        return Decision([Placement(0, 3, 4)])

    result = simulate(jobs, SIX, moves, features=[network])
    assert result.completion_s[0] == pytest.approx(50 + 100 * 2 / 3)


def test_what_is_observed_of_a_speed_leaves_out_the_network():
    """The job was predicted exactly, so nothing is corrected, although it is spread over racks."""
    jobs = jobs_of([4, 1], 100.0, [0.0, 60.0])
    network = network_of(jobs, 6, 2, same_rack=1.2, across_racks=1.5)
    left = []

    def decide(view):
        if 0 not in view.active:
            return Decision([Placement(1, 0, 1)])
        left.append(view.remaining_of(0))
        return Decision([Placement(0, 1, 2), Placement(0, 2, 2)])

    simulate(jobs, SIX, decide, features=[network, PredictedWorkload(jobs, learned=True)])
    assert left == pytest.approx([1.0, 1 - 60 / 150])


def test_views_have_racks():
    seen = []

    def look(view):
        seen.append(getattr(view, "network", None))
        return Decision([Placement(0, 0, 1)], keep_running=True)

    jobs = jobs_of([1])
    simulate(jobs, SIX, look, features=[network_of(jobs, 6, 2)])
    simulate(jobs, SIX, look)
    assert seen[0].rack_of.tolist() == [0, 0, 1, 1, 2, 2]
    assert seen[1] is None


def blocked(wait_node_s, wait_rack_s, ends=(1000.0, 1000.0, 1000.0, 400.0)):
    """Nodes 0, 1 | 2, 3: each has a job of 2 GPUs; the job of 4 GPUs comes at 10 s, of 100 s on one node."""
    jobs = jobs_of([3, 3, 3, 3, 4], [*ends, 100.0], [0, 0, 0, 0, 10.0])
    network = network_of(jobs, 4, 2, same_rack=1.2, across_racks=2.0)
    policy = make_policy("consolidating", wait_node_s=wait_node_s, wait_rack_s=wait_rack_s)
    result = simulate(jobs, FOUR, policy, features=[network])
    return result.first_start_s[4], result.completion_s[4]


def test_waiting_by_hand():
    # Four GPUs are free, one on each node: over both racks at once, at half the speed.
    assert blocked(0.0, 0.0) == (10.0, 210.0)
    # It waits 50 s, for nothing: no rack has four free GPUs.
    assert blocked(20.0, 50.0) == (60.0, 260.0)
    # At 400 s node 3 is free, and the job has not lost its patience.
    assert blocked(500.0, 500.0) == (400.0, 500.0)
    # For ever: as long as it takes.
    assert blocked(-1.0, -1.0) == (400.0, 500.0)


def test_a_rack_comes_before_anywhere():
    """Two GPUs are free on each node. The job waits 30 s for one node, then takes the four of a rack."""
    jobs = jobs_of([2, 2, 2, 2, 4], [1000.0, 1000.0, 1000.0, 1000.0, 100.0], [0, 0, 0, 0, 10.0])

    def spread(view):
        if view.now_s < 10:
            return Decision([Placement(j, j, 2) for j in range(4)], keep_running=True)
        return policy.decide(view)

    policy = make_policy("consolidating", wait_node_s=30.0, wait_rack_s=10_000.0)
    network = network_of(jobs, 4, 2, same_rack=1.2, across_racks=2.0)
    result = simulate(jobs, FOUR, spread, features=[network])
    assert result.first_start_s[4] == 40.0
    assert result.completion_s[4] == pytest.approx(160.0)
    where = {s.node for s in result.schedule if s.job == 4}
    assert where in ({0, 1}, {2, 3})


def test_who_waits():
    assert skews()["vgg16"] > 0.5 > skews()["resnet152"]
    for model, start in (("vgg16", 400.0), ("resnet50", 10.0)):
        durations, models = [1000, 1000, 1000, 400, 100], ["", "", "", "", model]
        jobs = jobs_of([3, 3, 3, 3, 4], durations, [0, 0, 0, 0, 10], model=models)
        policy = make_policy("consolidating", wait_node_s=-1.0, who="skewed", above=0.5)
        result = simulate(jobs, FOUR, policy, features=[network_of(jobs, 4, 2)])
        assert result.first_start_s[4] == start
        policy = make_policy("consolidating", wait_node_s=-1.0, who="sensitive", above=1.3)
        network = network_of(jobs, 4, 2, of_model=published_factors())
        assert simulate(jobs, FOUR, policy, features=[network]).first_start_s[4] == start


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 60.0, -1.0]))
def test_work_is_conserved(seed, wait_s):
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 8, 16], 30)
    jobs = jobs_of(gpus, rng.uniform(10, 300, 30), np.cumsum(rng.exponential(30, 30)))
    network = network_of(jobs, 6, 2, 1.3, 1.9)
    policy = make_policy("consolidating", wait_node_s=wait_s, wait_rack_s=wait_s)
    result = simulate(jobs, SIX, policy, features=[network])
    nodes_of = {}
    for share in result.schedule:
        nodes_of.setdefault(share.job, set()).add(share.node)
    for job, places in nodes_of.items():
        busy = result.completion_s[job] - result.first_start_s[job]
        wanted = jobs.performance.duration_s[job] * network.factor(job, places)
        assert busy == pytest.approx(wanted)
        if wait_s < 0:
            racks = {int(network.rack_of[n]) for n in places}
            assert len(places) == 1 or gpus[job] > 4
            assert len(racks) == 1 or gpus[job] > 8


@pytest.mark.parametrize(
    ("factors", "options", "told"),
    [
        ([2], {"same_rack": 0.5}, "same_rack is 0.5, expected a number from 1 to 1e+06"),
        ([2, 1.5, 1.0], {}, "across_racks is 1, expected at least same_rack, 1.5"),
        ([2], {"of_model": {"gpt": 2.0}}, "of_model has gpt, and no job has one of these models"),
    ],
)
def test_mistakes_are_one_line(factors, options, told):
    with input_error(told):
        network_of(jobs_of([4], model=["vgg16"]), 4, *factors, **options)


def test_who_is_one_of_three():
    with input_error("who is 'some', expected one of all, sensitive, skewed"):
        make_policy("consolidating", who="some")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[network]\nsame_rack = 0.9\n", "network.same_rack: got 0.9, expected"),
        ("[network]\nacross_racks = 1.4\n", "cluster.nodes_per_rack: missing, expected beside"),
        ("[network]\nof_model = {vgg16 = 0.1}\n", "network.of_model.vgg16: got 0.1, expected a"),
        ("[network]\nof_model = {vgg16 = 1.5}\n", "network: of_model has vgg16, and no job"),
    ],
)
def test_bad_keys_are_one_line(tmp_path, text, told):
    path = tmp_path / "s.toml"
    path.write_text(
        'policy = "consolidating"\n' + text + '[workload]\nkind = "poisson"\nnum_jobs = 5\n'
        'arrival_rate_per_h = 30\n[cluster]\nkind = "nodes"\nnum_nodes = 4\n'
    )
    assert told in refused("run", path, "--out", tmp_path / "out")


def test_of_two_racks_the_fullest_that_holds_the_job():
    """Six GPUs are free in the first rack, four in the second, on no node four."""
    jobs = jobs_of([1, 1, 2, 2, 4], [1000.0] * 4 + [100.0], [0, 0, 0, 0, 10])
    policy = make_policy("consolidating", wait_node_s=0.0)

    def decide(view):
        if view.now_s < 10:
            return Decision([Placement(j, j, jobs.num_gpus[j]) for j in range(4)])
        return policy.decide(view)

    result = simulate(jobs, FOUR, decide, features=[network_of(jobs, 4, 2)])
    assert {s.node for s in result.schedule if s.job == 4} == {2, 3}


@pytest.mark.parametrize(("above", "start_s"), [(1.1, 400.0), (1.2, 10.0)])
def test_who_is_sensitive_takes_more_than_so_many_times_as_long(above, start_s):
    jobs = jobs_of([3, 3, 3, 3, 4], [1000, 1000, 1000, 400, 100], [0, 0, 0, 0, 10])
    policy = make_policy("consolidating", wait_node_s=-1.0, who="sensitive", above=above)
    result = simulate(jobs, FOUR, policy, features=[network_of(jobs, 4, 2, same_rack=1.2)])
    assert result.first_start_s[4] == start_s


def test_a_job_of_several_nodes_waits_for_a_rack_alone():
    """Of three racks each has one free node: the job of two nodes waits 20 s for a rack, and for no node."""
    jobs = jobs_of([4, 4, 4, 8], 1000.0, [0, 0, 0, 10])
    policy = make_policy("consolidating", wait_node_s=50.0, wait_rack_s=20.0)

    def decide(view):
        if view.now_s < 10:
            return Decision([Placement(j, 2 * j, 4) for j in range(3)])
        return policy.decide(view)

    result = simulate(jobs, SIX, decide, features=[network_of(jobs, 6, 2)])
    assert result.first_start_s[3] == 30.0
