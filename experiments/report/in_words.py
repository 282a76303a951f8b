"""Class of a printed number and its reason, in sentences for a reader who has the paper alone."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

from experiments.report.contents import Claim
from experiments.report.published import Number
from experiments.report.verdict import AT_THE_LIMIT, WIDE, partial

SOURCES = {
    "authors": "the authors' own program, draw or data",
    "textbook": "a formula of the textbooks",
    "derived": "a closed form",
    "variant": "a reading beside the printed one",
}
"""What gives a number, by the label of its row."""
UNKNOWN = "the cause is not known"


def meaning(
    number: Number,
    outcome: str,
    row: Claim,
    readings: int,
    values: tuple[float, float],
    between: tuple[float, float],
    parts: int = 1,
) -> str:
    """Class of a number, as a sentence.

    Parameters
    ----------
    row : the one that is shown.
    readings : how many there are.
    values, between : least and largest of their values, and of the ends of their intervals; of several parts the range
        that all of them have in common.
    parts : of the statement; ``row`` is the weakest of them.
    """
    if outcome == "not comparable":
        return "It cannot be compared."
    if outcome == "undetermined":
        return _around(number, values, between, parts)
    what = "number" if row.ci_low is None else "interval"
    if number.kind == "theorem" and row.verdict != "inconclusive":
        contains = "contains" if outcome == "reproduced" else "does not contain"
        return f"Our {what} {contains} the proven value."
    if outcome == "reproduced":
        if parts > 1:
            every = "both parts" if parts == 2 else f"all {parts} parts"
            return f"The {what}s of {every} are {_wanted(number)}."
        shown = f"Our {what}" if readings == 1 else f"The {what} shown"
        return f"{shown} is {_wanted(number)}."
    ours = f"Our {what}" if readings == 1 else f"The {what} of the best of {readings} readings"
    if parts > 1:
        ours += f", in the weakest of {parts} parts,"
    count = f"{_counting(number.accepted, number)} would count as reproduced"
    if (part := partial(number.rule)) != number.accepted:
        count += f", {_counting(part, number)} as partly"
    if row.ours is None or math.isnan(row.ours):
        return f"We have no number; {count}."
    if row.verdict != "inconclusive":
        is_partly = ", which counts as partly" if row.verdict == "partly" else ""
        return f"{ours} is {_ours(row, number)}{is_partly}; {count}."
    lacks = "has no interval" if row.ci_low is None else "reaches across a limit"
    return f"{ours.rstrip(',')}, {_ours(row, number)}, {lacks}: {count}."


def _around(
    number: Number, values: tuple[float, float], between: tuple[float, float], parts: int
) -> str:
    """Readings on both sides of a printed value, or around it with their intervals alone."""
    if parts > 1:
        return "For each part our readings, or their intervals, reach around the printed value."
    if values[0] == values[1]:
        told = f"Our reading gives {_range(values)}{_unit(number)}, with its interval {_range(between)}"
        return f"{told}{_unit(number)}; the printed value lies within."
    told = f"Our readings give {_range(values)}{_unit(number)}"
    if values[0] <= number.low and number.high <= values[1]:
        return f"{told}; the printed value lies between."
    return f"{told}, with their intervals {_range(between)}{_unit(number)}; the printed value lies within."


def _ours(row: Claim, number: Number) -> str:
    low, high = (row.ours if end is None else end for end in (row.ci_low, row.ci_high))
    ends = (math.nan if low is None else low, math.nan if high is None else high)
    return f"{_range(ends)}{_unit(number)}"


def _range(ends: tuple[float, float]) -> str:
    low, high = map(_told, ends)
    return low if low == high else f"{low} to {high}"


def _counting(ends: tuple[float, float], number: Number) -> str:
    """A range that counts: "18 to 22 h", "at most 9 h"."""
    unit = _unit(number)
    if math.isinf(ends[0]):
        return f"at most {_told(ends[1])}{unit}"
    if math.isinf(ends[1]):
        return f"at least {_told(ends[0])}{unit}"
    return f"{_range(ends)}{unit}"


def reason(number: Number, outcome: str, row: Claim, readings: int, giving: int) -> str:
    """Why a number has its class; of a reproduced one, which readings give it."""
    if outcome == "reproduced":
        why = _given_by(row, readings, giving)
    elif outcome == "undetermined":
        why = f"the paper does not print {number.unprinted}"
    elif outcome == "excluded":
        why = number.excluded
    else:
        why = number.reason or first_reason(row.why)
    return _sentences(why, number.note)


def _given_by(row: Claim, readings: int, giving: int) -> str:
    source = next((told for label, told in SOURCES.items() if label in row.labels), "")
    if readings == 1:
        return f"It rests on {source}" if source else ""
    of = f"{giving} of {readings} readings {'gives' if giving == 1 else 'give'} it"
    if giving == readings:
        of = "both readings give it" if readings == 2 else f"all {readings} readings give it"
    return f"{of}; the one shown rests on {source}" if source else of


def needed(number: Number, row: Claim, giving: Collection[str]) -> str:
    """Why a number needs a reading of its own, where no one reading gives all numbers of its statement."""
    reading = _of_readings(row, giving)
    told = f"It needs {reading}; no one reading gives all the numbers of {number.statement}"
    return _sentences(told, number.note)


def _of_readings(row: Claim, giving: Collection[str]) -> str:
    others = len(giving) - 1
    or_others = f", or {'another one' if others == 1 else f'one of {others} others'}"
    return f"the reading “{row.shared}”{or_others if others else ''}"


def exclusion(statement: str, needs: Iterable[tuple[Claim, Collection[str]]]) -> str:
    """Which readings each number of a statement needs; ``needs``: rows with the readings that give their numbers."""
    by: dict[str, list[str]] = {}
    for row, giving in needs:
        by.setdefault(_of_readings(row, giving), []).append(f"{row.place}, “{_printed(row)}”")
    told = "; ".join(f"{' and '.join(places)}: {reading}" for reading, places in by.items())
    return f"No one reading gives all the numbers of {statement}. These exclude each other: {told}."


def _wanted(number: Number) -> str:
    """Printed number or range that ours is held against: "within 44.0 to 53.3 s"."""
    low, high = number.accepted
    unit = _unit(number)
    if number.kind == "at most":
        return f"at most {_told(number.high)}{unit}"
    if number.kind in ("at least", "ordering"):
        return f"at least {_told(number.low)}{unit}"
    if number.kind == "range" or number.low < number.high:
        return f"within the printed range, {_told(number.low)} to {_told(number.high)}{unit}"
    if _told(low) == _told(high):
        return f"{_told(low)}{unit}"
    return f"within {_told(low)} to {_told(high)}{unit}, the margin around the printed value"


def _printed(row: Claim) -> str:
    unit = f" {row.unit}" if row.unit and isinstance(row.paper_value, int | float) else ""
    return (
        f"{row.paper_value}{unit}"
        if isinstance(row.paper_value, str)
        else f"{row.paper_value:g}{unit}"
    )


def _told(value: float) -> str:
    """Four digits, all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _unit(number: Number) -> str:
    return "" if number.unit in ("", "x") else f" {number.unit}"


def first_reason(why: str) -> str:
    """The first sentence of a row's reasons that says more than that its interval is wide."""
    for part in why.split("; "):
        told = re.split(r"\. (?=[A-Z])", part)[0]
        if not told.startswith((WIDE, AT_THE_LIMIT, "no interval: ", "interval: ")):
            return told
    return UNKNOWN


def _sentences(*parts: str) -> str:
    return " ".join(sentence(part) for part in parts if part)


def sentence(text: str) -> str:
    """Text with a capital letter and a full stop."""
    text = text.strip()
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
