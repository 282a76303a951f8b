"""Who gets how many GPUs by an auction in which nobody gains by a wrong bid (partial allocation).

Cole, Gkatzelis and Goel, Mechanism design for fair division, EC 2013; used by Themis (NSDI 2020). Each
bidder says what so many GPUs are worth to it. The GPUs are divided so that the product of the values is
largest. Each bidder then pays with a part of what it won: the more, the more it costs the others that it is there.

    values = np.array([[0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 2.0, 2.0]])     # of 0, 1, 2, 3 GPUs
    won = largest_product(values)                 # [2, 1]
    kept = parts_kept(values, won)                # [1.0, 0.67]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.catalog import FloatArray

NOTHING = -1e6
"""Logarithm of a value of 0: as few bidders as possible get nothing, whatever the others get."""

EQUAL = 1e-12
"""Logarithms of products that differ by less are equal; then the earlier bidder has more, the last one fewest."""


def largest_product(values: FloatArray) -> list[int]:
    """GPUs of each bidder: as many as possible get something of value, and the product of their values is largest.

    Parameters
    ----------
    values : ``(k, M + 1)`` what 0 to M GPUs are worth to each bidder, at least 0; M are divided.
    """
    best, width = np.zeros(values.shape[1]), values.shape[1]
    taken = np.zeros(values.shape, dtype=np.int64)
    for row, logs in enumerate(_logs(values)):
        found = best + logs[0]
        for gpus in range(1, width):
            more = best[: width - gpus] + logs[gpus]
            better = more > found[gpus:] + EQUAL
            found[gpus:][better] = more[better]
            taken[row, gpus:][better] = gpus
        best = found
    won, left = [0] * len(values), width - 1
    for row in reversed(range(len(values))):
        won[row] = int(taken[row, left])
        left -= won[row]
    return won


def parts_kept(values: FloatArray, won: Sequence[int]) -> FloatArray:
    """``(k,)`` the part of its GPUs that each bidder keeps: the others' product beside it over that without it.

    The part times its value is the product of all values over a number that its bid does not change. The
    product is largest where all bid what is true, so no other bid is worth more. With a value of 0 among the
    others there is no such part; these others are left out, and a part is 1 at the most.
    """
    logs = _logs(values)
    rows = np.arange(len(values))
    beside = logs[rows, list(won)]
    kept = np.ones(len(values))
    for row in rows.tolist():
        others = np.flatnonzero(rows != row)
        alone = logs[others, largest_product(values[others])]
        both = (beside[others] > NOTHING) & (alone > NOTHING)
        kept[row] = min(1.0, float(np.exp((beside[others] - alone)[both].sum())))
    return kept


def _logs(values: FloatArray) -> FloatArray:
    some = values > 0
    return np.where(some, np.log(np.where(some, values, 1.0)), NOTHING)
