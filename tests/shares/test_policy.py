"""Policies of shares on the engine."""

import json
from dataclasses import replace

import numpy as np
import pytest

from policies import make_policy
from policies.shares import Active, ShareRounds
from simulator import Cluster, FixedDuration, InputError, NodeType, Workload, simulate
from simulator.entry import DecisionPoints
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.features.tenants import Tenants
from simulator.laws import Deterministic


def cluster(nodes=2, gpus=2):
    return Cluster.of_nodes(NodeType("server", "V100", gpus), nodes)


def workload(duration_s, gpus, submit_s=None):
    n = len(duration_s)
    return Workload(
        [f"j{i}" for i in range(n)],
        np.zeros(n) if submit_s is None else np.array(submit_s, dtype=float),
        FixedDuration(np.array(duration_s, dtype=float), np.array(gpus)),
    )


def test_two_jobs_take_turns():
    result = simulate(
        workload([240.0, 240.0], [2, 2]), cluster(nodes=1), make_policy("gandiva-fair")
    )
    assert result.completion_s.tolist() == [360.0, 480.0]


def test_a_free_gpu_stays_idle_until_the_round_ends():
    result = simulate(
        workload([50.0, 120.0, 60.0], [2, 2, 2]), cluster(), make_policy("gandiva-fair")
    )
    assert result.completion_s.tolist() == [50.0, 120.0, 180.0]


def test_rounds_of_the_cluster_give_the_same():
    jobs = workload([240.0, 240.0, 360.0], [2, 2, 4])
    own = simulate(jobs, cluster(), make_policy("gandiva-fair"))
    rounds = simulate(
        jobs, cluster(), make_policy("gandiva-fair"), decision_points=DecisionPoints(round_s=120.0)
    )
    assert own.completion_s.tolist() == rounds.completion_s.tolist()


def test_a_running_job_keeps_its_node():
    jobs = workload([600.0, 360.0], [1, 1])
    result = simulate(jobs, cluster(nodes=2, gpus=1), make_policy("max-min-fairness"))
    assert result.completion_s.tolist() == [600.0, 360.0]
    assert (result.schedule_table().groupby("job_id")["node"].nunique() == 1).all()


def test_shares_are_recorded_on_request():
    policy = make_policy("max-min-fairness", record_shares=True)
    result = simulate(workload([240.0, 240.0], [2, 2]), cluster(nodes=1), policy)
    recorded = result.decisions_table()["shares"].dropna().tolist()
    assert json.loads(recorded[0]) == {"j0": [0.5], "j1": [0.5]}


@pytest.mark.parametrize("due", [False, True])
def test_min_cost_takes_the_cheaper_type(due):
    types = [NodeType("a", "V100", 1, 3.0), NodeType("b", "K80", 1, 1.0)]
    machines = Cluster(node_types=types, num_nodes=2, node_type_of=(0, 1))
    jobs = workload([600.0, 600.0], [1, 1])
    result = simulate(jobs, machines, make_policy("min-cost", due=due))
    assert set(result.schedule_table()["node"]) == {1}


@pytest.mark.parametrize(("price", "node"), [(3.0, 0), (9.0, 1)])
def test_min_cost_counts_the_price_of_a_gpu(price, node):
    """A server of four GPUs at 0.75 or 2.25 a GPU, and one of a single GPU at 2."""
    types = [NodeType("a", "V100", 4, price), NodeType("b", "K80", 1, 2.0)]
    machines = Cluster(node_types=types, num_nodes=2, node_type_of=(0, 1))
    result = simulate(workload([600.0], [1]), machines, make_policy("min-cost"))
    assert set(result.schedule_table()["node"]) == {node}


def test_weights_count_where_asked():
    jobs = replace(workload([2400.0, 2400.0], [2, 2]), weight_per_s=np.array([1.0, 3.0]))
    policy = make_policy("max-min-fairness", weighted=True)
    assert simulate(jobs, cluster(nodes=1), policy).completion_s == pytest.approx([4800.0, 3120.0])


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("min-makespan", {"solution": "middle"}, "solution is 'middle', expected one of"),
        ("finish-time-fairness", {"past": "long"}, "past is 'long', expected one of"),
        ("shockwave", {"contention": "jobs"}, "contention is 'jobs', expected one of gpus, mean"),
        ("shockwave", {"order": "size"}, "order is 'size', expected one of run, plan"),
        ("shockwave", {"window": 0}, "window is 0, expected a whole number >= 1"),
        ("shockwave", {"replan_rounds": -1}, "replan_rounds is -1, expected a whole number >= 0"),
        ("shockwave", {"limit": -1.0}, "limit is -1.0, expected a number >= 0"),
        ("shockwave", {"times": "last"}, "times is 'last', expected one of now, first"),
        ("allox", {"queue": "fifo"}, "queue is 'fifo', expected one of matching, submission"),
    ],
)
def test_a_rule_that_is_none_is_one_line(policy, options, message):
    with pytest.raises(InputError, match=message):
        make_policy(policy, **options)


