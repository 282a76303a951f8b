"""Printed numbers by outcome: each once, by the best reading that the paper's text allows.

- *reproduced*: some reading gives it. The authors' own program, draw or data is one, and is labelled so.
- *undetermined*: the paper does not print what decides it, and readings lie on both sides of it, or around it.
- *excluded*: no reading gives it, and the reason is known for each.
- *open*: none of these.
- *not comparable*: what was measured on another machine or with jobs that are not at hand, or a ratio of such numbers.

The rows decide, by their verdicts and intervals. ``published.toml`` names what is not printed (``unprinted``), or
why no reading can give the number (``excluded``); without rows that bear it out neither has an effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.report.contents import AGAINST, REFUTED, Claim, Paper
from experiments.report.published import Number, numbers_of

OUTCOMES = ("reproduced", "undetermined", "excluded", "open", "not comparable")
WORST_FIRST = ("not reproduced", "inconclusive", "partly", "reproduced")


@dataclass(frozen=True)
class Printed:
    """A printed number and what came of it.

    Attributes
    ----------
    name : in ``published.toml``.
    outcome : of `OUTCOMES`.
    row : the weakest row of its best reading.
    because : the sentence that shows why it is not reproduced; empty where it is.
    """

    name: str
    outcome: str
    row: Claim
    because: str


def printed_numbers(paper: Paper, claims: Iterable[Claim]) -> list[Printed]:
    """The printed numbers of a paper; none of a study of our own, or without a judged row."""
    if paper.is_study:
        return []
    numbers = numbers_of(paper)
    rows: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        allowed = claim.verdict != "new" and AGAINST not in claim.labels
        if allowed and claim.published in numbers:
            rows[claim.published].append(claim)
    return [
        _came_of(name, numbers[name], of_number)
        for name, of_number in rows.items()
        if numbers[name].counts
    ]


def _came_of(name: str, number: Number, rows: Sequence[Claim]) -> Printed:
    comparable = [row for row in rows if row.verdict != "not comparable"]
    if not comparable:
        return Printed(name, "not comparable", rows[0], rows[0].why)
    weakest = [min(reading, key=_rank) for reading in _readings(comparable)]
    best = max(weakest, key=_rank)
    if best.verdict == "reproduced":
        return Printed(name, "reproduced", best, "")
    if number.excluded and all(row.verdict in REFUTED for row in weakest):
        return Printed(name, "excluded", best, number.excluded)
    if number.unprinted and _around(number, comparable):
        return Printed(name, "undetermined", best, f"not printed: {number.unprinted}")
    return Printed(name, "open", best, best.why)


def _rank(row: Claim) -> int:
    return WORST_FIRST.index(row.verdict)


def _readings(rows: Sequence[Claim]) -> list[list[Claim]]:
    """Rows by reading; of a number whose statement has several parts those that have all of them."""
    found: dict[object, list[Claim]] = defaultdict(list)
    for i, row in enumerate(rows):
        found[row.reading or i].append(row)
    most = max(map(len, found.values()))
    return [reading for reading in found.values() if len(reading) == most]


def _around(number: Number, rows: Sequence[Claim]) -> bool:
    """Whether the intervals of all rows together reach from below the number to above it."""
    ends = [
        (row.ours, row.ours) if row.ci_low is None or row.ci_high is None else (row.ci_low, row.ci_high)
        for row in rows
        if row.ours is not None
    ]  # fmt: skip
    low, high = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0.0, 0.0)
    return bool(ends) and low <= number.low and number.high <= high
