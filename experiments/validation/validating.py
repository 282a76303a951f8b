"""A log under policies, held against its record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.analysis.record_failures import RecordedFailures, failures_of
from experiments.comparison.entrants import Excluded, field_of
from experiments.text import counted
from experiments.validation.agreement import Agreement, agreement_of
from experiments.validation.answer import (
    Verdict,
    held_line,
    is_near,
    is_not_capacity,
    lines,
    no_verdict,
    record_lines,
    rule_lines,
    verdict,
)
from experiments.validation.calibrating import Calibration, HeldOut, Tried
from experiments.validation.rules import Rule
from experiments.validation.simulating import Failed, Sides, Simulations
from simulator.errors import InputError

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario

MOST_PARTITIONS = 12
"""Those with the most jobs have a line each."""


@dataclass(frozen=True)
class Validation:
    """A log held against its record.

    Attributes
    ----------
    sides : by policy, in the order in which they were asked for; the first one has the verdict.
    agreements : by policy.
    partitions : of the first policy, by partition, the largest first; empty where the log has one at most.
    suggested : rules that the record of the first half of the jobs suggests.
    tried, skipped : these rules on the first half, where they were calibrated, and those that were not tried, with the
        reason.
    failures : that the record tells and the scenario does not have.
    held : what was fitted on the first half, judged on the second; the verdict is of it.
    dropped : the fit with rules, where it is far from the second half and one without them is near; `held` is the latter.
    """

    log: str
    scenario: Scenario
    sides: dict[str, Sides]
    agreements: dict[str, Agreement]
    partitions: dict[str, Agreement]
    suggested: tuple[Rule, ...]
    tried: tuple[Tried, ...]
    skipped: tuple[tuple[Rule, str], ...]
    failures: tuple[RecordedFailures, ...]
    held: HeldOut | None
    dropped: HeldOut | None
    verdict: Verdict
    excluded: tuple[Excluded, ...]

    @property
    def policy(self) -> str:
        """The policy of the verdict."""
        return next(iter(self.agreements))

    def lines(self) -> Iterator[str]:
        """Lines that the command prints."""
        yield from record_lines(self.agreements[self.policy], self.policy)
        for policy, found in self.agreements.items():
            yield from lines(policy, found)
        for name, found in self.partitions.items():
            yield (
                f"partition    {name or '(none)'}: {counted(found.recorded.count, 'job')}, recorded mean "
                f"{found.recorded.mean_s / 3600:.3g} h, simulated {found.simulated.mean_s / 3600:.3g} h"
            )
        yield from rule_lines(self.suggested, self.tried, self.skipped)
        for each in self.failures:
            yield f"failures     {each.words()}"
        if self.dropped is not None:
            yield held_line(self.dropped)
            yield "             So the rules do not hold on the second half. Without them:"
        if self.held is not None:
            yield held_line(self.held)
        yield f"answer       {self.verdict.words}"
        for out in self.excluded:
            yield f"left out     {out.policy}: {out.reason}"


def validate(
    scenario: Scenario,
    log: str,
    policies: Sequence[str] = (),
    simulations: Simulations | None = None,
    calibrate: bool = False,
    folder: Path | None = None,
) -> Validation:
    """A log under its scenario's policy or others, held against its record.

    Parameters
    ----------
    scenario : the log on its machine; its random numbers, where it has some, are those of its seed.
    log : its name, for messages.
    policies : as `experiments.comparison.entrants.field_of` takes them; none: the scenario's own.
    calibrate : whether the rules that the record suggests are tried.
    folder : for files of rules.

    Raises
    ------
    InputError
        The log has no recorded starts, or no policy can run.
    """
    runs = simulations or Simulations()
    field = field_of(scenario, [*policies] or [scenario.policy])
    names = ", ".join(entrant.policy for entrant in field.entrants)
    found = runs.of(field.entrants, f"{log} under {names}")
    excluded = list(field.excluded)
    sides: dict[str, Sides] = {}
    for entrant, each in zip(field.entrants, found, strict=True):
        if isinstance(each, Failed):
            excluded.append(Excluded(entrant.policy, each.reason))
        else:
            sides[entrant.policy] = each
    if not sides:
        raise InputError(f"{log}: no policy can run: {excluded[0].policy}: {excluded[0].reason}")
    agreements = {
        policy: agreement_of(each.recorded, each.simulated, each.pool_gpus)
        for policy, each in sides.items()
    }
    policy, first = next(iter(agreements.items()))
    entrant = next(entrant for entrant in field.entrants if entrant.policy == policy)
    calibration = Calibration(entrant, sides[policy], runs, folder)
    rules: list[Rule] = []
    tried: list[Tried] = []
    held = dropped = None
    if not no_verdict(first.recorded):
        rules = calibration.suggested()
        tried = calibration.kept(rules) if calibrate else []
        chosen = [each.rule for each in tried if each.kept]
        if chosen or not is_not_capacity(first):
            try:
                held = calibration.held_out(chosen)
                if chosen and held is not None and _is_far(held) and not is_not_capacity(first):
                    plain = calibration.held_out()
                    if plain is not None and is_near(plain.ratio.mean):
                        held, dropped = plain, held
            except InputError as error:  # what is known is told all the same
                excluded.append(Excluded("fitted cluster", str(error)))
    return Validation(
        log, entrant.scenario, sides, agreements, _by_partition(sides[policy]), tuple(rules),
        tuple(tried), tuple(calibration.skipped), _failures(sides[policy], entrant.scenario), held, dropped, verdict(first, held), tuple(excluded),
    )  # fmt: skip


def _is_far(held: HeldOut) -> bool:
    return not (math.isnan(held.ratio.mean) or is_near(held.ratio.mean))


def _failures(sides: Sides, scenario: Scenario) -> tuple[RecordedFailures, ...]:
    """Failures of the record; none where the scenario has some itself."""
    if {"outages", "failures"} & {*scenario.features}:
        return ()
    return tuple(failures_of(sides.log))


def _by_partition(sides: Sides) -> dict[str, Agreement]:
    """Agreement by partition of the log; the room in it is that of the nodes that its jobs may use."""
    of = np.array(sides.log.partition, dtype=object)
    names, counts = np.unique(of.astype(str), return_counts=True)
    if len(names) < 2:
        return {}
    chosen = names[np.argsort(-counts, kind="stable")][:MOST_PARTITIONS].tolist()
    found = {}
    for name in chosen:
        own = agreement_of(sides.recorded, sides.simulated, sides.pool_gpus, of == name)
        if own.recorded.count:
            found[name] = own
    return found
