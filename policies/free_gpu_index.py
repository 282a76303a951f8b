"""Nodes by their free GPUs: where a job fits is found without looking at every node.

One heap of nodes for each number of free GPUs. A node that has moved on to another number is left
where it was and passed over when it comes up. From decision to decision only the nodes that changed
are looked at (`View.node_changes`), so that a decision costs as much on 10,000 nodes as on ten.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from simulator import FIXED, Cluster, Placement, View
from simulator.model.contract import Changes

_NEW = tuple.__new__
"""Makes a named tuple of all its fields in a fifth of the time that its own constructor takes."""

MOST_GPUS = 64
"""Nodes of more GPUs than this have too many levels for it to pay."""


class FreeGpuIndex:
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
        """True where they can stand for the nodes of this cluster."""
        return (
            cluster.node_type_of is not None
            and not cluster.is_pool
            and not cluster.limited_resources
            and cluster.max_gpus_per_node <= MOST_GPUS
        )

    def refresh(self, view: View) -> None:
        """Bring the levels up to what is free now."""
        changes = view.node_changes
        changed, mark = changes.since(self._mark if changes is self._changes else -1)
        if changed is None:
            self._rebuild(view)
        else:
            free_gpus, step, free = view.free_gpus.data, self._step, self._free
            levels, most, taken = self._levels, self._most, self._taken
            if changed[: len(taken)] != taken:  # else they are among those that changed
                changed += taken
            for node in changed:
                now = free_gpus[node]
                if free[node // step] != now:
                    free[node // step] = count = int(now)
                    level = levels[count]
                    heappush(level, node)
                    if len(level) > most:
                        self._tidy(count)
        self._changes, self._mark = changes, mark
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

    def _tidy(self, count: int) -> None:
        """Most of the nodes of a level have moved on: leave those that have not."""
        level, free, step = self._levels[count], self._free, self._step
        level[:] = {n for n in level if free[n // step] == count}
        heapify(level)

    def take(self, job: int, gpus: int) -> tuple[Placement, ...]:
        """Place a job on the fullest node that holds it whole, else on the emptiest nodes.

        Empty where it does not fit; then nothing is taken. The first of equal nodes is taken.
        """
        if not 1 <= gpus <= self.total_gpus:
            return ()
        self.total_gpus -= gpus
        levels, free, step, taken = self._levels, self._free, self._step, self._taken
        level, left = self._fullest_with(gpus) if gpus < len(levels) else len(levels) - 1, gpus
        shares = []
        while left:
            heap = levels[level]
            if not heap:
                level -= 1
                continue
            node = heappop(heap)
            if free[node // step] != level:
                continue  # it has moved on
            share = level if level < left else left
            left -= share
            free[node // step] = rest = level - share
            if rest:
                heappush(levels[rest], node)
            taken.append(node)
            shares.append(_NEW(Placement, (job, node, share, FIXED, 0.0, 0.0)))
        return tuple(shares)

    def _fullest_with(self, gpus: int) -> int:
        """The least number of free GPUs, from ``gpus`` on, that some node has; else the most."""
        levels, free, step = self._levels, self._free, self._step
        for level in range(gpus, len(levels)):
            heap = levels[level]
            while heap:
                if free[heap[0] // step] == level:
                    return level
                heappop(heap)
        return len(levels) - 1
