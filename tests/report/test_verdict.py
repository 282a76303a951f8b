"""The one rule for verdicts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.report.contents import VERDICTS, Claim
from experiments.report.published import Number
from experiments.report.verdict import (
    AT_THE_LIMIT,
    WIDE,
    amount,
    at_least,
    at_most,
    effect,
    judged,
    measured,
    saving,
    theorem,
    verdict,
)
from simulator.statistics import Estimate, student


def interval(low, high):
    return Estimate((low + high) / 2, low, high, 10)


@pytest.mark.parametrize(
    ("published", "low", "high", "expected"),
    [
        # A ratio: the margin is on the gain, 0.18, not on 1.18.
        (effect(1.18, none=1), 1.15, 1.21, "reproduced"),
        (effect(1.18, none=1), 1.09, 1.09, "partly"),
        (effect(1.18, none=1), 1.12, 1.14, "partly"),
        (effect(1.18, none=1), 1.02, 1.06, "not reproduced"),
        (effect(1.18, none=1), 1.05, 1.12, "inconclusive"),
        (effect(1.18, none=1), 0.90, 0.98, "not reproduced"),
        (effect(1.18, none=1), 1.16, 1.35, "partly"),
        (effect(1.18, none=1), 1.16, 1.60, "inconclusive"),
        # A saving in percent: 38 is left, 7.6 is 20 % of it, and half of it is 19.
        (saving(62), 54.5, 69.5, "reproduced"),
        (saving(62), 54.3, 69.5, "partly"),
        (saving(62), 20, 95, "inconclusive"),  # around the paper's value, but too wide
        (saving(62), 40, 80, "partly"),
        (saving(62), 40, 83, "inconclusive"),
        (saving(62), 82, 99, "not reproduced"),
        (saving(62), 5, 25, "not reproduced"),
        # Of a small saving the effect is the smaller side, of a large one what is left, 4.01 here.
        (saving(30), 24.1, 35.9, "reproduced"),
        (saving(30), 23.9, 35.9, "partly"),
        (saving(30), 14.0, 14.9, "not reproduced"),
        (saving(95.99), 95.19, 96.79, "reproduced"),
        (saving(95.99), 92.0, 97.9, "partly"),
        (saving(95.99), 79.6, 85.8, "not reproduced"),
        (saving(95.99), 98.1, 99.0, "not reproduced"),
        (saving(-15), -17, -13, "reproduced"),  # dearer, so without a limit
        (saving(-15), -29, -12, "partly"),
        # Other effects have no such limit.
        (effect(62, none=0), 55, 70, "reproduced"),
        (effect(62, none=0), 100, 123, "partly"),
        (effect(-3, none=0), -21, -19, "not reproduced"),  # ten times the effect is no part of it
        (effect(-15, none=0), -17, -13, "reproduced"),
        (effect(-15, none=0), -29, -12, "partly"),
        (effect(-15, none=0), -5, 3, "not reproduced"),
        # A range: its near end sets what half of the effect is.
        (effect(50, high=70, none=0), 51, 69, "reproduced"),
        (effect(50, high=70, none=0), 45, 60, "partly"),  # a range has no margin
        (effect(50, high=70, none=0), 26, 30, "partly"),
        (effect(50, high=70, none=0), 20, 24, "not reproduced"),
        (effect(50, high=70, none=0), 20, 30, "inconclusive"),
        (saving(50, high=70), 26, 84, "partly"),  # 30 to 50 is left, half of the near end 15
        (saving(50, high=70), 86, 90, "not reproduced"),
        # An amount.
        (amount(15.67), 15.2, 16.1, "reproduced"),
        (amount(15.67), 12.0, 14.0, "partly"),
        (amount(15.67), 30.0, 33.0, "inconclusive"),
        (amount(15.67), 5.0, 6.0, "not reproduced"),
        (amount(15.67), 40.0, 41.0, "not reproduced"),
        (amount(0.0), 0.0, 0.0, "reproduced"),
        (amount(0.0), 2.0, 2.0, "not reproduced"),
        (amount(48.65, margin=1e-4), 48.648, 48.649, "reproduced"),
        (theorem(5.0), 4.9, 5.1, "reproduced"),
        (theorem(5.0), 4.68, 4.98, "not reproduced"),
        (theorem(5.0), 5.0 + 1e-9, 5.0 + 1e-9, "reproduced"),
        # Bounds.
        (at_most(0.1), 0.01, 0.09, "reproduced"),
        (at_most(0.1), 0.09, 0.12, "partly"),
        (at_most(0.1), 0.15, 0.25, "inconclusive"),
        (at_most(0.1), 0.25, 0.30, "not reproduced"),
        (at_least(6), 7, 9, "reproduced"),
        (at_least(6), 4, 9, "partly"),
        (at_least(6), 1, 2, "not reproduced"),
        (at_least(6), 1, 9, "inconclusive"),
    ],
)
def test_the_rule(published, low, high, expected):
    assert verdict(published, interval(low, high)) == expected


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        *((ours, "partly") for ours in (-35.0, -17.0, -12.0, -50.0)),
        *((ours, "not reproduced") for ours in (-70.0, -5.0, 25.0)),
        (-25.0, "reproduced"),
    ],
)
def test_a_published_range_below_zero(ours, expected):
    """-30 to -20, without a margin, is reproduced; half to twice of it, -60 to -10, is so in part."""
    assert verdict(effect(-30.0, high=-20.0, none=0.0), ours) == expected
    assert verdict(amount(-30.0, high=-20.0), ours) == expected


def test_a_saving_is_named_in_the_file():
    """The numbers of published.toml say whether what is left is judged as well."""
    fields = {"place": "", "claim": "", "kind": "value", "value": 95.99, "no_effect": 0}
    assert verdict(Number(**fields, saving=True).rule, interval(79.6, 85.8)) == "not reproduced"
    assert verdict(Number(**fields).rule, interval(79.6, 85.8)) == "reproduced"


def test_almost_equal_has_no_part():
    """1.0 within 5 %: neither 0.72 nor 1.61 is a part of it, as it would be of an amount."""
    printed = {"margin": 0.05, "printed": "almost equal"}
    same = Number(place="", claim="", kind="equal", value=1.0, **printed).rule
    for low, high, expected in (
        (0.96, 1.04, "reproduced"),
        (0.70, 0.75, "not reproduced"),
        (1.52, 1.71, "not reproduced"),
        (0.90, 1.10, "inconclusive"),
    ):
        assert verdict(same, interval(low, high)) == expected
    assert same.printed == "almost equal"


def test_an_order_has_no_part():
    """A ratio of at least 1: 0.9 is no part of it, though it misses the bound by less than a factor of two."""
    order = Number(place="", claim="", kind="ordering", value=1.0).rule
    found = [
        verdict(order, interval(low, high)) for low, high in ((1, 1.2), (0.8, 0.9), (0.9, 1.1))
    ]
    assert found == ["reproduced", "not reproduced", "inconclusive"]


def test_one_observation_tells_nothing_and_an_exact_number_all():
    assert verdict(effect(10, none=0), student([10.0])) == "inconclusive"
    assert verdict(effect(10, none=0), 10.0) == "reproduced"
    assert verdict(amount(10), math.nan) == "inconclusive"


@given(
    st.floats(0.1, 99), st.floats(-200, 200), st.floats(0, 100), st.floats(0, 50),
    st.sampled_from([amount, saving, lambda value: effect(value, none=0)]),
)  # fmt: skip
def test_a_wider_interval_never_flatters(value, middle, half, more, kind):
    """Widening an interval can only keep a verdict, weaken it or make it inconclusive."""
    published = kind(value)
    rank = {"reproduced": 2, "partly": 1, "inconclusive": 0, "not reproduced": 0}
    narrow = verdict(published, interval(middle - half, middle + half))
    wide = verdict(published, interval(middle - half - more, middle + half + more))
    assert rank[wide] <= rank[narrow]
    assert narrow != "inconclusive" or wide == "inconclusive"


def test_rows_of_the_table():
    row = judged("p", "Figure 1", "saving", effect(62, none=0), interval(20, 95), unit="%", why="x")
    assert (row.verdict, row.paper_value, row.unit) == ("inconclusive", 62, "%")
    assert row.why == f"{WIDE}; x"
    assert (row.ci_low, row.ci_high) == (20, 95)
    elsewhere = {"unit": "s", "why": "C++", "comparable": False}
    row = judged("p", "", "time", at_most(1), 0.5, **elsewhere)
    assert (row.verdict, row.paper_value, row.why) == ("not comparable", "<= 1", "C++")
    row = judged("p", "", "saving", effect(62, none=0), 60.0, why="left out")
    assert (row.verdict, row.why, row.ci_low) == ("reproduced", "", None)
    row = judged("p", "", "saving", effect(50, high=70, none=0), student([1.0]), why="one seed")
    assert (row.paper_value, row.ci_low, row.verdict) == ("50 to 70", None, "inconclusive")
    assert measured("p", "", "more", student([1.0, 2.0])).verdict == "new"
    with pytest.raises(ValueError, match="say why"):
        judged("p", "", "saving", effect(62, none=0), 40.0)


@pytest.mark.parametrize(
    ("published", "low", "high", "limit"),
    [
        (effect(50, high=70, none=0), 24.3, 26.7, "25"),
        (effect(50, high=70, none=0), 14.0, 36.0, None),  # wider than the margin, 20 % of 50
        (effect(-15, none=0), -8.7, -5.6, "-7.5"),
        (effect(-15, none=0), -11.0, -3.0, None),
        (saving(95.99), 91.5, 92.5, "91.98"),
        (saving(95.99), 90.5, 93.5, None),  # wider than the margin, 20 % of 4.01
        (effect(1.18, none=1), 1.08, 1.10, "1.09"),
        (effect(1.18, none=1), 1.05, 1.15, None),
        (amount(20.0), 38.5, 41.5, "40"),
        (amount(20.0), 37.5, 42.5, None),
        (amount(20.0), 9.5, 10.5, "10"),
        (at_most(10.0), 19.5, 20.5, "20"),
        (at_most(10.0), 15.0, 25.0, None),
        (at_least(6.0), 2.9, 3.1, "3"),
    ],
)
def test_an_inconclusive_row_says_whether_more_seeds_would_tell(published, low, high, limit):
    row = judged("p", "", "x", published, interval(low, high), why="because")
    told = WIDE if limit is None else f"{AT_THE_LIMIT}, {limit}"
    assert (row.verdict, row.why) == ("inconclusive", f"{told}; because")


def test_what_cannot_be_published():
    with pytest.raises(ValueError, match="includes no effect"):
        effect(0.0, none=0)
    with pytest.raises(ValueError, match="nothing is left"):
        saving(100.0)
    with pytest.raises(ValueError, match="low <= high"):
        amount(3, high=2)
    assert "inconclusive" in VERDICTS
    with pytest.raises(ValueError, match="expected"):
        Claim("p", "", "c", None, None, verdict="nearly")
