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
