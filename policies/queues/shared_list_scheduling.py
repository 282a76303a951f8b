"""First-principle methods that share nodes: what ANDREAS is compared with.

Its paper says no more than "first-principle methods". The authors' program gives each waiting job,
in a fixed order, its best configuration that fits on the GPUs that are free, on the fullest node
that has them; there is no preemption. On its own instances this agrees with it to every printed
digit (docs/papers.md), which one job a node does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies.queues.free_gpus import FreeGpus
from policies.queues.list_scheduling import by_due_date, by_weight
from policies.queues.selection import node_price_per_hour
from policies.queues.waiting import Order
from policies.registry.registration import register
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Decision, Placement, View
from simulator.model.placement import in_proportion
from simulator.model.ranks import ranked
from simulator.model.tolerances import INSTANT_S


@dataclass
class SharedListScheduling:
    """Serve the waiting jobs in a fixed order on free GPUs of fixed nodes, without preemption.

    Parameters
    ----------
    name : how results call it.
    order : of the waiting jobs.
    """

    name: str
    order: Order

    def decide(self, view: View) -> Decision:
        """Start what fits."""
        cluster = view.cluster
        if cluster.node_type_of is None:
            raise InputError(f"policy {self.name!r} wants nodes of fixed types, got VMs")
        if not view.waiting or view.free_gpus_total <= 0:
            return NO_CHANGE
        free = {v: FreeGpus({}) for v in range(len(cluster.node_types))}
        for node in view.nodes.tolist():
            free[cluster.node_type_of[node]][node] = int(view.free_gpus[node])
        prices = node_price_per_hour(cluster)
        placements: list[Placement] = []
        for job in self.order.ordered(view, view.waiting):
            for v, g in self._configurations(view, job, prices):
                if found := free[v].fullest(g):
                    free[v].take(found)
                    placements += [
                        in_proportion(job, n, g, cluster.node_types[v]) for n, _ in found
                    ]
                    break
        return Decision(placements, keep_running=True) if placements else NO_CHANGE

    def _configurations(self, view: View, job: int, prices: FloatArray) -> list[tuple[int, int]]:
        """Those that are on time by cost, then the others by time."""
        table = view.workload.performance.table_s(np.array([job]), view.cluster)[0]
        left_s = table * view.remaining_of(job)
        due_in_s = float(view.workload.due_s[job]) - view.now_s + INSTANT_S
        possible = [(int(v), int(g)) for v, g in np.argwhere(np.isfinite(left_s))]
        on_time = [c for c in possible if left_s[c] <= due_in_s]
        late = [c for c in possible if not left_s[c] <= due_in_s]
        on_time = _by(on_time, [float(left_s[c] * prices[c]) for c in on_time])
        late = _by(late, [float(left_s[c]) for c in late], INSTANT_S)
        return on_time + late


def _by(
    found: list[tuple[int, int]], values: list[float], within: float | None = None
) -> list[tuple[int, int]]:
    return [found[i] for i in ranked(range(len(found)), values, within)]


@register("fifo-shared", requires=("servers", "one-node"), paper="Filippini et al. (ANDREAS), 2021")
def fifo_shared() -> SharedListScheduling:
    """First in, first out on shared fixed nodes (ANDREAS)."""
    return SharedListScheduling("fifo-shared", Order())


@register(
    "edf-shared", requires=("servers", "one-node", "due"), paper="Filippini et al. (ANDREAS), 2021"
)
def edf_shared() -> SharedListScheduling:
    """Earliest due date first on shared fixed nodes (ANDREAS)."""
    return SharedListScheduling("edf-shared", by_due_date())


@register(
    "weight-priority-shared",
    requires=("servers", "one-node", "weights"),
    paper="Filippini et al. (ANDREAS), 2021",
)
def weight_priority_shared() -> SharedListScheduling:
    """Highest tardiness weight first on shared fixed nodes (ANDREAS)."""
    return SharedListScheduling("weight-priority-shared", by_weight())
