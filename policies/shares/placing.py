"""Nodes for the jobs of a round, those of most GPUs first; a job that goes on keeps its own if they are free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from policies.packing import proportional_share
from policies.shares.rounds import Chosen, jobs_of
from simulator import Placement, View


def place(
    view: View, chosen: Iterable[Chosen], nodes_of: Mapping[int, Sequence[int]]
) -> list[Placement]:
    """Placements of the chosen jobs; one whose GPUs lie over too many nodes waits.

    Among jobs of as many GPUs, those that keep theirs come first (a lease is extended). The others take
    the fullest node that holds them, or else the emptiest ones. Nodes of one GPU are so taken by number.

    Parameters
    ----------
    chosen : as `ShareRounds.choose` orders them. The jobs of a pair have half a GPU each.
    nodes_of : nodes of each type of GPU, of which nothing is in use by others.
    """
    free = {
        n: float(view.cluster.node_types[k].gpus) for k, nodes in nodes_of.items() for n in nodes
    }
    placements: list[Placement] = []
    for (k, gpus), alike in groupby(chosen, key=lambda each: (each.gpu_type, each.gpus)):
        moved = []
        for unit, *_ in alike:
            jobs = jobs_of(unit)
            old = next((view.running[job] for job in jobs if job in view.running), ())
            held = [(p.node, max(p.gpus, 1)) for p in old]  # before, it may have been half of one
            if held and all(node in nodes_of[k] and free[node] >= part for node, part in held):
                placements += _placed(view, jobs, k, held)
                for node, part in held:
                    free[node] -= part
            else:
                moved.append(jobs)
        for jobs in moved:
            found = _nodes(free, nodes_of[k], gpus)
            placements += _placed(view, jobs, k, found)
            for node, part in found:
                free[node] -= part
    return placements


def _placed(
    view: View, jobs: Sequence[int], k: int, nodes: Iterable[tuple[int, float]]
) -> Iterator[Placement]:
    """Placements of a job, or of two that have the same nodes in halves."""
    for node, part in nodes:
        own = part if len(jobs) == 1 else part / len(jobs)
        cpus, memory_gb = proportional_share(view.cluster.node_types[k], own)
        for job in jobs:
            yield Placement(job, node, own, cpus=cpus, memory_gb=memory_gb)


def _nodes(free: Mapping[int, float], nodes: Sequence[int], gpus: int) -> list[tuple[int, float]]:
    """Nodes of a job and its GPUs there: the fullest that holds it whole, else the emptiest ones."""
    holding = [n for n in nodes if free[n] >= gpus]
    if holding:
        return [(min(holding, key=lambda n: (free[n], n)), gpus)]
    found: list[tuple[int, float]] = []
    left = gpus
    for node in sorted(nodes, key=lambda n: (-free[n], n)):
        share = int(min(left, free[node]))
        if share:
            found.append((node, share))
            left -= share
        if not left:
            return found
    return []
