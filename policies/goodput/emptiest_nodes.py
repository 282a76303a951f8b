"""The emptiest nodes for jobs whose numbers of GPUs are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from policies.queues.free_gpus import FreeGpus, Nodes
from simulator.model.cluster import Cluster
from simulator.model.contract import Decision, Placement, View
from simulator.model.placement import in_proportion

CanRun = Callable[[int, Nodes], bool]
"""Whether a job has a time on these nodes."""


def nodes_of(shares: Iterable[Placement]) -> Nodes:
    """Nodes and GPUs of a job that runs."""
    return tuple((share.node, int(share.gpus)) for share in shares)


def placements(plan: Mapping[int, Nodes], cluster: Cluster) -> list[Placement]:
    """A plan as placements, with CPUs and memory in proportion to the GPUs."""
    return [
        in_proportion(job, node, gpus, cluster.type_of[node])
        for job, nodes in plan.items()
        for node, gpus in nodes
    ]


def capacities(view: View) -> dict[int, int]:
    """GPUs of each node, in order of nodes."""
    return {n: int(view.cluster.type_of[n].gpus) for n in view.nodes.tolist()}


def can_run(view: View) -> CanRun:
    """Whether the performance model has a time of a job on nodes, if it starts there now."""
    return lambda job, nodes: view.can_run(job, placements({job: nodes}, view.cluster))


def place_beside(
    wanted: Mapping[int, int],
    kept: Mapping[int, Nodes],
    capacity: Mapping[int, int],
    can_run: CanRun,
    fewer: bool = False,
) -> dict[int, Nodes]:
    """Nodes for jobs in the given order, beside those that stay as they are; a job that can run on none waits.

    Parameters
    ----------
    wanted : GPUs by job, in the order of placing; those in ``kept`` are left out.
    kept : nodes of the jobs that stay.
    capacity : GPUs by node.
    fewer : whether a job may have fewer GPUs, where it cannot run on so many of those that are free.
    """
    free = FreeGpus(capacity)
    for nodes in kept.values():
        free.take(nodes)
    plan = dict(kept)
    for job, gpus in wanted.items():
        if job in plan:
            continue
        for part in range(gpus, 0 if fewer else gpus - 1, -1):
            nodes = free.emptiest(part)
            if nodes and can_run(job, nodes):
                plan[job] = nodes
                free.take(nodes)
                break
    return plan


def place_by_size(
    gpus: Mapping[int, int],
    running: Mapping[int, Nodes],
    capacity: Mapping[int, int],
    can_run: CanRun,
) -> dict[int, Nodes]:
    """Jobs that keep their number of GPUs keep their nodes; the others are placed, the smallest first.

    One that cannot run on so many of the GPUs that are free gets fewer.
    """
    kept = {
        job: nodes
        for job, nodes in running.items()
        if job in gpus and sum(g for _, g in nodes) == gpus[job]
    }
    order = sorted(gpus, key=gpus.__getitem__)
    return place_beside({job: gpus[job] for job in order}, kept, capacity, can_run, fewer=True)


def divided(view: View, gpus: Mapping[int, int], capacity: Mapping[int, int]) -> Decision:
    """The decision that gives each job so many GPUs, on nodes as `place_by_size` finds them."""
    running = {job: nodes_of(shares) for job, shares in view.running.items()}
    plan = place_by_size(gpus, running, capacity, can_run(view))
    return Decision(placements(plan, view.cluster))
