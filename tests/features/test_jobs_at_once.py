"""Jobs of a tenant that run at once: by hand, against a plain program, and under all kinds of decisions."""

from datetime import UTC, datetime

import numpy as np
import pytest

from simulator import Cluster, NodeType, Workload
from simulator.features.calendar import Calendar, StartRule, parse_hours
from simulator.features.failures import Failures, Outages
from simulator.features.tenants import tenants_of
from simulator.laws import Deterministic, Exponential
from tests.core.jobs import fixed, nodes, run


def by_user(who: str, duration_s, gpus, submit_s=None, **columns) -> Workload:
    """Jobs of the users whose names are the letters."""
    return fixed(submit_s or [0] * len(who), duration_s, gpus, user=list(who), **columns)


def test_jobs_that_wait_do_not_count():
    """b holds the node of type A until 100 s. Two jobs of a wait for it, and its third runs on the other type at once."""
    kinds = (NodeType("x", "A", 1), NodeType("y", "B", 1))
    work = by_user("baaa", [100, 10, 10, 50], [1] * 4, gpu_types=["A", "A", "A", "B"])
    limit = tenants_of(work, "user", max_jobs={"a": 2})
    result = run(work, Cluster(kinds, 2, node_type_of=(0, 1)), "fifo-backfill", limit)
    assert result.first_start_s.tolist() == [0, 100, 110, 0]
    assert result.parts["tenants"].held_s.tolist() == [0, 0, 0, 0]


def test_of_a_decision_that_starts_more_the_first_start():
    """Two of a's three jobs may run; b's, which comes after all of them, has the third GPU."""
    work = by_user("aaab", [100, 50, 10, 10], [1] * 4)
    limit = tenants_of(work, "user", max_jobs={"a": 2})
    result = run(work, nodes(3), "fifo-strict", limit)
    assert result.first_start_s.tolist() == [0, 0, 50, 0]
    assert result.parts["tenants"].held_s.tolist() == [0, 0, 50, 0]
    assert result.summary()["held_jobs"] == 1


def test_a_decision_that_stops_a_job_of_a_user_leaves_room_for_others_of_it():
    """Two jobs of one GPU stop a longer one of two GPUs: two run at once, as many as a may, so that nothing is decided twice."""
    work = by_user("aaa", [100, 10, 20], [2, 1, 1], [0, 5, 5])
    plain = run(work, nodes(2), "srpt")
    assert plain.first_start_s.tolist() == [0, 5, 5]
    limited = run(work, nodes(2), "srpt", tenants_of(work, "user", max_jobs=2))
    assert limited.completion_s.tolist() == plain.completion_s.tolist()
    assert limited.summary()["decisions"] == plain.summary()["decisions"]


def test_the_order_of_submission_stays():
    """j1 of a was submitted before j2 of b. Both wait for the GPU when j0 of a ends, and j1 is first."""
    work = by_user("aab", [100, 10, 10], [1] * 3, [0, 1, 2])
    result = run(work, nodes(1), "fifo-strict", tenants_of(work, "user", max_jobs=1))
    assert result.first_start_s.tolist() == [0, 100, 110]


def test_a_job_that_is_set_aside_leaves_when_its_patience_is_over():
    work = by_user("aa", [100, 10], [1, 1], patience_s=[1e6, 30.0])
    result = run(work, nodes(2), "fifo-strict", tenants_of(work, "user", max_jobs=1))
    assert result.completion_s.tolist() == [100, 30]
    assert result.parts["tenants"].held_s.tolist() == [0, 30]


def test_with_hours_of_its_own():
    """a runs one job at a time, and its second only from 2:00 on: it comes back when both allow it."""
    for lasts_h, starts_h in ((1, 2), (3, 3)):
        work = by_user("aa", [lasts_h * 3600, 60], [1, 1])
        rule = StartRule(np.array([False, True]), parse_hours("02:00-24:00"))
        hours = Calendar([rule], datetime(2024, 1, 1, tzinfo=UTC))
        for parts in (
            (tenants_of(work, "user", max_jobs=1), hours),
            (hours, tenants_of(work, "user", max_jobs=1)),
        ):
            result = run(work, nodes(2), "fifo-strict", *parts)
            assert result.first_start_s.tolist() == [0, starts_h * 3600]


def test_hours_that_end_while_a_job_is_set_aside():
    """j1 may start until 1:00; a's first job runs until 2:00, so it starts on the next day."""
    work = by_user("aa", [7200, 60], [1, 1])
    rule = StartRule(np.array([False, True]), parse_hours("00:00-01:00"))
    parts = tenants_of(work, "user", max_jobs=1), Calendar([rule], datetime(2024, 1, 1, tzinfo=UTC))
    assert run(work, nodes(2), "fifo-strict", *parts).first_start_s.tolist() == [0, 86_400]


def random_jobs(seed: int, count: int = 120) -> Workload:
    rng = np.random.default_rng(seed)
    return fixed(
        np.floor(np.cumsum(rng.exponential(20, count))), np.ceil(rng.exponential(120, count)), rng.integers(1, 4, count),
        user=[f"u{k}" for k in rng.integers(0, 3, count)],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_first_come_first_fit_by_a_plain_program(seed):
    """Each second: in order of submission, a job starts that fits and whose user runs fewer than two."""
    work = random_jobs(seed)
    result = run(work, nodes(8), "fifo-backfill", tenants_of(work, "user", max_jobs=2))
    submit, last, gpus = work.submit_s, work.performance.fixed_s, work.num_gpus
    start = np.full(len(work), np.inf)
    t = 0.0
    while np.isinf(start).any():
        for j in range(len(work)):
            runs = (start <= t) & (start + last > t)
            own = sum(runs[k] and work.user[k] == work.user[j] for k in range(len(work)))
            if (
                submit[j] <= t
                and np.isinf(start[j])
                and own < 2
                and gpus[runs].sum() + gpus[j] <= 8
            ):
                start[j] = t
        ends = (start + last)[np.isfinite(start)]
        t = min([*ends[ends > t].tolist(), *submit[submit > t].tolist()], default=np.inf)
    assert result.first_start_s.tolist() == start.tolist()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    "policy", ["fifo-strict", "sjf", "srpt", "easy-backfill", "conservative-backfill", "fair-share", "tiresias"]
)  # fmt: skip
def test_no_user_runs_more_at_any_time(policy, fails):
    work = random_jobs(7)
    cause = Failures([Outages.of_each_node(2, Exponential(900.0), Deterministic(60.0))])
    limit = tenants_of(work, "user", max_jobs={"u0": 1, "u1": 3})
    result = run(work, nodes(4, 2), policy, limit, *([cause] if fails else []))
    assert np.isfinite(result.completion_s).all()
    table = result.schedule_table().groupby(["job_id", "start_s"])["end_s"].max().reset_index()
    user = dict(zip(work.job_id, work.user, strict=True))
    for name, most in (("u0", 1), ("u1", 3)):
        own = table[table["job_id"].map(user) == name]
        at_once = [
            ((own["start_s"] <= t) & (own["end_s"] > t)).sum() for t in own["start_s"].tolist()
        ]
        assert max(at_once) == most
