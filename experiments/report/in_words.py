"""Class of a printed number and its reason, each as one sentence for a reader who has the paper alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from experiments.report.contents import Claim
from experiments.report.published import Number
from experiments.report.verdict import AT_THE_LIMIT, NONE, WIDE, partial

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
    between: tuple[float, float],
    parts: int = 1,
) -> str:
    """Class of a number, as a sentence.

    Parameters
    ----------
    row : the one that is shown.
    readings : how many there are.
    between : least and largest end of the intervals of all of them.
    parts : of the statement; ``row`` is the weakest of them.
    """
    if outcome == "not comparable":
        return "It cannot be compared."
    if outcome == "undetermined":
        low, high = map(_told, between)
        return f"Our readings reach from {low} to {high}{_unit(number)}; the printed value lies between."
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
    wanted, part = _wanted(number), _part(number)
    if row.verdict == "inconclusive" and _meets(row, number.accepted):
        return f"{ours} does not tell whether ours is {wanted}."
    if row.verdict == "inconclusive":
        return f"{ours} is not {wanted}, and does not tell whether ours is {part}."
    if row.verdict == "partly":
        return f"{ours} is not {wanted}, but {part}."
    if partial(number.rule) == number.accepted:
        return f"{ours} is not {wanted}."
    return f"{ours} is neither {wanted}, nor {part}."


def _meets(row: Claim, accepted: tuple[float, float]) -> bool:
    """Whether ours, or its interval, has a value in a range."""
    low, high = (row.ours if end is None else end for end in (row.ci_low, row.ci_high))
    return low is None or high is None or (low <= accepted[1] and accepted[0] <= high)


def _part(number: Number) -> str:
    """Range that counts as a part of the number: "within 10 to 40 h, a part of it"."""
    low, high = partial(number.rule)
    unit = _unit(number)
    if math.isinf(low):
        return f"at most {_told(high)}{unit}, which counts as a part of it"
    if math.isinf(high):
        return f"at least {_told(low)}{unit}, which counts as a part of it"
    return f"within {_told(low)} to {_told(high)}{unit}, which counts as a part of it"


def reason(number: Number, outcome: str, row: Claim, readings: int, giving: int) -> str:
    """Why a number has its class; of a reproduced one, which readings give it."""
    if outcome == "reproduced":
        return _given_by(row, readings, giving)
    if outcome == "undetermined":
        return sentence(f"the paper does not print {number.unprinted}")
    if outcome == "excluded":
        return sentence(number.excluded)
    return sentence(number.reason or first_reason(row.why))


def _given_by(row: Claim, readings: int, giving: int) -> str:
    source = next((told for label, told in SOURCES.items() if label in row.labels), "")
    if readings == 1:
        return sentence(f"It rests on {source}") if source else ""
    of = f"{giving} of {readings} readings {'gives' if giving == 1 else 'give'} it"
    if giving == readings:
        of = "both readings give it" if readings == 2 else f"all {readings} readings give it"
    return sentence(f"{of}; the one shown rests on {source}" if source else of)


def needed(row: Claim, statement: str) -> str:
    """Why a number needs a reading of its own, where no one reading gives all numbers of its statement."""
    return (
        f"It needs the reading “{row.shared}”; no one reading gives all the numbers of {statement}."
    )


def exclusion(statement: str, rows: Iterable[Claim]) -> str:
    """Which reading each number of a statement needs."""
    by: dict[str, list[str]] = {}
    for row in rows:
        by.setdefault(row.shared, []).append(f"{row.place}, “{_printed(row)}”")
    told = "; ".join(f"{' and '.join(places)}: {shared}" for shared, places in by.items())
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
        if not told.startswith((WIDE, NONE, AT_THE_LIMIT, "no interval: ", "interval: ")):
            return told
    return UNKNOWN


def sentence(text: str) -> str:
    """Text with a capital letter and a full stop."""
    text = text.strip()
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
