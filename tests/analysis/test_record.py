"""Recorded waits and what they tell of rules: numbers by hand, by sums of another kind, and sentences of each branch."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.analysis.record import record_lines
from experiments.analysis.record_rules import Queue, common_stop, day_rule, held, stops, stretches
from experiments.analysis.trace import describe
from experiments.pictures.jobs import draw_jobs
from simulator import Workload
from simulator.model.recorded import Recorded
from simulator.workloads.registry import read_jobs
from tests.command import done
from tests.core.jobs import fixed

FACTS = Path(os.environ.get("SCHEDLAB_FACTS") or "/nonexistent")
HOUR_S, DAY_S = 3600.0, 86_400.0
MONDAY_S = 4 * DAY_S  # 5 January 1970


def record(rows: list[tuple[float, float, float, float]], **more: Any) -> Recorded:
    """Of rows with submission, start, end and GPUs."""
    submit_s, start_s, end_s, gpus = np.array(rows, dtype=np.float64).T
    names = ("",) * len(rows)
    columns = {"state": names, "partition": names, "user": names, "origin_s": np.nan} | more
    return Recorded(submit_s, start_s, end_s, gpus, **columns)


def logged(found: Recorded) -> Workload:
    gpus = np.ceil(found.num_gpus).astype(int).tolist()
    lasts = np.nan_to_num(found.end_s - found.recorded_start_s, nan=60.0)
    return replace(fixed(found.submit_s.tolist(), lasts.tolist(), gpus), record=found)


def told(found: Recorded, nodes: tuple[int, int] | None = (1, 4), **jobs: Any) -> list[str]:
    return record_lines(describe(replace(logged(found), **jobs), "csv", None, nodes))


def line(lines: list[str], start: str) -> str:
    return next((each for each in lines if each.startswith(start)), "")


def test_not_capacity_by_partition():
    """4 GPUs, of which a holds 3 for 10 h. b asks for 1 and waits 10 h with room, c for 2 and 10 h without, d not at all."""
    hours = [(0, 0, 10, 3), (0, 10, 20, 1), (0, 10, 20, 2), (30, 30, 31, 1)]
    rows = [(a * HOUR_S, b * HOUR_S, c * HOUR_S, g) for a, b, c, g in hours]
    lines = told(record(rows, partition=["x", "x", "y", ""]))
    at = lines.index(line(lines, "not capacity"))
    assert lines[at].startswith("not capacity 50 %")
    assert lines[at + 1] == "  by partition, on any nodes: x 100 %, y 0 %, (none) no wait"
    assert not line(told(record(rows, partition=["x"] * 4)), "  by partition, of")


# -- stretches, held jobs, limits --------------------------------------------------------------


def test_times_without_starts_though_the_first_job_fits():
    """4 GPUs. a holds 3 until 10 h; b asks for 2, c for 1 behind it; both start at 16 h, d at 18 h.

    From 10 to 16 h b is the first and fits. From 1 to 10 h it does not, c does, but is not the first. d waits from 16
    to 18 h with room; its wait begins anew with the starts at 16 h.
    """
    hours = [(0, 0, 10, 3), (1, 16, 20, 2), (2, 16, 20, 1), (3, 18, 20, 1)]
    queue = Queue.of(record([(a * HOUR_S, b * HOUR_S, c * HOUR_S, g) for a, b, c, g in hours]), 4)
    assert (stretches(queue) / HOUR_S).tolist() == [[10, 16], [16, 18]]
    assert (stretches(queue, 3 * HOUR_S) / HOUR_S).tolist() == [[10, 16]]
    assert (queue.room_s() / HOUR_S).tolist() == [0, 6, 14, 15]
    assert held(queue, 14 * HOUR_S).tolist() == [2, 3]


def test_stretches_at_random_minute_by_minute():
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 400, 50)).astype(float)
    start = submit + rng.integers(0, 90, 50) * rng.integers(0, 2, 50)
    end, gpus = start + rng.integers(1, 40, 50), rng.integers(1, 5, 50).astype(float)
    found = stretches(Queue.of(record([*zip(submit, start, end, gpus, strict=True)]), 10), 5.0)
    expected, begin = [], None
    for t in range(int(end.max()) + 1):
        waits = [j for j in range(50) if submit[j] <= t < start[j]]
        free = 10 - gpus[(start <= t) & (t < end)].sum()
        fits = bool(waits) and gpus[waits[0]] <= free
        if begin is not None and (not fits or t in start):
            expected += [[begin, t]] if t - begin >= 5 else []
            begin = None
        begin = t if fits and begin is None else begin
    assert len(expected) > 3
    assert found.tolist() == expected


def test_a_user_stops_at_a_number_though_another_pool_has_room():
    """Of two pools of 4 and 40 GPUs. a runs two jobs of a day at a time on the first, in which one more would fit.

    Its job of the second pool asks for 30, of which b holds 20, so that it waits without room for 60 days. Without pools,
    there seems to be room for it, and a waits mostly with fewer than two jobs.
    """
    rows = [(0, j // 2 * DAY_S, (j // 2 + 1) * DAY_S, 1) for j in range(40)]
    rows += [(0, 60 * DAY_S, 61 * DAY_S, 30), (0, 0, 60 * DAY_S, 20)]
    users, pool = ["a"] * 41 + ["b"], np.array([0] * 40 + [1, 1])
    found = record(rows)
    (stop,) = stops(Queue.of(found, 44, pool, [4, 40]), users)
    assert (stop.name, stop.most, stop.part) == ("a", 2, 1.0)
    assert stop.waited_s == 19 * DAY_S
    assert stops(Queue.of(found, 54), users) == []


@pytest.mark.parametrize(
    ("limits", "times", "stop"),
    [
        ((2, 2, 2), 4, (("u0", "u1", "u2"), 2)),
        ((2, 2, 2), 3, (("u0", "u1", "u2"), 2)),
        ((2, 2, 2), 2, None),  # seldom
        ((2, 2), 4, None),
        ((2, 2, 2, 3), 4, None),  # one runs more
        ((1, 1, 1), 4, None),
        ((3, 2, 3, 1, 3), 4, (("u0", "u2", "u4"), 3)),
    ],
)
def test_a_number_of_jobs_that_several_users_reach_and_nobody_exceeds(limits, times, stop):
    """Each user's jobs are all there at the begin, and run so many at a time, with room for more."""
    rows, users = [], []
    for k, most in enumerate(limits):
        rows += limited(most, times * most)
        users += [f"u{k}"] * (times * most)
    assert common_stop(Queue.of(record(rows), 100), users) == stop


