"""Quotas, fairness between tenants and admission control with numbers worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest

from policies import make_policy
from policies.queues.serving import Service
from simulator import Workload
from simulator.features.admission import (
    Admission,
    Ask,
    Piece,
    Promise,
    all_on_time,
    shares_in_turn,
)
from simulator.features.failures import Checkpoints, Failures
from simulator.features.tenants import tenants_of
from simulator.features.tenants.fairness import finish_time_fairness
from simulator.laws import Deterministic
from tests.core.jobs import fixed, nodes, run
from tests.errors import input_error


def jobs(who: str, duration_s, gpus, submit_s=None, **columns: Any) -> Workload:
    """Jobs of the tenants whose names are the letters."""
    return fixed(submit_s or [0] * len(who), duration_s, gpus, vc=list(who), **columns)


def test_a_small_job_passes_a_held_one_that_does_not_fit():
    """A quota of 4 GPUs, 3 in use until 100 s and one until 50 s: then j3 fits, and j2 does not yet."""
    work = jobs("aaaa", [100, 50, 10, 10], [3, 1, 3, 1])
    tenants = tenants_of(work, quota={"a": 4.0})
    result = run(work, nodes(8), "fifo-backfill", tenants)
    assert result.first_start_s.tolist() == [0.0, 0.0, 100.0, 50.0]


@pytest.mark.parametrize(
    ("limits", "starts"),
    [
        ({"max_jobs": 2}, [0, 0, 10, 30, 0, 0, 20]),
        ({"max_jobs": {"b": 2}}, [0, 0, 0, 0, 0, 0, 20]),
        ({"max_jobs": {"a": 1}}, [0, 10, 40, 70, 0, 0, 0]),
        ({"max_jobs": 2, "quota": {"b": 1.0}}, [0, 0, 10, 30, 0, 20, 40]),
        ({"max_jobs": {"a": 2}, "quota": {"a": 1.0, "b": 1.0}, "borrowing": True}, [0, 0, 10, 30, 0, 0, 0]),
    ],
)  # fmt: skip
def test_so_many_jobs_of_a_tenant_at_once(limits, starts):
    """Jobs of one GPU at 0 s on enough GPUs: four of a, of 10, 30, 30 and 10 s, three of b, of 20 s each."""
    work = jobs("aaaabbb", [10, 30, 30, 10, 20, 20, 20], [1] * 7)
    policy = "capacity" if limits.get("borrowing") else "fifo-backfill"
    result = run(work, nodes(8), policy, tenants_of(work, **limits))
    assert result.first_start_s.tolist() == starts
    held = sum(at_s > 0 for at_s in starts)
    assert result.summary()["held_jobs"] == held


def test_limits_that_are_none():
    work = jobs("ab", [10, 10], [1, 1])
    assert not tenants_of(work).is_limited
    assert tenants_of(work, max_jobs=3).is_limited
    with input_error("tenants: max_jobs of 'c', who has no job"):
        tenants_of(work, max_jobs={"c": 3})
    with input_error("tenants: max_jobs of 'a' is 0.5, expected at least 1 job"):
        tenants_of(work, max_jobs={"a": 0.5})


def test_a_held_job_whose_patience_ends_as_the_quota_frees_starts():
    work = jobs("aa", [100, 10], [2, 2], patience_s=[1e3, 100.0])
    tenants = tenants_of(work, quota={"a": 2.0})
    result = run(work, nodes(4), "fifo-backfill", tenants)
    assert result.first_start_s.tolist() == [0.0, 100.0]


def test_a_held_job_leaves_when_its_patience_is_over():
    """j1 is promised 160 s and held until it leaves at 50 s; so j2 of all GPUs is promised 170 s when it comes at 60 s."""
    late = {"due_s": [math.inf, 160.0, 170.0], "patience_s": [math.inf, 40.0, math.inf]}
    work = jobs("aab", [100] * 3, [1, 1, 2], [0, 10, 60], **late)
    parts = tenants_of(work, quota={"a": 1.0}), Admission(rule="reject")
    result = run(work, nodes(2), "fifo-backfill", *parts)
    assert result.completion_s.tolist() == [100.0, 50.0, 200.0]
    assert result.parts["admission"].promised.tolist() == [False, True, True]
    assert result.parts["tenants"].held_s.tolist() == [0.0, 40.0, 0.0]


def test_finish_time_fairness_counts_weights():
    """Of 8 GPUs a (weight 3) has 6 for itself, where its job of 4 runs as here; b has 2, and would take twice as long."""
    work = jobs("ab", [100, 100], [4, 4])
    tenants = tenants_of(work, weight={"a": 3.0})
    result = run(work, nodes(8), "fifo-backfill", tenants)
    assert finish_time_fairness(result).tolist() == pytest.approx([1.0, 0.5])


def test_a_job_that_left_asked_for_no_fair_share():
    """Two GPUs: a's job holds both for 100 s, b's leaves after 50 s without a GPU. b has no part of what is fair."""
    work = jobs("ab", [100, 100], [2, 2], patience_s=[math.inf, 50.0])
    result = run(work, nodes(2), "fifo-strict", tenants_of(work))
    assert result.summary()["jain_tenants"] == pytest.approx(1.0)
    assert result.summary()["envy_gpu_h"] == 0.0


def test_a_job_that_is_chosen_again_has_another_lease():
    """Leases of 10 s: a's job is worse off than b's, so it has the GPU from 0 to 10 and to 20 s. c's job, which comes at
    12 s and is worse off than both, waits until then."""
    work = jobs("abc", [100, 1e6, 5], [1, 1, 1], [0, 0, 12])
    tenants = tenants_of(work, weight={"a": 3.0, "c": 12.0})
    result = run(work, nodes(), make_policy("finish-time-fair", lease_s=10.0), tenants)
    assert result.completion_s[[0, 2]].tolist() == [105.0, 25.0]


def test_what_is_lent_goes_by_the_part_of_the_quota_in_use():
    """Quotas of 2, 1 and 5 GPUs. a and b use theirs; c's go to a, b, a, a and b, as 2/2, 1/1, 3/2, 4/2 and 2/1 are least."""
    work = jobs("aaaaaabbbbb" + "c", [100] * 12, [1] * 12, [0.0] * 11 + [500.0])
    tenants = tenants_of(work, quota={"a": 2.0, "b": 1.0, "c": 5.0}, borrowing=True)
    result = run(work, nodes(8), "capacity", tenants)
    starts = zip("aaaaaabbbbbc", result.first_start_s, strict=True)
    at_once = [tenant for tenant, start_s in starts if not start_s]
    assert (at_once.count("a"), at_once.count("b")) == (5, 3)


