"""Where jobs of fixed demand fit: nodes' free capacity, taken job by job."""

from __future__ import annotations

import math

import numpy as np

from simulator import Placement, View
from simulator.catalog import FloatArray, IntArray


class FreeCapacity:
    """Free GPUs, CPUs and memory of a controller's nodes (of fixed types).

    Built from a view when the first job is placed; `take` subtracts.

    Parameters
    ----------
    view : the decision point.
    evict : count the GPUs of running jobs as free (a decision from scratch).
    """

    def __init__(self, view: View, evict: bool = False) -> None:
        self._view = view
        self._nodes: IntArray = view.nodes
        cluster = view.cluster
        types = cluster.node_types
        if evict:
            fixed = cluster.node_type_of
            assert fixed is not None
            self._gpus: FloatArray = np.array([types[fixed[n]].gpus for n in self._nodes.tolist()])
            self.total_gpus = float(self._gpus.sum())
        else:
            self._gpus = view.free_gpus[self._nodes]
            self.total_gpus = view.free_gpus_total
        self._largest = view.cluster.max_gpus_per_node
        self._cpus: FloatArray | None = None
        self._memory_gb: FloatArray | None = None
        if types[0].cpus < math.inf or types[0].memory_gb < math.inf:
            self._read_cpus_and_memory(evict)

    def _read_cpus_and_memory(self, evict: bool) -> None:
        cluster = self._view.cluster
        fixed = cluster.node_type_of
        assert fixed is not None
        nodes = self._nodes.tolist()
        specs = [cluster.node_types[fixed[n]] for n in nodes]
        self._cpus = np.array([s.cpus for s in specs])
        self._memory_gb = np.array([s.memory_gb for s in specs])
        if evict:
            return
        for i, n in enumerate(nodes):
            for placement in self._view.shares[n].values():
                self._cpus[i] -= placement.cpus
                self._memory_gb[i] -= placement.memory_gb

    def demand(self, job: int) -> tuple[int, float, float]:
        """GPUs, CPUs and GB of memory that a job takes.

        A job that states no CPUs or memory takes them in proportion to its GPUs.
        """
        workload, cluster = self._view.workload, self._view.cluster
        gpus = int(workload.num_gpus[job])
        if self._cpus is None:
            return gpus, 0.0, 0.0
        spec = cluster.node_types[0]
        cpus, memory_gb = float(workload.num_cpus[job]), float(workload.memory_gb[job])
        if math.isnan(cpus):
            cpus = gpus * spec.cpus / spec.gpus if math.isfinite(spec.cpus) else 0.0
        if math.isnan(memory_gb):
            memory_gb = gpus * spec.memory_gb / spec.gpus if math.isfinite(spec.memory_gb) else 0.0
        return gpus, cpus, memory_gb

    def take(self, job: int) -> list[Placement]:
        """Place a job on the fullest node that holds it whole, else on the emptiest nodes.

        Empty where it does not fit; then nothing is taken.
        """
        gpus, cpus, memory_gb = self.demand(job)
        if gpus > self.total_gpus or gpus < 1:
            return []
        room = self._room(gpus, cpus, memory_gb)
        if gpus <= self._largest:
            whole = np.where(room >= gpus, self._gpus, np.inf)
            i = int(whole.argmin())
            if whole[i] < np.inf:
                return [self._share(job, i, gpus, gpus, cpus, memory_gb)]
        if room is not self._gpus and room.sum() < gpus:
            return []
        placements = []
        left = gpus
        for i in (-room).argsort(kind="stable").tolist():
            share = min(left, int(room[i]))
            placements.append(self._share(job, i, share, gpus, cpus, memory_gb))
            left -= share
            if not left:
                break
        return placements

    def _room(self, gpus: int, cpus: float, memory_gb: float) -> FloatArray:
        """GPUs of the job that each node could hold, its CPUs and memory beside them."""
        if self._cpus is None or self._memory_gb is None:
            return self._gpus
        room = self._gpus
        for free, need in ((self._cpus, cpus), (self._memory_gb, memory_gb)):
            if need > 0:
                room = np.minimum(room, np.floor(free * (1 + 1e-12) * gpus / need))
        return np.maximum(room, 0.0)

    def _share(
        self, job: int, i: int, share: int, gpus: int, cpus: float, memory_gb: float
    ) -> Placement:
        part = share / gpus
        self._gpus[i] -= share
        self.total_gpus -= share
        if self._cpus is not None and self._memory_gb is not None:
            self._cpus[i] -= cpus * part
            self._memory_gb[i] -= memory_gb * part
        return Placement(
            job, int(self._nodes[i]), share, cpus=cpus * part, memory_gb=memory_gb * part
        )
