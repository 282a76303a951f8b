"""Hours in which jobs may start: schedules by hand, hours as texts, and every decision of random runs."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from policies import make_policy
from simulator.errors import InputError
from simulator.features.calendar import (
    DAY,
    WEEK,
    Calendar,
    CalendarKeys,
    StartRule,
    open_spans,
    parse_hours,
)
from simulator.features.failures import Failures, Outages
from simulator.features.table import Scene
from simulator.laws import Exponential
from simulator.statistics import Streams
from tests.core.jobs import fixed, nodes, run
from tests.errors import input_error

H = 3600.0
MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
NIGHT = "mon-fri 18:00-08:00, sat-sun"


def calendar(*rules, begins=MONDAY):
    return Calendar([StartRule(np.array(jobs, dtype=bool), parse_hours(text)) for jobs, text in rules], begins)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("mon", [(0, DAY)]),
        ("tue 08:00-12:30", [(DAY + 480, DAY + 750)]),
        ("sat-mon", [(5 * DAY - WEEK + WEEK, 8 * DAY)]),  # Monday goes on after Sunday
        ("fri 18:00-08:00", [(4 * DAY + 1080, 5 * DAY + 480)]),
        ("sun 22:00-02:00, mon 01:00-03:00", [(-120, 180)]),
        ("08:00-18:00", [(d * DAY + 480, d * DAY + 1080) for d in range(7)]),
        ("mon-sun", [(0, WEEK)]),
        ("12:00-12:00", [(0, WEEK)]),
        ("wed 00:00-24:00,  wed 10:00-11:00", [(2 * DAY, 3 * DAY)]),
    ],
)
def test_hours_of_a_week(text, hours):
    found = parse_hours(text)
    assert sum(e - b for b, e in found) == sum(e - b for b, e in hours)
    week = {(m + b) % WEEK for b, e in found for m in range(e - b)}
    assert week == {(m + b) % WEEK for b, e in hours for m in range(e - b)}


def test_a_week_of_nights():
    """Mon to Thu 18:00 to 8:00; Friday's night goes on until Monday 0:00, and Monday's first hours are none."""
    found = parse_hours(NIGHT)
    assert [(b / 60, e / 60) for b, e in found] == [
        *((24 * d + 18, 24 * d + 32) for d in range(4)), (4 * 24 + 18, 7 * 24),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "mo", "mon 25:00-26:00", "mon 10:70-12:00", "mon,,tue", "10-12", "mon-xyz"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(InputError, match="expected"):
        parse_hours(text)


def test_long_jobs_start_in_the_evening():
    """One GPU. j0 is long and comes on Monday at 9:00, j1 is short and passes it. At 18:00 j0 comes before j2, which is long
    and came later, and before j3, which is short, comes at 17:30 and finds j1 still there."""
    submit = [9 * H, 10 * H, 11 * H, 17.5 * H]
    jobs = fixed(submit, [5 * H, 9 * H, 6 * H, H])
    result = run(jobs, nodes(1), "fifo-strict", calendar(([1, 0, 1, 0], NIGHT)))
    assert (result.first_start_s / H).tolist() == [19.0, 10.0, 24.0, 30.0]
    assert result.summary()["jobs_outside_hours"] == 2


def test_who_has_not_started_when_hours_end_waits_for_the_next():
    """The night of Tuesday ends at 8:00, a minute before j0 would have found room; others go on in the queue."""
    jobs = fixed([23 * H, 23.5 * H, 24 * H], [9 * H + 60, 2 * H, H], [2, 2, 2])
    long = run(jobs, nodes(2), "fifo-strict", calendar(([0, 1, 0], NIGHT)))
    assert (long.first_start_s / H).tolist() == pytest.approx([23, 42, 32 + 1 / 60])
    at_once = run(jobs, nodes(2), "fifo-strict", calendar(([0, 1, 0], "mon-sun")))
    assert (at_once.first_start_s / H).tolist() == pytest.approx([23, 32 + 1 / 60, 34 + 1 / 60])


def test_a_job_keeps_to_all_of_its_rules():
    jobs = fixed([0], [H])
    both = calendar(([1], "08:00-12:00"), ([1], "11:00-14:00"))
    assert run(jobs, nodes(1), "fifo-strict", both).first_start_s[0] == 11 * H


def test_patience_goes_on_outside_the_hours():
    jobs = fixed([9 * H, 9 * H], [H, H], patience_s=[8 * H, 10 * H])
    result = run(jobs, nodes(2), "fifo-strict", calendar(([1, 1], NIGHT)))
    assert result.left.tolist() == [True, False]
    assert result.completion_s.tolist() == [17 * H, 19 * H]


def test_clocks_of_the_site_go_forward():
    """31 March 2024 in Berlin: 18:00 of that Sunday is 17 hours after its midnight; a clock of UTC has 18."""
    for zone, hours in (("Europe/Berlin", 17), ("UTC", 18)):
        begins = datetime(2024, 3, 31, tzinfo=ZoneInfo(zone))
        assert next(open_spans(parse_hours("sun 18:00-20:00"), begins, 0.0))[0] == hours * H


@pytest.mark.parametrize(
    "name",
    ["fifo-backfill", "easy-backfill", "conservative-backfill", "srpt", "easy-backfill:order=sjf"],
)
def test_no_job_starts_outside_its_hours(name):
    """Random jobs, on nodes that fail: each first start lies in the hours, each job is done, and some were set aside."""
    policy, _, option = name.partition(":")
    options = dict([option.split("=")]) if option else {}
    rng = np.random.default_rng(5)
    count = 80
    submit, lasts = np.cumsum(rng.exponential(0.5 * H, count)), rng.exponential(2 * H, count)
    who = rng.random(count) < 0.5
    fails = Failures([Outages.of_each_node(3, Exponential(40 * H), Exponential(H))])
    result = run(fixed(submit, lasts, rng.integers(1, 3, count)), nodes(2, 3), make_policy(policy, **options),
                 calendar((who, "mon-fri 20:00-06:00")), fails, seed=3)  # fmt: skip
    minutes = (result.first_start_s[who] / 60) % WEEK
    inside = [any(b - 1e-6 <= m + w < e + 1e-6 for b, e in parse_hours("mon-fri 20:00-06:00") for w in (0, WEEK)) for m in minutes]  # fmt: skip
    assert all(inside)
    assert np.isfinite(result.completion_s).all()
    assert result.summary()["jobs_outside_hours"] > 10


def scene(**columns):
    return Scene(
        fixed([0, 0, 0], [H, 5 * H, 5 * H], [1, 2, 8], **columns), nodes(8), Streams(1), {}
    )


@pytest.mark.parametrize(
    ("rule", "jobs"),
    [
        ({}, [True, True, True]),
        ({"longer_than_s": 4 * H}, [False, True, True]),
        ({"longer_than_s": 5 * H}, [False, False, True]),  # j2 asks for six hours
        ({"least_gpus": 8}, [False, False, True]),
        ({"vc": ["a"]}, [True, False, True]),
        ({"vc": ["a"], "longer_than_s": 4 * H}, [False, False, True]),
    ],
)
def test_whose_rule_it_is(rule, jobs):
    keys = CalendarKeys(rules=[{"start": NIGHT, **rule}], begins="2024-01-01")
    made = keys.make(scene(requested_s=[np.nan, np.nan, 6 * H], vc=["a", "b", "a"]))
    assert made.rules[0].jobs.tolist() == jobs
    assert made.begins == MONDAY


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        ({"start": "mon"}, {"start": "tue"}, True),
        ({"start": "mon"}, {"start": "tue", "least_gpus": 8}, True),
        ({"start": "mon", "least_gpus": 8}, {"start": "tue", "vc": ["b"]}, False),  # of two jobs
        ({"start": "mon 08:00-12:00"}, {"start": "mon 11:59-13:00"}, False),
        ({"start": "mon 08:00-12:00"}, {"start": "mon 12:00-13:00"}, True),
        ({"start": "sun 23:00-01:00"}, {"start": "mon 00:30-02:00"}, False),
    ],
)
def test_rules_of_a_job_need_an_hour_together(first, second, clash):
    keys = CalendarKeys(rules=[first, second], begins="2024-01-01")
    jobs = scene(vc=["a", "b", "a"])
    if clash:
        with input_error(
            "calendar.rules: job 'j", "keeps to rules 0 and 1, which have no hour together"
        ):
            keys.make(jobs)
    else:
        assert len(keys.make(jobs).rules) == 2


def test_a_clock_of_milliseconds_is_told():
    with input_error("calendar: the clock begins at 1.7e+12 s, expected seconds since 2024-01-01"):
        next(open_spans(parse_hours("mon"), MONDAY, 1.7e12))


def test_mistakes_and_notes():
    with input_error("calendar.begins: missing"):
        CalendarKeys(rules=[{"start": NIGHT}]).make(scene())
    with input_error("calendar.begins: got 'soon'"):
        CalendarKeys(rules=[{"start": NIGHT}], begins="soon").make(scene())
    with input_error("calendar.rules[0].start: got 'night'"):
        CalendarKeys(rules=[{"start": "night"}], begins="2024-01-01").make(scene())
    keys = CalendarKeys(
        rules=[{"start": NIGHT, "least_gpus": 99}, {"start": "mon-sun"}], begins="2024-01-01"
    )
    assert list(keys.notes(scene())) == [
        "calendar.rules[0]: it is a rule of no job; no effect",
        "calendar.rules[1]: its hours are the whole week; no effect",
    ]
