"""Servers being filled: where a job of some kind fits, and what is taken back from others.

A packing is made afresh in each round, all leases having ended. It knows kinds of jobs, not jobs:
which job takes which slot is settled afterwards (`policies.synergy.assignment`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from policies.synergy.demand import Kind, ServerSize, Share
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

    Synergy's fullest server is the one with the least of all resources together, so that `FreeGpus`, which orders nodes by
    their GPUs, would find others; and slots are taken back, which `FreeCapacity` does not know of.

    Parameters
    ----------
    capacity : of each server.
    num_servers : how many.
    kinds : the kinds of jobs.
    """

    def __init__(self, capacity: ServerSize, num_servers: int, kinds: Sequence[Kind]) -> None:
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
        parts = _on_fewest(self.kinds[kind].gpus, self._gpus_on(share), self._free_parts)
        if parts:
            self.add(Slot(kind, share, parts))
        return bool(parts)

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
        return _on_fewest(gpus, {i: f for i, f in enumerate(free) if f > 0}, range(len(free)))

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


def _on_fewest(
    gpus: int, room: Mapping[int, float], rank: Sequence[float]
) -> tuple[tuple[int, float], ...]:
    """GPUs on the fewest servers, what is left where it fits most tightly; of equals the least in rank. Empty: too few.

    Parameters
    ----------
    room : of the servers that have some, in order.
    """
    parts: dict[int, float] = {}
    left: float = gpus
    for i in sorted(room, key=lambda i: (-room[i], rank[i])):
        if room[i] >= left:
            able = [j for j in room if room[j] >= left and j not in parts]
            i = min(able, key=lambda j: (room[j], rank[j]))
        parts[i] = min(left, room[i])
        left -= parts[i]
        if left <= 0:
            return tuple(sorted(parts.items()))
    return ()
