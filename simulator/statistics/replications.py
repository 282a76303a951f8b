"""Independent runs, until the interval is narrow enough."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy.typing as npt

from simulator.errors import InputError
from simulator.statistics.estimates import LEVEL, Estimate, observations, student
from simulator.statistics.streams import Streams


def replicate(
    run: Callable[[Streams], float], seed: int, replications: int, level: float = LEVEL
) -> Estimate:
    """Run ``run`` on the streams of replications 0 .. n-1 of ``seed``; mean and interval."""
    if replications < 1:
        raise InputError(f"replications is {replications}, expected at least 1")
    streams = Streams(seed)
    return student([run(streams.replication(i)) for i in range(replications)], level)


def replications_needed(values: npt.ArrayLike, precision: float, level: float = LEVEL) -> int:
    """Number of replications for a relative half width of ``precision``.

    Judged by the values so far; ``len(values)`` where they suffice. The target is
    ``precision / (1 + precision)``, which bounds the error relative to the *true* mean (Law,
    Simulation Modeling and Analysis, 5th ed., 9.4.1).
    """
    x = observations(values)
    if not 0 < precision < 1:
        raise InputError(f"precision is {precision}, expected between 0 and 1 (0.01 for 1%)")
    estimate = student(x, level)
    target = precision / (1 + precision)
    if estimate.relative_half_width <= target:
        return len(x)
    if not math.isfinite(estimate.relative_half_width):
        return max(2, 2 * len(x))
    # The half width falls like 1/sqrt(n); never more than double on so little knowledge.
    growth = min(estimate.relative_half_width / target, math.sqrt(2)) ** 2
    return min(max(math.ceil(len(x) * growth), len(x) + 1), 2 * len(x))


def replicate_until_precise(
    run: Callable[[Streams], float],
    seed: int,
    precision: float,
    level: float = LEVEL,
    first: int = 10,
    most: int = 10_000,
) -> Estimate:
    """Add replications until the interval's relative half width is at most ``precision``.

    Parameters
    ----------
    run : one replication, a function of its streams.
    precision : relative half width, 0.01 for 1 % (see `parse_precision`).
    first, most : replications at least and at most; with ``most`` reached a warning says so.
    """
    streams = Streams(seed)
    values = [run(streams.replication(i)) for i in range(max(first, 2))]
    while (wanted := min(replications_needed(values, precision, level), most)) > len(values):
        values += [run(streams.replication(i)) for i in range(len(values), wanted)]
    estimate = student(values, level)
    if replications_needed(values, precision, level) > len(values):
        warnings.warn(
            f"stopped at {len(values)} replications with a relative half width of "
            f"{estimate.relative_half_width:.3g}, wanted {precision:g}",
            stacklevel=2,
        )
    return estimate


def parse_precision(text: str) -> float:
    """``"1%"`` or ``"0.01"`` as 0.01."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise InputError(f"precision is {text!r}, expected a percentage such as 1%")
    return value
