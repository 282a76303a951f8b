"""Allocation of GPUs by an auction in which a bidder pays for what the others lose (partial allocation).

Cole, Gkatzelis and Goel, Mechanism design for fair division, EC 2013; used by Themis (NSDI 2020). Each
bidder says what so many GPUs are worth to it. The GPUs are divided so that the product of the values is
largest. Each bidder then pays with a part of what it won: the more, the more it costs the others that it is there.

Nobody gains by a wrong bid where each bidder gets something of value, both beside the others and without any one
of them. Where GPUs are too few for all, or where values do not grow at once, a wrong bid may gain. For example, two
bidders say that one GPU is worth 1 and 3 to them. The second gets it. If the first says 5 instead, it gets it.

    values = np.array([[0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 2.0, 2.0]])     # of 0, 1, 2, 3 GPUs
    won = largest_product(values)                 # [2, 1]
    kept = parts_kept(values, won)                # [1.0, 0.67]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.model.cluster import FloatArray
from simulator.model.tolerances import EQUAL


def largest_product(values: FloatArray) -> list[int]:
    """GPUs of each bidder: as many as possible get something of value, and the product of their values is largest.

    Parameters
    ----------
    values : ``(k, M + 1)`` what 0 to M GPUs are worth to each bidder, at least 0; M are divided.
    """
    width = values.shape[1]
    best, counts = np.zeros(width), np.zeros(width, dtype=np.int64)
    taken = np.zeros(values.shape, dtype=np.int64)
    for row, (logs, some) in enumerate(zip(_logs(values), values > 0, strict=True)):
        found, found_counts = best + logs[0], counts + some[0]
        for gpus in range(1, width):
            more, more_counts = (
                best[: width - gpus] + logs[gpus],
                counts[: width - gpus] + some[gpus],
            )
            above = more - found[gpus:] > EQUAL  # of logarithms; else the earlier bidder has more
            same = more_counts == found_counts[gpus:]
            better = (more_counts > found_counts[gpus:]) | (same & above)
            found[gpus:][better] = more[better]
            found_counts[gpus:][better] = more_counts[better]
            taken[row, gpus:][better] = gpus
        best, counts = found, found_counts
    won, left = [0] * len(values), width - 1
    for row in reversed(range(len(values))):
        won[row] = int(taken[row, left])
        left -= won[row]
    return won


def parts_kept(values: FloatArray, won: Sequence[int]) -> FloatArray:
    """``(k,)`` the part of its GPUs that each bidder keeps: the others' product beside it over that without it.

    The part times its value is the product of all values over a number that its bid does not change. The
    product is largest where all bid what is true, so no other bid is worth more. With a value of 0 among the
    others, in one of the two divisions, there is no such part, and a wrong bid may gain. Others with a value of 0
    are left out, and a part is 1 at the most.
    """
    logs, some = _logs(values), values > 0
    rows = np.arange(len(values))
    beside = logs[rows, list(won)]
    kept = np.ones(len(values))
    for row in rows.tolist():
        others = np.flatnonzero(rows != row)
        without = largest_product(values[others])
        both = some[others, np.array(won)[others]] & some[others, without]
        change = beside[others] - logs[others, without]
        kept[row] = min(1.0, float(np.exp(change[both].sum())))
    return kept


def _logs(values: FloatArray) -> FloatArray:
    """Of the values; 0 where a value is 0, which does not count in a product."""
    return np.log(np.where(values > 0, values, 1.0))
