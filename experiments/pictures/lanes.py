"""Lines of a node's row on which its shares are drawn: one line a GPU."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

Piece = tuple[int, int]
"""First line and how many."""


def lanes_of(
    start_s: Sequence[float], end_s: Sequence[float], gpus: Sequence[int]
) -> tuple[list[list[Piece]], int]:
    """Lines for the shares of one node, so that no two shares that overlap in time share a line.

    A share takes the lowest run of free lines that is long enough, or, where there is none, the lowest
    free lines in several pieces.

    Parameters
    ----------
    start_s, end_s, gpus : ``(n,)`` of each share, in order of start.

    Returns
    -------
    The pieces of each share, and how many lines the node needs.
    """
    free: list[bool] = []
    ends: list[tuple[float, int]] = []
    taken: list[list[int]] = []
    for index, (start, end, count) in enumerate(zip(start_s, end_s, gpus, strict=True)):
        while ends and ends[0][0] <= start:
            for lane in taken[heapq.heappop(ends)[1]]:
                free[lane] = True
        lanes = _take(free, count)
        taken.append(lanes)
        heapq.heappush(ends, (end, index))
    return [_pieces(lanes) for lanes in taken], len(free)


def _take(free: list[bool], count: int) -> list[int]:
    """The lowest run of free lines, else the lowest free ones; more lines where there are too few."""
    run = 0
    for lane, is_free in enumerate(free):
        run = run + 1 if is_free else 0
        if run == count:
            lanes = list(range(lane - count + 1, lane + 1))
            break
    else:
        lanes = [lane for lane, is_free in enumerate(free) if is_free][:count]
        missing = count - len(lanes)
        lanes += range(len(free), len(free) + missing)
        free.extend([False] * missing)
    for lane in lanes:
        free[lane] = False
    return lanes


def _pieces(lanes: list[int]) -> list[Piece]:
    pieces: list[Piece] = []
    for lane in sorted(lanes):
        if pieces and sum(pieces[-1]) == lane:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + 1)
        else:
            pieces.append((lane, 1))
    return pieces
