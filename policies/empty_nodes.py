"""Empty nodes, the first of each type found without looking at every node.

One heap of nodes for each type (one in all, where decisions configure the nodes). A node that is no
longer empty is left where it was and passed over when it comes up. From decision to decision only
the nodes that changed are looked at (`View.node_changes`).
"""

from __future__ import annotations

from heapq import heappop, heappush

from simulator import FIXED, View
from simulator.model.cluster import IntArray
from simulator.model.contract import Changes


class EmptyNodes:
    """The nodes of a controller on which nothing runs, lowest index first."""

    def __init__(self) -> None:
        self._changes: Changes | None = None
        self._mark = 0
        self._heaps: dict[int, list[int]] = {}
        self._empty: set[int] = set()
        self._taken: list[int] = []

    def __len__(self) -> int:
        return len(self._empty)

    def refresh(self, view: View) -> None:
        """Bring the heaps up to what is empty now."""
        changes = view.node_changes
        changed, mark = changes.since(self._mark if changes is self._changes else -1)
        if changed is None:
            self._heaps, self._empty = {}, set()
            changed = view.nodes.tolist()
            self._taken.clear()
        fixed, empty = view.cluster.node_type_of, self._empty
        for nodes in (changed, self._taken):
            for node in nodes:
                if view.shares[node] or (hasattr(view, "faults") and not _is_up(node, view.nodes)):
                    empty.discard(node)
                elif node not in empty:
                    empty.add(node)
                    kind = FIXED if fixed is None else fixed[node]
                    heappush(self._heaps.setdefault(kind, []), node)
        self._changes, self._mark = changes, mark
        self._taken.clear()

    def types(self) -> set[int]:
        """Types of which a node is empty; `FIXED` alone where decisions configure the nodes."""
        return {kind for kind in self._heaps if self._first(kind) is not None}

    def take(self, kind: int) -> int:
        """The first empty node of a type that `types` names."""
        node = self._first(kind)
        assert node is not None
        heappop(self._heaps[kind])
        self._empty.remove(node)
        self._taken.append(node)
        return node

    def _first(self, kind: int) -> int | None:
        heap = self._heaps[kind]
        while heap and heap[0] not in self._empty:
            heappop(heap)
        return heap[0] if heap else None


def _is_up(node: int, nodes: IntArray) -> bool:
    """True where a node is among the nodes, ascending, that the controller has now."""
    place = int(nodes.searchsorted(node))
    return place < len(nodes) and int(nodes[place]) == node
