"""Nodes by their free GPUs: where a job fits is found without looking at every node.

One heap of nodes for each number of free GPUs. A node that has moved on to another number is left
where it was and passed over when it comes up. From decision to decision only the nodes that changed
are looked at (`View.node_changes`), so that a decision costs as much on 10,000 nodes as on ten.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from simulator import FIXED, Cluster, Placement, View
from simulator.contract import Changes

_NEW = tuple.__new__
"""Makes a named tuple of all its fields in a fifth of the time that its own constructor takes."""

MOST_GPUS = 64
"""Nodes of more GPUs than this have too many levels for it to pay."""


class NodeLevels:
    """Free GPUs of a controller's nodes of fixed types, where CPUs and memory have no limits.

    Attributes
    ----------
    total_gpus : free GPUs of all nodes together.
    """

    def __init__(self) -> None:
        self.total_gpus = 0.0
        self._changes: Changes | None = None
        self._mark = 0
        self._taken: list[int] = []
        self._free: list[int] = []
        self._levels: list[list[int]] = []
        self._step = self._most = 0

    @staticmethod
    def serve(cluster: Cluster) -> bool:
        """Whether they can stand for the nodes of this cluster."""
        return (
            cluster.node_type_of is not None
            and not cluster.is_pool
            and not cluster.limited_resources
            and cluster.max_gpus_per_node <= MOST_GPUS
        )

    def refresh(self, view: View) -> None:
        """Bring the levels up to what is free now."""
        changes = view.node_changes
        changed = changes.since(self._mark) if changes is self._changes else None
        if changed is None:
            self._rebuild(view)
        else:
            free_gpus, step, free = view.free_gpus.data, self._step, self._free
            for nodes in (changed, self._taken):
                for node in nodes:
                    now = free_gpus[node]
                    if free[node // step] != now:
                        self._set(node, int(now))
        self._changes, self._mark = changes, changes.end
        self._taken.clear()
        self.total_gpus = view.free_gpus_total

    def _rebuild(self, view: View) -> None:
        self._step = view.cluster.num_controllers
        nodes = view.cluster.nodes_of(view.controller)  # those that are down have none free
        self._most = 2 * len(nodes) + 16
        self._free = view.free_gpus[nodes].astype(int).tolist()
        self._levels = [[] for _ in range(view.cluster.max_gpus_per_node + 1)]
        for node, free in zip(nodes.tolist(), self._free, strict=True):
            self._levels[free].append(node)  # ascending, so each is a heap

    def _set(self, node: int, free: int) -> None:
        self._free[node // self._step] = free
        level = self._levels[free]
        heappush(level, node)
        if len(level) > self._most:  # most of them have moved on
            step = self._step
            level[:] = {n for n in level if self._free[n // step] == free}
            heapify(level)

    def _first_of(self, level: int) -> int:
        """The first node with so many free GPUs; -1: there is none."""
        heap, free, step = self._levels[level], self._free, self._step
        while heap:
            node = heap[0]
            if free[node // step] == level:
                return node
            heappop(heap)
        return -1

    def take(self, job: int, gpus: int) -> list[Placement]:
        """Place a job on the fullest node that holds it whole, else on the emptiest nodes.

        Empty where it does not fit; then nothing is taken. The first of equal nodes is taken.
        """
        if not 1 <= gpus <= self.total_gpus:
            return []
        self.total_gpus -= gpus
        levels = self._levels
        most = len(levels) - 1
        for level in range(gpus, most + 1):
            if levels[level]:
                node = self._first_of(level)
                if node >= 0:
                    return [self._share(job, node, level, gpus)]
        placements = []
        left, level = gpus, most
        while left:
            node = self._first_of(level)
            if node < 0:
                level -= 1
                continue
            share = level if level < left else left
            placements.append(self._share(job, node, level, share))
            left -= share
        return placements

    def _share(self, job: int, node: int, level: int, gpus: int) -> Placement:
        levels, left = self._levels, level - gpus
        heappop(levels[level])
        self._free[node // self._step] = left
        if left:
            heappush(levels[left], node)
        self._taken.append(node)
        return _NEW(Placement, (job, node, gpus, FIXED, 0.0, 0.0))