def test_a_dominant_share_is_the_largest_and_no_sum():
    """12 CPUs and 12 GB; a's jobs take 1 CPU and 1 GB, b's 1 CPU: as many of each."""
    needs = {"num_cpus": np.ones(24), "memory_gb": np.repeat([1.0, 0.001], 12)}
    work = jobs("a" * 12 + "b" * 12, [100] * 24, [1] * 24, **needs)
    cluster = nodes(100, cpus=12.0, memory_gb=12.1)
    result = run(work, cluster, "drf", tenants_of(work))
    assert (result.first_start_s[:12] == 0).sum() == (result.first_start_s[12:] == 0).sum() == 6


def test_a_job_that_is_given_up_keeps_no_promise():
    """One GPU. j0 fails for good at 10 s; j1 comes at 20 s, has 5 s of work and 15 s of time."""
    work = jobs("aa", [100, 5], [1, 1], [0.0, 20.0], due_s=[105.0, 35.0])
    failures = Failures((), Checkpoints(interval_s=0.0), Deterministic(10.0), max_attempts=1)
    features = [Admission(rule="reject"), failures]
    result = run(work, nodes(1), "deadline-first", *features)
    assert result.jobs_table()["status"].tolist() == ["abandoned", "done"]


@pytest.mark.parametrize(("due_s", "status"), [(1050.0, "rejected"), (1100.0, "done")])
def test_due_dates_count_from_now(due_s, status):
    """A job of 100 s that comes at 1000 s."""
    work = jobs("aa", [100, 1], [1, 1], [1000.0, 1000.0], due_s=[due_s, math.inf])
    result = run(work, nodes(1), "deadline-first", Admission(rule="reject"))
    assert result.jobs_table()["status"].tolist() == [status, "done"]


def test_an_elastic_job_works_at_the_speed_of_the_gpus_that_are_free():
    """Four GPUs. The first takes three of them for 10 s; the second does a quarter of 40 s on one, then 7.5 s on four."""
    first = Ask(10.0, 0, [math.inf, 30.0, 15.0, 10.0, 10.0])
    left_s = [math.inf, 40.0, 20.0, 40 / 3, 10.0]
    plans = shares_in_turn([first, Ask(17.5, 1, left_s)], 4)
    assert plans[0] == [Piece(0.0, 10.0, 3)]
    assert plans[1] == [Piece(0.0, 10.0, 1), Piece(10.0, 17.5, 4)]
    assert 1 not in shares_in_turn([first, Ask(17.4, 1, left_s)], 4)


