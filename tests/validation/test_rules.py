"""Rules that a record suggests, of records made by hand."""

import numpy as np
import pytest

from experiments.validation import validating
from experiments.validation.answer import time_of
from experiments.validation.calibrating import Calibration, HeldOut, Tried
from experiments.validation.rules import Rule, suggested
from experiments.validation.validating import validate
from experiments.validation.writing import numbers
from simulator.model.recorded import Recorded
from simulator.statistics import Estimate
from tests.validation.made_logs import made_log, scenario

HOUR_S = 3600
MONDAY_S = 1_704_067_200  # 2024-01-01


def hours_of(*kinds: tuple[float, range]) -> list[tuple[tuple[int, str], ...]]:
    """What is suggested where, on 20 weekdays, a job of each kind starts at each of its hours; a kind asks for hours."""
    days = [day for day in range(28) if day % 7 < 5]
    rows = [
        (24 * day + hour % 24, asked) for day in days for asked, hours in kinds for hour in hours
    ]
    start_s, asked_s = HOUR_S * np.array(sorted(rows), dtype=np.float64).T
    no = ("",) * len(rows)
    ones = np.ones(len(rows))
    record = Recorded(start_s, start_s, start_s + 60, ones, no, no, no, MONDAY_S)
    return [rule.hours for rule in suggested(record, asked_s, 100.0)]


def evening(first: int, last: int) -> range:
    """Hours from ``first`` on over midnight until before ``last``."""
    return range(first, last + 24)


DAY = range(24)


def test_long_jobs_that_start_in_the_evening():
    assert hours_of((1, DAY), (6, evening(18, 6))) == [
        ((HOUR_S, "mon-fri 18:00-06:00, mon 00:00-06:00"),)
    ]


def test_each_limit_of_time_has_the_hours_that_lower_ones_leave():
    """Jobs of 3 h do not start from 15:00 to 18:00, those of 6 h and 10 h not by day: two rules, and none of 8 h."""
    short, middle, long = [(1, DAY), *[(1.5, DAY)] * 8], (3, evening(18, 15)), evening(18, 6)
    afternoon = ((2 * HOUR_S, "mon-fri 18:00-15:00, mon 00:00-15:00"),)
    by_day = ((4 * HOUR_S, "mon-fri 18:00-06:00, mon 00:00-06:00"),)
    assert hours_of(*short, middle, (6, long), (10, long)) == [afternoon, by_day]
    # some jobs of 3 h start at 15:00: the rule of the others is the clearer one
    some = [*[middle] * 8, (3, range(15, 16))]
    assert hours_of(*short, *some, (6, long), (10, long)) == [by_day, afternoon]


def test_jobs_that_start_at_any_hour_have_no_rule():
    assert hours_of((1, DAY), (6, DAY)) == []


def test_two_hours_of_a_day_are_no_rule():
    assert hours_of((1, DAY), (6, evening(18, 16))) == []
    assert hours_of((1, DAY), (6, evening(18, 15))) == [
        ((HOUR_S, "mon-fri 18:00-15:00, mon 00:00-15:00"),)
    ]


DAY_S = 24 * HOUR_S


