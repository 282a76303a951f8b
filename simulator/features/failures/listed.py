"""Outages that are known: nodes, and from when until when each is down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simulator.arguments import checked
from simulator.errors import InputError


@checked("listed outages")
@dataclass(frozen=True)
class ListedOutages:
    """Outages at given times, such as those of a site's events; policies expect none of them.

    Attributes
    ----------
    groups : the nodes of each outage; an outage has a process of its own.
    start_s, end_s : from when until when, s, of each.
    notice_s, warns : as for `simulator.features.failures.outages.Outages`.

    Raises InputError: an outage that ends before it begins, or without nodes.
    """

    groups: Sequence[Sequence[int]]
    start_s: Sequence[float]
    end_s: Sequence[float]
    notice_s: float = 0.0
    warns: bool = False
    name: ClassVar[str] = "outages"

    def __post_init__(self) -> None:
        for k, (group, start_s, end_s) in enumerate(
            zip(self.groups, self.start_s, self.end_s, strict=True)
        ):
            if not start_s < end_s:
                raise InputError(
                    f"outage {k + 1}: is from {start_s:g} s until {end_s:g} s, expected an end after its start"
                )
            if not group:
                raise InputError(f"outage {k + 1}: no nodes, expected one at least")

    def times(
        self, group: int, begin_s: float, rng: np.random.Generator
    ) -> Iterator[tuple[float, float]]:
        """The outage of a group, or what of it is not over when a simulation begins."""
        if self.end_s[group] > begin_s:
            yield max(self.start_s[group], begin_s), self.end_s[group]

    def rate(self) -> float:
        """Failures per second that each node expects: none."""
        return 0.0
