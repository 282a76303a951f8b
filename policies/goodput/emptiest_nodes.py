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


def place_by_size(
    gpus: Mapping[int, int],
    running: Mapping[int, Nodes],
    capacity: Mapping[int, int],
    can_run: CanRun,
) -> dict[int, Nodes]:
    """Jobs that keep their number of GPUs keep their nodes; the others are placed, the smallest first.

    One that cannot run on so many of the GPUs that are free gets fewer.
    """
    free = FreeGpus(capacity)
    held = {
        job: nodes for job, nodes in running.items() if sum(g for _, g in nodes) == gpus.get(job)
    }

    def place(job: int, wanted: int) -> Nodes:
        fewer = (free.emptiest(part) for part in range(wanted, 0, -1))
        return next((nodes for nodes in fewer if nodes and can_run(job, nodes)), ())

    return free.settle(sorted(gpus.items(), key=lambda each: each[1]), held, place)


def divided(view: View, gpus: Mapping[int, int], capacity: Mapping[int, int]) -> Decision:
    """The decision that gives each job so many GPUs, on nodes as `place_by_size` finds them."""
    running = {job: nodes_of(shares) for job, shares in view.running.items()}
    plan = place_by_size(gpus, running, capacity, can_run(view))
    return Decision(placements(plan, view.cluster))
