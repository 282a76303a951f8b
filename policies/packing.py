"""Free capacity of nodes: where a job of fixed demand fits, and what it takes there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from simulator import Placement, View
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray, NodeType
from simulator.model.cluster import proportional_share as proportional_share
from simulator.model.feasibility import fits
from simulator.model.tolerances import CAPACITY


class FreeCapacity:
    """Free GPUs, CPUs and memory of a controller's nodes (of fixed types), while jobs are placed one by one.

    Parameters
    ----------
    empty : all of the nodes is free at first, whatever runs; False: what is free now.
    last_first : of equally empty nodes, a job over several nodes takes the last first; False: the first.

    Attributes
    ----------
    total_gpus : free GPUs of all nodes together.
    """

    def __init__(self, view: View, *, empty: bool = False, last_first: bool = False) -> None:
        cluster = view.cluster
        if cluster.node_type_of is None:
            raise InputError(
                "FreeCapacity: the nodes are VMs without a fixed type, expected nodes of fixed types "
                "(docs/extending.md has a policy for VMs)"
            )
        self._view = view
        self._nodes = view.nodes.tolist()
        self._row = {node: i for i, node in enumerate(self._nodes)}
        types = [cluster.node_types[cluster.node_type_of[n]] for n in self._nodes]
        self._gpus: FloatArray = view.free_gpus[view.nodes]
        if empty:
            self._gpus = np.array([t.gpus for t in types], dtype=np.float64)
        self.total_gpus = float(self._gpus.sum()) if empty else view.free_gpus_total
        self._largest = cluster.max_gpus_per_node
        self._beside = [_Resource(view, n, types, empty) for n in cluster.limited_resources]
        self._ties: IntArray = np.arange(len(types)) * (-1 if last_first else 1)

    def take(self, job: int, gpus: int | None = None) -> tuple[Placement, ...]:
        """Place a job as `place` does, and take what it gets."""
        shares = self.place(job, gpus)
        self.add(shares)
        return shares

    def place(
        self, job: int, gpus: int | None = None, nodes: Sequence[int] | None = None
    ) -> tuple[Placement, ...]:
        """Shares of a job on the fullest node that holds it whole, else on the emptiest nodes.

        A job over several nodes has its CPUs and memory in proportion to its GPUs on each. Empty
        where the job does not fit. Nothing is taken.

        Parameters
        ----------
        nodes : only on these; None: on all.
        """
        gpus = int(self._view.workload.num_gpus[job]) if gpus is None else gpus
        if not 1 <= gpus <= self.total_gpus:
            return ()
        room = np.floor(self._gpus + CAPACITY)
        for resource in self._beside:
            room = np.minimum(room, resource.room(job, gpus))
        if nodes is not None:
            there = np.zeros(len(room), dtype=np.bool_)
            there[[self._row[n] for n in nodes]] = True
            room = np.where(there, room, 0.0)
        if gpus <= self._largest or self.total_gpus == math.inf:
            i = int(np.where(room >= gpus, self._gpus, np.inf).argmin())
            if room[i] >= gpus:
                return (self._share(job, i, gpus, gpus),)
        if room.sum() < gpus:
            return ()
        placements, left = [], gpus
        for i in np.lexsort([self._ties, -room]).tolist():
            share = int(min(left, room[i]))
            placements.append(self._share(job, i, share, gpus))
            left -= share
            if not left:
                break
        return tuple(placements)

    def holds(self, shares: Iterable[Placement]) -> bool:
        """True where each of some shares, on nodes of their own, fits in what is free."""
        return all(
            share.node in self._row
            and fits(share.gpus, self._gpus[self._row[share.node]], self._largest)
            and all(r.holds(share, self._row[share.node]) for r in self._beside)
            for share in shares
        )

    def add(self, shares: Iterable[Placement]) -> None:
        """Take shares from what is free."""
        self._change(shares, 1)

    def remove(self, shares: Iterable[Placement]) -> None:
        """Give shares back."""
        self._change(shares, -1)

    def gpus_on(self, nodes: Sequence[int]) -> float:
        """GPUs that are free on some nodes."""
        return math.fsum(self._gpus[[self._row[n] for n in nodes]])

    def _change(self, shares: Iterable[Placement], sign: int) -> None:
        for share in shares:
            i = self._row[share.node]
            self._gpus[i] -= sign * share.gpus
            self.total_gpus -= sign * share.gpus
            for resource in self._beside:
                resource.free[i] -= sign * getattr(share, resource.name)

    def _share(self, job: int, i: int, share: int, gpus: int) -> Placement:
        beside = {r.name: r.of(job, i, share, gpus) for r in self._beside}
        return Placement(
            job, self._nodes[i], share,
            cpus=beside.get("cpus", 0.0), memory_gb=beside.get("memory_gb", 0.0),
        )  # fmt: skip


class _Resource:
    """Free CPUs or memory of a controller's nodes.

    A job that states no demand takes them in proportion to its GPUs, on each node that of the
    node.
    """

    def __init__(self, view: View, name: str, types: Sequence[NodeType], empty: bool) -> None:
        self.name = name
        self._stated = view.workload.num_cpus if name == "cpus" else view.workload.memory_gb
        self._capacity = np.array([float(getattr(t, name)) for t in types])
        self.free: FloatArray = self._capacity.copy()
        if not empty:
            shares = (view.shares[n].values() for n in view.nodes.tolist())
            self.free -= [sum(getattr(p, name) for p in on_node) for on_node in shares]
        gpus = np.array([t.gpus for t in types], dtype=np.float64)
        self._per_gpu: FloatArray = np.zeros_like(self.free)
        np.divide(self._capacity, gpus, out=self._per_gpu, where=np.isfinite(self._capacity))

    def room(self, job: int, gpus: int) -> FloatArray:
        """GPUs of the job that each node could hold, what it needs beside them considered."""
        stated = self._stated[job]
        per_gpu = self._per_gpu if math.isnan(stated) else np.full_like(self.free, stated / gpus)
        room = np.full_like(self.free, np.inf)
        np.divide(self.free + CAPACITY * self._capacity, per_gpu, out=room, where=per_gpu > 0)
        return np.maximum(np.floor(room), 0.0)

    def of(self, job: int, i: int, share: int, gpus: int) -> float:
        """Amount that goes with ``share`` of the job's GPUs on node ``i``."""
        stated = float(self._stated[job])
        return float(self._per_gpu[i] * share if math.isnan(stated) else stated * share / gpus)

    def holds(self, share: Placement, i: int) -> bool:
        """True where a share fits in what is free on node ``i``."""
        return fits(getattr(share, self.name), self.free[i], self._capacity[i])
