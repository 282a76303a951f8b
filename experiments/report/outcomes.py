"""Printed numbers by class: each once, by the best reading that the paper's text allows.

- *reproduced*: some reading gives it. The authors' own program, draw or data is one, and is labelled so.
- *undetermined*: the paper does not print what decides it, and readings lie on both sides of it, or around it.
- *excluded*: no reading that the text allows gives it, and the reason is known.
- *open*: no reading gives it for certain, and no reason has been proven.
- *not comparable*: what was measured on another machine or with jobs that are not at hand, or a ratio of such numbers.

The rows decide, by their verdicts and intervals. Of readings with equal verdicts the one that is nearest to the printed
number is shown; where numbers belong together (``statement``), of those that give it the one that gives most of them.
``published.toml`` also names what is not printed (``unprinted``), or why no reading can give the number (``excluded``);
without rows that bear it out neither has an effect.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.report.contents import AGAINST, REFUTED, Claim, Paper
from experiments.report.in_words import exclusion, meaning, needed, reason
from experiments.report.published import Number, numbers_of

OUTCOMES = ("reproduced", "undetermined", "excluded", "open", "not comparable")
AGREEMENT = {"not comparable": 0, "partly": 2, "reproduced": 3}
"""Of readings the ones with the larger number are shown; of the others, 1, the nearest, however wide its interval is."""
WORST_FIRST = ("not comparable", "not reproduced", "inconclusive", "partly", "reproduced")


@dataclass(frozen=True)
class Printed:
    """A printed number and what came of it.

    Attributes
    ----------
    name : in ``published.toml``.
    outcome : its class, of `OUTCOMES`.
    row : the weakest row of its best reading.
    means : what the class says of this number, one sentence.
    because : why it has this class, and what a reader should know beside it; empty where there is nothing to add.
    readings : all rows of the number, also those that contradict the text; at least one.
    giving : readings of its statement that give it, where there are others to share them.
    """

    name: str
    outcome: str
    row: Claim
    means: str
    because: str
    readings: tuple[Claim, ...]
    giving: frozenset[str]

    @property
    def place(self) -> str:
        """Where the paper says it: the place of its first row."""
        return self.readings[0].place

    @property
    def says(self) -> str:
        """Statement of the paper."""
        return self.row.says or self.row.claim

    @property
    def reading(self) -> str:
        """The words of the row that is shown."""
        at = "" if self.row.place == self.place else f"{self.row.place}, "
        return f"{at}{self.row.claim}"


def printed_numbers(paper: Paper, claims: Iterable[Claim]) -> list[Printed]:
    """The printed numbers of a paper; none of a study of our own, or without a judged row."""
    if paper.is_study:
        return []
    numbers = {name: number for name, number in numbers_of(paper).items() if number.counts}
    rows: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.verdict != "new" and claim.published in numbers:
            rows[claim.published].append(claim)
    readings = {
        name: found
        for name, of_number in rows.items()
        if (found := _readings(numbers[name], _allowed(of_number)))
    }
    order = _order(numbers, readings)
    printed = [
        _came_of(name, numbers[name], found, rows[name], order) for name, found in readings.items()
    ]
    excluding = _excluding(numbers, printed)
    return [
        replace(one, because=needed(numbers[one.name], one.row, one.giving))
        if one in excluding.get(numbers[one.name].statement, ())
        else one
        for one in printed
    ]


def exclusions(paper: Paper, printed: Iterable[Printed]) -> list[str]:
    """Sentences that say which printed numbers need readings that exclude each other."""
    return [
        exclusion(statement, [(one.row, one.giving) for one in ones])
        for statement, ones in _excluding(numbers_of(paper), printed).items()
    ]


def _excluding(
    numbers: Mapping[str, Number], printed: Iterable[Printed]
) -> dict[str, list[Printed]]:
    """Reproduced numbers of each statement that need readings which another number of it does not allow."""
    of_statement: dict[str, list[Printed]] = defaultdict(list)
    for one in printed:
        if one.outcome == "reproduced" and one.giving and numbers[one.name].statement:
            of_statement[numbers[one.name].statement].append(one)
    found = {}
    for statement, ones in of_statement.items():
        if not frozenset.intersection(*(one.giving for one in ones)):
            apart = [one for one in ones if any(not one.giving & other.giving for other in ones)]
            found[statement] = apart or ones
    return found


@dataclass(frozen=True)
class _Reading:
    """Rows of a number that count together: the weakest of them, its distance from the number, how many there are."""

    weakest: Claim
    distance: float
    parts: int

    @property
    def gives(self) -> bool:
        return self.weakest.verdict == "reproduced"


def _allowed(rows: Sequence[Claim]) -> list[Claim]:
    """Rows that do not contradict the text; those that cannot be compared only where there are no others."""
    allowed = [row for row in rows if AGAINST not in row.labels]
    return [row for row in allowed if row.verdict != "not comparable"] or allowed


def _readings(number: Number, rows: Sequence[Claim]) -> list[_Reading]:
    """Readings; of a number whose statement has several parts those that have all of them."""
    found: dict[object, list[Claim]] = defaultdict(list)
    for i, row in enumerate(rows):
        found[row.reading or i].append(row)
    most = max(map(len, found.values()), default=0)
    weakest = [
        min(of, key=lambda row: (_rank(row), number.reserve(row.ours)))
        for of in found.values()
        if len(of) == most
    ]
    return [_Reading(row, number.distance(row.ours), most) for row in weakest]


def _rank(row: Claim) -> int:
    return WORST_FIRST.index(row.verdict)


def _order(
    numbers: Mapping[str, Number], readings: Mapping[str, Sequence[_Reading]]
) -> dict[tuple[str, str], int]:
    """Place of each reading of a statement: before others the one that gives more of its numbers."""
    given = Counter(
        (numbers[name].statement, shared)
        for name, found in readings.items()
        if numbers[name].statement
        for shared in dict.fromkeys(one.weakest.shared for one in found if one.gives)
        if shared
    )
    return {key: place for place, (key, _) in enumerate(given.most_common())}


def _came_of(
    name: str, number: Number, readings: Sequence[_Reading], rows: Sequence[Claim],
    order: Mapping[tuple[str, str], int],
) -> Printed:  # fmt: skip
    def quality(one: _Reading) -> tuple[int, int, float]:
        place = order.get((number.statement, one.weakest.shared), len(order)) if one.gives else 0
        return AGREEMENT.get(one.weakest.verdict, 1), -place, -one.distance

    best = max(readings, key=quality)
    row, allowed = best.weakest, _allowed(rows)
    values, between = _around(allowed, _value), _around(allowed, _interval)
    outcome = _outcome(number, [one.weakest for one in readings], row, between)
    means = meaning(number, outcome, row, len(readings), values, between, best.parts)
    because = reason(number, outcome, row, len(readings), sum(one.gives for one in readings))
    shared = [one.weakest.shared for one in readings if one.gives]
    giving = frozenset(shared if all(shared) else ())
    return Printed(name, outcome, row, means, because, tuple(rows), giving)


def _outcome(
    number: Number, weakest: Sequence[Claim], best: Claim, between: tuple[float, float]
) -> str:
    if best.verdict in ("not comparable", "reproduced"):
        return best.verdict
    if number.excluded and all(row.verdict in REFUTED for row in weakest):
        return "excluded"
    if number.unprinted and between[0] <= number.low and number.high <= between[1]:
        return "undetermined"
    return "open"


def _around(
    rows: Sequence[Claim], ends: Callable[[Claim], tuple[float, float]]
) -> tuple[float, float]:
    """Range that the rows of every part reach around, the low end above the high one where there is none; NaN without numbers."""
    by_part: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.ours is not None and not math.isnan(row.ours):
            by_part[row.part].append(ends(row))
    lows = [min(low for low, _ in found) for found in by_part.values()]
    highs = [max(high for _, high in found) for found in by_part.values()]
    return max(lows, default=math.nan), min(highs, default=math.nan)


def _value(row: Claim) -> tuple[float, float]:
    assert row.ours is not None
    return row.ours, row.ours


def _interval(row: Claim) -> tuple[float, float]:
    if row.ci_low is None or row.ci_high is None:
        return _value(row)
    return row.ci_low, row.ci_high
