"""One rule for all verdicts: what a paper publishes against what came out here.

A published number is an *effect* against a value of no effect (a saving of 62 % against 0, a
ratio of 1.18 against 1), a plain *amount* (15.67 h), or a *bound* (below 0.1 s). The rule looks at
the whole confidence interval of ours, never at its middle alone:

- **reproduced**: all of it lies within the margin of the published value: 20 % of the effect, or
  10 % of an amount. An example: 1.18 is an effect of 0.18, so 1.15 to 1.21 is reproduced and
  1.09, half of the effect, is not. A published range has no margin. A theorem has none either: the
  interval contains the value. For a bound: all of it keeps the bound.
- **partly**: all of it shows at least half and at most twice the effect in the paper's direction; an
  amount lies within a factor of two, and so does what misses a bound. A theorem has no part, nor has
  "almost equal" or an order ("greedy beats tune").
- A *saving* in per cent says two things: what is saved, s, and what is left, 100 - s. Both are held to the
  margin, and both to the factor of two. So the margin is 20 % of the smaller one. An example: 96 leaves 4,
  so 95.2 to 96.8 is reproduced and 92 to 98 partly; 80, which leaves five times as much, is not reproduced.
- **not reproduced**: all of it lies outside of that.
- **inconclusive**: the interval reaches from one of these to "not reproduced", or there is none
  because one observation says nothing of its error. The row says which of two it is: an interval
  that is wider than the margin needs more seeds, a narrower one is simply at the limit.
- **not comparable**: what was measured on another machine or with jobs that are not at hand, or a ratio of such numbers.
- **new**: the paper has no such number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from experiments.report.contents import Claim, Verdict
from simulator.statistics import Estimate

EFFECT_MARGIN = 0.2
"""Part of a published effect that ours may miss and still count as reproduced."""
AMOUNT_MARGIN = 0.1
"""The same for an amount, relative to it."""
ROUNDING = 1e-8
"""Relative difference between a theorem and a number that a solver worked out."""
PART_OF_EFFECT = 0.5
"""The least share of an effect that counts as a part of it."""
FACTOR = 2.0
"""Deviation of an amount, from a bound, or beyond the effect that still counts as a part."""
WIDE = "the interval is too wide to tell"
NONE = "no interval: too few observations"
AT_THE_LIMIT = "the interval is narrow and contains the limit of what counts as a part"
"""Reasons of an inconclusive row: the first two want more seeds, the third hardly would."""


@dataclass(frozen=True)
class Published:
    """Published value of one quantity; made by `effect`, `amount`, `at_most` or `at_least`.

    Attributes
    ----------
    low, high : the published value, twice, or the ends of a published range; one of them is
        infinite for a bound.
    none : the value of no effect; NaN for an amount or a bound.
    all_saved : 100 for a saving in per cent, whose rest is judged as well; else NaN.
    margin : of the effect, or relative to the amount; 0 for a range.
    text : what the report prints; empty: the number.
    has_part : whether a part of it counts; "almost equal", an order and a proven value have none.
    """

    low: float
    high: float
    none: float
    margin: float
    text: str = ""
    is_theorem: bool = False
    has_part: bool = True
    all_saved: float = math.nan

    def __post_init__(self) -> None:
        if not self.low <= self.high or math.isnan(self.margin) or self.margin < 0:
            raise ValueError(f"published value {self}: expected low <= high and a margin >= 0")
        if self.low <= self.none <= self.high:
            raise ValueError(f"published value {self}: it includes no effect, {self.none:g}")
        if self.high >= self.all_saved:
            raise ValueError(f"published value {self}: nothing is left of {self.all_saved:g}")

    @property
    def printed(self) -> float | str:
        """The paper's value as the report prints it."""
        return self.text or self.low


def effect(
    value: float, *, none: float, high: float | None = None, margin: float = EFFECT_MARGIN,
    text: str = "",
) -> Published:  # fmt: skip
    """A published effect, or a range of them: ``effect(-3, none=0)``, ``effect(1.5, none=1)``.

    Raises ValueError where the range includes ``none``.
    """
    top = value if high is None else high
    return Published(value, top, none, 0.0 if top > value else margin, text or _range(value, top))


def saving(value: float, *, high: float | None = None, text: str = "") -> Published:
    """A published saving in per cent, or a range of them; what is left, 100 less it, is judged as well."""
    return replace(effect(value, none=0.0, high=high, text=text), all_saved=100.0)


def amount(
    value: float, *, high: float | None = None, margin: float = AMOUNT_MARGIN, text: str = ""
) -> Published:
    """A published amount, or a range of amounts: hours, seconds, GPUs, a count."""
    top = value if high is None else high
    margin = 0.0 if top > value else margin
    return Published(value, top, math.nan, margin, text or _range(value, top))


def theorem(value: float, *, text: str = "") -> Published:
    """A proven value: an interval contains it, a number that was worked out equals it."""
    return Published(value, value, math.nan, ROUNDING, text, is_theorem=True, has_part=False)


def at_most(value: float, *, text: str = "") -> Published:
    """A published upper bound ("below 0.1 s", "within 10 %")."""
    return Published(-math.inf, value, math.nan, 0.0, text or f"<= {value:g}")


def at_least(value: float, *, text: str = "") -> Published:
    """A published lower bound ("more than 300,000 variables")."""
    return Published(value, math.inf, math.nan, 0.0, text or f">= {value:g}")


