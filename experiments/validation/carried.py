"""A validation carried into answers: today's cluster, and how much wider waits are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from experiments.comparison.estimating import by_setting, chosen
from experiments.comparison.metrics import metric_of
from experiments.config import Config, validated
from experiments.validation.writing import FORMAT, jobs_file, log_hash
from simulator.errors import InputError
from simulator.files.inputs import MOST_CONFIG_BYTES, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.comparison.answer import Comparison
    from experiments.comparison.size import Size
    from experiments.comparison.whatif import WhatIf
    from experiments.scenario.schema import Scenario

TOLD = ("mean_total_wait_s", "p95_total_wait_s")
"""Metrics of `whatif` and `compare` whose differences are told with the error."""
LEAST_S = 1.0
"""A factor says nothing of a mean wait that is shorter: 0 is within any factor of 0."""
UNKNOWN = "How far simulated waits are from those of the cluster is not known."


class VerdictKeys(Config):
    """The key verdict of a validation.json."""

    kind: Literal["none", "recommended", "refused"]
    words: str
    settings: list[str]
    factor: float | None = None


class Keys(Config):
    """The keys of a validation.json that answers need."""

    format: Literal["schedlab validation 1"]
    log: str
    log_sha256: str
    policy: str
    verdict: VerdictKeys


@dataclass(frozen=True)
class Carried:
    """Part of a validation that an answer carries.

    Attributes
    ----------
    log, log_sha256 : file name of the jobs, and the hash of what is in it.
    policy : under which they were simulated.
    settings : ``KEY=VALUE`` each: today's cluster.
    kind, words : its verdict.
    factor : simulated waits are known to within this factor; infinite: not known.
    """

    log: str
    log_sha256: str
    policy: str
    settings: tuple[str, ...]
    kind: str
    words: str
    factor: float

    def expect_log(self, scenario: Scenario) -> None:
        """Raise InputError where the validation is one of other jobs."""
        path = jobs_file(scenario)
        if not path or log_hash(scenario) != self.log_sha256:
            has = " (another content)" if Path(path).name == self.log else ""
            raise InputError(
                f"--validation: is one of {self.log}, and the jobs come from {path or 'no file'}{has}; expected that of these jobs"
            )

    def lines(self) -> list[str]:
        """The verdict, the cluster that the answer begins with, and whether nothing is known of the error."""
        today = f" Today's cluster: {', '.join(self.settings)}." if self.settings else ""
        told = [f"validation under {self.policy}: {self.words}{today}"]
        return [*told, UNKNOWN] if math.isinf(self.factor) else told

    @property
    def error(self) -> str:
        """The factor in words, which is one of the mean wait, whatever wait an answer is on."""
        words = metric_of("mean_wait_s").words
        return f"the error of the validation (a factor of {self.factor:.2g} in the {words})"


def read_carried(path: Path) -> Carried:
    """The validation of a file.

    Raises
    ------
    InputError
        It is none; one line.
    """
    raw = read_json(path, "a validation.json", MOST_CONFIG_BYTES)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(f"--validation {path}: expected a validation.json of `schedlab validate`")
    keys = validated(Keys, {name: raw.get(name) for name in Keys.model_fields}, str(path))
    found = keys.verdict
    factor = math.inf if found.factor is None else max(1.0, found.factor)
    return Carried(
        keys.log, keys.log_sha256, keys.policy, tuple(found.settings), found.kind, found.words, factor
    )  # fmt: skip


def within(mean_s: float, factor: float) -> tuple[float, float]:
    """Ends of a mean wait that is known to within a factor; of one below `LEAST_S` nothing is known, so they are 0 and infinite."""
    return (0.0, math.inf) if mean_s < LEAST_S else (mean_s / factor, mean_s * factor)


def widened(base_s: float, other_s: float, factor: float) -> tuple[float, float]:
    """Ends of the difference of two mean waits, each of which is known to within a factor."""
    (least, most), (other_least, other_most) = within(base_s, factor), within(other_s, factor)
    return other_least - most, other_most - least


def of_whatif(found: WhatIf, carried: Carried) -> list[str]:
    """Differences of waits with the error of the validation, and that of the draws added, a sentence each."""
    told = carried.lines()
    if math.isinf(carried.factor):
        return told
    for row in found.table[found.table["metric"].isin(TOLD)].to_dict("records"):
        row_: dict[Any, Any] = row
        ends = widened(row_["base"], row_["whatif"], carried.factor)
        of_draws = (row_["lower"], row_["upper"])
        if not math.isnan(of_draws[0]):
            ends = tuple(a + b - row_["difference"] for a, b in zip(ends, of_draws, strict=True))
        told.append(
            _sentence(
                f"difference in the {metric_of(row_['metric']).words}",
                row_["metric"],
                ends,
                carried,
            )
        )
    return told


def of_run(mean_wait_s: float, carried: Carried) -> list[str]:
    """The mean wait of a run with the error of the validation; NaN where some jobs never started."""
    if math.isinf(carried.factor) or math.isnan(mean_wait_s):
        return carried.lines()
    name, ends = "mean_wait_s", within(mean_wait_s, carried.factor)
    return [*carried.lines(), _sentence(metric_of(name).words, name, ends, carried)]


def _sentence(what: str, metric: str, ends: tuple[float, float], carried: Carried) -> str:
    """The ends of a number in words."""
    if not all(map(math.isfinite, ends)):
        return (
            f"Of the {what} nothing is known: {carried.error} says nothing of a wait of hardly 0."
        )
    scale = metric_of(metric).scaled(max(map(abs, ends)))
    return f"With {carried.error} the {what} is {scale.number(ends[0])} to {scale.text(ends[1])}."


def of_comparison(found: Comparison, carried: Carried) -> list[str]:
    """Policies whose waits differ by less than the error of the validation, and by more, a sentence each."""
    told = carried.lines()
    if math.isinf(carried.factor):
        return told
    for labels, _ in by_setting(found.runs, found.settings):
        at = "".join(f"With {name} {value}: " for name, value in labels.items())
        for name in (name for name in TOLD if name in found.metrics):
            rows = chosen(found.table, {**labels, "metric": name, "minus": ""}).set_index("policy")
            means = rows["mean"].dropna().sort_values(kind="stable")
            if len(means) > 1:
                told.append(at + _apart(metric_of(name).words, means.to_dict(), carried))
    return told


def _apart(words: str, means: Mapping[Any, float], carried: Carried) -> str:
    """Sentences on policies whose waits are each known within the factor; the shortest comes first."""
    best, *others = means
    far = [name for name in others if widened(means[best], means[name], carried.factor)[0] > 0]
    near = [name for name in others if name not in far]
    told = []
    if near:
        told.append(
            f"The {words} of {', '.join(near)} differs from that of {best} by less than {carried.error} allows: which one "
            "is shorter on the cluster is not known."
        )
    if far:
        told.append(
            f"The {words} of {', '.join(far)} is longer than that of {best}, also with {carried.error} in each."
        )
    return " ".join(told)


def of_size(found: Size, ends: Sequence[Size], carried: Carried, today: int | None) -> list[str]:
    """The number with the error of the validation, and beside today's.

    Parameters
    ----------
    ends : the answers where waits are longer, and shorter, by its factor; none where it is not known.
    """
    told = carried.lines()
    if ends:
        known = sorted(each.best for each in ends if isinstance(each.best, (int, float)))
        if len(known) == len(ends):
            answer = f"the answer lies between {known[0]} and {known[-1]}"
        elif known:
            answer = f"the answer is {known[0]} or more"
        else:
            answer = "no number that was tried is known to suffice"
        told.append(f"With {carried.error} {answer}.")
    if today is not None and isinstance(found.best, int):
        more = found.best - today
        apart = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
        told.append(f"{found.best} {'is' if found.best == 1 else 'are'} {apart} today's {today}.")
    return told