def limited(most: int, count: int = 40, gpus: int = 1) -> list[tuple[float, float, float, int]]:
    """Jobs of a day each, submitted at once, of which so many run at a time."""
    return [(0, j // most * DAY_S, (j // most + 1) * DAY_S, gpus) for j in range(count)]


def found_in(total: float = 100.0, whose: str = "user", **of) -> list[tuple]:
    """Words, settings and outages of the rules that jobs of some users or partitions suggest."""
    rows = [(*row, name) for name, own in of.items() for row in own]
    rows.sort(key=lambda row: row[0])
    submit_s, start_s, end_s, gpus = np.array([row[:4] for row in rows], dtype=float).T
    names = {"state": [""] * len(rows), "partition": [""] * len(rows), "user": [""] * len(rows)}
    names[whose] = [row[4] for row in rows]
    names = {key: tuple(own) for key, own in names.items()}
    log = Recorded(submit_s, start_s, end_s, gpus, **names, origin_s=np.nan)
    rules = suggested(log, np.full(len(rows), np.nan), total)
    return [(rule.words, rule.settings, rule.outages) for rule in rules]


def of(who: str, key: str, limits: str, words: str) -> tuple:
    return words, (f"tenants.by={who}", f"tenants.{key}={limits}"), ()


ONE = "a {} waits while enough GPUs are free and never has more than this number of {}: {}"
MANY = "{}s wait while enough GPUs are free and never have more than these numbers of {}: {}"
BY_TURNS = [row for day in range(30) for row in (
    [(0, day * DAY_S, (day + 1) * DAY_S, 4)] if day % 2 else [(0, day * DAY_S, (day + 1) * DAY_S, 1)] * 4
)]  # fmt: skip
"""A job of four GPUs one day, four jobs of one the next."""


@pytest.mark.parametrize(
    ("whose", "jobs", "rules"),
    [
        ("user", {"a": limited(4)}, [of("user", "max_jobs", "{a = 4}", ONE.format("user", "running jobs", "a 4"))]),
        ("user", {"a": limited(4), "b": limited(3)},
         [of("user", "max_jobs", "{a = 4, b = 3}", MANY.format("user", "running jobs", "a 4, b 3"))]),
        ("user", {name: limited(2) for name in "abc"},
         [of("user", "max_jobs", "2", "3 users run up to 2 jobs at once, and nobody runs more")]),
        ("user", {name: limited(2) for name in "ab"},
         [of("user", "max_jobs", "{a = 2, b = 2}", MANY.format("user", "running jobs", "a 2, b 2"))]),
        # partitions have no number in common, which is one of users
        ("partition", {name: limited(2) for name in "abc"},
         [of("vc", "max_jobs", "{a = 2, b = 2, c = 2}", MANY.format("partition", "running jobs", "a 2, b 2, c 2"))]),
        ("partition", {"a": limited(4)}, [of("vc", "max_jobs", "{a = 4}", ONE.format("partition", "running jobs", "a 4"))]),
        # GPUs, where the number of jobs is another one each day
        ("user", {"a": BY_TURNS}, [of("user", "quota", "{a = 4.0}", ONE.format("user", "GPUs", "a 4"))]),
        ("user", {"a": BY_TURNS, "b": BY_TURNS}, [of("user", "quota", "{a = 4.0, b = 4.0}", MANY.format("user", "GPUs", "a 4, b 4"))]),
        ("user", {"a": BY_TURNS, "b": limited(3)},
         [of("user", "max_jobs", "{b = 3}", ONE.format("user", "running jobs", "b 3")),
          of("user", "quota", "{a = 4.0}", ONE.format("user", "GPUs", "a 4"))]),
        # nobody, and those who do not wait, or have few jobs, have none
        ("user", {"": limited(4)}, []), ("user", {"a": limited(4, 16)}, []), ("user", {"a": limited(30, 30)}, []),
    ],
)  # fmt: skip
def test_limits_in_words_and_keys(whose, jobs, rules):
    found = found_in(whose=whose, **jobs)
    assert [(words, tuple(s.replace(" ", "") for s in settings), down) for words, settings, down in found] == [
        (words, tuple(s.replace(" ", "") for s in settings), down) for words, settings, down in rules
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("full", "threes", "is_limit"),
    [(20, 10, True), (16, 14, True), (14, 16, False), (4, 26, False)],
)
def test_a_limit_of_gpus_is_reached_for_most_of_the_waiting(full, threes, is_limit):
    """Four GPUs are in use on so many days, by turns; then a job of three, beside which one of the waiting ones would fit."""
    rows = BY_TURNS[: 5 * full // 2]
    rows += [(0, (full + k) * DAY_S, (full + k + 1) * DAY_S, 3) for k in range(threes)]
    rows += [(0, (full + threes) * DAY_S, (full + threes + 1) * DAY_S, 1)] * 4
    rules = [of("user", "quota", "{ a = 4.0 }", ONE.format("user", "GPUs", "a 4"))]
    assert found_in(a=rows) == (rules if is_limit else [])


def test_who_waits_for_the_machine_has_no_limit():
    assert found_in(5.0, a=BY_TURNS) != []
    assert found_in(4.0, a=limited(4)) == []
    assert found_in(4.0, a=BY_TURNS) == []


def still(*hours: float, every_s: float = 60.0, waits: bool = True) -> list[tuple]:
    """Jobs one after the other, then so many hours without a start or an end, several times; another one waits."""
    rows, now_s = [], 0.0
    for gap_h in hours:
        for _ in range(30):
            rows.append((now_s, now_s, now_s + every_s, 1))
            now_s += every_s
        now_s += gap_h * HOUR_S
    rows.append((now_s, now_s, now_s + every_s, 1))
    return [(0.0, now_s, now_s + every_s, 1), *rows] if waits else rows


@pytest.mark.parametrize(
    ("rows", "words", "begins"),
    [
        (still(8, 5), "2 times jobs waited and none started or ended, for 8 h at most", [1800, 2 * 1800 + 8 * HOUR_S]),
        (still(5, 8, 6), "3 times jobs waited and none started or ended, for 8 h at most",
         [1800, 2 * 1800 + 5 * HOUR_S, 3 * 1800 + 13 * HOUR_S]),
        (still(8), None, []),  # once is chance
        (still(8, 5, waits=False), None, []),
        # of a log with an event each half hour, two hours are nothing
        (still(2, 2, every_s=1800), None, []),
        (still(0.9, 0.9), None, []),
    ],
)  # fmt: skip
def test_times_in_which_all_stands_still(rows, words, begins):
    found = found_in(**{"": rows})
    assert [each[0] for each in found] == ([words] if words else [])
    assert [begin for each in found for begin, _ in each[2]] == begins


@pytest.mark.long
def test_two_rules_of_hours_are_kept_together(tmp_path):
    """The scenario that is written has both, and the waits of the log come out with it."""
    rules = (
        '[{longer_than_s=7200, start="mon-fri 18:00-15:00, sat-sun"}, '
        '{longer_than_s=28800, start="mon-fri 20:00-06:00, sat-sun"}]'
    )
    settings = ['calendar.begins="2024-01-01 00:00"', f"calendar.rules={rules}"]
    log = made_log(tmp_path / "log.csv", count=3000, settings=settings, load=0.6)
    found = validate(scenario(log), "log", calibrate=True, folder=tmp_path)
    one, other = found.tried[:2]
    assert one.rule.hours == ((7200, "mon-fri 18:00-15:00, sat-sun"),)
    assert other.rule.hours == ((28800, "mon-fri 20:00-06:00, sat-sun"),)
    assert one.before.ratio.mean < 0.2
    assert one.kept
    assert other.kept
    assert other.after.waits == pytest.approx(1, abs=1e-3)
    assert not any(each.kept for each in found.tried[2:])
    assert f"calendar.rules={rules.replace(' ', '')}" in [
        s.replace(" ", "") for s in found.held.settings
    ]
    assert found.held.ratio.mean == pytest.approx(1, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize(
    ("with_rules", "alone", "told"),
    [
        (
            1.28,
            1.05,
            ("1.28", "So the rules do not hold on the second half. Without them:", "1.05"),
        ),
        (1.28, 1.4, ("1.28",)),
        (0.7, None, ("0.7",)),
        (1.2, 1.0, ("1.2",)),
    ],
    ids=["far and near", "both far", "no other fit", "near"],
)
def test_rules_that_do_not_hold_on_the_second_half_are_left_out(
    with_rules, alone, told, tmp_path, monkeypatch
):
    """A fit without them is asked for only where the one with them is far, and taken only where it is near."""
    rule = Rule("users stop", ("tenants.by=user",))
    kept = Tried(rule, None, None, True)
    fits = {1: with_rules, 0: alone}

    def held_out(self, rules=()):
        ratio = fits[len(rules)]
        if ratio is None:
            return None
        estimate = Estimate(ratio, ratio - 0.01, ratio + 0.01, 50)
        return HeldOut(5, 6, ("cluster.num_nodes=5",), 1.0, 1000 * ratio, 1000.0, estimate, tuple(rules))  # fmt: skip

    monkeypatch.setattr(Calibration, "suggested", lambda self: [rule])
    monkeypatch.setattr(Calibration, "kept", lambda self, rules: [kept])
    monkeypatch.setattr(Calibration, "held_out", held_out)
    monkeypatch.setattr(validating, "rule_lines", lambda *of: [])
    log = made_log(tmp_path / "log.csv", settings=["cluster.num_nodes=5"], load=0.7)
    found = validate(scenario(log), "log", calibrate=True)
    lines = list(found.lines())
    shown = [line for line in lines if line.startswith(("held out", "             So"))]
    assert len(shown) == len(told)
    assert [time_of(1000 * float(t)).split()[0] if t[0].isdigit() else t for t in told] == [
        line.partition("fitted on the first half: ")[2].split(" ")[0] if line.startswith("held") else line.strip()
        for line in shown
    ]  # fmt: skip
    is_dropped = len(told) == 3
    assert found.held.rules == (() if is_dropped else (rule,))
    assert (found.dropped is not None) == is_dropped
    assert numbers(found)["held_out_with_rules_that_were_dropped"] is None or is_dropped
