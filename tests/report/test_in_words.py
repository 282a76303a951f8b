"""Class and reason of a printed number in words, and the readings that several numbers need."""

import math
from dataclasses import replace

import pytest

from experiments.report import outcomes
from experiments.report.contents import Claim, Paper
from experiments.report.in_words import exclusion, first_reason, meaning, needed, reason, sentence
from experiments.report.outcomes import exclusions, printed_numbers
from experiments.report.published import Number
from experiments.report.verdict import AT_THE_LIMIT, NONE

PAPER = Paper("p", "", "", "")
HOURS = {"place": "Table 1", "claim": "mean", "kind": "value", "unit": "h"}
SAVED = {"place": "Abstract", "claim": "saving", "no_effect": 0, "unit": "%"}


def row(verdict="not reproduced", **fields):
    words = {
        "claim": "mean",
        "ours": 5.0,
        "ci_low": 4.0,
        "ci_high": 6.0,
        "why": "it is late; more",
        **fields,
    }
    return Claim(
        "p", "Table 1", paper_value=20, unit="h", verdict=verdict, published="mean", **words
    )


@pytest.mark.parametrize(
    ("number", "of", "outcome", "readings", "told"),
    [
        (HOURS | {"value": 20}, row("reproduced"), "reproduced", 1,
         "Our interval is within 18 to 22 h, the margin around the printed value."),
        (HOURS | {"value": 20}, row("reproduced", ci_low=None), "reproduced", 3,
         "The number shown is within 18 to 22 h, the margin around the printed value."),
        (HOURS | {"value": 12, "margin": 0}, row("reproduced"), "reproduced", 1, "Our interval is 12 h."),
        (SAVED | {"kind": "range", "value": (45, 80)}, row("reproduced"), "reproduced", 1,
         "Our interval is within the printed range, 45 to 80 %."),
        (HOURS | {"kind": "theorem", "value": 1}, row("reproduced"), "reproduced", 1,
         "Our interval contains the proven value."),
        (HOURS | {"kind": "theorem", "value": 1}, row(), "open", 1, "Our interval does not contain the proven value."),
        (HOURS | {"kind": "at most", "value": 9, "unit": "x"}, row(), "open", 1,
         "Our interval is 4 to 6; at most 9 would count as reproduced, at most 18 as partly."),
        (HOURS | {"kind": "ordering", "value": 0}, row(), "open", 2,
         "The interval of the best of 2 readings is 4 to 6 h; at least 0 h would count as reproduced."),
        (SAVED | {"kind": "value", "value": -3}, row("partly"), "open", 1,
         "Our interval is 4 to 6 %, which counts as partly; -3.6 to -2.4 % would count as reproduced, -6 to -1.5 % as partly."),
        (SAVED | {"kind": "equal", "value": 1, "no_effect": None, "margin": 0.05}, row(), "excluded", 1,
         "Our interval is 4 to 6 %; 0.95 to 1.05 % would count as reproduced."),
        (HOURS | {"kind": "at least", "value": 6}, row("inconclusive"), "open", 4,
         "The interval of the best of 4 readings, 4 to 6 h, reaches across a limit: at least 6 h would count as reproduced, "
         "at least 3 h as partly."),
        (HOURS | {"kind": "at least", "value": 7}, row("inconclusive"), "open", 1,
         "Our interval, 4 to 6 h, reaches across a limit: at least 7 h would count as reproduced, at least 3.5 h as partly."),
        (HOURS | {"kind": "at least", "value": 9}, row("inconclusive", ci_low=None, ci_high=None), "open", 1,
         "Our number, 5 h, has no interval: at least 9 h would count as reproduced, at least 4.5 h as partly."),
        (SAVED | {"kind": "value", "value": 96, "saving": True}, row(ci_low=79.0, ours=80.0, ci_high=81.0), "open", 1,
         "Our interval is 79 to 81 %; 95.2 to 96.8 % would count as reproduced, 92 to 98 % as partly."),
        (HOURS | {"value": 20}, row(), "undetermined", 2, "Our readings give 2 to 25 h; the printed value lies between."),
        (HOURS | {"value": 28}, row(), "undetermined", 2,
         "Our readings give 2 to 25 h, with their intervals 1.5 to 30 h; the printed value lies within."),
        (HOURS | {"value": 28}, row("inconclusive", ours=math.nan, ci_low=None, ci_high=None), "open", 1,
         "We have no number; 25.2 to 30.8 h would count as reproduced, 14 to 56 h as partly."),
        (HOURS | {"value": 20}, row("not comparable"), "not comparable", 1, "It cannot be compared."),
        (HOURS | {"kind": "at most", "value": 1000}, row("reproduced"), "reproduced", 1, "Our interval is at most 1,000 h."),
        (HOURS | {"kind": "at most", "value": 999.6}, row("reproduced"), "reproduced", 1, "Our interval is at most 999.6 h."),
        (HOURS | {"kind": "at least", "value": 7}, row("reproduced"), "reproduced", 1, "Our interval is at least 7 h."),
        (HOURS | {"kind": "ordering", "value": 0}, row("reproduced"), "reproduced", 1, "Our interval is at least 0 h."),
        (HOURS | {"kind": "value", "value": (10, 20)}, row("reproduced"), "reproduced", 1,
         "Our interval is within the printed range, 10 to 20 h."),
        (HOURS | {"kind": "theorem", "value": 7}, row("inconclusive", ci_low=None, ci_high=None), "open", 1,
         "Our number, 5 h, has no interval: 7 h would count as reproduced."),
        (HOURS | {"value": 5000}, row("reproduced"), "reproduced", 1,
         "Our interval is within 4,500 to 5,500 h, the margin around the printed value."),
    ],
)  # fmt: skip
def test_the_class_of_a_number_in_one_sentence(number, of, outcome, readings, told):
    assert meaning(Number(**number), outcome, of, readings, (2, 25), (1.5, 30)) == told


