"""Pollux and Sia: estimates, numbers of GPUs, nodes and options."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from policies import make_policy
from policies.goodput.agents import Agent, Agents, KnownTimes, Learner, limits_on
from policies.goodput.dividing import Candidate, NodeGroup, place_apart
from policies.goodput.estimate import LEAST_SQUARES, StepModel, best_batch_sizes, fit
from policies.goodput.pollux import Pollux, share_out
from policies.goodput.released_fit import fit_as_released
from policies.goodput.sia import Sia, assign, configurations
from simulator import DecisionPoints, simulate
from simulator.errors import InputError
from simulator.model.cluster import Cluster, NodeType
from simulator.model.contract import Decision, Placement
from simulator.model.goodput import BatchSize, Goodput
from simulator.model.workload import Workload
from tests.goodput.applications import toy

TRUE = StepModel((0.1, 0.01), (0.05, 0.02), (0.2, 0.03), 2.0)


def profile(
    *shapes: tuple[int, int, int], model: StepModel = TRUE
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rows = []
    for nodes, gpus, local in shapes:
        at = (np.array([float(x)]) for x in (nodes, gpus, local))
        n, k, m = at
        step_s, grad_s = float(model.step_s(n, k, m)[0]), float(model.grad_s(m)[0])
        rows.append([nodes, gpus, local, step_s, step_s - grad_s])
    return np.array(rows)


def test_a_fit_finds_the_model_that_made_the_times() -> None:
    shapes = [(1, 1, 8), (1, 2, 8), (1, 4, 32), (2, 6, 16), (3, 12, 64)]
    found = fit(profile(*shapes))
    assert found.exponent == TRUE.exponent
    for name in ("grad", "node", "network"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-6)


def test_what_was_not_measured_costs_nothing() -> None:
    found = fit(profile((1, 1, 8)))
    assert found.grad == pytest.approx((0.18, 0.0))
    assert found.node == found.network == (0.0, 0.0)


def test_the_released_fit_comes_near_the_model_that_made_the_times() -> None:
    """Its terms beside the errors draw the exponent to 1 and the slopes of synchronisation to 0."""
    shapes = [(1, 1, 8), (1, 2, 8), (1, 4, 32), (2, 6, 16), (3, 12, 64)]
    model = StepModel((0.3, 0.02), (0.15, 0.02), (0.6, 0.03), 2.0)
    measured = profile(*shapes, model=model)
    nodes, gpus, local, step_s, _ = measured.T
    found = fit_as_released(measured)
    assert found.step_s(nodes, gpus, local) == pytest.approx(step_s, rel=0.03)
    assert 1 < found.exponent <= model.exponent
    assert found.network[0] > found.node[0] > 0


def test_the_released_fit_fixes_what_one_measurement_cannot_tell() -> None:
    """Half of the 0.18 s does not depend on the batch size; other nodes are 1.1 times as slow as one."""
    alone = fit_as_released(profile((1, 1, 8)))
    assert alone.grad == pytest.approx((0.09, 0.09 / 8), rel=1e-3)
    assert max(alone.node + alone.network) < 1e-6
    two = fit_as_released(profile((1, 1, 8), (1, 2, 8)))
    assert two.node[0] > 0.01
    assert two.network[0] == pytest.approx(1.1 * two.node[0])
    assert two.node[1] < 1e-6


def test_the_batch_size_of_most_goodput() -> None:
    app = toy()
    free = StepModel((1.0, 0.0), (0.0, 0.0), (0.0, 0.0), 1.0)  # a larger batch takes no longer
    nodes, gpus = np.array([1.0, 1.0]), np.array([1.0, 2.0])
    sizes, limits = LEAST_SQUARES.candidates(app)[None, :], limits_on([app], [(1,), (2,)])
    choice = best_batch_sizes(app, free, (1.0, 1.0), nodes, gpus, sizes, limits)
    assert choice.batch_size(1) == (20, 0)
    assert choice.goodput[1] == pytest.approx(1.6)
    assert choice.batch_size(0) == (10, 0), (
        "two passes on one GPU cost more than a batch of 40 gains"
    )


def test_jobs_of_some_applications_keep_their_users_batch_size() -> None:
    app = replace(toy(), keeps_batch=True)
    assert Learner([app], 40).batch_size(((0, 2),)) == (20, 0)
    assert Learner([toy()], 40).batch_size(((0, 2),)) == (10, 0), "before the first measurement"


def test_a_job_expects_nothing_where_the_tables_have_no_times() -> None:
    """Those of toy are of 1 and 2 GPUs of a node, and of 1 and 2 of two nodes; it has held two GPUs, so it may have four."""
    for measured in (False, True):
        for per_node, known in ((4, [1, 2]), (2, [1, 2, 3])):
            job = Learner([toy()], 10)
            job.put(((0, 2),))
            if measured:
                job.measure((2,), BatchSize(10), 0)
            assert np.flatnonzero(job.speedups(per_node, 4)).tolist() == known
    assert job.goodput(((0, 2), (1, 2))) == 0.0 < job.goodput(((0, 2), (1, 1)))


def test_a_larger_batch_than_was_measured_takes_two_passes() -> None:
    """A batch of 40 is 20 on each of 2 GPUs, where the times of 2 GPUs end at 15."""
    app = toy()
    up_to_15 = (np.array([10.0, 15.0]), app.by_ring[2,][1])
    short = replace(app, keeps_batch=True, by_ring={**app.by_ring, (2,): up_to_15})
    assert Learner([short], 40).batch_size(((0, 2),)) == (10, 1)


@pytest.mark.parametrize("policy", ["pollux", "sia"])
@pytest.mark.parametrize("cluster", [(1, 4), (2, 2)])
def test_a_job_runs_where_the_tables_have_times(policy: str, cluster: tuple[int, int]) -> None:
    """By its estimate four GPUs would be best; the tables have times of 1 and 2 of a node, and of 3 of two nodes."""
    noisy = replace(toy(), grad_var=np.full((2, 2), 100.0))
    result = simulate(
        Workload(["a"], [0.0], Goodput([noisy], np.array([0]), np.array([10]))),
        Cluster.of_nodes(NodeType("server", "T4", cluster[1]), cluster[0]),
        make_policy(policy),
        decision_points=DecisionPoints(round_s=20.0),
    )
    assert np.isfinite(result.jct_s).all()


def test_a_job_chooses_its_batch_size_anew_at_the_end_of_an_epoch() -> None:
    """100 of progress at 4/3 in 1.2 s, then 99 at 16/7 in 2.2 s: 90 s and 95 s."""
    jobs = Workload(["a"], [0.0], Goodput([toy()], np.array([0]), np.array([10])))
    decision = Decision(
        [Placement(0, 0, 2)],
        configuration_of={0: BatchSize(10)},
        choose=lambda job, shares, left: BatchSize(20),
    )
    result = simulate(jobs, Cluster.of_nodes(NodeType("server", "T4", 2), 1), lambda view: decision)
    assert result.jct_s.tolist() == [185.0]


def test_at_the_end_of_an_epoch_a_job_knows_the_noise_of_that_one() -> None:
    """The variance is 1 in the first epoch, 3 in the second, in which 99 of 199 of the work are left."""
    model = Goodput([toy()], np.array([0]), np.array([10]))
    view: Any = SimpleNamespace(
        workload=SimpleNamespace(performance=model), jobs=np.array([0]), remaining=np.ones(1), running={},
        cluster=Cluster.of_nodes(NodeType("server", "T4", 2), 1),
    )  # fmt: skip
    agents = Agents(LEAST_SQUARES)
    agents.observe(view)
    agents.settle({0: ((0, 1),)})
    agents.choose(0, [Placement(0, 0, 1)], 99 / 199)
    (agent,) = agents._of.values()
    assert isinstance(agent, Learner)
    assert agent.noise == (1.0, 1.0)


def test_numbers_of_gpus_are_the_best_of_all() -> None:
    value = np.array([[0, 3, 5, 5.5, 5.6], [0, 4, 4.5, 7, 7.1], [-1, 1, 2, 2.5, 4.0]])
    best = max(
        (c for c in product(range(5), repeat=3) if sum(c) <= 4),
        key=lambda c: sum(value[k, g] for k, g in enumerate(c)),
    )
    assert share_out(value, 4) == list(best)


class Fixed(Agent):
    """An agent whose speed-ups are given."""

    keeps_batch = False

    def __init__(self, *speedups: float, starts: int = 0) -> None:
        self.known, self.starts = np.array(speedups), starts

    def on_one_node(self, gpus: int) -> float:
        return float(self.known[gpus])

    def speedups(self, per_node: int, most: int, node_type: int = 0) -> np.ndarray:
        return self.known[: most + 1].copy()


def test_beyond_a_node_a_job_of_pollux_has_whole_nodes() -> None:
    """Three GPUs would be best for the first job; two nodes of two have none for it but 2 or 4."""
    jobs = [
        Candidate(Fixed(0, 1, 1.1, 3, 3.1), 0, 0.0),
        Candidate(Fixed(0, 1, 1.01, 1.01, 1.01), 0, 0.0),
    ]
    assert Pollux().divide(jobs, [NodeGroup(0, 2, 2)]) == [(0, 2), (0, 2)]
    assert Pollux().divide(jobs, [NodeGroup(0, 4, 1)]) == [(0, 3), (0, 1)]


def test_a_job_of_pollux_on_nodes_of_four_has_four_gpus_or_eight() -> None:
    """With 6 and 2 GPUs the speed-ups would be 5 and 1.9; with 4 and 4 they are 2 and 2."""
    first = Fixed(0, 1, 1, 1, 2, 2, 5, 5, 5)
    second = Fixed(0, 1, 1.9, 1.95, 2, 2, 2, 2, 2)
    jobs = [Candidate(agent, 0, 0.0) for agent in (first, second)]
    assert Pollux().divide(jobs, [NodeGroup(0, 4, 2)]) == [(0, 4), (0, 4)]


@pytest.mark.parametrize(("age_s", "gpus"), [(30.0, 1), (3000.0, 2)])
def test_a_young_job_of_pollux_stays_where_it_is(age_s: float, gpus: int) -> None:
    """A move leaves 30 / 60 of 1.5 times the speed, or 3000 / 3030."""
    assert Pollux().divide(
        [Candidate(Fixed(0, 1, 1.5, starts=1), 1, age_s)], [NodeGroup(0, 2, 1)]
    ) == [(0, gpus)]


@pytest.mark.parametrize(
    ("starts", "part"), [(0, 100 / 110), (1, 100 / 110), (3, 80 / 110), (12, -10 / 110)]
)
def test_what_a_move_leaves_of_a_speed_up(starts: int, part: float) -> None:
    """A job of 100 s that loses 10 s with each move; its first start is none."""
    job = Candidate(Fixed(0, 1, starts=starts), 1, 100.0)
    assert job.kept(10.0) == pytest.approx(part)


def test_starts_and_moves_of_a_job_count_and_the_order_of_its_nodes_does_not() -> None:
    job, starts = Agent(), []
    one, two = ((0, 2),), ((0, 2), (1, 1))
    for nodes in ((), one, one, two, two[::-1], one, (), one):
        job.put(nodes)
        starts.append(job.starts)
    assert starts == [0, 1, 1, 2, 2, 3, 3, 4]
    assert job.most_gpus == 3


def test_a_job_of_pollux_counts_relative_to_an_equal_share() -> None:
    """Of 4 GPUs each of two jobs would have two, on which the first is twice as fast, and the second 1.2 times.

    So the third GPU saves the first job 2 / 2 - 2 / 2.7 = 0.26, and the second GPU the other 1.2 - 1.2 / 1.2 = 0.2.
    Relative to one GPU it is 0.13 and 0.17.
    """
    first, second = Fixed(0, 1, 2.0, 2.7, 3.0), Fixed(0, 1, 1.2, 1.25, 1.3)
    jobs = [Candidate(first, 0, 1000.0), Candidate(second, 0, 1000.0)]
    assert Pollux(released=True).divide(jobs, [NodeGroup(0, 4, 1)]) == [(0, 3), (0, 1)]
    assert Pollux().divide(jobs, [NodeGroup(0, 4, 1)]) == [(0, 2), (0, 2)]


def test_a_job_of_pollux_that_keeps_its_batch_has_one_gpu() -> None:
    job = Fixed(0, 1, 1.9, 2.8, 3.6)
    job.keeps_batch = True
    assert Pollux(released=True).divide([Candidate(job, 0, 1000.0)], [NodeGroup(0, 4, 1)]) == [
        (0, 1)
    ]
    assert Pollux().divide([Candidate(job, 0, 1000.0)], [NodeGroup(0, 4, 1)]) == [(0, 4)]


def more(job: int, nodes: tuple[tuple[int, int], ...]) -> float:
    return sum(g for _, g in nodes) - 0.1 * len(nodes)


def test_jobs_that_span_nodes_keep_apart() -> None:
    plan = place_apart({0: 6, 1: 2, 2: 4}, {}, {0: 4, 1: 4, 2: 4}, more)
    assert plan == {0: ((0, 4), (1, 2)), 2: ((2, 4),), 1: ((1, 2),)}
    plan = place_apart({0: 6, 1: 6}, {}, {0: 4, 1: 4, 2: 4}, more)
    assert plan == {0: ((0, 4), (1, 2)), 1: ((2, 4),)}
    running = {0: ((0, 4), (1, 2))}
    assert place_apart({0: 6, 1: 6}, running, {0: 4, 1: 4, 2: 4}, more) == plan


def test_a_job_has_fewer_gpus_where_it_expects_nothing_from_more() -> None:
    """Neither 4 GPUs of two nodes nor 3 of one have times."""

    def on_one_or_two(job: int, nodes: tuple[tuple[int, int], ...]) -> float:
        return 1.0 if nodes in [((0, 2),), ((0, 1),)] else 0.0

    assert place_apart({0: 4}, {}, {0: 3, 1: 1}, on_one_or_two) == {0: ((0, 2),)}
    assert place_apart({0: 4}, {}, {0: 3, 1: 1}, lambda job, nodes: 0.0) == {}


def test_a_job_keeps_its_nodes_while_its_number_of_gpus_stays() -> None:
    running = {0: ((1, 1), (2, 1))}
    plan = place_apart({0: 2, 1: 4}, running, {0: 4, 1: 4, 2: 4}, more)
    assert plan == {0: ((1, 1), (2, 1)), 1: ((0, 4),)}


def test_configurations_of_sia() -> None:
    assert configurations(4, 3).tolist() == [1, 2, 4, 8, 12]
    assert configurations(8, 1).tolist() == [1, 2, 4, 8]


@pytest.mark.parametrize(("age_s", "gpus"), [(30.0, 1), (3000.0, 2)])
def test_a_young_job_of_sia_stays_where_it_is(age_s: float, gpus: int) -> None:
    """A move leaves 30 / 60 of 1.5 times the goodput, or 3000 / 3030; without one it is 1."""
    job = Candidate(Fixed(0.0, 1.0, 1.5, starts=1), 1, age_s)
    assert Sia().divide([job], [NodeGroup(0, 2, 1)]) == [(0, gpus)]


@pytest.mark.parametrize("node_type", [0, 1])
def test_sia_leaves_a_job_on_its_type_where_another_is_alike(node_type: int) -> None:
    job = Candidate(Fixed(0.0, 1.0, starts=1), 1, 1000.0, node_type)
    assert Sia().divide([job], [NodeGroup(0, 1, 1), NodeGroup(1, 1, 1)]) == [(node_type, 1)]


@pytest.mark.parametrize(("lambda_n", "gpus"), [(1.1, 1), (0.9, 0)])
def test_a_job_of_sia_runs_where_that_costs_less_than_to_have_no_gpus(
    lambda_n: float, gpus: int
) -> None:
    """On one GPU the term of p = -0.5 is 1, that of no GPU is lambda_n."""
    job = Candidate(Fixed(0.0, 1.0), 0, 1000.0)
    assert Sia(p=-0.5, lambda_n=lambda_n).divide([job], [NodeGroup(0, 1, 1)]) == [(0, gpus)]


def test_sia_gives_nothing_to_a_job_that_can_run_nowhere() -> None:
    jobs = [Candidate(Fixed(0, 0.0, 0), 0, 0.0), Candidate(Fixed(0, 0, 1.0), 0, 0.0)]
    assert Sia().divide(jobs, [NodeGroup(0, 2, 1)]) == [(0, 0), (0, 2)]


def test_speed_ups_are_over_the_fewest_gpus_with_a_time() -> None:
    """Not over a time on one GPU, which may be missing: then nothing would be finite."""
    agent = KnownTimes(np.array([np.inf, np.inf, 60.0, np.inf, 40.0]))
    assert agent.speedups(4, 8).tolist() == [0, 0, 1, 0, 1.5, 0, 0, 0, 0]
    assert [agent.on_one_node(gpus) for gpus in (2, 4, 8)] == [1, 1.5, 1.5]


@pytest.mark.long
@pytest.mark.parametrize("released", [False, True])
def test_sia_serves_jobs_without_a_time_on_one_gpu(released: bool) -> None:
    """A thousand wait for four GPUs; RuntimeWarnings are errors here. The last is 1.9 times as fast on two GPUs as on one."""
    one = KnownTimes(np.array([np.inf, 100.0, 52.6, np.inf, np.inf]))
    two = KnownTimes(np.array([np.inf, np.inf, 50.0, np.inf, np.inf]))
    jobs = [Candidate(agent, 0, 0.0) for agent in [two] * 999 + [one]]
    found = Sia(released=released).divide(jobs, [NodeGroup(0, 4, 1)])
    assert sorted(gpus for _, gpus in found[:999] if gpus) == [2]
    assert found[999] == (0, 2)


def test_a_move_costs_nothing_where_a_restart_does() -> None:
    assert Candidate(Fixed(0.0, 1.0, starts=1), 1, 0.0).kept(0.0) == 1.0
    assert Candidate(Fixed(0.0, 1.0, starts=3), 1, 30.0).kept(10.0) == 0.25


def test_the_program_of_sia_is_solved_to_the_optimum() -> None:
    value = np.array([[1.0, 1.6, 2.9], [1.0, 1.9, -np.inf], [1.0, 1.1, 1.2]])
    sizes, group = np.array([1, 2, 4]), np.zeros(3, dtype=int)
    assert assign(value, sizes, group, [3], 1.0) == [0, 0, 0]
    assert assign(value, sizes, group, [4], 1.0) == [0, 1, 0]
    assert assign(value, sizes, group, [7], 1.0) == [2, 1, 0]


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (Pollux, {"p": 1.0}, "p is 1.0, expected a number below 1"),
        (Pollux, {"restart_s": -1.0}, "restart_s is -1.0"),
        (Sia, {"p": 0.0}, "p is 0.0"),
        (Sia, {"lambda_n": -1.0}, "lambda_n is -1.0, expected a number >= 0"),
        (Sia, {"p": 0.3, "released": True}, "released=true sets p to -0.5"),
    ],
)
def test_an_option_out_of_its_range_is_one_line(
    policy: type, options: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        policy(**options)


def test_terms_of_the_mean_by_hand() -> None:
    """A job without GPUs counts as one of a hundredth of the speed of one GPU; a move halves what is not there already."""
    policy = Pollux(restart_s=30.0)
    waiting = policy._values(Candidate(Fixed(0, 1, 1.6), 0, 30.0), 4, 2, 1)
    assert waiting.tolist() == pytest.approx([-100, -1, -1 / 1.6])
    running = policy._values(Candidate(Fixed(0, 1, 1.6, starts=1), 1, 30.0), 4, 2, 1)
    assert running.tolist() == pytest.approx([-100, -1, -1 / 0.8])
