"""Allocation of CPUs and memory: the mechanisms of Sections 3.3 and 4.2.

A mechanism takes the queue in order of priority and returns slots, one for each job that
runs in the round. `proportional`, `tune` and `opt` run the longest set of jobs whose GPUs fit;
`greedy` and `static` skip a job that does not get its whole demand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from policies.synergy.demand import Share
from policies.synergy.eviction import evict, evict_released, regrant
from policies.synergy.servers import Group, Mechanism, Packed, Servers, descending, runnable
from policies.synergy.slots import Packing, Slot
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


@dataclass
class Proportional(Mechanism):
    """GPU-proportional: CPUs and memory in proportion to the GPUs."""

    placement: PlacementRule = PLACEMENT
    released: bool = False
    name: ClassVar[str] = "proportional"

    def __post_init__(self) -> None:
        self.depends_on_set_alone = not self.released

    def run(self, order: IntArray, servers: Servers) -> tuple[IntArray, Packed]:
        """Jobs that run, and where."""
        jobs, of_group = servers.by_group(order, lambda kind: kind.fair_rate)
        kind_of = servers.kinds.kind_of
        sequences = [
            kind_of[js] if self.released else by_demand(group, kind_of[js])
            for group, js in zip(servers.groups, of_group, strict=True)
        ]

        def pack() -> Packed:
            packings = servers.packings()
            for packing, sequence in zip(packings, sequences, strict=True):
                for kind, count in runs(sequence):
                    place_all(packing, kind, count, (packing.kinds[kind].fair,), self._attempts())
            return servers.packed(packings)

        return jobs, servers.remembered(sequences, pack)

    def _attempts(self) -> tuple[Attempt, ...]:
        return (first_gpus,) if self.released else ATTEMPTS[self.placement]


@dataclass
class Tune(Mechanism):
    """Synergy-Tune (Section 4.2).

    Jobs go by GPU, CPU and memory demand, largest first, onto the fullest server that holds their
    demand, or the fewest servers. Where none does, a job falls back to its proportional share, and
    then others are put back to theirs until it fits.

    Parameters
    ----------
    placement : ``"packed"`` splits a job over several servers before it gives up its demand;
        ``"consolidated"`` never splits a job that one server has the GPUs for; ``"spread"`` puts
        each GPU where most are free.
    released : as in the released simulator: in order of priority (LAS: by GPUs), first free GPUs in
        order of the servers, and peers put back as `policies.synergy.eviction.evict_released`
        says.
    sort_by_gpus : by GPU demand alone, then by priority. Not the paper's: jobs that need many
        CPUs then do not meet on the first servers.
    regrant : at the end, jobs at their proportional share get their demand where it still fits. Not
        the paper's.
    """

    placement: PlacementRule = PLACEMENT
    released: bool = False
    sort_by_gpus: bool = False
    regrant: bool = False
    name: ClassVar[str] = "tune"

    def __post_init__(self) -> None:
        self.depends_on_set_alone = not (self.released or self.sort_by_gpus)

    def run(self, order: IntArray, servers: Servers) -> tuple[IntArray, Packed]:
        """Jobs that run, and where."""
        jobs, of_group = servers.by_group(order, lambda kind: kind.best_rate)
        if self.sort_by_gpus:
            gpus = servers.kinds.gpus
            of_group = [js[np.argsort(-gpus[js], kind="stable")] for js in of_group]
        kind_of = servers.kinds.kind_of
        sequences = [
            by_demand(group, kind_of[js]) if self.depends_on_set_alone else kind_of[js]
            for group, js in zip(servers.groups, of_group, strict=True)
        ]

        def pack() -> Packed:
            packings = servers.packings()
            for packing, sequence in zip(packings, sequences, strict=True):
                for kind, count in runs(sequence):
                    spec = packing.kinds[kind]
                    shares = (spec.best, spec.fair) if spec.exceeds_fair else (spec.best,)
                    self.place(packing, kind, shares, count)
                if self.regrant:
                    regrant(packing)
            return servers.packed(packings, in_order=self.released)

        packed = servers.remembered(sequences, pack)
        return np.concatenate(of_group) if self.released else jobs, packed

    def place(self, packing: Packing, kind: int, shares: Sequence[Share], count: int = 1) -> None:
        """Place jobs of one kind with the first share that fits; the last is made to fit."""
        attempts = (first_gpus,) if self.released else ATTEMPTS[self.placement]
        while count:
            count -= place_all(packing, kind, count, shares, attempts)
            if count:
                self._evict(packing, kind, shares[-1])
                count -= 1

    def _evict(self, packing: Packing, kind: int, share: Share) -> None:
        """Place one job for which there are GPUs, but not the CPUs or memory beside them."""
        if self.released:
            evict_released(packing, kind, share)
            return
        gpus = packing.kinds[kind].gpus
        parts = packing.gpu_parts(gpus, whole=True) if self.placement != "spread" else ()
        parts = parts or packing.gpu_parts(gpus, whole=False)
        assert parts, "runnable jobs have their GPUs"
        evict(packing, parts, share)
        packing.add(Slot(kind, share, parts))


@dataclass
class Greedy(Mechanism):
    """Synergy-Greedy (Section 3.3): first fit of the whole demand, else the job is passed over.

    Parameters
    ----------
    released : as in the released simulator: each GPU of a job by itself on the first that holds it.
    runnable_only : nobody comes in for a job that is passed over but those whose GPUs are counted
        from the head of the queue; the released simulator under LAS.
    """

    placement: PlacementRule = PLACEMENT
    released: bool = False
    runnable_only: bool = False
    name: ClassVar[str] = "greedy"

    def run(self, order: IntArray, servers: Servers) -> tuple[IntArray, Packed]:
        """Jobs that run, and where."""
        if self.runnable_only:
            order = runnable(order, servers.kinds.gpus, servers.total_gpus)
        packings = servers.packings()
        free = servers.total_gpus
        failed: set[int] = set()
        jobs: list[int] = []
        for job, kind in zip(order.tolist(), servers.kinds.kind_of[order].tolist(), strict=True):
            if kind in failed:
                continue
            fastest = descending([p.kinds[kind].best_rate for p in packings])
            if any(self._place(packings[v], kind) for v in fastest):
                jobs.append(job)
                free -= packings[0].kinds[kind].gpus
                if not free:
                    break
            else:
                failed.add(kind)
                if len(failed) == len(servers.kinds.kinds):
                    break
        return np.array(jobs, dtype=np.int64), servers.packed(packings)

    def _place(self, packing: Packing, kind: int) -> bool:
        share = packing.kinds[kind].best
        place = Packing.place_spread if self.placement == "spread" else Packing.place_first
        if not self.released and first_fit(packing, kind, share):
            return True
        return place(packing, kind, share)