def test_users_that_do_not_wait_at_the_number_have_no_limit():
    """The same, where the machine is full: nobody waits with room."""
    rows = [row for _ in range(3) for row in limited(2, 8)]
    users = [f"u{k}" for k in range(3) for _ in range(8)]
    assert common_stop(Queue.of(record(rows), 6), users) is None


def limited(most: int, count: int = 40) -> list[tuple[float, float, float, float]]:
    """Jobs of a day each, submitted at once, of which so many run at a time."""
    return [(0, j // most * DAY_S, (j // most + 1) * DAY_S, 1) for j in range(count)]


def test_a_user_who_stops_at_a_number_of_running_jobs_is_named():
    """Ann runs four at a time and waits with room; what bob waits for is the machine, cy does not wait."""
    rows = limited(4)
    free = [(j * DAY_S, j * DAY_S, j * DAY_S + 60, 1) for j in range(25)]
    both = [(*row, "ann") for row in rows] + [(*row, "cy") for row in free]
    both.sort(key=lambda row: row[0])
    names = [row[-1] for row in both]
    queue = Queue.of(record([row[:-1] for row in both]), 100)
    (stop,) = stops(queue, names)
    assert stop == ("ann", 4, 9 * DAY_S, 1)
    assert stops(Queue.of(record([row[:-1] for row in both]), 4), names) == []


@pytest.mark.parametrize(
    ("count", "most", "found"), [(40, 1, 0), (19, 4, 0), (8, 4, 0), (40, 4, 1)]
)
def test_one_at_a_time_or_few_jobs_tell_no_limit(count, most, found):
    queue = Queue.of(record(limited(most, count)), 100)
    assert len(stops(queue, ["u"] * count)) == (1 if found else 0)


# -- hours ---------------------------------------------------------------------------------------


def evenings(long: int, at_hour: int = 18, origin_s: float = MONDAY_S) -> tuple[Recorded, Any]:
    """Of 120 days, five a week: so many of four long jobs start in an hour, all else is spread."""
    rows, asked = [], []
    for day in range(120):
        for k in range(8):
            hour = at_hour if k < long else (3 * k + day) % 24
            rows.append(
                (day * DAY_S, day * DAY_S + hour * HOUR_S, day * DAY_S + hour * HOUR_S + 60, 1)
            )
            asked.append(10 * HOUR_S if k < 4 else HOUR_S / 2)
    return record(rows, origin_s=origin_s), np.array(asked)


def test_long_jobs_of_one_hour_are_a_rule():
    """All four of four start at 18:00; the lowest limit that parts them is 1 h."""
    rule = day_rule(*evenings(4))
    assert rule is not None
    assert (rule.longer_h, rule.hour, rule.share) == (1, 18, 1)
    assert rule.others < 0.1


@pytest.mark.parametrize(
    ("long", "origin_s", "asked"),
    [(0, MONDAY_S, True), (8, MONDAY_S, True), (4, np.nan, True), (4, MONDAY_S, False)],
    ids=["spread", "all jobs", "no dates", "no limits, and short runs"],
)
def test_no_rule_where_hours_are_spread_or_all_jobs_have_them(long, origin_s, asked):
    found, asked_s = evenings(long, origin_s=origin_s)
    assert day_rule(found, asked_s if asked else np.full(len(found), np.nan)) is None


# -- sentences -------------------------------------------------------------------------------------


def test_waits_use_and_room_in_words():
    """4 GPUs for 20 h are 80 GPU-h, of which 30 + 8 + 4 + 2 are in use; of 43 h of waiting 35 are with room."""
    hours = [(0, 0, 10, 3), (1, 16, 20, 2), (2, 16, 20, 1), (3, 18, 20, 1)]
    rows = [(a * HOUR_S, b * HOUR_S, c * HOUR_S, g) for a, b, c, g in hours]
    found = record(
        rows, user=("a", "b", "b", "a"), state=("COMPLETED", "FAILED", "COMPLETED", "COMPLETED")
    )
    lines = told(found)
    assert line(lines, "recorded") == (
        "recorded   4 waits: mean 11 h, median 14.5 h, p95 15 h, 25 % at most a minute"
    )
    assert line(lines, "  by GPUs") == (
        "  by GPUs      mean wait 1 14.5 h (2 jobs), 2 15 h (1 job), 3 0 s (1 job)"
    )
    assert (
        line(lines, "  by user") == "  by user      mean wait a 7.5 h (2 jobs), b 14.5 h (2 jobs)"
    )
    assert line(lines, "  by partition") == ""
    assert line(lines, "use") == (
        "use        55 % of the 4 GPUs of the cluster, from the first start to the last end; at most 4 at once"
    )
    assert line(lines, "not capacity").startswith("not capacity 80 % of the waiting")
    assert [each.split() for each in lines[:2]] == [
        ["states", "COMPLETED", "3", "jobs", "75", "%,", "36.0", "GPU-hours", "82", "%"],
        ["FAILED", "1", "jobs", "25", "%,", "8.0", "GPU-hours", "18", "%"],
    ]
    assert "2 times no job started for an hour or more" in line(lines, "rules")
    assert "8 h in all, the longest 6 h, 10 h after the first submission" in line(lines, "rules")


@pytest.mark.parametrize(
    ("free_h", "said"),
    [(9, ": capacity is not what limits, and more nodes would not shorten these waits"),
     (5, ": not only capacity limits, and more nodes would shorten only a part of these waits"),
     (2, " free")],
)  # fmt: skip
def test_what_room_says_of_capacity(free_h, said):
    """One of 4 GPUs waits for 10 h, for so many of them with room."""
    rows = [(0, 0, (10 - free_h) * HOUR_S, 4), (0, 10 * HOUR_S, 11 * HOUR_S, 1)]
    words = line(told(record(rows)), "not capacity")
    assert words.startswith(f"not capacity {10 * free_h} % of the waiting")
    assert words.endswith(said)


def test_a_job_without_an_end_holds_its_gpus_to_the_last():
    """2 GPUs from 0 on, and 3 from 1 h to 2 h: 5 at once, by both sums, and the queue has none free of 5."""
    found = record([(0, 0, np.nan, 2), (0, HOUR_S, 2 * HOUR_S, 3), (0, np.nan, np.nan, 9)])
    assert found.most_at_once() == (5, HOUR_S)
    assert Queue.of(found, 5).free.min() == 0
    assert "of the 5 GPUs in use at most" in line(told(found, None), "use")
    assert record([(0, np.nan, np.nan, 9)]).most_at_once()[0] == 0


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        ([2048, 256, 1024], "256 0 s (1 job), 1,024 0 s (1 job), 2,048 0 s (1 job)"),
        ([0.5, 0.00001], "1e-05 0 s (1 job), 0.5 0 s (1 job)"),
        ([1500, 0.25, 1, 0.5, 3, 2], "below 1 0 s (2 jobs), 1 0 s (1 job), 2-3 0 s (2 jobs), 1024-2047 0 s (1 job)"),
    ],
)  # fmt: skip
def test_sizes_in_the_order_of_their_numbers(gpus, words):
    rows = [(0, 0, HOUR_S, g) for g in gpus]
    assert line(told(record(rows)), "  by GPUs") == f"  by GPUs      mean wait {words}"


