"""FIFO, EDF and priority scheduling: one order, no preemption.

With elastic jobs (the GPUs are the policy's choice) these are the first-principle methods of the
hierarchical paper, Section V, and of ANDREAS: one job a node, its configuration chosen once, the
cheapest that meets the due date, else the fastest. With jobs of fixed demand they are list
scheduling: the first in the order that does not fit holds up the others, or is skipped
(backfilling without reservation).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heapreplace
from itertools import chain

import numpy as np

from policies.empty_nodes import EmptyNodes
from policies.free_gpu_index import FreeGpuIndex
from policies.packing import FreeCapacity, proportional_share
from policies.registration import register
from policies.selection import NONE, choose_configuration, selection_price_per_hour
from policies.waiting import Rank, WaitingJobs
from simulator import FIXED, NO_CHANGE, Decision, Placement, View, Workload
from simulator.model.cluster import FloatArray
from simulator.model.tolerances import INSTANT_S

SharesOf = dict[int, tuple[Placement, ...]]
"""Shares of nodes by job, in the order of the starts."""

BY_DUE_DATE = Rank(lambda view: view.workload.due_s.item, INSTANT_S, "due date")
"""Earliest due date first."""


def _minus_weight(view: View) -> Callable[[int], float]:
    weight_of = view.workload.weight_per_s.item
    return lambda job: -weight_of(job)


BY_WEIGHT = Rank(_minus_weight, by="weight")
"""Highest tardiness weight first, as it is when the job comes: admission control may take it away."""


@dataclass
class ListScheduling:
    """Serve the waiting jobs in a fixed order, without preemption.

    Parameters
    ----------
    name : how results call it.
    rank : the order; None: that of the queue.
    backfill : go on past a job that does not fit (jobs of fixed demand).
    """

    name: str
    rank: Rank | None = None
    backfill: bool = False
    _workload: Workload | None = field(default=None, init=False, repr=False)
    _is_elastic: bool = field(default=False, init=False, repr=False)
    _nodes: FreeGpuIndex | None = field(default=None, init=False, repr=False)
    _waiting: WaitingJobs | None = field(default=None, init=False, repr=False)
    _gpus_of: Sequence[int] | None = field(default=None, init=False, repr=False)
    _is_strict: bool = field(default=False, init=False, repr=False)
    _empty: EmptyNodes = field(default_factory=EmptyNodes, init=False, repr=False)
    _prices: FloatArray | None = field(default=None, init=False, repr=False)

    def decide(self, view: View) -> Decision:
        """Start what fits."""
        if not view.waiting:
            return NO_CHANGE
        if view.workload is not self._workload:  # the first decision of a simulation
            self._workload = view.workload
            self._waiting = None
            self._empty = EmptyNodes()
            self._is_elastic = view.cluster.is_configurable or view.workload.is_elastic
            self._nodes, self._gpus_of = None, None
            self._is_strict = self.rank is None and not self.backfill
            if not self._is_elastic:
                self._gpus_of = view.workload.num_gpus_list
                self._nodes = FreeGpuIndex() if FreeGpuIndex.serve(view.cluster) else None
        if self._is_elastic:
            shares_of = self._one_job_a_node(view)
        elif view.free_gpus_total <= 0:
            return NO_CHANGE
        elif self._is_strict:
            shares_of = self._head_first(view)
        else:
            shares_of = self._list_scheduling(view)
        if not shares_of:
            return NO_CHANGE
        return Decision(list(chain.from_iterable(shares_of.values())), keep_running=True)

    @property
    def by(self) -> str:
        """The number by which jobs are ordered, in words (`policies.decision_trace`)."""
        return self.rank.by if self.rank else "submission"

    def ordered(self, view: View) -> Iterable[int]:
        """The waiting jobs in the order in which they are looked at."""
        return self.rank.ordered(view, view.waiting) if self.rank else view.waiting

    def _list_scheduling(self, view: View) -> SharesOf:
        """Start jobs of fixed demand in their order; a demand that does not fit is passed over."""
        free = view.free_gpus_total
        waiting = self._waiting
        if waiting is None:
            waiting = self._waiting = WaitingJobs(self.rank, demand if self.backfill else _any)
        waiting.refresh(view)
        capacity: FreeCapacity | FreeGpuIndex | None = None
        gpus_of = view.workload.num_gpus_list
        shares_of: SharesOf = {}
        first = waiting.first_of_each(view, free)
        while first:
            (_, job), kind = first[0]
            shares: tuple[Placement, ...] = ()
            if gpus_of[job] <= free:
                capacity = capacity or self._capacity(view)
                shares = capacity.take(job, gpus_of[job])
                free = capacity.total_gpus
            if shares:
                shares_of[job] = shares
                waiting.pop(kind)
                entry = waiting.first(view, kind)
                if entry is not None:
                    heapreplace(first, (entry, kind))
                    continue
            elif not self.backfill or free < 1:
                break
            heappop(first)
        return shares_of

    def _head_first(self, view: View) -> SharesOf:
        """Strictly in the order of the queue."""
        gpus_of = self._gpus_of
        assert gpus_of is not None
        free = view.free_gpus_total
        shares_of: SharesOf = {}
        capacity: FreeCapacity | FreeGpuIndex | None = None
        for job in view.waiting:
            gpus = gpus_of[job]
            if gpus > free:
                break
            capacity = capacity or self._capacity(view)
            shares = capacity.take(job, gpus)
            if not shares:
                break
            shares_of[job] = shares
            free = capacity.total_gpus
        return shares_of

    def _capacity(self, view: View) -> FreeCapacity | FreeGpuIndex:
        """Free capacity now."""
        if self._nodes is None:
            return FreeCapacity(view)
        self._nodes.refresh(view)
        return self._nodes

    def _one_job_a_node(self, view: View) -> SharesOf:
        """Start elastic jobs in their order, each on an empty node."""
        cluster, free = view.cluster, self._empty
        free.refresh(view)
        shares_of: SharesOf = {}
        if not free:
            return shares_of
        if self._waiting is None:
            self._waiting = WaitingJobs(self.rank, _any)
            self._prices = selection_price_per_hour(cluster, "node")
        waiting = self._waiting
        waiting.refresh(view)
        kind = _any(view, 0)
        first = waiting.first(view, kind)
        while free and first is not None:
            job = first[1]
            waiting.pop(kind)
            v, g = self._configuration(view, job, free.types())
            if v != NONE:
                node_type = v if cluster.node_type_of is None else FIXED
                node = free.take(FIXED if cluster.node_type_of is None else v)
                more = proportional_share(cluster.node_types[v], g)
                shares_of[job] = (Placement(job, node, g, node_type, *more),)
            first = waiting.first(view, kind)
        return shares_of

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


def demand(view: View, job: int) -> Hashable:
    """Jobs that fit alike: those of one demand of GPUs, CPUs and memory."""
    workload = view.workload
    gpus = workload.num_gpus_list[job]
    if not view.cluster.limited_resources:
        return gpus
    # As text, since a demand that is not stated (NaN) is equal to itself there.
    return f"{gpus} {workload.num_cpus.item(job)} {workload.memory_gb.item(job)}"


def _any(view: View, job: int) -> Hashable:
    """All jobs together: the first that does not fit holds up the others."""
    return None


@register("fifo", requires=("list-or-node",), paper="Filippini et al., 2020")
def fifo() -> ListScheduling:
    """First in, first out; one job a node where jobs are elastic (hierarchical paper)."""
    return ListScheduling("fifo")


@register("fifo-strict", requires=("list-or-node",))
def fifo_strict() -> ListScheduling:
    """First in, first out for jobs of fixed demand; the head of the queue blocks."""
    return ListScheduling("fifo-strict")


@register("fifo-backfill", requires=("list-or-node",))
def fifo_backfill() -> ListScheduling:
    """First in, first out, skipping jobs that do not fit now."""
    return ListScheduling("fifo-backfill", backfill=True)


@register("edf", requires=("list-or-node", "due"), paper="Filippini et al., 2020")
def edf() -> ListScheduling:
    """Earliest due date first, no preemption; one job a node where jobs are elastic."""
    return ListScheduling("edf", BY_DUE_DATE)


@register("edf-backfill", requires=("list-or-node", "due"))
def edf_backfill() -> ListScheduling:
    """Earliest due date first, skipping jobs that do not fit now."""
    return ListScheduling("edf-backfill", BY_DUE_DATE, backfill=True)


@register("weight-priority", requires=("list-or-node", "weights"), paper="Filippini et al., 2020")
def weight_priority() -> ListScheduling:
    """Priority scheduling: highest tardiness weight first, no preemption (`ps` in the papers)."""
    return ListScheduling("weight-priority", BY_WEIGHT)
