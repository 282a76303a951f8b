"""Nodes for the jobs of a round, those of most GPUs first; a job that goes on keeps its own if they are free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from policies.free_gpus import FreeGpus
from policies.shares.rounds import Chosen, jobs_of
from simulator import Placement, View
from simulator.model.placement import in_proportion


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
    gpus_of = [spec.gpus for spec in view.cluster.node_types]
    free_of = {k: FreeGpus(dict.fromkeys(nodes, gpus_of[k])) for k, nodes in nodes_of.items()}
    placements: list[Placement] = []
    for (k, gpus), alike in groupby(chosen, key=lambda each: (each.gpu_type, each.gpus)):
        free, moved = free_of[k], []
        for unit, *_ in alike:
            jobs = jobs_of(unit)
            old = next((view.running[job] for job in jobs if job in view.running), ())
            held = [(p.node, max(p.gpus, 1)) for p in old]  # before, it may have been half of one
            if held and all(free[node] >= part for node, part in held):
                placements += _placed(view, jobs, k, held)
                free.take(held)
            else:
                moved.append(jobs)
        for jobs in moved:
            found = free.place(gpus)
            placements += _placed(view, jobs, k, found)
            free.take(found)
    return placements


def _placed(
    view: View, jobs: Sequence[int], k: int, nodes: Iterable[tuple[int, float]]
) -> Iterator[Placement]:
    """Placements of a job, or of two that have the same nodes in halves."""
    for node, part in nodes:
        own = part if len(jobs) == 1 else part / len(jobs)
        for job in jobs:
            yield in_proportion(job, node, own, view.cluster.node_types[k])