def test_released_allox_is_refused_on_two_types_of_gpu():
    types = [NodeType("a", "V100", 2), NodeType("b", "K80", 2)]
    machines = Cluster(node_types=types, num_nodes=2, node_type_of=[0, 1])
    with pytest.raises(InputError, match="expected GPUs of one type"):
        simulate(workload([600.0] * 3, [1] * 3), machines, make_policy("allox", queue="submission"))


def test_packing_without_rates_of_pairs_is_refused():
    policy = make_policy("max-min-fairness", packing=True)
    with pytest.raises(InputError, match="packing needs rates of pairs on servers of one GPU"):
        simulate(workload([600.0] * 3, [1] * 3), cluster(nodes=2, gpus=1), policy)


def test_released_allox_serves_as_many_jobs_as_gpus_in_order_of_submission():
    """Two GPUs, so jobs 0 and 1 have shares; job 1 of two GPUs half a one, and job 2 fills the idle GPU."""
    policy = make_policy("allox", queue="submission", reset_s=1e6, fill_idle=True)
    jobs = workload([240.0, 120.0, 120.0], [1, 2, 1])
    result = simulate(jobs, cluster(nodes=1), policy)
    assert result.completion_s.tolist() == [240.0, 360.0, 120.0]


def test_a_window_that_is_kept_outlives_its_jobs():
    """Jobs that end before the next plan, and those that come after it, do not disturb it."""
    jobs = workload([120.0, 600.0, 240.0], [2, 2, 2], [0.0, 0.0, 200.0])
    result = simulate(jobs, cluster(nodes=1), make_policy("shockwave", reset_s=1000.0))
    assert np.isfinite(result.completion_s).all()


def test_a_job_that_the_plan_has_in_every_round_does_not_wait():
    """The longest remaining time counts most, so the last job has all five rounds of the plan; two run already."""
    jobs = workload([600.0, 600.0, 1200.0], [1, 1, 1], [0.0, 0.0, 60.0])
    starts_s = {}
    for order in ("run", "plan"):
        policy = make_policy("shockwave", regularizer=1e6, window=5, order=order)
        starts_s[order] = simulate(jobs, cluster(nodes=1), policy).first_start_s.tolist()
    assert starts_s == {"run": [0.0, 0.0, 360.0], "plan": [0.0, 0.0, 120.0]}


@pytest.mark.parametrize(("after", "planned"), [(0, [0, 10]), (4, [0, 4, 8, 10, 12, 16])])
def test_a_plan_is_made_anew_after_so_many_rounds_and_when_a_job_has_gone(after, planned):
    policy = make_policy("shockwave", record_shares=True, replan_rounds=after)
    result = simulate(workload([1200.0, 1200.0], [2, 2]), cluster(nodes=1), policy)
    assert np.flatnonzero(result.decisions_table()["shares"].notna()).tolist() == planned


@pytest.mark.parametrize(
    ("limit", "later", "end_s"), [(0.0, 0, 1440.0), (1.0, 0, 240.0), (1.0, 1, 1200.0)]
)
def test_a_limit_gives_a_job_the_rounds_that_its_part_of_the_cluster_asks_for(limit, later, end_s):
    """Without it the longest remaining time alone counts. Of two jobs one of 240 s may take 480 s, so it has two rounds.

    With a third job, which comes later, it may take 720 s: a round in the first window, and one in the second, in which
    the job that runs already has its four rounds first.
    """
    jobs = workload([1200.0, 240.0] + [120.0] * later, [1, 1] + [1] * later, [0, 0] + [1e4] * later)
    replan = 5 if later else 0
    policy = make_policy("shockwave", regularizer=1e6, window=5, replan_rounds=replan, limit=limit)
    assert simulate(jobs, cluster(nodes=1, gpus=1), policy).completion_s[1] == end_s


