"""The answer: its sentences, its refusals, and a log of a known rule by the forest."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from experiments.commands.when import seconds_of, time_of
from experiments.starts.answer import StartAnswer, answer, lines
from experiments.starts.forest import QUANTILES
from experiments.starts.history import History, Request
from experiments.starts.measured import Measured
from experiments.starts.snapshot import INPUTS
from tests.command import schedlab
from tests.errors import input_error

HOUR = 3600.0


def measured(coverage, loss_minutes=1.0, width_s=600.0, long=True):
    """A hundred jobs of one day, of which a part is inside, half of them waits of two hours."""
    inside = np.arange(100) < round(100 * coverage)
    wait_s = np.where(np.arange(100) % 2 == 0, 2 * HOUR if long else 10.0, 10.0)
    low_s = np.where(inside, 0.0, wait_s + 1)
    wide = np.full((100, len(QUANTILES)), 60.0 * loss_minutes)
    return Measured(np.arange(100), wait_s, np.zeros(100), wide, low_s, low_s + width_s + np.where(inside, wait_s, 0), (0, 0, 0))  # fmt: skip


def made(
    state=None, low_s=0.0, median_s=0.0, high_s=HOUR, is_forest=True, request=None, long=True, coverage=0.94, unsaid=None,
):  # fmt: skip
    seen = dict.fromkeys(INPUTS, 0.0) | {"in_use": 6.0, "free": 2.0} | (state or {})
    best, rest = measured(coverage, long=long), measured(0.86)
    return StartAnswer(
        request or Request(4.0, 8 * HOUR),
        median_s,
        low_s,
        high_s,
        seen,
        is_forest,
        unsaid or {},
        best,
        rest,
    )


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"free": 3, "enough_free_after_s": -1}, "too few GPUs are free: 3 of the 4 that it needs"),
        ({"free": 3, "enough_free_after_s": 7200}, "too few GPUs are free: 3 of the 4 that it needs; the running jobs leave enough after 2 h at the latest, by the times that they asked for"),
        ({"free": 3, "enough_free_after_s": 0}, "too few GPUs are free: 3 of the 4 that it needs"),
        ({"free": 4 - 1e-12, "waiting": 0}, "nothing: 4 GPUs are free and no job waits"),
        ({"free": 4, "waiting": 1}, "4 GPUs are free, so there is room; one job came before it"),
        ({"free": 9, "waiting": 12}, "9 GPUs are free, so there is room; 12 jobs came before it"),
        ({"free": 4}, "nothing: 4 GPUs are free and no job waits"),
    ],
)  # fmt: skip
def test_the_reason(state, told):
    assert made(state).reason == told


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"free": 3}, "too few GPUs are free: 3 of the 4 that it needs"),
        ({"free": 4}, "4 GPUs are free, in 2 partitions together: whether the job may use them, the log does not say; no job came before it"),
        ({"free": 4, "waiting": 3}, "4 GPUs are free, in 2 partitions together: whether the job may use them, the log does not say; 3 jobs came before it"),
    ],
)  # fmt: skip
def test_the_reason_where_there_are_partitions(state, told):
    assert replace(made(state), partitions=2).reason == told


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ((0, 0, 60), "median: at once; with 90 % between at once and at once"),
        ((0, 61, 119), "median: after 61 s; with 90 % between at once and after 119 s"),
        (
            (61, 7200, 200_000),
            "median: after 2 h; with 90 % between after 61 s and after 2.31 days",
        ),
    ],
)
def test_the_interval(times, told):
    low_s, median_s, high_s = times
    assert lines(made(low_s=low_s, median_s=median_s, high_s=high_s))[2] == f"start      {told}"


def test_all_lines():
    found = lines(made({"waiting": 2, "waiting_gpus": 9, "free": 2}))
    assert found[:2] == [
        "asked      4 GPUs for 8 h",
        "then       6 of 8 GPUs are in use; jobs that wait: 2, for 9 GPUs",
    ]
    assert (
        found[4]
        == "measured   such intervals held for 94 % of the last 100 jobs that had started, 94 % of those that waited for more than an hour; on the worst day for 94 %"
    )
    assert found[5].startswith("rule       the forest on the state of the queue: loss ")
    assert "; the plain rule, past waits of such jobs: held for 86 %, loss " in found[5]
    plain = lines(made(is_forest=False, long=False, request=Request(1.0, np.nan, "p", "ann")))
    assert plain[0] == "asked      1 GPU, partition p, user ann"
    assert (
        plain[4]
        == "measured   such intervals held for 94 % of the last 100 jobs that had started; on the worst day for 94 %"
    )
    assert plain[5].startswith("rule       the plain rule, past waits of such jobs: loss ")


@pytest.mark.parametrize(
    ("unsaid", "told"),
    [
        ({}, None),
        ({"--user": False, "--time": False}, None),
        ({"--user": True, "--time": False}, "note       not given: --user; the coverage is that of jobs with a user"),
        ({"--user": True, "--time": True}, "note       not given: --user and --time; the coverage is that of jobs with a user and a time limit"),
    ],
)  # fmt: skip
def test_what_the_request_does_not_say(unsaid, told):
    found = lines(made(unsaid=unsaid))
    assert found[6:-1] == ([told] if told else [])


def log_of(count=1_600, busy=True, seed=0):
    """Jobs of one GPU start at once; jobs of eight wait for an hour where the number of the hour is even."""
    rng = np.random.default_rng(seed)
    submit = np.arange(count) * 300.0
    gpus = np.where(rng.random(count) < 0.5, 1.0, 8.0)
    waits = np.where((gpus == 8) & (submit // HOUR % 2 == 0) & busy, HOUR + rng.random(count) * 60, rng.random(count) * 5)  # fmt: skip
    return History(
        submit, submit + waits, submit + waits + 600, gpus, np.full(count, 900.0),
        np.zeros(count, int), np.zeros(count, int), ["p"], ["ann"],
    )  # fmt: skip


def ask(log, gpus=8.0, at_s=None, **more):
    return answer(log, Request(gpus, 900.0, **more), at_s, lambda done, of_all: None)


@pytest.mark.long
def test_the_forest_knows_the_hour_that_the_plain_rule_does_not():
    log = log_of()
    at_s = 1_500 * 300.0 // (2 * HOUR) * 2 * HOUR + 1_830.0  # half past an even hour
    even, odd = ask(log, at_s=at_s), ask(log, at_s=at_s - HOUR)
    assert even.is_forest
    assert odd.is_forest
    assert even.measured.loss < even.other.loss
    assert 0.9 * HOUR < even.median_s <= even.high_s < 1.1 * HOUR
    assert odd.median_s < 60
    small = ask(log, gpus=1.0, at_s=at_s)
    assert small.median_s < 60
    assert even.measured.coverage >= 0.85


@pytest.mark.long
def test_what_comes_after_the_time_changes_nothing():
    log = log_of()
    at_s = 1_400 * 300.0 + 1
    later = np.where(log.start_s < at_s, log.start_s, log.start_s + 1e6)
    changed = replace(log, start_s=later, end_s=np.where(log.end_s < at_s, log.end_s, np.nan))
    one, two = ask(log, at_s=at_s), ask(changed, at_s=at_s)
    assert (one.median_s, one.low_s, one.high_s, one.state) == (
        two.median_s,
        two.low_s,
        two.high_s,
        two.state,
    )


@pytest.mark.parametrize(
    ("log", "more", "told"),
    [
        (log_of(900), {}, "894 jobs had started by then, expected at least 1,000"),
        (log_of(), {"at_s": 900 * 300.0}, "894 jobs had started by then"),
        (log_of(), {"at_s": 1e9}, "--at: got 1e+09 s, expected a time from the first job at 0 s to the last one at 479700 s"),
        (log_of(), {"at_s": -1.0}, "--at: got -1 s"),
        (log_of(busy=False), {}, "0.0 % of the jobs waited for more than a minute, expected a log with a queue"),
        (log_of(), {"partition": "x"}, "--partition: got 'x', expected one of the log: p"),
        (log_of(), {"gpus": 9.0}, "--gpus: got 9, expected at most 8, as the largest job of the log that had started"),
        (log_of(), {"user": "bob"}, "--user: got 'bob', expected one of the log: ann"),
    ],
)  # fmt: skip
def test_refusals(log, more, told):
    with input_error(told):
        ask(log, **more)


def test_starts_that_were_known_too_late():
    """All jobs come in the first second and wait for hours: nothing was known when they came."""
    log = log_of()
    submit = np.arange(1_600) / 1_600
    start = np.append(submit[:-1] + 7200, np.nan)
    late = replace(log, submit_s=np.append(submit[:-1], 1e6), start_s=start, end_s=start + 60)
    with input_error("intervals could be measured on", "expected 500 at least"):
        ask(late)


@pytest.mark.long
def test_a_log_whose_waits_grow_for_ever_gets_no_promise():
    """A job waits for half of the time that has passed, so each wait is longer than all before."""
    log = log_of()
    start = 1.5 * log.submit_s
    with input_error("nothing is promised"):
        ask(replace(log, start_s=start, end_s=start + 600))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "quantile_forest", None)
    with input_error("quantile-forest is not installed, expected pip install 'schedlab[when]'"):
        ask(log_of())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3600", 3600),
        ("90s", 90),
        ("30min", 1800),
        ("30 m", 1800),
        ("8h", 8 * HOUR),
        ("1.5h", 5400),
        ("2d", 172_800),
    ],
)
def test_times_that_are_asked_for(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "8x", "h", "-1h", "0", "1e9", "8 hours"])
def test_other_times(text):
    with input_error(f"--time: got {text!r}"):
        seconds_of(text)


def test_times_of_a_log():
    assert time_of("12.5", np.nan) == 12.5
    assert time_of("2024-01-01 01:00", 1_704_067_200.0) == 3600
    with input_error("--at: got '2024-01-01', expected seconds: the log has no dates"):
        time_of("2024-01-01", np.nan)
    with input_error("--at: got '2024-01-01T10:00Z', expected a time without a zone"):
        time_of("2024-01-01T10:00Z", 0.0)
    with input_error("--at: got 'soon', expected a date and time, or seconds"):
        time_of("soon", 0.0)


@pytest.mark.long
def test_the_command(tmp_path):
    log = log_of()
    rows = ["job_id,submit_s,start_s,end_s,num_gpus,requested_s,user"]
    for j, (submit, start, end, gpus) in enumerate(
        zip(log.submit_s, log.start_s, log.end_s, log.gpus, strict=True)
    ):
        rows.append(f"j{j},{submit},{start},{end},{gpus:g},900,ann")
    (tmp_path / "log.csv").write_text("\n".join(rows) + "\n")
    done = schedlab("when", tmp_path / "log.csv", "--gpus", 8, "--time", "15min", "--user", "ann")
    assert done.stdout.startswith("asked      8 GPUs for 15 min, user ann\n")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["asked", "then", "start", "reason", "measured", "rule", "note"]  # fmt: skip
