"""Nodes for the jobs of a round: those that go on stay, the others take the fullest node that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policies.packing import proportional_share
from policies.shares.rounds import Chosen
from simulator import Placement, View


def place(
    view: View, chosen: Iterable[Chosen], nodes_of: Mapping[int, Sequence[int]]
) -> list[Placement]:
    """Placements of the chosen jobs, in that order; one whose GPUs lie over too many nodes waits.

    Parameters
    ----------
    nodes_of : nodes of each type of GPU, of which nothing is in use by others.
    """
    free = {
        n: float(view.cluster.node_types[k].gpus) for k, nodes in nodes_of.items() for n in nodes
    }
    placements: list[Placement] = []
    moved = []
    for each in chosen:
        old = view.running.get(each.job, ())
        stays = old and all(
            p.node in nodes_of[each.gpu_type] and free[p.node] >= p.gpus for p in old
        )
        if not stays:
            moved.append(each)
            continue
        for p in old:
            free[p.node] -= p.gpus
        placements += old
    for each in moved:
        nodes = nodes_of[each.gpu_type]
        for node, gpus in _nodes(free, nodes, each.gpus):
            free[node] -= gpus
            cpus, memory_gb = proportional_share(view.cluster.node_types[each.gpu_type], gpus)
            placements.append(Placement(each.job, node, gpus, cpus=cpus, memory_gb=memory_gb))
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
