"""Servers being filled: where a job of some kind fits, and what is taken back from others.

A packing is made afresh in each round, all leases having ended. It knows kinds of jobs, not jobs:
which job takes which slot is settled afterwards (`policies.synergy.assignment`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from policies.synergy.demand import Capacity, Kind, Share
from simulator.model.tolerances import CAPACITY


class Slot:
    """Room for one job of a kind: GPUs on one or several servers, and the share beside each.

    Attributes
    ----------
    kind : index of the kind.
    share : CPUs and GB per GPU.
    parts : GPUs by server, ``((server, gpus), ..)``.
    """

    __slots__ = ("kind", "parts", "share")

    def __init__(self, kind: int, share: Share, parts: tuple[tuple[int, float], ...]) -> None:
        self.kind = kind
        self.share = share
        self.parts = parts

    def __repr__(self) -> str:
        return f"Slot({self.kind}, {self.share}, {self.parts})"


class Packing:
    """Free capacity of ``num_servers`` equal servers, and the slots on them.

    Parameters
    ----------
    capacity : of each server.
    num_servers : how many.
    kinds : the kinds of jobs.
    """

    def __init__(self, capacity: Capacity, num_servers: int, kinds: Sequence[Kind]) -> None:
        self.capacity = capacity
        self.kinds = kinds
        self.slots: list[Slot] = []
        self.free_gpus: list[float] = [capacity.gpus] * num_servers
        self.free_cpus = [capacity.cpus] * num_servers
        self.free_memory_gb = [capacity.memory_gb] * num_servers
        self.on_server: list[list[Slot]] = [[] for _ in range(num_servers)]
        self._slack = (capacity.cpus * CAPACITY, capacity.memory_gb * CAPACITY)
        # What is free on each server, summed over its resources, each as a part of the server's own.
        self._weight = (
            1 / capacity.gpus,
            1 / capacity.cpus if capacity.cpus else 0.0,
            1 / capacity.memory_gb if capacity.memory_gb else 0.0,
        )
        self._free_parts = [sum(1.0 for w in self._weight if w)] * num_servers

    # -- where a job fits --------------------------------------------------------------------

    def place_whole(self, kind: int, share: Share, count: int = 1) -> int:
        """Place up to ``count`` jobs on the server with the least free that holds one; how many."""
        gpus = self.kinds[kind].gpus
        if gpus > self.capacity.gpus:
            return 0
        cpus, memory_gb = gpus * share.cpus, gpus * share.memory_gb
        need_c, need_m = cpus - self._slack[0], memory_gb - self._slack[1]
        free_g, free_c, free_m = self.free_gpus, self.free_cpus, self.free_memory_gb
        best, least = -1, math.inf
        for i, free in enumerate(self._free_parts):
            if free < least and free_g[i] >= gpus and free_c[i] >= need_c and free_m[i] >= need_m:
                best, least = i, free
        if best < 0:
            return 0
        # The fullest server stays the fullest while it is filled: place as many as it holds.
        fit = min(count, int(self._gpus_that_fit(best, share)) // gpus)
        for _ in range(fit):
            self.add(Slot(kind, share, ((best, gpus),)))
        return fit

    def place_on_emptiest(self, kind: int, share: Share) -> bool:
        """Place one job whole on the server with the most free CPUs that holds it."""
        gpus = self.kinds[kind].gpus
        able = [i for i, free in enumerate(self.free_gpus) if free >= gpus]
        able = [i for i in able if self.shortage(i, gpus, share) == (0.0, 0.0)]
        if not able:
            return False
        i = max(able, key=lambda i: (self.free_cpus[i], self._free_parts[i], -i))
        self.add(Slot(kind, share, ((i, gpus),)))
        return True

    def place_on_fewest(self, kind: int, share: Share) -> bool:
        """Place one job on the fewest servers that hold it, its share the same on each GPU."""
        left = self.kinds[kind].gpus
        gpus_on = self._gpus_on(share)
        if sum(gpus_on.values()) < left:
            return False
        parts: list[tuple[int, float]] = []
        for i in sorted(gpus_on, key=lambda i: (-gpus_on[i], self._free_parts[i])):
            if gpus_on[i] >= left:
                # What is left goes where it fits most tightly.
                used = {j for j, _ in parts}
                able = [j for j in gpus_on if gpus_on[j] >= left and j not in used]
                i = min(able, key=lambda j: (gpus_on[j], self._free_parts[j], j))
            take = min(left, gpus_on[i])
            parts.append((i, take))
            left -= take
            if not left:
                break
        self.add(Slot(kind, share, tuple(sorted(parts))))
        return True

    def place_first(self, kind: int, share: Share) -> bool:
        """Place one job on the first free GPUs in order of the servers."""
        left = self.kinds[kind].gpus
        parts: list[tuple[int, float]] = []
        for i, free in enumerate(self.free_gpus):
            take = min(left, self._gpus_that_fit(i, share)) if free > 0 else 0
            if take > 0:
                parts.append((i, take))
                left -= take
            if not left:
                self.add(Slot(kind, share, tuple(parts)))
                return True
        return False

    def place_spread(self, kind: int, share: Share) -> bool:
        """Place one job GPU by GPU, each on the server with the most free."""
        gpus = self.kinds[kind].gpus
        gpus_on = self._gpus_on(share)
        parts: dict[int, int] = {}
        for _ in range(gpus):
            able = [i for i, most in gpus_on.items() if most > parts.get(i, 0)]
            if not able:
                return False
            i = max(able, key=lambda i: (self.free_gpus[i] - parts.get(i, 0), -i))
            parts[i] = parts.get(i, 0) + 1
        self.add(Slot(kind, share, tuple(sorted(parts.items()))))
        return True

    def _gpus_on(self, share: Share) -> dict[int, int]:
        """GPUs with this share that each server still holds; servers that hold any."""
        return {
            i: gpus
            for i, free in enumerate(self.free_gpus)
            if free > 0 and (gpus := self._gpus_that_fit(i, share)) > 0
        }

    def _gpus_that_fit(self, i: int, share: Share) -> int:
        gpus = int(self.free_gpus[i])
        if share.cpus > 0:
            gpus = min(gpus, int((self.free_cpus[i] + self._slack[0]) / share.cpus))
        if share.memory_gb > 0:
            gpus = min(gpus, int((self.free_memory_gb[i] + self._slack[1]) / share.memory_gb))
        return gpus

    # -- taking back what others have above their proportional share ---------------------------

    def gpu_parts(self, gpus: int, whole: bool) -> tuple[tuple[int, float], ...]:
        """Servers with the GPUs of a job, whatever else they lack; empty where there are none.

        ``whole``: the one server with the fewest free GPUs that has them all; else the fewest
        servers.
        """
        free = self.free_gpus
        if whole:
            able = [i for i, f in enumerate(free) if f >= gpus]
            if not able:
                return ()
            return ((min(able, key=lambda i: (free[i], -self._free_parts[i])), gpus),)
        parts: list[tuple[int, float]] = []
        left: float = gpus
        for i in sorted(range(len(free)), key=lambda i: (-free[i], i)):
            if free[i] >= left:
                used = {j for j, _ in parts}
                i = min(
                    (j for j, f in enumerate(free) if f >= left and j not in used),
                    key=lambda j: (free[j], j),
                )
            take = min(left, free[i])
            if take > 0:
                parts.append((i, take))
            left -= take
            if left <= 0:
                return tuple(sorted(parts))
        return ()

    def shortage(self, i: int, gpus: float, share: Share) -> tuple[float, float]:
        """CPUs and GB that server ``i`` lacks for this many GPUs with this share."""
        short_c = gpus * share.cpus - self.free_cpus[i]
        short_m = gpus * share.memory_gb - self.free_memory_gb[i]
        return (
            short_c if short_c > self._slack[0] else 0.0,
            short_m if short_m > self._slack[1] else 0.0,
        )

    def change_share(self, slot: Slot, share: Share) -> None:
        """Give a placed job another share, more or less."""
        more_c, more_m = share.cpus - slot.share.cpus, share.memory_gb - slot.share.memory_gb
        for i, gpus in slot.parts:
            self._take(i, 0, gpus * more_c, gpus * more_m)
        slot.share = share

    def add(self, slot: Slot) -> None:
        """Place a slot where it says; the caller has made sure that it fits."""
        self.slots.append(slot)
        share = slot.share
        for i, gpus in slot.parts:
            self._take(i, gpus, gpus * share.cpus, gpus * share.memory_gb)
            self.on_server[i].append(slot)

    def _take(self, i: int, gpus: float, cpus: float, memory_gb: float) -> None:
        self.free_gpus[i] -= gpus
        self.free_cpus[i] -= cpus
        self.free_memory_gb[i] -= memory_gb
        weight = self._weight
        self._free_parts[i] -= gpus * weight[0] + cpus * weight[1] + memory_gb * weight[2]
