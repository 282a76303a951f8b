"""The state at a submission: by hand, and from nothing that comes later."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.starts.history import History, Request
from experiments.starts.snapshot import INPUTS, snapshots, state_at

NAN = np.nan


def history(rows, origin_s=NAN):
    """Rows: submission, start, end, GPUs, time asked for, partition, user."""
    submit, start, end, gpus, asked, partition, user = (
        np.array(c) for c in zip(*rows, strict=True)
    )
    return History(submit, start, end, gpus, asked, partition, user, ["p", "q"], ["a", "b", "c"], origin_s)  # fmt: skip


HAND = [
    (0.0, 0.0, 100.0, 4.0, 200.0, 0, 0),
    (10.0, 10.0, 50.0, 2.0, 60.0, 1, 1),
    (20.0, 100.0, 400.0, 3.0, 500.0, 0, 1),
    (30.0, NAN, 90.0, 1.0, 20.0, 0, 2),  # it leaves without having run
    (60.0, 160.0, 170.0, 1.0, 30.0, 1, 0),
    (120.0, 130.0, 140.0, 2.0, 50.0, 0, 1),
]


def seen(row, rows=HAND, **more):
    return dict(zip(INPUTS, snapshots(history(rows, **more))[row].tolist(), strict=True))


def test_a_state_by_hand():
    """At 60 s j0 runs on 4 GPUs of the 6 that were in use at most, for 140 s more at the longest; j2 and j3 wait."""
    found = seen(4)
    assert found == {
        "hour": pytest.approx(1 / 60), "weekday": 0, "gpus": 1, "asked_s": 30, "partition": 1, "user": 0,
        "in_use": 4, "free": 2, "running": 1, "waiting": 2, "waiting_gpus": 4, "waiting_gpu_s": 1520,
        "waiting_not_longer": 1, "waiting_as_wide": 2, "left_gpu_s": 560, "enough_free_after_s": 0, "oldest_wait_s": 40,
        "own_running": 1, "own_running_gpus": 4, "own_waiting": 0, "own_waiting_gpus": 0, "partition_waiting": 0,
        "last_wait_s": 0, "last_waits_s": 0, "last_own_wait_s": 0, "last_partition_wait_s": 0, "since_start_s": 50,
    }  # fmt: skip


def test_who_left_waits_no_more_and_waits_that_are_over_are_known():
    """At 120 s j2 runs since 100 s, after 80 s, and asks for 480 s more; j4 waits."""
    found = seen(5)
    wanted = {"in_use": 3, "running": 1, "waiting": 1, "left_gpu_s": 1440, "last_wait_s": 80, "last_own_wait_s": 80,
              "own_running": 1, "last_partition_wait_s": 80, "since_start_s": 20, "oldest_wait_s": 60}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert found["last_waits_s"] == pytest.approx(80 / 3)


@pytest.mark.parametrize(
    ("gpus", "after_s"),
    [(2.0, 0.0), (3.0, 140.0), (6.0, 140.0), (7.0, -1.0)],
)
def test_when_enough_would_be_free(gpus, after_s):
    """Without the limit of the job that runs it is not known."""
    rows = [*HAND[:4], (60.0, NAN, NAN, gpus, 10.0, 0, 0)]
    assert seen(4, rows)["enough_free_after_s"] == after_s
    without = [(*HAND[0][:4], NAN, 0, 0), *rows[1:]]
    assert seen(4, without)["enough_free_after_s"] == (0.0 if gpus == 2 else -1.0)
    assert seen(4, without)["left_gpu_s"] == 0.0


def test_parts_of_gpus_leave_no_rest():
    """0.1 and 0.2 of a GPU came and went: nothing is in use."""
    rows = [
        (0.0, 0.0, 9.0, 0.1, 9.0, 0, 0),
        (1.0, 1.0, 8.0, 0.2, 9.0, 0, 0),
        (20.0, 20.0, 21.0, 0.3, 9.0, 0, 0),
    ]
    assert seen(2, rows)["in_use"] == 0.0
    assert seen(2, rows)["enough_free_after_s"] == 0.0


def test_clocks_and_days_of_the_site():
    """Tuesday 2 January 2024, 23:00, and 60 s later."""
    found = seen(4, origin_s=1_704_236_400.0)
    assert (found["hour"], found["weekday"]) == (pytest.approx(23 + 1 / 60), 1)


def random_history(rng, count=400):
    submit = np.sort(rng.integers(0, 20_000, count)).astype(float)  # many at the same second
    start = submit + rng.integers(0, 3, count) * rng.integers(0, 900, count)
    end = start + rng.integers(0, 2_000, count)
    start[rng.random(count) < 0.05] = NAN
    columns = rng.integers(1, 9, count).astype(float), rng.integers(60, 4_000, count).astype(float)
    return History(submit, start, end, *columns, rng.integers(0, 2, count), rng.integers(0, 9, count),
                   ["p", "q"], list("abcdefghi"))  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_nothing_later_is_looked_at(seed):
    """All that happens at a submission or later is altered: the inputs of twenty jobs stay the same."""
    rng = np.random.default_rng(seed)
    log = random_history(rng)
    whole = snapshots(log)
    for job in rng.choice(np.arange(50, len(log)), 20, replace=False).tolist():
        at_s = log.submit_s[job]
        later = rng.permutation(np.arange(job + 1, len(log)))
        changed = {
            n: getattr(log, n).copy()
            for n in ("gpus", "asked_s", "partition", "user", "start_s", "end_s")
        }
        for name in ("gpus", "asked_s", "partition", "user"):
            changed[name][job + 1 :] = changed[name][later]
        for name in ("start_s", "end_s"):
            future = ~(changed[name] < at_s)
            changed[name][future] = at_s + rng.integers(0, 5_000, future.sum())
            changed[name][future & (rng.random(len(log)) < 0.3)] = NAN
        altered = replace(log, **changed)
        same = submitted_before(log, at_s)
        found = snapshots(altered)[job]
        assert same.any()
        assert found.tolist() == whole[job].tolist()
        request = Request(log.gpus[job], log.asked_s[job])
        state = state_at(altered, at_s).seen(
            at_s, request, int(log.partition[job]), int(log.user[job])
        )
        assert state == pytest.approx(whole[job].tolist())


def submitted_before(log, at_s):
    return log.submit_s < at_s


def test_only_the_last_rows_are_worked_out():
    log = random_history(np.random.default_rng(9))
    late = snapshots(log, 350)
    assert not late[:350].any()
    assert (late[350:] == snapshots(log)[350:]).all()
