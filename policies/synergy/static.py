"""The static form of big-data schedulers: a job gets its whole demand once, and keeps it.

DRF and Tetris take demands as given and do not tune them (Synergy, Section 5.7): a job waits
until its demand fits beside the others, and then holds it to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from policies.synergy.servers import Mechanism, Packed, Servers, signatures_of
from policies.synergy.slots import Packing, Slot
from simulator.model.cluster import IntArray


@dataclass
class Static(Mechanism):
    """Whole demands, held from start to end; a job that does not fit is passed over.

    Parameters
    ----------
    align : choose servers as Tetris does, by the product of demand and what is free, rather than
        the first that holds the job.
    """

    align: bool = False
    name: ClassVar[str] = "static"
    plans_anew: ClassVar[bool] = False
    heterogeneous: ClassVar[bool] = False
    _held: dict[int, Slot] = field(default_factory=dict)

    def run(self, order: IntArray, servers: Servers) -> tuple[IntArray, Packed]:
        """Jobs that run, and where."""
        active = set(order.tolist())
        self._held = {job: slot for job, slot in self._held.items() if job in active}
        (packing,) = servers.packings()
        for slot in self._held.values():
            packing.add(slot)
        failed: set[int] = set()
        for job, kind in zip(order.tolist(), servers.kinds.kind_of[order].tolist(), strict=True):
            if kind in failed or job in self._held:
                continue
            if self._place(packing, kind):
                self._held[job] = packing.slots[-1]
            else:
                failed.add(kind)
                if len(failed) == len(packing.kinds):
                    break
        slots: Sequence[Slot] = list(self._held.values())
        jobs = np.array(list(self._held), dtype=np.int64)
        return jobs, Packed(slots, signatures_of(slots, servers.num_servers))

    def _place(self, packing: Packing, kind: int) -> bool:
        spec = packing.kinds[kind]
        share, gpus = spec.best, spec.gpus
        capacity = packing.capacity
        best, best_score = -1, -1.0
        for i, free in enumerate(packing.free_gpus):
            if free < gpus or packing.shortage(i, gpus, share) != (0.0, 0.0):
                continue
            if not self.align:
                best = i
                break
            score = (
                gpus / capacity.gpus * free / capacity.gpus
                + _part(gpus * share.cpus, packing.free_cpus[i], capacity.cpus)
                + _part(gpus * share.memory_gb, packing.free_memory_gb[i], capacity.memory_gb)
            )
            if score > best_score:
                best, best_score = i, score
        if best >= 0:
            packing.add(Slot(kind, share, ((best, gpus),)))
            return True
        return gpus > 1 and packing.place_on_fewest(kind, share)


def _part(demand: float, free: float, capacity: float) -> float:
    return demand / capacity * free / capacity if capacity else 0.0