def test_more_in_use_than_there_is_and_no_cluster():
    rows = [(0, 0, HOUR_S, 3), (HOUR_S / 2, HOUR_S / 2, 2 * HOUR_S, 3)]
    assert line(told(record(rows)), "use").endswith(
        "at most 6 at once, more than the cluster has, first 0.5 h after the first submission"
    )
    assert line(told(record(rows), None), "use") == (
        "use        62 % of the 6 GPUs in use at most, from the first start to the last end"
    )
    assert line(told(record(rows)), "not capacity") == ""


def test_hours_and_weekdays_of_dates():
    """Three jobs of Monday at 9:00, one of Tuesday at 9:00, all started at noon of that day."""
    at = [9 * HOUR_S] * 3 + [33 * HOUR_S]
    rows = [(t, t + 3 * HOUR_S, t + 4 * HOUR_S, 1) for t in at]
    lines = told(record(rows, origin_s=MONDAY_S))
    assert line(lines, "clock") == (
        "clock      most submissions between 9:00 and 10:00 (100 %), fewest between 0:00 and 1:00 (0 %); "
        "most starts between 12:00 and 13:00 (100 %), fewest between 0:00 and 1:00 (0 %)"
    )
    assert line(lines, "weekdays").startswith(
        "weekdays   of the submissions: Mon 75 %, Tue 25 %, Wed 0 %"
    )
    assert line(told(record(rows)), "clock") == ""


