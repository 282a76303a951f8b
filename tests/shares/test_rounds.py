"""Rounds by shares, against small cases by hand."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from policies import make_policy
from policies.shares import Active, Chosen, RoundRules, ShareRounds, gandiva_fair
from policies.shares.allox import allox, in_order
from policies.shares.rounds import place
from simulator import Cluster, DecisionPoints, NodeType, Placement, Workload, simulate
from simulator.errors import InputError
from simulator.features.failures import Failures, Outages
from simulator.features.reconfiguration import Delays
from simulator.laws import Deterministic
from simulator.workloads.training import JobProgress, RoundWork, TrainingTimes
from tests.core.steps import jobs_of


def rounds(capacity=(2,), **rules):
    return ShareRounds(capacity, RoundRules(**{"round_s": 100.0, "reset_s": 1000.0, **rules}))


def paired(jobs, first, second):
    """The jobs, of batch sizes 5 and 10, with these steps/s beside one another."""
    own, other = "LM (batch size 5)", "LM (batch size 10)"
    rates = {(own, other): first, (other, own): second, (own, own): 0.0}
    return replace(jobs, pair_rates={"v100": rates})


def run(jobs, nodes, policy="gandiva-fair", work=None, features=(), gpus=1):
    """Rounds of 120 s on V100 GPUs, one a node."""
    times = TrainingTimes.of(jobs, ("v100",), work)
    return simulate(
        Workload(jobs.job_id, jobs.submit_s, times),
        Cluster.of_nodes(NodeType("v100", "v100", gpus), nodes),
        make_policy(policy) if isinstance(policy, str) else policy,
        features=features,
        decision_points=DecisionPoints(round_s=120.0, round_ends="last-finisher"),
    )


def test_the_job_that_received_least_of_its_share_goes_first():
    r = rounds(capacity=(1,))
    for job in (0, 1):
        r.submit(job, 1)
    r.reset(0.0, {0: (0.75,), 1: (0.25,)})
    order = []
    for _ in range(8):
        (chosen,) = r.choose()
        order.append(chosen.unit)
        r.received(chosen.unit, 0, 100.0)
    # Time received with half a round of credit: 0 runs while 0.75/received_0 > 0.25/received_1.
    assert order == [0, 0, 1, 0, 0, 0, 1, 0]
    assert order.count(0) == 6


def test_a_job_that_does_not_fit_is_passed_over_and_large_ones_are_listed_first():
    r = rounds(capacity=(4,))
    for job, gpus in enumerate((1, 4, 2)):
        r.submit(job, gpus)
    r.reset(0.0, dict.fromkeys(range(3), (0.5,)))
    assert r.choose() == [Chosen(2, 0, 2), Chosen(0, 0, 1)]


def test_deficits_break_ties_unless_the_order_of_submission_does():
    for tie_break, first in (("released", 1), ("submission", 0)):
        r = rounds(capacity=(1,), tie_break=tie_break)
        r.submit(0, 1)
        r.submit(1, 1)
        r.reset(100.0, {0: (0.5,), 1: (0.5,)})
        r.received(0, 0, 100.0)  # so job 1 did not receive its share until the next reset
        r.reset(1100.0, {0: (0.5,), 1: (0.5,)})
        assert r.choose()[0].unit == first


def test_jobs_wait_for_the_next_reset():
    r = rounds()
    r.submit(0, 1)
    assert r.wants_shares(50.0)
    r.reset(50.0, {0: (1.0,)})
    r.submit(1, 1)
    assert not r.wants_shares(1049.0)
    assert r.wants_shares(1050.0)
    assert [c.unit for c in r.choose()] == [0]


def test_types_are_served_in_order_and_a_share_of_zero_does_not_run():
    r = rounds(capacity=(1, 1))
    for job in range(3):
        r.submit(job, 1)
    r.reset(0.0, {0: (1.0, 0.0), 1: (0.5, 0.5), 2: (0.0, 0.0)})
    assert r.choose() == [Chosen(0, 0, 1), Chosen(1, 1, 1)]


def test_credit_zero_means_that_unserved_jobs_go_first():
    r = rounds(capacity=(1,), credit=0.0)
    r.submit(0, 1)
    r.submit(1, 1)
    r.reset(0.0, {0: (0.9,), 1: (0.1,)})
    r.received(0, 0, 100.0)
    assert r.choose()[0].unit == 1


def test_leases_are_extended():
    cluster = Cluster.of_nodes(NodeType("v100", "v100", 1), 5)
    view = SimpleNamespace(
        cluster=cluster,
        running={j: tuple(Placement(j, n, 1) for n in on) for j, on in ((7, [1]), (8, [0]))},
    )

    def nodes(chosen):
        found = {}
        for p in place(view, chosen, {0: range(5)}):
            found.setdefault(p.job, []).append(p.node)
        return found

    chosen = [Chosen(5, 0, 2), Chosen(6, 0, 1), Chosen(7, 0, 1), Chosen(8, 0, 1)]
    # 5 takes 0 and 1, so 7 and 8 must move.
    assert nodes(chosen) == {5: [0, 1], 6: [2], 7: [3], 8: [4]}
    assert nodes(chosen[1:]) == {7: [1], 8: [0], 6: [2]}
    assert nodes([Chosen((6, 7), 0, 1)]) == {6: [1], 7: [1]}


def test_of_equal_nodes_the_first_and_of_others_the_fullest_that_holds_a_job():
    """Nodes of four GPUs. Job 7 keeps two of node 1, where job 8 fits beside it; jobs 5 and 6 fit on no node."""
    cluster = Cluster.of_nodes(NodeType("v100", "v100", 4), 3)
    view = SimpleNamespace(cluster=cluster, running={7: (Placement(7, 1, 2),)})

    def nodes(*chosen):
        placements = place(view, [Chosen(job, 0, gpus) for job, gpus in chosen], {0: range(3)})
        return [(p.job, p.node, p.gpus) for p in placements]

    assert nodes((7, 2), (8, 2), (9, 1)) == [(7, 1, 2), (8, 1, 2), (9, 0, 1)]
    assert nodes((7, 2), (9, 1), (8, 1)) == [(7, 1, 2), (9, 1, 1), (8, 1, 1)]
    assert nodes((5, 6), (6, 5)) == [(5, 0, 4), (5, 1, 2), (6, 2, 4), (6, 1, 1)]
    assert nodes((5, 6), (6, 7)) == [(5, 0, 4), (5, 1, 2)], "seven are not free"


def test_a_round_ends_with_its_last_job_and_steps_are_whole():
    result = run(jobs_of([150, 30], [1, 1], rate=1.3), 2)
    # 156 steps fit into 120 s, so one round: 150 and 30 steps at 1.3/s.
    assert result.completion_s == pytest.approx([150 / 1.3, 30 / 1.3])
    long = run(jobs_of([200], [1], rate=1.3), 1)
    assert long.decisions_table()["time_s"].tolist() == [0.0, pytest.approx(156 / 1.3)]


def test_a_resumed_job_loses_time_only_in_a_full_round():
    work = RoundWork()
    assert work.of(1000, 1.0, 120.0, 20.0) == (100, 120.0, 20.0)
    assert work.of(100, 1.0, 120.0, 20.0) == (100, 100.0, 0.0)
    assert work.lost_s(False, False, False) == 20.0
    assert RoundWork(first_start_s=5.0).lost_s(False, False, False) == 5.0
    assert RoundWork(first_start_s=5.0, resume_s=9.0).lost_s(True, False, True) == 9.0
    assert RoundWork(reallocation_s=7.0).lost_s(True, True, False) == 7.0
    assert work.lost_s(True, True, True) == 0.0


def test_time_is_shared_equally_between_jobs_of_any_size():
    result = run(jobs_of([1200, 1200], [2, 2]), 2, work=RoundWork(resume_s=0.0))
    assert result.schedule_table()["job_id"].tolist() == ["0", "0", "1", "1"] * 10
    assert result.completion_s == pytest.approx([2280.0, 2400.0])


def test_a_pair_shares_a_gpu_at_its_own_rates():
    """Steps of 1 s alone, and 0.75 of them in a second together; job 0 ends alone."""
    jobs = replace(paired(jobs_of([900, 450], [1, 1]), 0.75, 0.75), batch_size=[5, 10])
    policy = make_policy("max-min-fairness", packing=True, record_shares=True)
    result = run(jobs, 1, policy, work=RoundWork(resume_s=0.0))
    # Five rounds of 90 steps each; then the 450 of job 0 that are left take 450 s.
    assert result.completion_s == pytest.approx([1050.0, 600.0])
    first = result.decisions_table().iloc[0]
    assert json.loads(first["shares"]) == {"0": [0.0], "1": [0.0], "0+1": [1.0]}
    assert (first["least_share"], first["mean_share"]) == (1.0, 1.0)
    assert result.schedule_table()["gpus"].tolist() == [0.5, 0.5, 1.0]
    alone = run(jobs, 1, make_policy("max-min-fairness"), work=RoundWork(resume_s=0.0))
    assert alone.completion_s == pytest.approx([1350.0, 930.0])


def test_a_pair_has_received_the_time_of_the_one_that_worked_longer(monkeypatch):
    """In 120 s the first does 90 steps of 0.75 in a second; the second 92 of 0.77, which take 119.5 s."""
    received = []
    monkeypatch.setattr(ShareRounds, "received", lambda *call: received.append(call[1:]))
    jobs = replace(paired(jobs_of([900, 900], [1, 1]), 0.75, 0.77), batch_size=[5, 10])
    run(jobs, 1, make_policy("max-min-fairness", packing=True), work=RoundWork(resume_s=0.0))
    assert received[0] == ((0, 1), 0, pytest.approx(120.0, abs=1e-6))


def test_a_job_that_is_slow_beside_another_has_time_alone():
    """0.9 p = 0.3 p + (1 - p), where p is the share of the pair."""
    jobs = replace(paired(jobs_of([900, 900], [1, 1]), 0.9, 0.3), batch_size=[5, 10])
    policy = make_policy("max-min-fairness", packing=True, record_shares=True)
    shares = json.loads(run(jobs, 1, policy).decisions_table()["shares"].iloc[0])
    found = np.ravel([shares[unit] for unit in ("0", "1", "0+1")])
    assert found == pytest.approx([0.0, 0.375, 0.625], abs=2e-6)


def test_a_pair_ends_where_its_batches_have_grown_too_large():
    """From its eleventh epoch on the job has batches of 80, which run beside no other job: 13 rounds of 9,000 steps."""
    jobs = paired(jobs_of([400_000, 150_000], [1, 1], rate=100.0, mode="accordion"), 75.0, 75.0)
    jobs = replace(jobs, batch_size=[5, 10], mode=["accordion", "static"])
    table = run(jobs, 1, make_policy("max-min-fairness", packing=True)).schedule_table()
    pair, alone = (table[table["gpus"] == gpus] for gpus in (0.5, 1.0))
    assert pair["end_s"].tolist() == [1560.0, 1560.0]
    assert alone["start_s"].min() == 1560.0, "both have shares of their own"


def test_jobs_of_several_gpus_run_beside_pairs_and_not_in_them():
    jobs = paired(jobs_of([600, 600, 600], [1, 1, 2]), 0.9, 0.9)
    jobs = replace(jobs, batch_size=[5, 10, 5])
    result = run(jobs, 2, make_policy("max-min-fairness", packing=True))
    gpus = result.schedule_table().groupby("job_id")["gpus"].agg(["min", "max"])
    assert gpus.loc["2"].tolist() == [1, 1]
    assert gpus.loc["0", "min"] == 0.5


@pytest.mark.parametrize(("ran_s", "first"), [(0.0, 0), (40.0, 1)])
def test_credit_is_no_part_of_a_deficit(ran_s, first):
    """Job 0 had 30 of 1000 s to get. The other one comes later, without a deficit."""
    r = rounds(capacity=(1,))
    r.submit(0, 1)
    r.reset(100.0, {0: (0.03,)})
    r.received(0, 0, ran_s)
    r.submit(1, 1)
    r.reset(1100.0, {0: (0.5,), 1: (0.5,)})
    assert r.choose()[0].unit == first


def test_a_job_is_in_one_unit_of_a_round_and_takes_its_pairs_with_it():
    r = rounds(capacity=(3,))
    for job in (0, 1, 2):
        r.submit(job, 1)
    r.reset(0.0, {0: (0.2,), 1: (0.0,), 2: (0.3,), (0, 1): (0.8,), (1, 2): (0.2,)})
    assert [c.unit for c in r.choose()] == [(0, 1), 2]
    r.received((0, 1), 0, 400.0)
    assert [c.unit for c in r.choose()] == [2, 0]
    r.remove(1)
    assert not r.pairs
    assert [c.unit for c in r.choose()] == [2, 0]


@pytest.mark.parametrize(("between", "first"), [((0.6, 0.4), (0, 1)), ((1.0, 0.0), 2)])
def test_a_pair_that_comes_back_has_no_deficit_of_before(between, first):
    """All units count as served alike. Job 2 has a deficit of 400 s, of the first 1000 s, the pair one of 500 s and more,
    if it has kept its share."""
    r = rounds(capacity=(1,))
    for job in (0, 1, 2):
        r.submit(job, 1)
    half = {0: (0.0,), 1: (0.0,), 2: (0.5,), (0, 1): (0.5,)}
    r.reset(100.0, half)
    r.received(2, 0, 100.0)
    own, shared = between
    r.reset(
        1100.0,
        {**half, 2: (own,), (0, 1): (shared,)}
        if shared
        else {**dict.fromkeys((0, 1), (0.0,)), 2: (own,)},
    )
    r.received(2, 0, 1000.0 * own)
    r.reset(2100.0, half)
    assert r.choose()[0].unit == first


def test_what_a_node_that_fails_had_not_done_is_taken_back():
    progress = TrainingTimes.of(jobs_of([100], [1]), ("v100",)).progress()
    assert progress.round({0: (0, "here")}, 60.0, lambda job: 1.0)[0].left == 0.4
    progress.interrupted(0, left=0.7)
    assert progress.left(0) == 0.7
    jobs = jobs_of([900] * 6, [1, 1, 2, 2, 1, 4], rate=1.5)
    down = Outages(Deterministic(1000.0), Deterministic(250.0), [(0,), (1,)])
    result = run(jobs, 4, features=[Failures(outages=[down])])
    assert np.isfinite(result.completion_s).all()
    assert result.gpu_seconds.sum() > 11 * 600


def test_a_job_does_again_what_a_failure_took_from_its_round():
    """Steps of a second, rounds of 120 s. The first job ends at 250 s. The node fails at 400 s for 60 s, in the second round
    of the other job, which goes on to 490 s: all its work is lost, also the 240 steps of two rounds. It takes 300 s anew."""
    down = Outages(Deterministic(400.0), Deterministic(60.0), [(0,)])
    jobs = jobs_of([250, 300], [1, 1], submit_s=[0.0, 250.0])
    features = [Failures(outages=[down])]
    result = run(jobs, 1, work=RoundWork(resume_s=0.0), features=features)
    assert result.completion_s.tolist() == pytest.approx([250.0, 790.0])


def test_shares_of_gpu_time():
    active = Active(
        np.ones((3, 1)), np.array([1, 1, 2]), np.array([2]), np.ones(3), np.ones(3), np.zeros(3)
    )
    assert gandiva_fair(active)[:, 0] == pytest.approx([2 / 3] * 3)
    assert gandiva_fair(active, of="gpus")[:, 0] == pytest.approx([2 / 3, 2 / 3, 1 / 3])


def test_accordion_keeps_its_batch_in_critical_epochs():
    job = JobProgress("ResNet-18", 1, "accordion", 128, 391 * 300, 128, 391 * 300)
    sizes = []
    for epoch in (0, 9, 10, 149, 150, 160, 250, 260):
        job.done = 391 * epoch
        sizes.append(job.wanted())
    assert sizes == [128, 128, 256, 256, 128, 256, 128, 256]


def test_gradient_noise_takes_one_change_at_a_time_and_the_epoch_counts_as_done():
    job = JobProgress("Recommendation", 1, "gns", 1024, 116 * 100, 1024, 116 * 100)
    job.done = 116 * 70 + 3
    assert job.wanted() == 2048
    job.change_to(2048)
    assert (job.steps, job.done, job.batch_size) == (116 * 50, 71 * 58, 2048)
    assert job.wanted() == 4096


def test_a_job_left_without_steps_is_given_up_after_five_rounds():
    # 12,000 steps a round. In the tenth, epoch 11 begins; with batches of 80 it counts as done: 11 x 746
    # of 124,124 / 16 steps, so none are left.
    jobs = jobs_of([124_124], [1], rate=100.0, mode="accordion")
    result = run(jobs, 1)
    assert len(result.decisions) == 15
    assert result.completion_s.tolist() == [1200.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RoundRules(round_s=0.0), "round_s is 0.0"),
        (lambda: RoundRules(credit=float("nan")), "credit is nan"),
        (lambda: RoundRules(tie_break="luck"), "tie_break is 'luck'"),
        (lambda: rounds().submit(0, 3), "needs 3 GPUs of one type, expected at most 2"),
        (lambda: run(jobs_of([10], [4]), 2), "expected at most 2"),
        (lambda: run(jobs_of([10], [1]), 2, features=[Delays.of(5.0)]), "rules of their own"),
        (lambda: gandiva_fair(None, of="weeks"), "of is 'weeks'"),
        (
            lambda: run(jobs_of([10], [1]), 2, make_policy("max-min-fairness", packing=True)),
            "no rates of pairs on 'v100', expected some",
        ),
        (
            lambda: run(
                paired(jobs_of([9, 9], [1, 1]), 0.9, 0.9),
                1,
                make_policy("max-min-fairness", packing=True),
                gpus=2,
            ),
            "packing needs rates of pairs on servers of one GPU",
        ),
        (
            lambda: make_policy("max-min-fairness", packing=True, solution="centre"),
            "solution is 'centre' with packing",
        ),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_shares_over_the_time_of_a_job_are_refused():
    r = rounds(capacity=(1, 1))
    r.submit(0, 1)
    with pytest.raises(InputError, match="shares of job 0"):
        r.reset(0.0, {0: (0.7, 0.7)})


def test_jobs_without_a_share_fill_idle_gpus():
    for fill, expected in ((False, [0]), (True, [0, 2])):
        r = rounds(capacity=(2,), fill_idle=fill)
        for job, gpus in enumerate((1, 2, 1)):
            r.submit(job, gpus)
        r.reset(0.0, {0: (1.0,), 1: (0.0,), 2: (0.0,)})
        assert sorted(chosen.unit for chosen in r.choose()) == expected


def test_a_job_fills_no_type_on_which_it_cannot_run():
    r = rounds(capacity=(1, 1), fill_idle=True)
    r.submit(0, 1)
    r.submit(1, 1, [True, False])
    r.reset(0.0, {0: (1.0, 0.0), 1: (0.0, 0.0)})
    assert [chosen[:2] for chosen in r.choose()] == [(0, 0)]


def test_jobs_without_a_share_may_fill_a_type_before_the_next_is_served():
    """Two types of one GPU each; job 0 has a share of the second type alone, job 1 of none."""
    for by_type, expected in ((False, [(1, 0), (0, 1)]), (True, [(0, 0), (1, 1)])):
        r = rounds(capacity=(1, 1), fill_idle=True, type_by_type=by_type)
        for job in range(2):
            r.submit(job, 1)
        r.reset(0.0, {0: (0.0, 1.0), 1: (0.0, 0.0)})
        assert [chosen[:2] for chosen in r.choose()] == expected


def test_a_running_job_of_several_gpus_has_them_under_allox():
    """Job 0 keeps two of three GPUs; the third is for the first of the others that fits, longest in the queue."""
    ones = np.ones(3)
    for gpus, expected in (([2, 1, 1], [1, 1, 0]), ([2, 2, 1], [1, 0, 1]), ([1, 1, 1], [1, 1, 1])):
        active = Active(ones[:, None] / 60, np.array(gpus), np.array([3]), ones, ones, 0 * ones)
        assert allox(active, np.array([0, -1, -1]))[:, 0].tolist() == expected
    active = Active(ones[:, None] / 60, np.array([2, 2, 1]), np.array([3]), ones, ones, 0 * ones)
    assert allox(active, np.array([-1] * 3))[:, 0].tolist() == [1, 0, 1], "none runs yet"


def test_a_job_that_holds_a_gpu_takes_one_from_the_queue_in_order_of_submission():
    """Of two GPUs job 2 has one; the other is for job 0. A job of two GPUs has half of the time."""
    ones = np.ones(3)
    active = Active(ones[:, None], np.array([2, 1, 1]), np.array([2]), ones, ones, 0 * ones)
    assert in_order(active, np.array([False, False, True]))[:, 0].tolist() == [0.5, 0.0, 1.0]


def test_gpus_of_another_type_do_not_make_up_for_those_of_a_running_job_under_allox():
    """Job 0 has both GPUs of the second type, where the others would be fastest; they wait for them."""
    ones, rate = np.ones(3), np.array([[1.0, 3.0]] * 3)
    active = Active(rate, np.array([2, 1, 1]), np.array([2, 2]), ones, ones, 0 * ones)
    assert allox(active, np.array([1, -1, -1])).tolist() == [[0, 1], [0, 0], [0, 0]]
    assert allox(active, np.array([0, -1, -1])).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_allox_keeps_the_share_of_a_job_that_fills_another_type():
    """Job 0 is faster on the second type; it fills the first, which is served before, also when job 1 has come."""
    jobs = jobs_of([6000, 600], [1, 1], submit_s=[0.0, 200.0])
    fast = {kind: 3 * rate for kind, rate in jobs.rates["v100"].items()}
    jobs = replace(jobs, rates={**jobs.rates, "k80": fast})
    times = TrainingTimes.of(jobs, ("v100", "k80"))
    types = [NodeType("v100", "v100", 1), NodeType("k80", "k80", 1)]
    policy = make_policy("allox", fill_idle=True, type_by_type=True, record_shares=True)
    result = simulate(
        Workload(jobs.job_id, jobs.submit_s, times),
        Cluster(types, 2, node_type_of=(0, 1)),
        policy,
        decision_points=DecisionPoints(round_s=120.0, round_ends="last-finisher"),
    )
    shares = [json.loads(each) for each in result.decisions_table()["shares"].dropna()]
    assert [each["0"] for each in shares] == [[0.0, 1.0]] * len(shares)
    assert len(shares) >= 2


def test_types_in_random_order():
    """One job with a share of three types: the type that is served first has it."""
    r = rounds(capacity=(1, 1, 1), shuffle_types=True)
    r.submit(0, 1)
    r.reset(0.0, {0: (0.3, 0.3, 0.3)})
    served = [r.choose()[0].gpu_type for _ in range(60)]
    assert min(served.count(k) for k in range(3)) >= 10


def test_past_time_in_steps_does_not_convert_a_change_of_batch_size():
    """Steps become a sixteenth with the batch of 80, which counts as progress."""
    jobs = jobs_of([2_400_000] * 3, [1] * 3, 100.0, "accordion", submit_s=[0.0, 0.0, 3500.0])
    ends_s = {
        past: run(jobs, 1, make_policy("finish-time-fairness", past=past)).completion_s.tolist()
        for past in ("progress", "steps")
    }
    assert ends_s["steps"] != ends_s["progress"]


@pytest.mark.long
def test_times_at_the_first_batch_size_make_a_growing_job_urgent():
    """Its steps seem to take as long as with the small batch, so its price is higher."""
    jobs = jobs_of([2_400_000, 600_000, 600_000], [1] * 3, 100.0)
    jobs = replace(jobs, mode=["accordion", "static", "static"])
    ends_s = {
        times: run(jobs, 1, make_policy("shockwave", times=times, replan_rounds=4)).completion_s
        for times in ("now", "first")
    }
    assert ends_s["first"][0] < 0.7 * ends_s["now"][0]
