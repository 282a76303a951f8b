"""Free capacity of nodes for jobs of fixed demand, taken job by job."""

from __future__ import annotations

import math

import numpy as np

from simulator import Placement, View
from simulator.model.cluster import FloatArray, NodeType
from simulator.model.tolerances import SUMS


def proportional_share(spec: NodeType, gpus: float) -> tuple[float, float]:
    """CPUs and GB that go with ``gpus`` GPUs of a node: in proportion; 0 where not modelled."""
    share = gpus / spec.gpus
    return (
        spec.cpus * share if math.isfinite(spec.cpus) else 0.0,
        spec.memory_gb * share if math.isfinite(spec.memory_gb) else 0.0,
    )


class FreeCapacity:
    """Free GPUs, CPUs and memory of a controller's nodes (of fixed types); `take` subtracts.

    Attributes
    ----------
    total_gpus : free GPUs of all nodes together.
    """

    def __init__(self, view: View) -> None:
        cluster = view.cluster
        assert cluster.node_type_of is not None
        self.total_gpus = view.free_gpus_total
        self._view = view
        self._gpus: FloatArray = view.free_gpus[view.nodes]
        self._largest = cluster.max_gpus_per_node
        self._others = [_Resource(view, name) for name in cluster.limited_resources]

    def take(self, job: int, gpus: int | None = None) -> tuple[Placement, ...]:
        """Place a job on the fullest node that holds it whole, else on the emptiest nodes.

        A job over several nodes has its CPUs and memory in proportion to its GPUs on each. Empty
        where the job does not fit; then nothing is taken.
        """
        gpus = int(self._view.workload.num_gpus[job]) if gpus is None else gpus
        if not 1 <= gpus <= self.total_gpus:
            return ()
        room = self._gpus
        for resource in self._others:
            room = np.minimum(room, resource.room(job, gpus))
        if gpus <= self._largest or self.total_gpus == math.inf:
            whole = np.where(room >= gpus, self._gpus, np.inf)
            i = int(whole.argmin())
            if room[i] >= gpus:
                return (self._share(job, i, gpus, gpus),)
        if self._others and room.sum() < gpus:
            return ()
        placements = []
        left = gpus
        for i in (-room).argsort(kind="stable").tolist():
            share = int(min(left, room[i]))
            placements.append(self._share(job, i, share, gpus))
            left -= share
            if not left:
                break
        return tuple(placements)

    def _share(self, job: int, i: int, share: int, gpus: int) -> Placement:
        self._gpus[i] -= share
        self.total_gpus -= share
        node = int(self._view.nodes[i])
        if not self._others:
            return Placement(job, node, share)
        taken = {r.name: r.take(job, i, share, gpus) for r in self._others}
        return Placement(
            job, node, share, cpus=taken.get("cpus", 0.0), memory_gb=taken.get("memory_gb", 0.0)
        )


class _Resource:
    """Free CPUs or memory of a controller's nodes.

    A job that states no demand takes them in proportion to its GPUs, on each node that of the
    node.
    """

    def __init__(self, view: View, name: str) -> None:
        fixed = view.cluster.node_type_of
        assert fixed is not None
        nodes = view.nodes.tolist()
        types = [view.cluster.node_types[fixed[n]] for n in nodes]
        capacity = np.array([float(getattr(t, name)) for t in types])
        in_use = [sum(getattr(p, name) for p in view.shares[n].values()) for n in nodes]
        gpus = np.array([t.gpus for t in types], dtype=np.float64)
        self.name = name
        self._stated = view.workload.num_cpus if name == "cpus" else view.workload.memory_gb
        self._free: FloatArray = capacity - np.array(in_use)
        self._per_gpu: FloatArray = np.zeros_like(capacity)
        np.divide(capacity, gpus, out=self._per_gpu, where=np.isfinite(capacity))

    def room(self, job: int, gpus: int) -> FloatArray:
        """GPUs of the job that each node could hold, what it needs beside them considered."""
        stated = self._stated[job]
        per_gpu = self._per_gpu if math.isnan(stated) else np.full_like(self._free, stated / gpus)
        room = np.full_like(self._free, np.inf)
        np.divide(self._free * (1 + SUMS), per_gpu, out=room, where=per_gpu > 0)
        return np.maximum(np.floor(room), 0.0)

    def take(self, job: int, i: int, share: int, gpus: int) -> float:
        """Take what goes with ``share`` of the job's GPUs on node ``i``."""
        stated = float(self._stated[job])
        amount = self._per_gpu[i] * share if math.isnan(stated) else stated * share / gpus
        self._free[i] -= amount
        return float(amount)