def test_rules_in_words():
    found, asked_s = evenings(4)
    assert line(told(found, requested_s=asked_s), "rules").startswith(
        "rules      100 % of the weekday starts of jobs that asked for more than 1 h lie between 18:00 and 19:00, and "
    )
    lines = told(record(limited(4), user=("ann",) * 40), (25, 4))
    assert (
        "rules      1 user waits while enough GPUs are free and never has more than this number of running jobs: ann 4"
        in lines
    )
    assert (
        "rules      32 jobs waited for 2 days or more while their GPUs were free; the longest wait is 9 days, "
        "of a job submitted 0 h after the first submission" in lines
    )


def test_a_log_without_starts_says_nothing_of_them():
    assert record_lines(describe(fixed([0.0, 1.0], [60.0, 60.0], [1, 1]), "csv")) == []


def test_a_log_with_dates_and_states_alone_tells_these():
    rows = [(9 * HOUR_S, np.nan, np.nan, 1), (9 * HOUR_S, np.nan, np.nan, 1)]
    lines = told(record(rows, origin_s=MONDAY_S, state=("FAILED", "COMPLETED")))
    assert [each.split()[:2] for each in lines] == [
        ["states", "COMPLETED"], ["FAILED", "1"], ["clock", "most"], ["weekdays", "of"],
    ]  # fmt: skip
    assert "starts" not in line(lines, "clock")


