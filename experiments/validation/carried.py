"""A validation carried into answers: today's cluster, and how much wider waits are known."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from experiments.comparison.estimating import by_setting, chosen
from experiments.comparison.metrics import metric_of
from experiments.config import Config, validated
from experiments.validation.writing import FORMAT
from simulator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.comparison.answer import Comparison
    from experiments.comparison.size import Size
    from experiments.comparison.whatif import WhatIf
    from experiments.scenario.schema import Scenario

TOLD = ("mean_total_wait_s", "p95_total_wait_s")
"""Metrics of `whatif` and `compare` whose differences are told with the error."""
UNKNOWN = "How far simulated waits are from those of the cluster is not known."


class Verdict(Config):
    """The key verdict of a validation.json."""

    kind: Literal["none", "recommended", "refused"]
    words: str
    settings: list[str]
    factor: float | None = None


class Keys(Config):
    """The keys of a validation.json that answers need."""

    format: Literal["schedlab validation 1"]
    log: str
    policy: str
    verdict: Verdict


@dataclass(frozen=True)
class Carried:
    """Part of a validation that an answer carries.

    Attributes
    ----------
    log : file name of the jobs.
    settings : ``KEY=VALUE`` each: today's cluster.
    kind, words : its verdict.
    factor : simulated waits are known to within this factor; infinite: not known.
    """

    log: str
    settings: tuple[str, ...]
    kind: str
    words: str
    factor: float

    def expect_log(self, scenario: Scenario) -> None:
        """Raise InputError where the validation is one of other jobs."""
        name = Path(str(getattr(scenario.workload, "path", ""))).name
        if name != self.log:
            raise InputError(
                f"--validation: is one of {self.log}, and the jobs come from {name or 'no file'}; expected that of these jobs"
            )

    def line(self) -> str:
        """The verdict, and the cluster that the answer begins with."""
        today = f" Today's cluster: {', '.join(self.settings)}." if self.settings else ""
        return f"validation: {self.words}{today}"


def read_carried(path: Path) -> Carried:
    """The validation of a file.

    Raises
    ------
    InputError
        It is none; one line.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--validation {path}: cannot be read ({error.strerror})") from None
    except ValueError:
        raise InputError(f"--validation {path}: is no JSON, expected a validation.json") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(f"--validation {path}: expected a validation.json of `schedlab validate`")
    keys = validated(Keys, {name: raw.get(name) for name in Keys.model_fields}, str(path))
    found = keys.verdict
    factor = math.inf if found.factor is None else max(1.0, found.factor)
    return Carried(keys.log, tuple(found.settings), found.kind, found.words, factor)


def widened(lower: float, upper: float, factor: float) -> tuple[float, float]:
    """Ends of a difference of waits that are known to within a factor."""
    ends = [end * by for end in (lower, upper) for by in (factor, 1 / factor)]
    return min(ends), max(ends)


def of_whatif(found: WhatIf, carried: Carried) -> list[str]:
    """Differences of waits with the error of the validation, a sentence each."""
    told = [carried.line()]
    if math.isinf(carried.factor):
        return [*told, UNKNOWN]
    for row in found.table[found.table["metric"].isin(TOLD)].to_dict("records"):
        row_: dict[Any, Any] = row
        ends = (row_["lower"], row_["upper"])
        if math.isnan(ends[0]):
            ends = (row_["difference"],) * 2
        lower, upper = widened(*ends, carried.factor)
        metric = metric_of(row_["metric"])
        scale = metric.scaled(max(abs(lower), abs(upper)), found.currency)
        told.append(
            f"With the error of the validation (a factor of {carried.factor:.2g}) the difference in the {metric.words} is "
            f"{scale.number(lower)} to {scale.text(upper)}."
        )
    return told


def of_run(mean_wait_s: float, carried: Carried) -> list[str]:
    """The mean wait of a run with the error of the validation; NaN where some jobs never started."""
    if math.isinf(carried.factor):
        return [carried.line(), UNKNOWN]
    if math.isnan(mean_wait_s):
        return [carried.line()]
    metric = metric_of("mean_wait_s")
    lower, upper = widened(mean_wait_s, mean_wait_s, carried.factor)
    scale = metric.scaled(upper)
    return [
        carried.line(),
        f"With the error of the validation (a factor of {carried.factor:.2g}) the {metric.words} is "
        f"{scale.number(lower)} to {scale.text(upper)}.",
    ]


def of_comparison(found: Comparison, carried: Carried) -> list[str]:
    """Policies whose waits differ by less than the error of the validation, and by more, a sentence each."""
    if math.isinf(carried.factor):
        return [carried.line(), UNKNOWN]
    told = [carried.line()]
    for labels, _ in by_setting(found.runs, found.settings):
        at = "".join(f"With {name} {value}: " for name, value in labels.items())
        for name in (name for name in TOLD if name in found.metrics):
            rows = chosen(found.table, {**labels, "metric": name, "minus": ""}).set_index("policy")
            means = rows["mean"].dropna().sort_values(kind="stable")
            if len(means) > 1:
                told.append(at + _apart(metric_of(name).words, means.to_dict(), carried.factor))
    return told


def _apart(words: str, means: Mapping[Any, float], factor: float) -> str:
    """Sentences on policies whose waits are known within a factor; the shortest comes first."""
    best, *others = means
    least = means[best]
    near = [str(name) for name in others if means[name] <= least * factor]
    far = [str(name) for name in others if means[name] > least * factor]
    error = f"the error of the validation (a factor of {factor:.2g})"
    told = []
    if near:
        told.append(
            f"The {words} of {', '.join(near)} differs from that of {best} by less than {error}: which one is shorter on "
            "the cluster is not known."
        )
    if far:
        told.append(
            f"The {words} of {', '.join(far)} is longer than that of {best} by more than {error}."
        )
    return " ".join(told)


def of_size(found: Size, stricter: Size, looser: Size, carried: Carried, today: int | None) -> list[str]:  # fmt: skip
    """The number with the error of the validation: where waits are longer, and shorter, by its factor."""
    told = [carried.line()]
    ends = [
        "more than were tried" if each.best is None else f"{each.best}"
        for each in (looser, stricter)
    ]
    told.append(
        f"With the error of the validation (a factor of {carried.factor:.2g}) the answer lies between {ends[0]} and {ends[1]}."
    )
    if today is not None and isinstance(found.best, int):
        more = found.best - today
        apart = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
        told.append(f"{found.best} {'is' if found.best == 1 else 'are'} {apart} today's {today}.")
    return told
