"""Reconfiguration delay: time without progress whenever a job is started, resumed or moved.

The snapshot of a job's state is written and read again. GPUs are held meanwhile, progress is kept.
"""

from __future__ import annotations

import math

from simulator.core.controller import Controller
from simulator.core.execution import Execution
from simulator.core.feature import Feature
from simulator.files.keys import Config, Delay


class Delays(Config):
    """Delays without progress, in place of one number."""

    first_s: Delay = 0.0
    """after the first start of a job"""
    resume_s: Delay = 0.0
    """after a job is resumed"""
    move_s: Delay = 0.0
    """after a job is moved, or its GPUs change"""
    doubling_s: Delay = 0.0
    """added for each doubling of the job's GPUs beyond one"""

    @classmethod
    def of(cls, given: float | Delays) -> Delays:
        """These, or so many s whenever a job that has run before is started elsewhere, resized or resumed."""
        return given if isinstance(given, Delays) else cls(resume_s=given, move_s=given)


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