def test_a_number_that_nothing_decides_is_told_by_its_readings():
    """One reading, whose interval contains the number; and a statement of several parts."""
    number = Number(**HOURS, value=20)
    assert meaning(number, "undetermined", row(), 1, (18, 18), (15, 22)) == (
        "Our reading gives 18 h, with its interval 15 to 22 h; the printed value lies within."
    )
    assert meaning(number, "undetermined", row(), 2, (18, 21), (15, 22), 2) == (
        "For each part our readings, or their intervals, reach around the printed value."
    )


def test_the_class_of_a_statement_of_several_parts():
    number, range_h = (
        Number(**HOURS | {"kind": "range", "value": (10, 20)}),
        "within the printed range, 10 to 20 h",
    )
    assert (
        meaning(number, "reproduced", row("reproduced"), 2, (1, 2), (1, 2), 3)
        == f"The intervals of all 3 parts are {range_h}."
    )
    assert "intervals of both parts" in meaning(
        number, "reproduced", row("reproduced"), 2, (1, 2), (1, 2), 2
    )
    for parts in (2, 3):
        assert meaning(number, "open", row(), 1, (1, 2), (1, 2), parts) == (
            f"Our interval, in the weakest of {parts} parts, is 4 to 6 h; 10 to 20 h would count as reproduced, "
            "5 to 40 h as partly."
        )


@pytest.mark.parametrize(
    ("fields", "of", "outcome", "counts", "told"),
    [
        ({}, row("reproduced"), "reproduced", (1, 1), ""),
        ({}, row("reproduced", labels=("authors",)), "reproduced", (1, 1),
         "It rests on the authors' own program, draw or data."),
        ({}, row("reproduced"), "reproduced", (2, 2), "Both readings give it."),
        ({}, row("reproduced"), "reproduced", (3, 3), "All 3 readings give it."),
        ({}, row("reproduced", labels=("variant",)), "reproduced", (3, 1),
         "1 of 3 readings gives it; the one shown rests on a reading beside the printed one."),
        ({}, row("reproduced"), "reproduced", (3, 2), "2 of 3 readings give it."),
        ({"note": "the sign alone counts"}, row("reproduced"), "reproduced", (2, 2),
         "Both readings give it. The sign alone counts."),
        ({"note": "the sign alone counts"}, row("reproduced"), "reproduced", (1, 1), "The sign alone counts."),
        ({"unprinted": "the load"}, row(), "undetermined", (2, 0), "The paper does not print the load."),
        ({"excluded": "the table contradicts the text"}, row(), "excluded", (1, 0),
         "The table contradicts the text."),
        ({}, row(), "open", (1, 0), "It is late."),
        ({"reason": "no law is printed"}, row(), "open", (1, 0), "No law is printed."),
        ({"reason": "it was metered"}, row("not comparable"), "not comparable", (1, 0), "It was metered."),
    ],
)  # fmt: skip
def test_its_reason_in_one_sentence(fields, of, outcome, counts, told):
    assert reason(Number(**HOURS, value=20, **fields), outcome, of, *counts) == told


