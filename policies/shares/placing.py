"""Nodes for the jobs of a round, those of most GPUs first; a job that goes on keeps its own if they are free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from policies.packing import proportional_share
from policies.shares.rounds import Chosen
from simulator import Placement, View


def place(
    view: View, chosen: Iterable[Chosen], nodes_of: Mapping[int, Sequence[int]]
) -> list[Placement]:
    """Placements of the chosen jobs; one whose GPUs lie over too many nodes waits.

    Among jobs of as many GPUs, those that keep theirs come first (a lease is extended). The others take
    the fullest node that holds them, or else the emptiest ones. Nodes of one GPU are so taken by number.

    Parameters
    ----------
    chosen : as `ShareRounds.choose` orders them.
    nodes_of : nodes of each type of GPU, of which nothing is in use by others.
    """
    free = {
        n: float(view.cluster.node_types[k].gpus) for k, nodes in nodes_of.items() for n in nodes
    }
    placements: list[Placement] = []
    for (k, gpus), alike in groupby(chosen, key=lambda each: (each.gpu_type, each.gpus)):
        moved = []
        for job, *_ in alike:
            old = view.running.get(job, ())
            if old and all(p.node in nodes_of[k] and free[p.node] >= p.gpus for p in old):
                placements += old
                for p in old:
                    free[p.node] -= p.gpus
            else:
                moved.append(job)
        for job in moved:
            for node, part in _nodes(free, nodes_of[k], gpus):
                free[node] -= part
                cpus, memory_gb = proportional_share(view.cluster.node_types[k], part)
                placements.append(Placement(job, node, part, cpus=cpus, memory_gb=memory_gb))
    return placements


def _nodes(free: Mapping[int, float], nodes: Sequence[int], gpus: int) -> list[tuple[int, int]]:
    """Nodes of a job and its GPUs there: the fullest that holds it whole, else the emptiest ones."""
    holding = [n for n in nodes if free[n] >= gpus]
    if holding:
        return [(min(holding, key=lambda n: (free[n], n)), gpus)]
    found, left = [], gpus
    for node in sorted(nodes, key=lambda n: (-free[n], n)):
        share = int(min(left, free[node]))
        if share:
            found.append((node, share))
            left -= share
        if not left:
            return found
    return []
