"""FIFO, EDF and priority scheduling: one order.

With elastic jobs (the GPUs are the policy's choice) these are the first-principle methods of the
hierarchical paper, Section V, and of ANDREAS: one job a node, its configuration chosen once, the
cheapest that meets the due date, else the fastest. With jobs of fixed demand they are list
scheduling: the first in the order that does not fit holds up the others, or is skipped
(backfilling without reservation).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from policies.empty_nodes import EmptyNodes
from policies.registration import register
from policies.selection import NONE, choose_configuration, selection_price_per_hour
from policies.serving import serve
from policies.waiting import Order
from simulator import FIXED, NO_CHANGE, Decision, Placement, View
from simulator.model.cluster import FloatArray
from simulator.model.placement import in_proportion
from simulator.model.tolerances import INSTANT_S


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
    """

    name: str
    order: Order
    backfill: bool = False
    preemptive: bool = False
    _empty: EmptyNodes = field(default_factory=EmptyNodes, init=False, repr=False)
    _prices: FloatArray | None = field(default=None, init=False, repr=False)

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
        """The number by which jobs are ordered, in words (`policies.decision_trace`)."""
        return self.order.by

    def ordered(self, view: View) -> Iterable[int]:
        """The jobs in the order in which they are looked at."""
        return self.order.ordered(view, view.jobs.tolist() if self.preemptive else view.waiting)

    def _one_job_a_node(self, view: View) -> list[Placement]:
        """Start elastic jobs in their order, each on an empty node."""
        cluster, free = view.cluster, self._empty
        free.refresh(view)
        if self._prices is None:
            self._prices = selection_price_per_hour(cluster, "node")
        placements: list[Placement] = []
        line = self.order.line(view) if free else ()
        while free and line:
            job = line.head
            line.next()
            v, g = self._configuration(view, job, free.types())
            if v != NONE:
                node_type = v if cluster.node_type_of is None else FIXED
                node = free.take(FIXED if cluster.node_type_of is None else v)
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
        due_in_s = float(workload.due_s[job]) - view.now_s
        assert self._prices is not None
        return choose_configuration(times_s, due_in_s, self._prices, gpus, "node")


@register("fifo", requires=("list-or-node",), paper="Filippini et al., 2020")
def fifo() -> ListScheduling:
    """First in, first out; one job a node where jobs are elastic (hierarchical paper)."""
    return ListScheduling("fifo", Order())


@register("fifo-strict", requires=("list-or-node",))
def fifo_strict() -> ListScheduling:
    """First in, first out for jobs of fixed demand; the head of the queue blocks."""
    return ListScheduling("fifo-strict", Order())


@register("fifo-backfill", requires=("list-or-node",))
def fifo_backfill() -> ListScheduling:
    """First in, first out, skipping jobs that do not fit now."""
    return ListScheduling("fifo-backfill", Order(), backfill=True)


@register("edf", requires=("list-or-node", "due"), paper="Filippini et al., 2020")
def edf() -> ListScheduling:
    """Earliest due date first, no preemption; one job a node where jobs are elastic."""
    return ListScheduling("edf", by_due_date())


@register("edf-backfill", requires=("list-or-node", "due"))
def edf_backfill() -> ListScheduling:
    """Earliest due date first, skipping jobs that do not fit now."""
    return ListScheduling("edf-backfill", by_due_date(), backfill=True)


@register("weight-priority", requires=("list-or-node", "weights"), paper="Filippini et al., 2020")
def weight_priority() -> ListScheduling:
    """Priority scheduling: highest tardiness weight first, no preemption (`ps` in the papers)."""
    return ListScheduling("weight-priority", by_weight())