def test_the_first_reason_says_more_than_that_the_interval_is_wide():
    wide = "the interval is too wide to tell"
    for empty in (wide, NONE, f"{AT_THE_LIMIT}, 5 h", "no interval: one run", "interval: 3 runs"):
        assert first_reason(f"{empty}; late") == "late"
        assert first_reason(empty) == "the cause is not known"
    assert (
        first_reason(f"{wide}; the queue grows. It does; no interval: one run") == "the queue grows"
    )
    assert first_reason(f"{wide}; no interval: one run") == "the cause is not known"
    assert [sentence(text) for text in ("", " late", "Late. ", "late..")] == ["", *["Late."] * 3]


@pytest.mark.parametrize(
    ("fields", "rows", "shown", "outcome"),
    [
        # of equal verdicts the nearest to 20
        ({}, [("partly", 40, {}), ("partly", 30, {}), ("partly", 8, {})], 30, "open"),
        ({}, [("partly", 11, {}), ("partly", 30, {})], 11, "open"),
        ({}, [("reproduced", 21, {}), ("reproduced", 19.5, {}), ("partly", 20, {})], 19.5, "reproduced"),
        # the better verdict before the nearer one; an interval that tells nothing is no better than a miss
        ({}, [("not reproduced", 20, {}), ("inconclusive", 60, {}), ("partly", 90, {})], 90, "open"),
        ({}, [("not reproduced", 20, {}), ("inconclusive", 60, {})], 20, "open"),
        ({}, [("not reproduced", 90, {}), ("inconclusive", 60, {})], 60, "open"),
        # excluded where all readings are refuted
        ({"excluded": "why"}, [("partly", 30, {}), ("not reproduced", 90, {})], 30, "excluded"),
        ({"excluded": "why"}, [("partly", 30, {}), ("inconclusive", 90, {})], 30, "open"),
        ({"excluded": "why"}, [("reproduced", 21, {}), ("partly", 30, {})], 21, "reproduced"),
        ({}, [("not reproduced", 90, {})], 90, "open"),
        # undetermined where readings lie on both sides; said by the paper alone
        ({"unprinted": "load"}, [("partly", 30, {}), ("partly", 12, {})], 12, "undetermined"),
        ({"unprinted": "load"}, [("partly", 30, {}), ("partly", 35, {})], 30, "open"),
        ({}, [("partly", 30, {}), ("partly", 12, {})], 12, "open"),
        # a reading without a number tells nothing, wherever it stands
        ({"unprinted": "load"}, [("inconclusive", math.nan, {}), ("partly", 30, {}), ("partly", 12, {})], 12, "undetermined"),
        # what contradicts the text, or is beside the paper, does not count; nor what cannot be compared, beside others
        ({}, [("reproduced", 20, {"labels": ("against the text",)}), ("partly", 30, {})], 30, "open"),
        ({}, [("reproduced", 20, {"labels": ("against the text",)})], None, None),
        ({}, [("new", 20, {}), ("partly", 30, {})], 30, "open"),
        ({}, [("not comparable", 20, {}), ("not reproduced", 90, {})], 90, "open"),
        ({}, [("not comparable", 20, {})], 20, "not comparable"),
        # readings of several parts: those that have all of them, by the weakest part
        ({"parts": ("part",)}, [("partly", 30, {"reading": "x", "part": "a"}), ("reproduced", 20, {"reading": "x", "part": "b"}),
                                ("reproduced", 20, {"reading": "y", "part": "a"})], 30, "open"),
        ({"parts": ("part",)}, [("reproduced", 21, {"reading": "x", "part": "a"}), ("reproduced", 18.5, {"reading": "x", "part": "b"})],
         18.5, "reproduced"),
    ],
)  # fmt: skip
def test_the_reading_that_is_shown_and_its_class(monkeypatch, fields, rows, shown, outcome):
    numbers = {"mean": Number(**HOURS, value=20, **fields)}
    monkeypatch.setattr(outcomes, "numbers_of", lambda paper: numbers)
    claims = [row(verdict, ours=x, ci_low=x - 1, ci_high=x + 1, claim=f"{x}", **of) for verdict, x, of in rows]  # fmt: skip
    for order in (claims, claims[::-1]):
        found = [(one.row.ours, one.outcome) for one in printed_numbers(PAPER, order)]
        assert found == ([] if shown is None else [(shown, outcome)])


