"""Steps that mechanisms share: trying one way of placing a job after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from policies.synergy.demand import Share
from policies.synergy.packing import Packing, Slot
from policies.synergy.servers import Group
from simulator.model.cluster import IntArray

PlacementRule = Literal["packed", "consolidated", "spread"]

PLACEMENT: PlacementRule = "packed"
"""Default placement of jobs of several GPUs; see `policies.synergy.mechanisms.Tune`."""

Attempt = Callable[[Packing, int, Share, int], int]
"""Tries to place up to so many jobs of a kind with a share; how many were placed."""


def _whole(packing: Packing, kind: int, share: Share, count: int) -> int:
    return packing.place_whole(kind, share, count)


def _split(packing: Packing, kind: int, share: Share, count: int) -> int:
    return int(packing.kinds[kind].gpus > 1 and packing.place_on_fewest(kind, share))


def _split_if_must(packing: Packing, kind: int, share: Share, count: int) -> int:
    gpus = packing.kinds[kind].gpus
    if packing.gpu_parts(gpus, whole=True):
        return 0
    return _split(packing, kind, share, count)


def _spread(packing: Packing, kind: int, share: Share, count: int) -> int:
    return int(packing.place_spread(kind, share))


def first_gpus(packing: Packing, kind: int, share: Share, count: int) -> int:
    """One job on the first free GPUs in order of the servers, as in the released simulator."""
    return int(packing.place_first(kind, share))


ATTEMPTS: dict[str, tuple[Attempt, ...]] = {
    "packed": (_whole, _split),
    "consolidated": (_whole, _split_if_must),
    "spread": (_spread,),
}


def place_all(
    packing: Packing, kind: int, count: int, shares: Sequence[Share], attempts: Sequence[Attempt]
) -> int:
    """Place jobs of one kind with the first share that works; how many found a place."""
    placed = 0
    for share in shares:
        for attempt in attempts:
            while placed < count and (more := attempt(packing, kind, share, count - placed)):
                placed += more
    return placed


def first_fit(packing: Packing, kind: int, share: Share) -> bool:
    """The first server that holds a job whole."""
    gpus = packing.kinds[kind].gpus
    for i, free in enumerate(packing.free_gpus):
        if free >= gpus and packing.shortage(i, gpus, share) == (0.0, 0.0):
            packing.add(Slot(kind, share, ((i, gpus),)))
            return True
    return False


def by_demand(group: Group, kinds: IntArray) -> IntArray:
    """Kinds of jobs, the largest GPU, then CPU, then memory demand first."""
    counts = np.bincount(kinds, minlength=len(group.kinds))
    return np.repeat(group.by_demand, counts[group.by_demand])


def runs(sequence: IntArray) -> list[tuple[int, int]]:
    """Stretches of equal values, and their lengths."""
    if not len(sequence):
        return []
    ends = np.flatnonzero(np.diff(sequence)) + 1
    begins = np.concatenate(([0], ends))
    counts = np.diff(np.concatenate((begins, [len(sequence)])))
    return list(zip(sequence[begins].tolist(), counts.tolist(), strict=True))