@pytest.mark.parametrize(("due_s", "kept"), [(24.9, False), (25.0, True), (34.0, True)])
def test_a_job_that_makes_room_goes_on_with_what_is_left(due_s, kept):
    """Two GPUs. The first job has one until 10 s, then the second has both until 20 s. The third runs for 10 of its 15 s
    before, so it ends at 25 s."""
    rows = [(10.0, 1, 10.0), (20.0, 2, 10.0), (due_s, 1, 15.0)]
    promises = [Promise(due, j, gpus, left_s) for j, (due, gpus, left_s) in enumerate(rows)]
    assert all_on_time(promises, 2.0) == kept


def test_a_job_that_makes_room_twice_goes_on_twice():
    """Three GPUs. The last job runs until 10 s, from 20 to 30 s and from 40 s on; of its 25 s then 5 s are left."""
    rows = [(10.0, 2, 10.0), (20.0, 3, 10.0), (30.0, 2, 10.0), (40.0, 3, 10.0), (45.0, 1, 25.0)]
    for last_s, kept in ((45.0, True), (44.9, False)):
        rows[-1] = (last_s, 1, 25.0)
        promises = [Promise(due, j, gpus, left_s) for j, (due, gpus, left_s) in enumerate(rows)]
        assert all_on_time(promises, 3.0) == kept


@pytest.mark.parametrize(("policy", "of_a"), [("fair-share", 4), ("drf", 3)])
def test_a_fair_share_counts_gpus_alone(policy, of_a):
    """8 GPUs, 40 CPUs. A job of a has 1/8 of the GPUs and 1/4 of the CPUs, one of b 1/8 of the GPUs.
    By dominant share a, b, b, a, b, b, a and b start; by GPUs they take turns."""
    work = jobs("aaaabbbbbbbb", [100] * 12, [1] * 12, num_cpus=np.repeat([10.0, 0.001], [4, 8]))
    result = run(work, nodes(8, cpus=40.1), policy, tenants_of(work))
    assert (result.first_start_s[:4] == 0).sum() == of_a


def test_what_is_borrowed_uses_up_no_quota():
    """Of a's quota of 3 GPUs, j0 has 2; j1 has two that are lent. At 10 s j2 of one GPU is within the quota: j1 waits
    until it ends at 60 s, with 90 s left."""
    work = jobs("aaab", [100, 100, 50, 1], [2, 2, 1, 1], [0, 0, 10, 500])
    tenants = tenants_of(work, quota={"a": 3.0, "b": 1.0}, borrowing=True)
    result = run(work, nodes(4), "capacity", tenants)
    assert result.first_start_s.tolist() == [0.0, 0.0, 10.0, 500.0]
    assert result.completion_s.tolist() == [100.0, 150.0, 60.0, 501.0]


@pytest.mark.parametrize(
    ("gpus", "total", "stopped"),
    [([4, 4, 4, 4], 12, [0, 0, 1, 0]), ([4, 4, 1, 4], 9, [0, 1, 0, 0])],
)
def test_the_latest_borrowers_make_room_unless_they_fit_beside(gpus, total, stopped):
    """b's job takes back four GPUs. Of two borrowers of four the later one stops; one GPU would not do, so the earlier
    borrower stops, and the later one goes on."""
    work = jobs("aaab", [100] * 4, gpus, [0, 1, 2, 10])
    tenants = tenants_of(work, quota={"a": 4.0, "b": total - 4.0}, borrowing=True)
    result = run(work, nodes(total), "capacity", tenants)
    assert result.first_start_s.tolist() == [0.0, 1.0, 2.0, 10.0]
    assert result.preemptions.tolist() == stopped


def test_each_controller_has_its_part_of_the_quotas():
    """Quotas of 4 GPUs each, two controllers of 4 GPUs: on each one a has 2 for itself, and 2 that b takes back at 10 s."""
    work = jobs("a" * 8 + "b" * 4, [100] * 12, [1] * 12, [0] * 8 + [10] * 4)
    tenants = tenants_of(work, quota={"a": 4.0, "b": 4.0}, borrowing=True)
    result = run(work, nodes(4, 2, controllers=2), "capacity", tenants)
    assert result.first_start_s.tolist() == [0.0] * 8 + [10.0] * 4
    assert result.preemptions.tolist() == [0] * 4 + [1] * 4 + [0] * 4


def test_a_job_that_does_not_fit_stands_for_those_like_it(monkeypatch):
    """One of two GPUs is free. The first of 200 jobs of two GPUs is tried, the others are not."""
    tried = []
    start = Service.start
    monkeypatch.setattr(
        Service, "start", lambda self, job: [tried.append(job), start(self, job)][1]
    )
    work = jobs("a" * 201, [5] * 201, [1] + [2] * 200)
    result = run(work, nodes(2), "fair-share", tenants_of(work))
    at_first = tried[: tried.index(1, 2)]
    assert at_first == [0, 1]
    assert result.first_start_s[:3].tolist() == [0.0, 5.0, 10.0]
