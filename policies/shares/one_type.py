"""Shares on GPUs of one type, in closed form: no program is solved.

Where the optimum is not unique, a job's share is defined by one of two rules: values are lexicographically max-min
(`level`), or the shares are the analytic centre of all optimal ones (`centre`), to which interior-point solvers tend.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.ranks import levelled

Solution = Literal["lexicographic", "centre"]
"""Which of several optimal shares are taken."""
HALVINGS = 60
"""Of the intervals in which multipliers and shares of the analytic centre lie."""
ROOM = 1e-7
"""GPUs; where the optimum leaves less, it is unique."""


def check_solution(solution: str) -> None:
    """`InputError` unless ``solution`` is one of `Solution`."""
    if solution not in get_args(Solution):
        known = ", ".join(get_args(Solution))
        raise InputError(f"shares: solution is {solution!r}, expected one of {known}")


def level(value: FloatArray, gpus: FloatArray, capacity: float) -> FloatArray:
    """Lexicographically max-min shares on GPUs of one type, in closed form.

    Parameters
    ----------
    value, gpus : ``(n,)`` value of a job's whole time, and the GPUs that it takes.
    capacity : GPUs.

    Returns
    -------
    ``(n,)`` shares of at most 1 at which all values are equal, but for jobs that run all the time.
    """
    order = np.argsort(value, kind="stable")
    cost = (gpus / value)[order]
    # Jobs of small value run all the time: as long as the others together can still reach that value.
    rest = np.cumsum(cost[::-1])[::-1]
    left = capacity - np.concatenate([[0.0], np.cumsum(gpus[order])[:-1]])
    short = np.flatnonzero(value[order] * rest > left)
    share = np.ones(len(value))
    if len(short):
        waits = order[short[0] :]
        share[waits] = left[short[0]] / rest[short[0]] / value[waits]
    return share


def knapsack(gain: FloatArray, gpus: FloatArray, capacity: float) -> FloatArray:
    """Shares on GPUs of one type with the most ``sum(gain * share)``, in closed form.

    Jobs of most gain for a GPU come first; among equals the gains are lexicographically max-min.
    """
    share, left = np.zeros(len(gain)), capacity
    density = levelled(gain / gpus)
    for each in np.unique(density[density > 0])[::-1]:
        alike = density == each
        share[alike] = level(gain[alike], gpus[alike], left)
        left -= float(gpus @ (share * alike))
        if left <= 1e-12 * capacity:
            break
    return share


def least(value: FloatArray, gpus: FloatArray, capacity: float) -> float:
    """Most that all values reach together."""
    return float(min(value.min(), capacity / (gpus / value).sum()))


def centre(value: FloatArray, gpus: FloatArray, capacity: float) -> FloatArray:
    """Analytic centre of the shares at which the least value is as large as it can be.

    It maximises the sum of the logarithms of what each condition has to spare: ``x - x_least``, ``x``, ``1 - x``, and
    the GPUs that are left.

    Parameters
    ----------
    value, gpus, capacity : as for `level`.
    """
    needed = np.minimum(least(value, gpus, capacity) / value, 1.0)
    share, free = needed.copy(), needed < 1 - 1e-9
    room = capacity - float(gpus @ needed)
    if room <= ROOM or not free.any():
        return share
    needed, gpus = needed[free], gpus[free]

    def at(price: float) -> FloatArray:
        """Shares for a price of a GPU, the multiplier of the capacity."""
        low, high = needed, np.ones_like(needed)
        for _ in range(HALVINGS):
            x = (low + high) / 2
            with np.errstate(divide="ignore"):
                rises = 1 / (x - needed) + 1 / x - 1 / (1 - x) > price * gpus
            low, high = np.where(rises, x, low), np.where(rises, high, x)
        return np.asarray((low + high) / 2)

    low, high = 1e-6, 1e9
    for _ in range(HALVINGS):
        price = float(np.sqrt(low * high))
        spare = room - float(gpus @ (at(price) - needed))
        low, high = (low, price) if spare > 1 / price else (price, high)
    share[free] = at(high)
    return share
