"""Reconfiguration delay: time without progress whenever a job is started, resumed or moved.

The snapshot of a job's state is written and read again. GPUs are held meanwhile, progress is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from simulator.arguments import LATEST_S, is_number
from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.errors import InputError


@dataclass(frozen=True)
class Delays:
    """Seconds without progress after a start.

    Attributes
    ----------
    first_s : after the first start of a job.
    resume_s : after a start of a job that was preempted or has failed.
    move_s : after a change of the GPUs of a running job.
    doubling_s : longer for each doubling of the GPUs, beyond one.
    """

    first_s: float = 0.0
    resume_s: float = 0.0
    move_s: float = 0.0
    doubling_s: float = 0.0

    @classmethod
    def of(cls, seconds: float) -> Delays:
        """So many whenever a job that has run before is started elsewhere, resized or resumed."""
        return cls(0.0, seconds, seconds)

    def __post_init__(self) -> None:
        for value in (self.first_s, self.resume_s, self.move_s, self.doubling_s):
            if not (is_number(value) and 0 <= value < LATEST_S):
                raise InputError(
                    f"reconfiguration takes {value} s, expected a number >= 0 and below {LATEST_S:g}"
                )


class ReconfigurationDelay(Feature):
    """Delays of all jobs."""

    name = "reconfiguration"

    def __init__(self, spec: Delays) -> None:
        self._of = {"first": spec.first_s, "resumed": spec.resume_s, "moved": spec.move_s}
        self._doubling_s = spec.doubling_s

    def delay_s(self, execution: Execution, start: str) -> float:
        """The delay of this kind of start."""
        if not self._doubling_s:
            return self._of[start]
        gpus = sum(share.gpus for share in execution.shares)
        return self._of[start] + self._doubling_s * math.log2(max(1.0, gpus))

    def seen(self, controller: Controller) -> float:
        """Cost of a move for a policy."""
        return self._of["moved"]
