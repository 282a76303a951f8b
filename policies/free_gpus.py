"""Nodes by their free GPUs: the fullest that holds a job, else the emptiest, found without a look at every node.

free = FreeGpus({0: 4, 1: 2, 2: 4})
free.place(2)                               # ((1, 2),): the fullest node that holds it
free.place(6)                               # ((0, 4), (2, 2)): no node does, so the emptiest
"""

from __future__ import annotations

import heapq
import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from simulator.model.tolerances import CAPACITY

Nodes = tuple[tuple[int, int], ...]
"""Node and GPUs of it, in the order in which a job's nodes are connected."""

Most = Callable[[int], float]
"""How many GPUs of a node a job may have at the most, whatever is free."""


class FreeGpus:
    """Free GPUs of nodes, as a mapping that can be changed; each level of them has its nodes in order.

    Of equal nodes, the first is taken.

    Parameters
    ----------
    free : free GPUs by node, nodes ascending.
    last_first : of equally empty nodes, a job over several takes the last first.
    """

    def __init__(self, free: Mapping[int, float], last_first: bool = False) -> None:
        self._free = dict(free)
        self._last_first = last_first
        self._nodes: dict[float, list[int]] = {}
        for node, gpus in free.items():
            if gpus:
                self._nodes.setdefault(gpus, []).append(node)

    def __getitem__(self, node: int) -> float:
        return self._free.get(node, 0.0)

    def __setitem__(self, node: int, gpus: float) -> None:
        before = self._free.get(node, 0.0)
        if gpus == before:
            return
        if before:
            level = self._nodes[before]
            del level[bisect_left(level, node)]
            if not level:
                del self._nodes[before]
        if gpus:
            insort(self._nodes.setdefault(gpus, []), node)
        self._free[node] = gpus

    def take(self, nodes: Iterable[tuple[int, float]]) -> None:
        """Take GPUs of nodes."""
        for node, gpus in nodes:
            self[node] -= gpus

    def place(self, gpus: int, most: Most | None = None) -> Nodes:
        """Nodes of a job and its GPUs there: the fullest that holds it whole, else the emptiest; empty where it does not fit."""
        node = self.fullest(gpus, most)
        return self.emptiest(gpus, most) if node is None else ((node, gpus),)

    def fullest(self, gpus: int, most: Most | None = None) -> int | None:
        """The node with the fewest free GPUs that holds so many; None: no node does."""
        wanted = gpus - CAPACITY
        levels = [level for level in self._nodes if level >= wanted]
        if most is None:
            return self._nodes[min(levels)][0] if levels else None
        for level in sorted(levels):
            for node in self._nodes[level]:
                if most(node) >= gpus:
                    return node
        return None

    def emptiest(self, gpus: int, most: Most | None = None) -> Nodes:
        """So many GPUs, from the node that has most for the job, then the next; empty where there are too few."""
        found, left = [], gpus
        for room, node in self._by_room(most):
            found.append((node, min(room, left)))
            left -= room
            if left <= 0:
                return tuple(found)
        return ()

    def _by_room(self, most: Most | None) -> Iterator[tuple[int, int]]:
        """Whole GPUs that nodes have for a job, and the nodes; the emptiest first."""
        if most is None:
            levels = sorted(self._nodes, reverse=True)
            for whole, alike in groupby(levels, _whole):
                yield from ((whole, node) for node in self._in_order(self._nodes[v] for v in alike))
            return
        of: dict[int, list[int]] = {}
        for level, nodes in self._nodes.items():
            for node in nodes:
                of.setdefault(int(min(_whole(level), most(node))), []).append(node)
        for whole in sorted(of, reverse=True):
            yield from ((whole, node) for node in self._in_order([sorted(of[whole])]))

    def _in_order(self, ascending: Iterable[Sequence[int]]) -> Iterator[int]:
        if self._last_first:
            return heapq.merge(*map(reversed, ascending), reverse=True)
        return heapq.merge(*ascending)


def _whole(gpus: float) -> int:
    return int(min(gpus + CAPACITY, sys.maxsize))