def test_the_place_of_a_row_stands_before_its_words_where_it_is_another_one(monkeypatch):
    monkeypatch.setattr(outcomes, "numbers_of", lambda _: {"mean": Number(**HOURS, value=20)})
    first, second = row("partly", ours=30), replace(row("reproduced", ours=20), place="Table 2")
    for rows, told in (([first, second], "Table 2, mean"), ([second, first], "mean"), ([first], "mean")):  # fmt: skip
        (printed,) = printed_numbers(PAPER, rows)
        assert printed.reading == told
        assert printed.place == rows[0].place


def test_of_readings_that_do_not_give_a_number_the_nearest_is_shown(monkeypatch):
    """Also where the other one gives more numbers of the statement."""
    rows = [
        ("a", "x", 32, "partly"), ("a", "y", 30, "partly"), ("b", "x", 20, "reproduced"), ("b", "y", 90, "not reproduced"),
    ]  # fmt: skip
    assert together(monkeypatch, rows)[0] == ["y", "x"]


# -- numbers that belong together ------------------------------------------------------------


def together(monkeypatch, rows):
    """Numbers a and b of Figure 1; rows are (number, reading, ours, verdict)."""
    fields = HOURS | {"value": 20, "statement": "Figure 1", "read_by": ("law",)}
    numbers = {name: Number(**fields) for name in ("a", "b")}
    monkeypatch.setattr(outcomes, "numbers_of", lambda paper: numbers)
    claims = [
        replace(row(verdict, ours=ours, claim=f"{name}, {law}"), published=name, shared=law)
        for name, law, ours, verdict in rows
    ]
    printed = printed_numbers(PAPER, claims)
    return (
        [one.row.shared for one in printed],
        [one.because for one in printed],
        exclusions(PAPER, printed),
    )


def test_one_reading_is_shown_that_gives_all_numbers_of_a_statement(monkeypatch):
    """Also where another is nearer to one of them; of two that give all, the same for both."""
    rows = [
        ("a", "near", 20, "reproduced"), ("a", "both", 21, "reproduced"),
        ("b", "both", 21, "reproduced"), ("b", "third", 20, "reproduced"),
    ]  # fmt: skip
    assert together(monkeypatch, rows)[0] == ["both", "both"]
    rows[3] = ("b", "near", 21.5, "reproduced")
    assert together(monkeypatch, rows)[0] == ["near", "near"]
    rows[3] = ("b", "near", 30, "not reproduced")
    shown, because, excluding = together(monkeypatch, rows)
    assert shown == ["both", "both"]
    assert because == ["Both readings give it.", "1 of 2 readings gives it."]
    assert excluding == []


def test_readings_that_exclude_each_other_are_told(monkeypatch):
    rows = [
        ("a", "one law", 20, "reproduced"), ("a", "another law", 30, "partly"),
        ("b", "one law", 30, "partly"), ("b", "another law", 20, "reproduced"),
    ]  # fmt: skip
    shown, because, excluding = together(monkeypatch, rows)
    assert shown == ["one law", "another law"]
    assert (
        because[0]
        == "It needs the reading “one law”; no one reading gives all the numbers of Figure 1."
    )
    assert excluding == [
        "No one reading gives all the numbers of Figure 1. These exclude each other: Table 1, “20 h”: the reading “one law”; "
        "Table 1, “20 h”: the reading “another law”."
    ]
    one_misses = [*rows[:2], ("b", "one law", 30, "partly")]
    assert together(monkeypatch, one_misses)[2] == []


