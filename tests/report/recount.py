"""A strict recount of claims.csv and readings.csv, with arithmetic of its own: what is wrong, one line each."""

import csv
import re
from collections import Counter
from pathlib import Path

from experiments.papers.registry import load, papers
from experiments.report.published import Number

CLOSE = 1e-6
"""Relative; the files have nine digits."""
ORDER = ("not comparable", "not reproduced", "inconclusive", "partly", "reproduced")
WORKED_OUT = re.compile(
    r"no interval: (it is )?worked out(?! from the published)|a count of intervals"
)
"""Reasons of rows that no run could have failed."""


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def numbers() -> dict[tuple[str, str], Number]:
    """The printed numbers of the papers, without our studies."""
    return {
        (paper.name, name): number
        for paper in papers()
        if not paper.is_study
        for name, number in load(paper).numbers.items()
    }


def wrong(rows: list[dict[str, str]], of: dict[tuple[str, str], Number]) -> list[str]:
    """Violations among the readings of the papers: "kind: paper, claim"."""
    names = {paper for paper, _ in of}
    rows = [row for row in rows if row["paper"] in names]
    found = [f"{kind}: {_name(row)}" for row in rows for kind in _of_row(row, of)]
    same_row = Counter((row["paper"], row["place"], row["claim"]) for row in rows)
    found += [f"row twice: {', '.join(key)}" for key, count in same_row.items() if count > 1]
    counted: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        if not row["labels"] and row["verdict"] not in ("new", "not comparable"):
            key = tuple(row[name] for name in ("paper", "paper_value", "unit", "ours", "ci_low"))
            counted.setdefault(key, set()).add(row["published"])
    found += [f"counted twice: {sorted(names)}" for names in counted.values() if len(names) > 1]
    return found


def recount(
    rows: list[dict[str, str]], of: dict[tuple[str, str], Number]
) -> dict[tuple[str, str], tuple[str, str]]:
    """Class of each printed number, and the claim of the row that is shown, from readings.csv alone."""
    every: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        key = row["paper"], row["published"]
        judged = row["verdict"] != "new" and "against the text" not in row["labels"]
        if judged and key in of and of[key].counts:
            every.setdefault(key, []).append(row)
    readings = {}
    for key, judged_rows in every.items():
        shown = [row for row in judged_rows if row["verdict"] != "not comparable"] or judged_rows
        every[key], readings[key] = shown, _whole_readings(shown)
    wanted: Counter[tuple[str, str, str]] = Counter()
    for key, found in readings.items():
        giving = [_weakest(r)["shared"] for r in found if _weakest(r)["verdict"] == "reproduced"]
        wanted.update([(key[0], of[key].statement, told) for told in dict.fromkeys(giving) if told])
    first = [key for key, _ in sorted(wanted.items(), key=lambda item: -item[1])]
    first_place = {(r["paper"], r["published"]): r["place"] for r in reversed(rows)}
    counted = {}
    for key, found in readings.items():
        number = of[key]

        def quality(row: dict[str, str], key: tuple[str, str] = key) -> tuple[int, int, float]:
            told = key[0], of[key].statement, row["shared"]
            agrees = {"not comparable": 0, "partly": 2, "reproduced": 3}.get(row["verdict"], 1)
            alone = row["verdict"] != "reproduced" or not of[key].statement or told not in first
            place = len(first) if alone else first.index(told)
            return agrees, -place, -_off(row, of[key])

        best = max((_weakest(reading, number) for reading in found), key=quality)
        at = "" if best["place"] == first_place[key] else f"{best['place']}, "
        counted[key] = _class(every[key], found, number), at + best["claim"]
    return counted


def differing(
    claims: list[dict[str, str]],
    readings: list[dict[str, str]],
    of: dict[tuple[str, str], Number],
) -> list[str]:
    """Rows of claims.csv that the recount of readings.csv does not give, a line each."""
    names = {paper for paper, _ in of}
    told = {
        (row["paper"], row["number"]): (row["class"], row["reading"])
        for row in claims
        if row["paper"] in names
    }
    counted = recount(readings, of)
    return [
        f"{', '.join(key)}: {told.get(key)} is {counted.get(key)}"
        for key in sorted(told.keys() | counted.keys())
        if told.get(key) != counted.get(key)
    ]