@pytest.mark.long
def test_the_picture_has_waits_and_use(tmp_path):
    jobs = logged(record([(0, 0, HOUR_S, 3), (5, HOUR_S, 2 * HOUR_S, 3)]))
    trace = describe(jobs, "csv", None, (1, 4))
    out = draw_jobs(
        tmp_path / "a.svg", "t", jobs.submit_s, trace.gpus, trace.duration_s, trace.by_hour, 4, jobs.record
    )  # fmt: skip
    text = out.read_text()
    assert "Recorded waits" in text
    assert "Recorded use" in text


def test_the_command_prints_the_record(tmp_path):
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit_time_s,start_time_s,duration_s,num_gpus\na,0,0,3600,2\nb,0,3600,60,2\n"
    )
    printed = done(
        "show", "trace", str(tmp_path / "jobs.csv"), "--nodes", "1", "--gpus", "2", "--out", str(tmp_path / "a.svg")
    )  # fmt: skip
    assert "recorded   2 waits: mean 30 min, median 30 min" in printed.stdout
    assert "not capacity 0 % of the waiting" in printed.stdout


# -- a log of a real site --------------------------------------------------------------------------


@pytest.mark.skipif(not FACTS.is_dir(), reason="SCHEDLAB_FACTS names no folder of collected logs")
def test_kth_by_simple_sums():
    """With sums of its own over each instant: 53 % of the waiting with room, 104 in use, 58 % of long starts at 18:00."""
    jobs = read_jobs(FACTS / "logs" / "kth_sp2.swf.gz")
    found = jobs.record
    assert found is not None
    changes: dict[float, float] = {}
    for start, end, gpus in zip(found.recorded_start_s, found.end_s, found.num_gpus, strict=True):
        changes[start] = changes.get(start, 0) + gpus
        changes[end] = changes.get(end, 0) - gpus
    times = np.array(sorted(changes))
    in_use = np.cumsum([changes[t] for t in times.tolist()])
    assert in_use.max() == 104
    room = 0.0
    for submit, start, gpus in zip(
        found.submit_s, found.recorded_start_s, found.num_gpus, strict=True
    ):
        if start == submit:
            continue
        first, last = np.searchsorted(times, [submit, start], side="right") - 1
        edges = np.clip(np.append(times[max(first, 0) : last + 1], start), submit, start)
        if first < 0:
            room += edges[0] - submit
        room += np.diff(edges)[in_use[max(first, 0) : last + 1] <= 100 - gpus].sum()
    assert room / found.wait_s.sum() == pytest.approx(0.53, abs=0.005)
    lines = told_of_kth = record_lines(describe(jobs, "swf", None, (100, 1)))
    assert line(lines, "recorded") == (
        "recorded   28,481 waits: mean 4.27 h, median 5 min, p95 23.6 h, 39 % at most a minute"
    )
    assert line(lines, "not capacity").startswith("not capacity 53 % of the waiting")
    assert "at most 104 at once, more than the cluster has" in line(lines, "use")
    assert line(told_of_kth, "rules").startswith(
        "rules      58 % of the weekday starts of jobs that asked for more than 4 h lie between 18:00 and 19:00"
    )