@pytest.mark.parametrize(("contention", "times"), [("gpus", [1.5, 1.5]), ("mean", [2.0, 1.25])])
def test_contention_is_that_of_now_or_the_mean_since_submission(contention, times):
    """Two jobs of 1 and 2 GPUs on two GPUs; jobs there, round by round; the second came in the fourth."""
    policy = make_policy("shockwave", contention=contention)
    policy._jobs_in, policy._first = [5, 5, 5, 3, 2], {0: 0, 1: 3}
    ones, gpus = np.ones(2), np.array([1, 2])
    active = Active(np.ones((2, 1)), gpus, np.array([2]), ones, ones, 0 * ones)
    assert policy._contention([0, 1], active).tolist() == times


def test_a_job_larger_than_any_type_is_refused_in_one_line():
    types = [NodeType("a", "V100", 2), NodeType("b", "K80", 2)]
    machines = Cluster(node_types=types, num_nodes=2, node_type_of=[0, 1])
    with pytest.raises(InputError, match="job 'j0' runs on no type of GPU by itself"):
        simulate(workload([100.0], [4]), machines, make_policy("gandiva-fair"))


def test_a_job_that_was_stopped_within_its_round_has_received_the_time_until_then():
    """j0 and j1 have had 120 s each, j2 30 s when the node fails at 270 s: it runs on at 280 s, 120 s at least."""
    cause = Outages(Deterministic(270.0), Deterministic(10.0), [(0,)])
    failures = Failures([cause], Checkpoints(interval_s=0.0))
    jobs = workload([1000.0, 1000.0, 150.0], [2, 2, 2])
    result = simulate(jobs, cluster(nodes=1), make_policy("gandiva-fair"), features=[failures])
    assert result.completion_s[2] == 400.0


def test_nodes_that_are_down_are_left_out():
    jobs = workload([3000.0] * 4, [2] * 4)
    down = Outages(Deterministic(500.0), Deterministic(400.0), [(0,)])
    result = simulate(
        jobs, cluster(nodes=2), make_policy("gandiva-fair"), features=[Failures(outages=[down])]
    )
    assert np.isfinite(result.completion_s).all()


def test_tenants_share_by_weight():
    jobs = workload([2400.0, 2400.0], [2, 2])
    tenants = Tenants(("a", "b"), np.array([0, 1]), np.array([1.0, 3.0]), np.full(2, np.inf))
    result = simulate(
        jobs, cluster(nodes=1), make_policy("hierarchical-fairness"), features=[tenants]
    )
    # b runs three rounds of four until it ends: 20 of 26.
    assert result.completion_s == pytest.approx([4800.0, 3120.0])


def test_a_job_runs_where_its_planned_rounds_are_all_that_are_left():
    """Plans of 4, 4 and 2 rounds of five on two GPUs: the third job begins in the fourth round, not in the fifth."""
    policy, rounds = make_policy("shockwave", order="plan"), ShareRounds((2,))
    policy._planned, policy._left, policy._rounds_left = {0: 4, 1: 4, 2: 2}, {0: 1, 1: 2, 2: 3}, 5
    for job in range(3):
        rounds.submit(job, 1)
    chosen = []
    for _ in range(5):
        chosen.append({each.unit for each in policy.choose(rounds)})
        policy._runs = dict.fromkeys(chosen[-1], 0)
    assert chosen == [{0, 1}, {0, 1}, {0, 1}, {0, 2}, {1, 2}]


def test_a_job_has_received_what_it_held_until_its_node_failed(monkeypatch):
    """In rounds of 360 s a node is away from 500 s on for 100 s, again and again: no round counts in full that was not."""
    told: list[tuple[int, float]] = []
    received = ShareRounds.received

    def noted(self, unit, gpu_type, seconds):
        told.append((unit, seconds))
        received(self, unit, gpu_type, seconds)

    monkeypatch.setattr(ShareRounds, "received", noted)
    rng = np.random.default_rng(3)
    jobs = workload(rng.uniform(1500, 3000, 6), rng.integers(1, 4, 6))
    away = Failures([Outages(Deterministic(500.0), Deterministic(100.0), [(0,)])])
    policy = make_policy("gandiva-fair", round_s=360.0)
    result = simulate(jobs, cluster(2, 4), policy, features=[away])
    held_s = [0.0] * 6
    for job, start_s, end_s in {(s.job, s.start_s, s.end_s) for s in result.schedule}:
        held_s[job] += end_s - start_s
    others = np.flatnonzero(
        result.completion_s < result.end_s
    ).tolist()  # nobody asks after the end
    assert len(others) >= 4
    for job in others:
        assert sum(s for unit, s in told if unit == job) == pytest.approx(held_s[job])
