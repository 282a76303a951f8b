"""Slices of a GPU (MIG): which profiles there are, and where on a GPU each may begin.

An A100 has seven slices of compute and eight of memory. A profile takes some of both, and begins at
certain slices of memory only. Source: NVIDIA Multi-Instance GPU User Guide, A100 profiles and placements.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from simulator.model.tolerances import PART_OF_A_GPU

SLICES = 7
"""Slices of compute of a GPU."""


class SliceKind(NamedTuple):
    """A kind of slice.

    Attributes
    ----------
    name : as the vendor has it, for a GPU of 40 GB.
    compute, memory : slices of seven, and of eight.
    starts : slices of memory at which it may begin.
    """

    name: str
    compute: int
    memory: int
    starts: tuple[int, ...]


PROFILES = (
    SliceKind("1g.5gb", 1, 1, (0, 1, 2, 3, 4, 5, 6)),
    SliceKind("2g.10gb", 2, 2, (0, 2, 4)),
    SliceKind("3g.20gb", 3, 4, (0, 4)),
    SliceKind("4g.20gb", 4, 4, (0,)),
    SliceKind("7g.40gb", 7, 8, (0,)),
)
"""The profiles of an A100, the smallest first."""


def profile_for(part: float, memory_part: float = 0.0) -> int:
    """Index of the smallest profile with this part of the compute and of the memory of a GPU."""
    for k, profile in enumerate(PROFILES):
        enough = profile.compute / SLICES >= part - PART_OF_A_GPU
        if enough and profile.memory / 8 >= memory_part - PART_OF_A_GPU:
            return k
    return len(PROFILES) - 1


def mask_of(profile: int, start: int) -> int:
    """The slices of memory that a profile takes from ``start`` on, as bits."""
    return ((1 << PROFILES[profile].memory) - 1) << start


@cache
def best_start(taken: int, profile: int) -> int | None:
    """First slice of a profile on a GPU of which ``taken`` slices are in use; None: it does not fit.

    The place that leaves the most places for other profiles; the last of equals, so that the first
    slices stay for large profiles. Slices of compute never run out before those of memory, where profiles
    begin as they may.
    """
    best, most = None, -1
    for start in PROFILES[profile].starts:
        mask = mask_of(profile, start)
        if taken & mask:
            continue
        after = taken | mask
        left = sum(
            not after & mask_of(k, s) for k, other in enumerate(PROFILES) for s in other.starts
        )
        if left >= most:
            best, most = start, left
    return best