def _whole_readings(rows: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    whole: dict[str, list[dict[str, str]]] = {}
    for place, row in enumerate(rows):
        whole.setdefault(row["reading"] or f"row {place}", []).append(row)
    parts = max(len(reading) for reading in whole.values())
    return [reading for reading in whole.values() if len(reading) == parts]


def _weakest(reading: list[dict[str, str]], number: Number | None = None) -> dict[str, str]:
    def weakness(row: dict[str, str]) -> tuple[int, float]:
        return ORDER.index(row["verdict"]), _inside(row, number) if number else 0.0

    return min(reading, key=weakness)


def _inside(row: dict[str, str], number: Number) -> float:
    """How far ours is inside of what is printed; negative outside."""
    if not row["ours"]:
        return -1e99
    ours, least, most = float(row["ours"]), number.low, number.high
    above_least = 1e99 if number.kind == "at most" else ours - least
    below_most = 1e99 if number.kind in ("at least", "ordering") else most - ours
    return min(above_least, below_most)


def _off(row: dict[str, str], number: Number) -> float:
    """How far ours is outside of what is printed."""
    return max(-_inside(row, number), 0.0)


def _class(rows: list[dict[str, str]], readings: list[list[dict[str, str]]], number: Number) -> str:
    verdicts = [{row["verdict"] for row in reading} for reading in readings]
    if all(v == {"not comparable"} for v in verdicts):
        return "not comparable"
    if {"reproduced"} in verdicts:
        return "reproduced"
    if number.excluded and all(
        "not reproduced" in v or ("partly" in v and "inconclusive" not in v) for v in verdicts
    ):
        return "excluded"
    around = []
    for part in {row["part"] for row in rows}:
        of_part = [row for row in rows if row["part"] == part and row["ours"] not in ("", "nan")]
        if not of_part:
            return "open"
        least = min(float(row["ci_low"] or row["ours"]) for row in of_part)
        most = max(float(row["ci_high"] or row["ours"]) for row in of_part)
        around.append(least <= number.low and most >= number.high)
    return "undetermined" if number.unprinted and all(around) else "open"


def _name(row: dict[str, str]) -> str:
    return f"{row['paper']}, {row['place']}, {row['claim']}"


def _of_row(row: dict[str, str], of: dict[tuple[str, str], Number]) -> list[str]:
    found = []
    if row["ours"] and not row["ci_low"] and "no interval: " not in row["why"]:
        found.append("no interval and no reason")
    if row["verdict"] in ("partly", "not reproduced", "inconclusive") and not row["why"]:
        found.append("no reason")
    if row["verdict"] in ("new", "not comparable"):
        return found
    number = of.get((row["paper"], row["published"]))
    if number is None and not row["labels"]:
        return [*found, "no entry in published.toml"]
    expected = _verdict(row, number)
    if expected != row["verdict"]:
        found.append(f"{row['verdict']} is {expected}")
    tautology = WORKED_OUT.search(row["why"]) or (
        not row["ci_low"]
        and number is not None
        and number.kind in ("value", "equal", "theorem", "up to")
        and abs(float(row["ours"]) - number.low) <= 1e-9 * abs(number.low)
    )
    if row["verdict"] == "reproduced" and tautology and not row["labels"]:
        found.append("tautology without a label")
    if row["proof"] and row["verdict"] not in ("partly", "not reproduced"):
        found.append("proof of nothing")
    return found


def _verdict(row: dict[str, str], number: Number | None) -> str:
    """The verdict by the rule of docs/papers.md."""
    ours = float(row["ours"])
    low, high = (float(row[end]) if row[end] else ours for end in ("ci_low", "ci_high"))
    if not row["ci_low"] and "too few observations" in row["why"]:
        return "inconclusive"
    kind, none, saving, margin = "value", None, False, None
    if number is None:  # a ratio of two printed numbers
        kind, none = "value", 1.0 if row["unit"] == "x" else None
        least = most = float(row["paper_value"])
    else:
        kind, none, saving, margin = number.kind, number.no_effect, number.saving, number.margin
        least, most = number.low, number.high
    if kind == "theorem":
        slack = 1e-8 * abs(least)
        inside = low <= least + slack and high >= least - slack
        return "reproduced" if inside else "not reproduced"
    slack = CLOSE * max(abs(low), abs(high), abs(most))
    if kind == "at most":
        return _judged(low, high, (-1e99, most + slack), (-1e99, _twice(most) + slack))
    if kind in ("at least", "ordering"):
        half = least if kind == "ordering" else least / 2 if least > 0 else 2 * least
        return _judged(low, high, (least - slack, 1e99), (half - slack, 1e99))
    share = margin if margin is not None else 0.1 if none is None else 0.2
    share = 0.0 if least < most else share
    ends = [0.0 if none is None else none, *([100.0] if saving else [])]
    whole = (
        least - share * min(abs(least - end) for end in ends) - slack,
        most + share * min(abs(most - end) for end in ends) + slack,
    )
    part = whole
    if kind != "equal":
        parts = [
            sorted((_scaled(least, most, end, 0.5), _scaled(least, most, end, 2))) for end in ends
        ]
        part = max(p[0] for p in parts) - slack, min(p[1] for p in parts) + slack
    return _judged(low, high, whole, part)


def _twice(value: float) -> float:
    return 2 * value if value > 0 else value / 2


def _scaled(least: float, most: float, end: float, factor: float) -> float:
    """The end of a printed range that is nearer to ``end``, or the farther one, at this share of its distance."""
    near = min(least, most, key=lambda v: abs(v - end))
    far = max(least, most, key=lambda v: abs(v - end))
    return end + factor * ((near if factor < 1 else far) - end)


def _judged(low: float, high: float, whole: tuple[float, float], part: tuple[float, float]) -> str:
    if whole[0] <= low and high <= whole[1]:
        return "reproduced"
    if part[0] <= low and high <= part[1]:
        return "partly"
    return "not reproduced" if high < part[0] or low > part[1] else "inconclusive"
