"""Machines that fail: availability, and times of jobs with checkpoints."""

from __future__ import annotations

import math

import scipy

from simulator.arguments import nonnegative, positive
from simulator.errors import InputError
from simulator.theory.checks import real


def availability(mean_up_s: float, mean_down_s: float) -> float:
    """Part of the time that a machine is up: MTBF / (MTBF + MTTR)."""
    positive(mean_up_s=mean_up_s)
    nonnegative(mean_down_s=mean_down_s)
    return mean_up_s / (mean_up_s + mean_down_s)


def young_interval_s(cost_s: float, mean_up_s: float) -> float:
    """Work between two checkpoints that loses least, to first order: sqrt(2 C M).

    Source: Young, Communications of the ACM 17, 1974. ``cost_s`` of one checkpoint, ``mean_up_s``
    between two failures.
    """
    positive(cost_s=cost_s, mean_up_s=mean_up_s)
    return math.sqrt(2 * cost_s * mean_up_s)


def daly_interval_s(cost_s: float, mean_up_s: float) -> float:
    """Work between two checkpoints that loses least, Daly's higher-order estimate.

    Source: Daly, Future Generation Computer Systems 22, 2006, equation 37. Where a checkpoint takes
    twice the mean time between failures or more, it is that mean time.
    """
    positive(cost_s=cost_s, mean_up_s=mean_up_s)
    if cost_s >= 2 * mean_up_s:
        return mean_up_s
    x = cost_s / (2 * mean_up_s)
    return math.sqrt(2 * cost_s * mean_up_s) * (1 + math.sqrt(x) / 3 + x / 9) - cost_s


def best_interval_s(cost_s: float, mean_up_s: float) -> float:
    """The interval that minimises Daly's expected time exactly: (I - M) e^{(I + C)/M} = -M.

    With Lambert's function: I = M (1 + W(-e^{-1 - C/M})).
    """
    positive(cost_s=cost_s, mean_up_s=mean_up_s)
    w = scipy.special.lambertw(-math.exp(-1 - cost_s / mean_up_s))
    return float(mean_up_s * (1 + w.real))


def completion_s(
    work_s: float,
    interval_s: float,
    cost_s: float,
    restart_s: float,
    mean_up_s: float,
    mean_down_s: float = 0.0,
) -> float:
    """Expected time of a job, exactly: no checkpoint at the end, repairs of ``mean_down_s``.

    The job has ``n = ceil(W / I)`` segments. Each but the last takes I + C without a failure, the last
    what is left. A segment of length L that starts anew (after a restart R) at each failure takes
    ``e^{R/M} (M + D) (e^{L/M} - 1)``, since failures forget. Daly's formula (2006, equation 20) has a checkpoint more, and
    D = 0. An infinite interval: no checkpoints.
    """
    positive(work_s=work_s, mean_up_s=mean_up_s)
    nonnegative(cost_s=cost_s, restart_s=restart_s, mean_down_s=mean_down_s)
    real(interval_s=interval_s)
    if not interval_s > 0:
        raise InputError(f"interval_s is {interval_s}, expected a number > 0")
    segments = max(1, math.ceil(work_s / interval_s - 1e-12))
    last_s = work_s - (segments - 1) * (interval_s if segments > 1 else 0.0)
    m = mean_up_s
    lengths = math.expm1(last_s / m)
    if segments > 1:
        lengths += (segments - 1) * math.expm1((interval_s + cost_s) / m)
    return math.exp(restart_s / m) * (m + mean_down_s) * lengths
