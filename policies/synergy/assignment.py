"""Assignment of jobs to slots, such that as few jobs as possible move.

A packing is made afresh in each round, but equal servers may be exchanged, and so may jobs of one
kind. A job therefore keeps its server and share where the packing still has such a slot: its
lease is renewed (Synergy, Section 4.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from policies.synergy.demand import Kinds, Share
from policies.synergy.servers import Packed, Signature
from policies.synergy.slots import Slot
from simulator import Placement
from simulator.model.cluster import IntArray

Position = tuple[int, Share, tuple[tuple[int, float], ...]]
"""A kind, a share, and GPUs by node."""

SEARCH = 12
"""So many servers that changed are matched to nodes by what they have in common; more in order."""


class Assignment:
    """The jobs of one controller and where they sit.

    Parameters
    ----------
    groups : the controller's nodes, those of one type together.
    kinds : the jobs by kind.
    """

    def __init__(self, groups: Sequence[Sequence[int]], kinds: Kinds) -> None:
        self.placed: dict[int, tuple[Placement, ...]] = {}
        self._groups = groups
        self._kinds = kinds
        self._seat_of: dict[int, Position] = {}
        self._signature_of: dict[int, Signature] = {n: () for ns in groups for n in ns}

    def assign(self, jobs: IntArray, packed: Packed) -> bool:
        """Give each of these jobs a slot; whether anything has changed."""
        if packed.in_order:
            return self._seat_in_order(jobs, packed)
        node_of = self._match_servers(packed.signatures)
        open_positions: dict[Position, int] = {}
        for slot in packed.slots:
            position = (slot.kind, slot.share, _on_nodes(slot, node_of))
            open_positions[position] = open_positions.get(position, 0) + 1
        before, position_of = self._seat_of, {}
        newcomers: list[int] = []
        for job in jobs.tolist():
            old = before.get(job)
            if old is not None and open_positions.get(old, 0):
                open_positions[old] -= 1
                position_of[job] = old
            else:
                newcomers.append(job)
        if not newcomers and len(position_of) == len(before):
            return False
        self._fill(newcomers, open_positions, position_of)
        self._take(position_of)
        return True

    def _seat_in_order(self, jobs: IntArray, packed: Packed) -> bool:
        """The first job on the first slot, and so on, servers as they are numbered."""
        nodes = [node for group in self._groups for node in group]
        before, position_of = self._seat_of, {}
        for job, slot in zip(jobs.tolist(), packed.slots, strict=True):
            position = (slot.kind, slot.share, _on_nodes(slot, nodes))
            old = before.get(job)
            position_of[job] = old if old == position else position
        if position_of == before:
            return False
        self._take(position_of)
        return True

    def _take(self, position_of: dict[int, Position]) -> None:
        """Make placements of new positions, and keep those of the others."""
        before, placed = self._seat_of, self.placed
        self.placed = {
            job: placed[job] if before.get(job) is position else _placements(job, position)
            for job, position in position_of.items()
        }
        self._seat_of = position_of

    def below_demand(self) -> IntArray:
        """Jobs that run with less than their demand, because they were put back."""
        kinds = self._kinds.kinds
        return np.array(
            [job for job, (kind, share, _) in self._seat_of.items() if share != kinds[kind].best],
            dtype=np.int64,
        )

    def _fill(
        self,
        jobs: Sequence[int],
        open_positions: Mapping[Position, int],
        position_of: dict[int, Position],
    ) -> None:
        """Newcomers take the positions that are left, the first of a kind the one with the most."""
        by_kind: dict[int, list[Position]] = {}
        for position, count in open_positions.items():
            if count:
                by_kind.setdefault(position[0], []).extend([position] * count)
        for positions in by_kind.values():
            positions.sort(key=lambda s: s[1])
        kind_of = self._kinds.kind_of
        for job in jobs:
            position_of[job] = by_kind[int(kind_of[job])].pop()

    def _match_servers(self, signatures: Sequence[Signature]) -> list[int]:
        """The node that each server of the packing stands for, among those of its type."""
        node_of = [-1] * len(signatures)
        begin = 0
        for nodes in self._groups:
            self._match_group(range(begin, begin + len(nodes)), nodes, signatures, node_of)
            begin += len(nodes)
        for i, node in enumerate(node_of):
            self._signature_of[node] = signatures[i]
        return node_of

    def _match_group(
        self,
        servers: range,
        nodes: Sequence[int],
        signatures: Sequence[Signature],
        node_of: list[int],
    ) -> None:
        free: dict[Signature, list[int]] = {}
        for node in reversed(nodes):
            free.setdefault(self._signature_of[node], []).append(node)
        left: list[int] = []
        for i in servers:
            same = free.get(signatures[i])
            if same:
                node_of[i] = same.pop()
            else:
                left.append(i)
        if left:
            rest = sorted(n for ns in free.values() for n in ns)
            self._match_rest(left, rest, signatures, node_of)

    def _match_rest(
        self,
        servers: Sequence[int],
        nodes: list[int],
        signatures: Sequence[Signature],
        node_of: list[int],
    ) -> None:
        if len(servers) > SEARCH:
            for i, node in zip(servers, nodes, strict=True):
                node_of[i] = node
            return
        had = {n: Counter(self._signature_of[n]) for n in nodes}
        for i in servers:
            now = Counter(signatures[i])
            node = max(nodes, key=lambda n: ((had[n] & now).total(), -n))
            nodes.remove(node)
            node_of[i] = node


def _on_nodes(slot: Slot, node_of: Sequence[int]) -> tuple[tuple[int, float], ...]:
    if len(slot.parts) == 1:
        ((i, gpus),) = slot.parts
        return ((node_of[i], gpus),)
    return tuple(sorted((node_of[i], gpus) for i, gpus in slot.parts))


def _placements(job: int, position: Position) -> tuple[Placement, ...]:
    _, share, parts = position
    return tuple(
        Placement(job, node, gpus, cpus=gpus * share.cpus, memory_gb=gpus * share.memory_gb)
        for node, gpus in parts
    )
