"""Rules that a record suggests, of records made by hand."""

import numpy as np
import pytest

from experiments.validation.rules import suggested
from experiments.validation.validating import validate
from simulator.model.recorded import Recorded
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