def test_a_number_that_several_readings_give_excludes_only_those_that_it_cannot_have(monkeypatch):
    """a needs one law, b another; c holds under both, and so excludes neither."""
    fields = HOURS | {"value": 20, "statement": "Figure 1", "read_by": ("law",)}
    monkeypatch.setattr(outcomes, "numbers_of", lambda _: {n: Number(**fields) for n in "abc"})
    claims = [
        replace(row("reproduced", ours=20, claim=f"{name}, {law}"), published=name, shared=law)
        for name, law in [("a", "x"), ("b", "y"), ("c", "x"), ("c", "y")]
    ]
    printed = printed_numbers(PAPER, claims)
    needs = "It needs the reading “{}”; no one reading gives all the numbers of Figure 1."
    assert [p.because for p in printed] == [
        needs.format("x"), needs.format("y"), "Both readings give it.",
    ]  # fmt: skip
    assert "and" not in exclusions(PAPER, printed)[0].partition("each other")[2]
    without_words = replace(claims[1], claim="b, the authors' own", shared="")
    assert exclusions(PAPER, printed_numbers(PAPER, [*claims, without_words])) == []


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        # Each part has readings on both sides of 20; or one side for each part, which tells nothing.
        ({"a": (10, 30), "b": (15, 25)}, "undetermined"),
        ({"a": (10, 15), "b": (25, 30)}, "open"),
        ({"a": (10, 30), "b": (25, 30)}, "open"),
        ({"a": (10, 30), "b": (10, 15)}, "open"),
        # The printed number may be an end.
        ({"a": (20, 30), "b": (10, 20)}, "undetermined"),
    ],
)
def test_readings_on_both_sides_are_those_of_one_part(monkeypatch, parts, outcome):
    number = Number(**HOURS, value=20, unprinted="the day", parts=("part",))
    monkeypatch.setattr(outcomes, "numbers_of", lambda _: {"mean": number})
    claims = [
        row("partly", ours=ours, ci_low=ours, ci_high=ours, part=part, reading=f"day {day}", claim=f"{part} {day}")
        for part, days in parts.items()
        for day, ours in enumerate(days)
    ]  # fmt: skip
    (printed,) = printed_numbers(PAPER, claims)
    assert printed.outcome == outcome


def test_the_weakest_part_of_a_bound_is_the_one_nearest_to_it(monkeypatch):
    """Of two ratios of at least 1, 1.0002 counts, and not 4.7."""
    number = Number(place="Figure 1", claim="ratio", kind="at least", value=1, parts=("part",))
    monkeypatch.setattr(outcomes, "numbers_of", lambda _: {"mean": number})
    claims = [
        row("reproduced", ours=ours, part=part, reading="one", claim=part)
        for part, ours in (("DRF", 4.7), ("Tetris", 1.0002))
    ]
    (printed,) = printed_numbers(PAPER, claims)
    assert printed.row.ours == 1.0002


def test_numbers_of_one_reading_stand_together():
    needs = [(row(shared="x"), "x"), (row(shared="x"), "x"), (row(shared="y"), "yz")]
    assert exclusion("Figure 1", needs).endswith(
        "Table 1, “20 h” and Table 1, “20 h”: the reading “x”; Table 1, “20 h”: the reading “y”, or another one."
    )
    number = Number(**HOURS, value=20, statement="Figure 1", note="the sign alone counts")
    assert needed(number, row(shared="y"), "xyz") == (
        "It needs the reading “y”, or one of 2 others; no one reading gives all the numbers of Figure 1. "
        "The sign alone counts."
    )


def test_a_number_in_words_has_no_unit():
    needs = [(replace(row(shared="x"), paper_value="a fifth"), "x"), (row(shared="y"), "y")]
    assert "Table 1, “a fifth”: the reading “x”" in exclusion("Figure 1", needs)


def test_words_of_a_statement_name_its_reading():
    number = Number(**HOURS, value=1, read_by=("base", "load"))
    assert number.shared_by({"base": "greedy", "load": 7.5, "other": 1}) == "greedy, load 7.5"
    assert number.shared_by({"other": 1}) == ""
