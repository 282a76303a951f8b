"""Gandiva-fair: equal shares of time without an optimisation (Chaudhary et al., EuroSys 2020)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from policies.shares.one_type import level
from policies.shares.problem import Active, Shares
from simulator.errors import InputError

Of = Literal["jobs", "gpus"]
"""What is equal between jobs: time, as in Shockwave's release, or GPU time, as in the paper."""


def check_of(of: str) -> None:
    """`InputError` unless ``of`` is one of `Of`."""
    if of not in get_args(Of):
        raise InputError(f"gandiva-fair: of is {of!r}, expected one of {', '.join(get_args(Of))}")


def gandiva_fair(active: Active, of: str = "jobs") -> Shares:
    """Shares of equal time, or of equal GPU time.

    Each type of GPU is shared by itself, in proportion to its number: all jobs get the same mix. With
    ``of = "jobs"`` shares need not fit together, since a job of four GPUs gets as much time as a job
    of one; the rounds then serve all of them as evenly as they can.

    Raises InputError for another value of ``of``.
    """
    check_of(of)
    runs = active.rate > 0
    mix = np.where(runs, active.capacity, 0.0)
    mix /= mix.sum(axis=1, keepdims=True)
    total = float(active.capacity.sum())
    if of == "gpus":
        gpus = active.gpus.astype(np.float64)
        time = level(gpus, gpus, total)
    else:
        time = np.full(len(active), min(1.0, total / len(active)))
    return np.asarray(mix * time[:, None])
