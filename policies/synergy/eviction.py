"""Jobs that give CPUs and memory back when a job finds GPUs, but too little beside them."""

from __future__ import annotations

from collections.abc import Sequence

from policies.synergy.demand import Share
from policies.synergy.slots import Packing, Slot
from simulator.model.ranks import ranked
from simulator.model.tolerances import CAPACITY, EQUAL


def evict(packing: Packing, parts: Sequence[tuple[int, float]], share: Share) -> None:
    """Put jobs back until a job has its share on each of its parts, ``((server, gpus), ..)``.

    Once more from the start where a evicted job on a later server takes memory on an earlier one. It is
    at its proportional share from then on, so this comes to an end.
    """
    while any(packing.shortage(i, gpus, share) != (0.0, 0.0) for i, gpus in parts):
        for i, gpus in parts:
            put_back(packing, i, gpus, share)


def put_back(packing: Packing, i: int, gpus: float, share: Share) -> None:
    """Put jobs on server ``i`` back to their proportional share so that just enough is released."""
    evicted: list[tuple[Slot, Share]] = []
    while (short := packing.shortage(i, gpus, share)) != (0.0, 0.0):
        slot = _cheapest_eviction(packing, i, short)
        evicted.append((slot, slot.share))
        _put_back_one(packing, slot, i)
    # A later evicted job may have released what an earlier one was needed for.
    for slot, before in evicted[:-1]:
        after = slot.share
        packing.change_share(slot, before)
        overdrawn = any(packing.shortage(k, 0, share) != (0.0, 0.0) for k, _ in slot.parts)
        if overdrawn or packing.shortage(i, gpus, share) != (0.0, 0.0):
            packing.change_share(slot, after)


def _put_back_one(packing: Packing, slot: Slot, i: int) -> None:
    """Put a job back to its proportional share, for the sake of server ``i``.

    A job that wants many CPUs and little memory then takes more memory. Where it also lies on
    another server that has no memory left, others there are put back as well.
    """
    fair = packing.kinds[slot.kind].fair
    packing.change_share(slot, fair)
    for k, _ in slot.parts:
        if k != i:
            put_back(packing, k, 0, fair)


def _cheapest_eviction(packing: Packing, i: int, short: tuple[float, float]) -> Slot:
    """The job that covers the shortage and releases least beyond it; else the one that covers most of it."""
    best: Slot | None = None
    best_score = (2.0, 0.0)
    fair = packing.capacity.fair
    for slot in packing.on_server[i]:
        part = next(gpus for k, gpus in slot.parts if k == i)
        released = (
            part * (slot.share.cpus - fair.cpus),
            part * (slot.share.memory_gb - fair.memory_gb),
        )
        cover = sum(min(r, s) / s for r, s in zip(released, short, strict=True) if s > 0 and r > 0)
        if cover <= 0:
            continue
        covers_all = all(
            r >= s * (1 - CAPACITY) for r, s in zip(released, short, strict=True) if s > 0
        )
        spill = released[0] / max(fair.cpus, 1e-9) + released[1] / max(fair.memory_gb, 1e-9)
        score = (0.0, spill) if covers_all else (1.0, -cover)
        if (score[0], score[1] + EQUAL) < best_score:
            best, best_score = slot, score
    assert best is not None, "a server short of a resource has a job above its proportional share"
    return best


def regrant(packing: Packing) -> None:
    """Give jobs their demand where it fits beside all others, those that gain most first."""
    kinds = packing.kinds
    slots = sorted(packing.slots, key=lambda s: s.kind)
    for k in ranked(range(len(slots)), [-kinds[s.kind].best_rate for s in slots]):
        slot = slots[k]
        kind = kinds[slot.kind]
        if slot.share == kind.fair and kind.exceeds_fair:
            packing.change_share(slot, kind.best)
            if any(packing.shortage(i, 0, slot.share) != (0.0, 0.0) for i, _ in slot.parts):
                packing.change_share(slot, kind.fair)


# -- as in the released simulator ------------------------------------------------------------------


def evict_released(packing: Packing, kind: int, share: Share) -> None:
    """Place one job as the released simulator does where its GPUs lack CPUs or memory.

    Evicted jobs are taken on the first server with enough free GPUs, for a job of one GPU on the one
    with the fewest; else on servers with few free GPUs first. The job then takes the first GPUs
    that hold it, on whatever servers.
    """
    parts = _servers_after_evictions(packing, packing.kinds[kind].gpus)
    for i, gpus in parts:
        _put_back_released(packing, i, gpus, share)
    if not packing.place_first(kind, share):
        evict(packing, parts, share)
        packing.add(Slot(kind, share, tuple(sorted(parts))))


def _servers_after_evictions(packing: Packing, gpus: int) -> list[tuple[int, float]]:
    """Servers with free GPUs, and how many of them the job is counted on each."""
    free = packing.free_gpus
    if gpus > 1:
        whole = next((i for i, f in enumerate(free) if f >= gpus), None)
        if whole is not None:
            return [(whole, gpus)]
    parts: list[tuple[int, float]] = []
    left: float = gpus
    for i in sorted((i for i, f in enumerate(free) if f > 0), key=lambda i: (free[i], i)):
        parts.append((i, min(left, free[i])))
        left -= parts[-1][1]
        if left <= 0:
            break
    return parts


def _put_back_released(packing: Packing, i: int, gpus: float, share: Share) -> None:
    """Jobs with the most CPUs and memory first, whether or not that helps.

    The list of the server is sorted in place, so that ties go as they lay after the last time.
    """
    if packing.shortage(i, gpus, share) == (0.0, 0.0):
        return
    peers = packing.on_server[i]
    peers.sort(key=lambda s: (len(s.parts), -s.share.cpus, -s.share.memory_gb))
    for slot in peers:
        kind = packing.kinds[slot.kind]
        if kind.exceeds_fair and slot.share != kind.fair:
            _put_back_one(packing, slot, i)
        if packing.shortage(i, gpus, share) == (0.0, 0.0):
            return
