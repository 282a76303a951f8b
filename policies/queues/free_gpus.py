"""Nodes by their free GPUs: the fullest that holds a job, else the emptiest, found without a look at every node.

free = FreeGpus({0: 4, 1: 2, 2: 4})
free.place(2)                               # ((1, 2),): the fullest node that holds it
free.place(6)                               # ((0, 4), (2, 2)): no node does, so the emptiest
"""

from __future__ import annotations

import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeVar

from simulator.model.tolerances import CAPACITY

Nodes = tuple[tuple[int, int], ...]
"""Node and GPUs of it, in the order in which a job's nodes are connected."""

Who = TypeVar("Who", bound=Hashable)
"""A job, or some that share GPUs."""

Most = Callable[[int], float]
"""How many GPUs of a node a job may have at the most, whatever is free."""


class FreeGpus:
    """Free GPUs of nodes, as a mapping that can be changed; each level of them has its nodes in order.

    Of equal nodes, the first is taken.

    Parameters
    ----------
    free : free GPUs by node, nodes ascending.
    last_first : of equally empty nodes, a job over several takes the last first.

    Attributes
    ----------
    now : free GPUs by node, to be read.
    """

    def __init__(self, free: Mapping[int, float], last_first: bool = False) -> None:
        self.now = dict(free)
        self._last_first = last_first
        self._nodes: dict[float, list[int]] = {}
        for node, gpus in free.items():
            if gpus:
                self._nodes.setdefault(gpus, []).append(node)

    def __getitem__(self, node: int) -> float:
        return self.now.get(node, 0.0)

    def __setitem__(self, node: int, gpus: float) -> None:
        before = self.now.get(node, 0.0)
        if gpus == before:
            return
        if before:
            level = self._nodes[before]
            del level[bisect_left(level, node)]
            if not level:
                del self._nodes[before]
        if gpus:
            insort(self._nodes.setdefault(gpus, []), node)
        self.now[node] = gpus

    def take(self, nodes: Iterable[tuple[int, float]]) -> None:
        """Take GPUs of nodes."""
        for node, gpus in nodes:
            self[node] -= gpus

    def settle(
        self,
        wanted: Iterable[tuple[Who, int]],
        held: Mapping[Who, Nodes],
        place: Callable[[Who, int], Nodes] | None = None,
    ) -> dict[Who, Nodes]:
        """Nodes of several: who holds some keeps them where they are free; then the others in order, if they fit. It takes them.

        Parameters
        ----------
        wanted : who, and how many GPUs, in the order of placing.
        held : by who is among them.
        place : nodes for one of them; None: as `place` finds them.
        """
        found: dict[Who, Nodes] = {}
        for who, nodes in held.items():
            if all(self[node] >= gpus for node, gpus in nodes):
                found[who] = nodes
                self.take(nodes)
        for who, gpus in wanted:
            if who not in found and (nodes := place(who, gpus) if place else self.place(gpus)):
                found[who] = nodes
                self.take(nodes)
        return found

    def place(self, gpus: int, most: Most | None = None, nodes: int = 0) -> Nodes:
        """Nodes of a job and its GPUs there: the fullest that holds it whole, else the emptiest; empty where it does not fit.

        With a number of nodes, the fullest of as many that hold equal parts of it.
        """
        if nodes:
            return self.fullest(gpus // nodes, most, nodes)
        return self.fullest(gpus, most) or self.emptiest(gpus, most)

    def fullest(self, gpus: int, most: Most | None = None, nodes: int = 1) -> Nodes:
        """So many GPUs on each of some nodes, those with the fewest free ones that hold them; empty where there are too few."""
        found: list[tuple[int, int]] = []
        for level in sorted(level for level in self._nodes if level >= gpus - CAPACITY):
            for node in self._nodes[level]:
                if most is None or most(node) >= gpus:
                    found.append((node, gpus))
                    if len(found) == nodes:
                        return tuple(sorted(found))
        return ()

    def emptiest(self, gpus: int, most: Most | None = None) -> Nodes:
        """So many GPUs, from the node that has most for the job, then the next; empty where there are too few."""
        found, left = [], gpus
        for room, nodes in self._by_room(most):
            for node in nodes:
                if room >= left:
                    found.append((node, left))
                    return tuple(found)
                found.append((node, room))
                left -= room
        return ()

    def _by_room(self, most: Most | None) -> Iterator[tuple[int, Iterable[int]]]:
        """Whole GPUs that nodes have for a job, the most first, and these nodes in order."""
        rooms: dict[int, list[list[int]]] = {}
        for level, nodes in self._nodes.items():
            whole = int(min(level + CAPACITY, sys.maxsize))
            if most is None:
                rooms.setdefault(whole, []).append(nodes)
                continue
            for node in nodes:
                room = most(node)
                rooms.setdefault(whole if room >= whole else int(room), [[]])[0].append(node)
        for room in sorted(rooms, reverse=True):
            alike = rooms[room]
            ordered = alike[0] if most is None and len(alike) == 1 else sorted(chain(*alike))
            yield room, reversed(ordered) if self._last_first else ordered