def _range(low: float, high: float) -> str:
    return "" if low == high else f"{low:g} to {high:g}"


def verdict(published: Published, ours: Estimate | float) -> Verdict:
    """The rule. A plain number is exact: it was worked out, or the run knows no chance."""
    low, high = (ours.lower, ours.upper) if isinstance(ours, Estimate) else (ours, ours)
    if math.isnan(low) or math.isnan(high) or not (math.isfinite(low) and math.isfinite(high)):
        return "inconclusive"
    whole, part = accepted(published), partial(published)
    if published.is_theorem:
        return "reproduced" if low <= whole[1] and high >= whole[0] else "not reproduced"
    if whole[0] <= low and high <= whole[1]:
        return "reproduced"
    if part[0] <= low and high <= part[1]:
        return "partly"
    if high < part[0] or low > part[1]:
        return "not reproduced"
    return "inconclusive"


def _reason(published: Published, ours: Estimate | float) -> str:
    """Reason of an inconclusive interval: too few seeds, or a value at the limit."""
    if not isinstance(ours, Estimate) or not math.isfinite(ours.upper - ours.lower):
        return NONE
    limits = [v for v in partial(published) if ours.lower <= v <= ours.upper]
    if (ours.upper - ours.lower) / 2 > _margin(published) or not limits:
        return WIDE
    return f"{AT_THE_LIMIT}, {limits[0]:g}"


def _margin(p: Published) -> float:
    """Deviation of ours that still counts as the published value; a tenth of a bound."""
    ends = [v for v in (p.low, p.high) if math.isfinite(v)]
    share = p.margin if len(ends) == 2 else AMOUNT_MARGIN
    if p.low < p.high and len(ends) == 2:
        share = AMOUNT_MARGIN if math.isnan(p.none) else EFFECT_MARGIN
    return share * min(abs(v - end) for v in ends for end in _ends(p))


def accepted(p: Published) -> tuple[float, float]:
    """Range that counts as the published value: within the margin."""
    slack = 1e-9 * max(abs(p.low) if math.isfinite(p.low) else 0.0, abs(p.high))
    if math.isinf(p.low) or math.isinf(p.high):
        return p.low, p.high
    low, high = (p.margin * min(abs(v - end) for end in _ends(p)) for v in (p.low, p.high))
    return p.low - low - slack, p.high + high + slack


def _ends(p: Published) -> list[float]:
    """Values from which the published one is measured: no effect, or 0, and of a saving all of it."""
    none = 0.0 if math.isnan(p.none) else p.none
    return [none] if math.isnan(p.all_saved) else [none, p.all_saved]


def partial(p: Published) -> tuple[float, float]:
    """Range that counts as a part of it; never narrower than `accepted`."""
    if not p.has_part:
        return accepted(p)
    if math.isnan(p.none):
        ends = (_towards_zero(p.low), _away_from_zero(p.high))
        whole = accepted(p)
        return min(ends[0], whole[0]), max(ends[1], whole[1])
    effects = [_half_to_twice(p, end) for end in _ends(p)]
    return max(low for low, _ in effects), min(high for _, high in effects)


def _half_to_twice(p: Published, end: float) -> tuple[float, float]:
    """Half to twice the distance of the published value from ``end``."""
    near, far = (p.low, p.high) if p.low > end else (p.high, p.low)
    ends = end + PART_OF_EFFECT * (near - end), end + FACTOR * (far - end)
    return min(ends), max(ends)


def _towards_zero(value: float) -> float:
    return value / FACTOR if value > 0 else value * FACTOR


def _away_from_zero(value: float) -> float:
    return value * FACTOR if value > 0 else value / FACTOR


def judged(
    paper: str,
    place: str,
    claim: str,
    published: Published,
    ours: Estimate | float,
    *,
    unit: str = "",
    why: str = "",
    comparable: bool = True,
    labels: tuple[str, ...] = (),
) -> Claim:
    """A row of the claims table with the verdict that the rule gives.

    Parameters
    ----------
    why : the reason, wanted for everything but "reproduced"; left out of a row that is
        reproduced. An inconclusive row says first that its interval is too wide, or at a limit.
    comparable : False: the row is shown, and judged "not comparable" whatever it says.
    labels : see `experiments.report.contents.LABELS`.
    """
    found: Verdict = verdict(published, ours) if comparable else "not comparable"
    row = measured(paper, place, claim, ours, unit=unit, paper_value=published.printed, why=why)
    reason = "" if found == "reproduced" else row.why if found == "not comparable" else why
    if found == "inconclusive":
        told = _reason(published, ours)
        reason = f"{told}; {why}" if why else told
    return replace(row, verdict=found, why=reason, labels=labels)


def measured(
    paper: str,
    place: str,
    claim: str,
    ours: Estimate | float,
    *,
    unit: str = "",
    paper_value: float | str | None = None,
    why: str = "",
) -> Claim:
    """A row with a number of ours that no paper has: "new"."""
    low = high = None
    if isinstance(ours, Estimate):
        if math.isfinite(ours.lower) and math.isfinite(ours.upper):
            low, high = ours.lower, ours.upper
        else:
            why = f"{why}; {NONE}" if why else NONE
        ours = ours.mean
    return Claim(paper, place, claim, paper_value, ours, low, high, unit, "new", why)
