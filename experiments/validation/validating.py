"""A log under policies, held against its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments.comparison.entrants import Excluded, field_of
from experiments.validation.agreement import Agreement, agreement_of
from experiments.validation.answer import (
    FEW_REASONS,
    Verdict,
    held_line,
    lines,
    no_verdict,
    record_lines,
    verdict,
)
from experiments.validation.calibrating import HeldOut, held_out
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
    """

    log: str
    scenario: Scenario
    sides: dict[str, Sides]
    agreements: dict[str, Agreement]
    partitions: dict[str, Agreement]
    held: HeldOut | None
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
                f"partition    {name or '(none)'}: {found.recorded.count:,} jobs, recorded mean "
                f"{found.recorded.mean_s / 3600:.3g} h, simulated {found.simulated.mean_s / 3600:.3g} h"
            )
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
) -> Validation:
    """A log under its scenario's policy or others, held against its record.

    Parameters
    ----------
    scenario : the log on its machine; its random numbers, where it has some, are those of its seed.
    log : its name, for messages.
    policies : as `experiments.comparison.entrants.field_of` takes them; none: the scenario's own.

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
        policy: agreement_of(each.recorded, each.simulated, each.total_gpus)
        for policy, each in sides.items()
    }
    policy, first = next(iter(agreements.items()))
    entrant = next(entrant for entrant in field.entrants if entrant.policy == policy)
    held = None
    if not no_verdict(first.recorded) and not first.recorded_room > FEW_REASONS:
        held = held_out(entrant, sides[policy], runs)
    return Validation(
        log, entrant.scenario, sides, agreements, _by_partition(sides[policy]), held,
        verdict(first, held), tuple(excluded),
    )  # fmt: skip


def _by_partition(sides: Sides) -> dict[str, Agreement]:
    """Agreement by partition of the log; the room in it is that of the whole machine."""
    of = np.array(sides.log.partition, dtype=object)
    names, counts = np.unique(of.astype(str), return_counts=True)
    if len(names) < 2:
        return {}
    chosen = names[np.argsort(-counts, kind="stable")][:MOST_PARTITIONS].tolist()
    found = {}
    for name in chosen:
        own = np.flatnonzero(of == name)
        found[name] = agreement_of(
            sides.recorded.take(own), sides.simulated.take(own), sides.total_gpus
        )
    return found
