"""FIFO, EDF and priority scheduling: one order.

With elastic jobs (the GPUs are the policy's choice) these are the first-principle methods of the
hierarchical paper, Section V, and of ANDREAS: one job a node, its configuration chosen once. The
papers do not print how; the authors' later program takes the cheapest that meets the due date, else
the fastest. With jobs of fixed demand they are list scheduling: the first in the order that does not
fit holds up the others, or is skipped (backfilling without reservation).

From decision to decision only the nodes that changed are looked at (`View.node_changes`).

Options
-------
configuration : of a job whose GPUs are the policy's choice: the "cheapest" that meets its due date, else the fastest; or
    always the "fastest".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from policies.queues.free_gpus import FreeGpus
from policies.queues.selection import NONE, choose_configuration, selection_price_per_hour
from policies.queues.serving import serve
from policies.queues.unread import Unread
from policies.queues.waiting import Order
from policies.registry.registration import register
from simulator import FIXED, NO_CHANGE, Decision, Placement, View
from simulator.arguments import one_of
from simulator.model.cluster import FloatArray
from simulator.model.placement import in_proportion
from simulator.model.tolerances import INSTANT_S


class EmptyNodes:
    """The nodes of a controller on which nothing runs, by type; `FIXED` alone where decisions configure the nodes."""

    def __init__(self) -> None:
        self._unread = Unread()
        self._of: dict[int, FreeGpus] = {}
        """Of each type, 1 for an empty node, and 0 for another one."""
        self._taken: list[int] = []

    def refresh(self, view: View) -> set[int]:
        """Bring it up to what is empty now; the types of which a node is."""
        changed, fixed = self._unread.of(view.node_changes), view.cluster.node_type_of
        if changed is None:
            self._of.clear()
            changed = view.nodes.tolist()
        for node in chain(changed, self._taken):
            nodes = self._of.setdefault(FIXED if fixed is None else fixed[node], FreeGpus({}))
            nodes[node] = 0.0 if view.shares[node] or node in view.down else 1.0
        self._taken.clear()
        return self.types()

    def types(self) -> set[int]:
        """Types of which a node is empty."""
        return {node_type for node_type, nodes in self._of.items() if nodes.fullest(1)}

    def take(self, node_type: int) -> int:
        """The first empty node of a type that `types` names."""
        nodes = self._of[node_type]
        ((node, _),) = nodes.fullest(1)
        nodes[node] = 0.0
        self._taken.append(node)
        return node


CONFIGURATIONS = ("cheapest", "fastest")
"""Configurations of an elastic job: the cheapest that meets its due date, else the fastest; or always the fastest."""


def by_due_date() -> Order:
    """Earliest due date first."""
    return Order(lambda view, job: view.workload.due_s.item(job), INSTANT_S, "due date")


def by_weight() -> Order:
    """Highest tardiness weight first, as it is when the job comes: admission control may take it away."""
    return Order(lambda view, job: -view.workload.weight_per_s.item(job), by="weight")


@dataclass
class ListScheduling:
    """Serve the jobs in an order that stays the same while they wait.

    Parameters
    ----------
    name : how results call it.
    order : the order.
    backfill : go on past a job that does not fit (jobs of fixed demand).
    preemptive : jobs that run make room for those before them, their progress kept (jobs of fixed demand).
    configuration : of an elastic job, one of `CONFIGURATIONS`.
    """

    name: str
    order: Order
    backfill: bool = False
    preemptive: bool = False
    configuration: str = "cheapest"
    _empty: EmptyNodes = field(default_factory=EmptyNodes, init=False, repr=False)
    _prices: FloatArray | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        one_of(CONFIGURATIONS, self.name, configuration=self.configuration)

    def decide(self, view: View) -> Decision:
        """Start what fits."""
        if not (view.changed if self.preemptive else view.waiting):
            return NO_CHANGE
        if self.preemptive or not (view.cluster.is_configurable or view.workload.is_elastic):
            return serve(view, self.order, preemptive=self.preemptive, backfill=self.backfill)
        placements = self._one_job_a_node(view)
        return Decision(placements, keep_running=True) if placements else NO_CHANGE

    @property
    def by(self) -> str:
        """The number by which jobs are ordered, in words (`policies.wrappers.decision_trace`)."""
        return self.order.by

    def ordered(self, view: View) -> Iterable[int]:
        """The jobs in the order in which they are looked at."""
        return self.order.ordered(view, view.jobs.tolist() if self.preemptive else view.waiting)

    def _one_job_a_node(self, view: View) -> list[Placement]:
        """Start elastic jobs in their order, each on an empty node."""
        cluster, free = view.cluster, self._empty
        offered = free.refresh(view)
        if self._prices is None:
            self._prices = selection_price_per_hour(cluster, "node")
        placements: list[Placement] = []
        line = self.order.line(view) if offered else ()
        while offered and line:
            job = line.head
            line.next()
            v, g = self._configuration(view, job, offered)
            if v != NONE:
                node_type = v if cluster.node_type_of is None else FIXED
                node = free.take(FIXED if cluster.node_type_of is None else v)
                offered = free.types()
                placements.append(in_proportion(job, node, g, cluster.node_types[v], node_type))
        return placements

    def _configuration(self, view: View, job: int, offered: set[int]) -> tuple[int, int]:
        """Node type and GPUs for one job, among the types that the free nodes offer."""
        cluster, workload = view.cluster, view.workload
        times_s = workload.performance.table_s(np.array([job]), cluster)[0]
        times_s = times_s * view.remaining_of(job)
        if cluster.node_type_of is not None:
            absent = [v for v in range(len(cluster.node_types)) if v not in offered]
            times_s[absent] = np.inf
        gpus = [t.gpus for t in cluster.node_types]
        # Where no configuration is on time, the fastest is taken.
        is_fastest = self.configuration == "fastest"
        due_in_s = -math.inf if is_fastest else float(workload.due_s[job]) - view.now_s
        assert self._prices is not None
        return choose_configuration(times_s, due_in_s, self._prices, gpus, "node")


@register(
    "fifo", requires=("list-or-node",), paper="Filippini et al., 2020", places=True, queue="blind"
)
def fifo(configuration: str = "cheapest") -> ListScheduling:
    """First in, first out; one job a node where jobs are elastic (hierarchical paper)."""
    return ListScheduling("fifo", Order(), configuration=configuration)


@register("fifo-strict", requires=("list-or-node",), places=True, queue="blind")
def fifo_strict() -> ListScheduling:
    """First in, first out for jobs of fixed demand; the head of the queue blocks."""
    return ListScheduling("fifo-strict", Order())


@register("fifo-backfill", requires=("list-or-node",), places=True, queue="blind")
def fifo_backfill() -> ListScheduling:
    """First in, first out, skipping jobs that do not fit now."""
    return ListScheduling("fifo-backfill", Order(), backfill=True)


@register("edf", requires=("list-or-node", "due"), paper="Filippini et al., 2020", places=True)
def edf(configuration: str = "cheapest") -> ListScheduling:
    """Earliest due date first, no preemption; one job a node where jobs are elastic."""
    return ListScheduling("edf", by_due_date(), configuration=configuration)


@register("edf-backfill", requires=("list-or-node", "due"), places=True)
def edf_backfill() -> ListScheduling:
    """Earliest due date first, skipping jobs that do not fit now."""
    return ListScheduling("edf-backfill", by_due_date(), backfill=True)


@register(
    "weight-priority",
    requires=("list-or-node", "weights"),
    paper="Filippini et al., 2020",
    places=True,
)
def weight_priority(configuration: str = "cheapest") -> ListScheduling:
    """Priority scheduling: highest tardiness weight first, no preemption (`ps` in the papers)."""
    return ListScheduling("weight-priority", by_weight(), configuration=configuration)
