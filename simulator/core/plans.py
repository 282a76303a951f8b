"""What a controller has been answered: now, or to be carried out later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simulator.model.contract import Placement

Answer = tuple[Mapping[int, tuple[Placement, ...]], bool, float | None, float]
"""Shares by job, `Decision.keep_running`, `Decision.again_s`, and the CPU seconds that it took."""

NO_ANSWER: Answer = ({}, True, None, 0.0)
"""Nothing is to be done."""


class Claims(NamedTuple):
    """Single GPUs that a decision gives to jobs.

    Attributes
    ----------
    gpus_of : GPUs of its node, by job.
    slices_of : by job: node and GPU, and the slices of memory there, as bits; where GPUs are sliced.
    """

    gpus_of: Mapping[int, tuple[int, ...]]
    slices_of: Mapping[int, tuple[tuple[tuple[int, int], int], ...]] = {}


class Plan(NamedTuple):
    """A decision, and the state that it was made for.

    Attributes
    ----------
    shares_of, keep_running : what was decided, as in `Decision`.
    number : plans of a controller are numbered in the order in which they are made.
    cpu_s : what the decision took.
    after : the last plan that had been applied when this one was made.
    before : where the jobs that it names ran then; none: the job waited.
    again_s : as in `Decision`.
    claims : the GPUs that it names, where shares are parts of GPUs.
    """

    shares_of: Mapping[int, tuple[Placement, ...]]
    keep_running: bool
    number: int
    cpu_s: float
    after: int = 0
    before: Mapping[int, tuple[Placement, ...] | None] = {}
    again_s: float | None = None
    claims: Claims | None = None
