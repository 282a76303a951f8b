"""Published numbers of a paper, read from its ``published.toml``.

    [paper]
    title = "..."          # authors and summary alike
    settings = ["..."]     # what the paper chose: quantities of the list of results that have no row
    setting_places = ["..."]    # the same: tables of settings

    [numbers.saving]
    place = "Section VI"
    claim = "saving over {method}, mean over N"
    kind = "range"
    value = [45, 80]
    no_effect = 0
    unit = "%"

A number stands here alone. Claims name it (`Experiment.row`), figures draw it (``PAGE["saving"].value``).
A table inside a number's table is a number of its own, ``saving.edf``, that has the fields of the outer
one unless it says otherwise.
"""

from __future__ import annotations

import importlib.util
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from experiments.report.contents import Label, Paper
from experiments.report.verdict import (
    Published,
    accepted,
    amount,
    at_least,
    at_most,
    effect,
    theorem,
)

FILE = "published.toml"


class Number(BaseModel):
    """One published number, or a range of them.

    Attributes
    ----------
    place : where the paper says it ("Section V-B, Figure 3").
    claim : the statement in our words, as a template of `str.format`; it may name the reading (``law``).
    says : what the paper says, a template without words of a reading; empty: as ``claim``.
    kind : how it is meant. "equal" is a value without a part: within the margin or not. "up to" is the
        largest of several values. "ordering" says that a ratio or difference is at least ``value``; it has
        no part either. "theorem" is exact. "context" is a number of the paper beside which ours measures
        something else: the row is new.
    value : the number, or low and high of a range.
    no_effect : the value of no effect, where the number is an effect (0 % saved, 1 times as fast).
    saving : the number is a saving in per cent; what is left, 100 less it, is judged as well.
    unit : of the value; empty for a plain number.
    margin : share of the effect or amount by which ours may differ; None: the rule's own.
    printed : words of the paper, where they are more than the number ("< 60").
    comparable : False for what was measured on another machine or with jobs that are not at hand: shown, not judged.
    counts : the paper prints it; False where it follows from the paper, or stands elsewhere.
    parts : words of the claim that name parts of the statement (``method``); a reading has to give them all.
    unprinted : what decides the number and is not printed.
    excluded : why no reading that the text allows gives it.
    reason : where it does not come out and neither is said: why, in one sentence without a number of ours.
    note : what a reader of the class should know beside it, one sentence.
    statement : the figure or section to which it belongs together with others ("Section 4.3"); one reading has to
        give them all.
    read_by : words of the claim that name the reading of that statement (``law``), the same for all its numbers.
    labels : see `experiments.report.contents.LABELS`.
    proof : see `experiments.report.contents.Claim`.
    facts : the results that this number covers in the list of published results: place, quantity.
    paper_scale : the number has a row at paper scale alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    place: str
    claim: str
    says: str = ""
    kind: Literal[
        "value", "equal", "range", "at most", "at least", "up to", "ordering", "theorem", "context"
    ]
    value: int | float | tuple[float, float] | None = None
    no_effect: float | None = None
    saving: bool = False
    unit: str = ""
    margin: float | None = None
    printed: str = ""
    comparable: bool = True
    counts: bool = True
    parts: tuple[str, ...] = ()
    unprinted: str = ""
    excluded: str = ""
    reason: str = ""
    note: str = ""
    statement: str = ""
    read_by: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    proof: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    paper_scale: bool = False

    @property
    def low(self) -> float:
        """The number, or the lower end of its range."""
        return self._ends[0]

    @property
    def high(self) -> float:
        """The number, or the upper end of its range."""
        return self._ends[1]

    def reading_of(self, words: Mapping[str, Any]) -> str:
        """The words of a row that name no part of the statement; empty where it has no parts."""
        told = ", ".join(str(word) for name, word in words.items() if name not in self.parts)
        return (told or self.place) if self.parts else ""

    def shared_by(self, words: Mapping[str, Any]) -> str:
        """The words of a row that name the reading of its statement; empty where it has none."""
        told = [(name, words[name]) for name in self.read_by if name in words]
        return ", ".join(
            f"{name} {word:g}" if isinstance(word, int | float) else str(word)
            for name, word in told
        )

    def part_of(self, words: Mapping[str, Any]) -> str:
        """The words of a row that name its part of the statement; empty where it has no parts."""
        return ", ".join(str(words[name]) for name in self.parts if name in words)

    def reserve(self, ours: float | None) -> float:
        """Distance of ours from the edge of the number, its range or its bound, in its unit; negative outside."""
        if ours is None or math.isnan(ours):
            return -math.inf
        low = -math.inf if self.kind == "at most" else self.low
        high = math.inf if self.kind in ("at least", "ordering") else self.high
        return min(ours - low, high - ours)

    def distance(self, ours: float | None) -> float:
        """Distance of ours from the number, its range or its bound; in its unit, 0 inside."""
        return max(-self.reserve(ours), 0.0)

    @property
    def _ends(self) -> tuple[float, float]:
        if isinstance(self.value, tuple):
            return self.value
        return (math.nan, math.nan) if self.value is None else (self.value, self.value)

    @property
    def accepted(self) -> tuple[float, float]:
        """Range of ours that counts as the number; raises as `rule`."""
        return accepted(self.rule)

    @property
    def rule(self) -> Published:
        """Reference value for the rule for verdicts.

        Raises
        ------
        ValueError
            A number of kind "context", or one without a value.
        """
        low, high = self._ends
        if self.kind == "context" or math.isnan(low):
            raise ValueError(
                f"{self.place}, {self.claim!r}: no published value to compare ours with"
            )
        text = self.printed
        if self.kind == "at most":
            return at_most(high, text=text)
        if self.kind in ("at least", "ordering"):
            return replace(at_least(low, text=text), has_part=self.kind == "at least")
        if self.kind == "theorem":
            return theorem(low, text=text)
        margin = {} if self.margin is None else {"margin": self.margin}
        if self.no_effect is None:
            found = amount(low, high=high, text=text, **margin)
        else:
            found = effect(low, none=self.no_effect, high=high, text=text, **margin)
        all_saved = 100.0 if self.saving else math.nan
        return replace(found, has_part=self.kind != "equal", all_saved=all_saved)


def read_paper(folder: Path, module: str = "") -> Paper:
    """Name, title, authors and summary of the paper whose package this folder is."""
    about = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))["paper"]
    return Paper(folder.name, about["title"], about["authors"], about["summary"], module)


def read_numbers(folder: Path) -> dict[str, Number]:
    """The published numbers of a paper by name.

    Raises
    ------
    pydantic.ValidationError
        A field is missing, unknown or of another type.
    """
    content = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    return dict(_numbers(content.get("numbers", {}), "", {}))


def numbers_of(paper: Paper) -> dict[str, Number]:
    """The published numbers of a paper of the report; none where its package is not there."""
    spec = importlib.util.find_spec(paper.module)
    return {} if spec is None or spec.origin is None else read_numbers(Path(spec.origin).parent)


def _numbers(
    tables: Mapping[str, Any], within: str, outer: Mapping[str, Any]
) -> Iterator[tuple[str, Number]]:
    for name, table in tables.items():
        inner = {k: v for k, v in table.items() if isinstance(v, dict)}
        fields = {**outer, **{k: v for k, v in table.items() if k not in inner}}
        if not inner:
            yield within + name, Number(**fields)
        yield from _numbers(inner, f"{within}{name}.", fields)
