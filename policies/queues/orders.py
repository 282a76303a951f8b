"""Orders of service of the textbooks, for jobs of fixed demand: who runs when not all can.

With jobs of one GPU on one node of c GPUs these are the queues M/G/c of a queueing course. They also
hold for jobs of several GPUs and several nodes: the order decides who is looked at first, and a job
that does not fit is passed by.

Options
-------
preemptive : the order interrupts running jobs, their progress kept; False: it waits for them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.list_scheduling import ListScheduling, by_due_date
from policies.queues.serving import serve
from policies.queues.waiting import Order
from policies.registry.registration import register
from simulator import NO_CHANGE, Decision, InputError, Placement, View, Workload
from simulator.model.cluster import FloatArray
from simulator.model.contract import LEAST_AGAIN_S
from simulator.model.placement import in_proportion
from simulator.model.tolerances import INSTANT_S, PART_OF_A_GPU

ALIKE_S = 2 * LEAST_AGAIN_S
"""Attained services that differ by less are equal: nobody can be asked again any sooner."""


def whole_durations_s(workload: Workload) -> FloatArray:
    """``(J,)`` the same of all jobs; `InputError` where the GPUs are the policy's choice."""
    duration_s = workload.performance.fixed_s
    if duration_s is None:
        raise InputError("this policy needs jobs of fixed demand")
    return duration_s


@dataclass
class Sharing:
    """Jobs share the GPUs in time: an ideal that switches without cost.

    Parameters
    ----------
    least_attained : only those that have had least service so far share (foreground-background);
        else all do (processor sharing).

    A job gets ``a`` times its GPUs, the same ``a <= 1`` for all that share.
    """

    name: str
    least_attained: bool

    def decide(self, view: View) -> Decision:
        """Divide anew, and, for foreground-background, ask again when more jobs have had as little."""
        if not view.workload.performance.time_shared:
            raise InputError(
                f"policy {self.name}: the jobs do not share GPUs in time, expected jobs that do "
                "(in Python: simulator.workloads.reshaping.time_shared makes them)"
            )
        attained_s = None
        if self.least_attained:
            attained_s = (1 - view.remaining) * whole_durations_s(view.workload)[view.jobs]
        demand = view.num_gpus.astype(np.float64)
        total = float(sum(view.cluster.type_of[n].gpus for n in view.nodes.tolist()))
        part, again_s = _parts(demand, attained_s, total)
        placements = _fill(view, demand * part)
        return Decision(placements, relaxed=True, again_s=again_s)


def _parts(
    demand: FloatArray, attained_s: FloatArray | None, total: float
) -> tuple[FloatArray, float | None]:
    """The part of its demand that each job gets, and after how long that is no longer right."""
    if attained_s is None:
        return np.full(len(demand), min(1.0, total / float(demand.sum()))), None
    part = np.zeros(len(demand))
    order = np.argsort(attained_s, kind="stable")
    level = attained_s[order]
    speeds: list[tuple[float, float]] = []
    begin = 0
    while begin < len(order) and total > 0:
        end = begin + 1
        while end < len(order) and level[end] <= level[begin] + ALIKE_S:
            end += 1
        group = order[begin:end]
        share = min(1.0, total / float(demand[group].sum()))
        part[group] = share
        speeds.append((float(level[begin]), share))
        total -= share * float(demand[group].sum())
        begin = end
    if begin < len(order):
        speeds.append((float(level[begin]), 0.0))
    meets = [
        (there - here) / (fast - slow)
        for (here, fast), (there, slow) in itertools.pairwise(speeds)
        if fast > slow
    ]
    return part, max(min(meets), LEAST_AGAIN_S) if meets else None


def _fill(view: View, gpus: FloatArray) -> list[Placement]:
    """Fractions of GPUs laid on the nodes one after the other."""
    nodes, type_of = view.nodes.tolist(), view.cluster.type_of
    free = [float(type_of[n].gpus) for n in nodes]
    placements, at = [], 0
    for job, wanted in zip(view.jobs.tolist(), gpus.tolist(), strict=True):
        left = wanted
        while left > PART_OF_A_GPU * max(1.0, wanted):
            while at < len(nodes) - 1 and free[at] <= PART_OF_A_GPU:
                at += 1
            share = min(left, free[at]) if at < len(nodes) - 1 else left
            placements.append(in_proportion(job, nodes[at], share, type_of[nodes[at]]))
            free[at] -= share
            left -= share
    return placements


@register("processor-sharing", requires=("servers", "time-shared"), queue="processor-sharing")
def processor_sharing() -> Sharing:
    """Processor sharing: all jobs share the GPUs equally at every moment."""
    return Sharing("processor-sharing", least_attained=False)


@register("las", requires=("servers", "time-shared"), queue="least-attained")
def las() -> Sharing:
    """Least attained service (foreground-background): the jobs with the least service so far share the GPUs."""
    return Sharing("las", least_attained=True)


def _remaining_s(view: View, job: int) -> float:
    return whole_durations_s(view.workload).item(job) * view.remaining_of(job)


def by_duration() -> Order:
    """Shortest job first, by its whole duration."""
    return Order(
        lambda view, job: whole_durations_s(view.workload).item(job), INSTANT_S, "duration"
    )


@register("srpt", requires=("servers", "fixed-demand"), places=True, queue="srpt")
def srpt() -> ListScheduling:
    """Shortest remaining processing time first, with preemption."""
    order = Order(_remaining_s, INSTANT_S, "remaining time")
    return ListScheduling("srpt", order, backfill=True, preemptive=True)


@register("deadline-first", requires=("servers", "fixed-demand", "due"), places=True)
def deadline_first() -> ListScheduling:
    """Earliest due date first, with preemption: keeps what admission control has promised."""
    return ListScheduling("deadline-first", by_due_date(), backfill=True, preemptive=True)


@register("sjf", requires=("servers", "fixed-demand"), places=True, queue="shortest-job")
def sjf(preemptive: bool = False) -> ListScheduling:
    """Shortest job first, by its whole duration; it waits for running jobs unless preemptive."""
    return ListScheduling("sjf", by_duration(), backfill=True, preemptive=preemptive)


@register("random-order", requires=("servers", "fixed-demand"), places=True, queue="blind")
@dataclass
class RandomOrder:
    """Service in random order: whenever GPUs are free, any waiting job with equal probability."""

    name: ClassVar[str] = "random-order"
    _free: FreeCapacity | None = field(default=None, init=False, repr=False)

    def decide(self, view: View) -> Decision:
        """Draw jobs as long as one fits."""
        if not view.waiting or view.free_gpus_total < 1:
            return NO_CHANGE
        waiting = list(view.waiting)
        self._free = free_now(view, self._free)
        drawn = (waiting[i] for i in view.rng.permutation(len(waiting)))
        return serve(view, drawn, free=self._free)


def by_priority() -> Order:
    """Highest priority first, of the same priority the highest weight."""
    return Order(
        lambda view, job: -view.workload.priority.item(job),
        by="priority, then weight",
        then=lambda view, job: -view.workload.weight_per_s.item(job),
    )


@register("priority", requires=("servers", "fixed-demand", "priorities"), places=True)
def priority(preemptive: bool = False) -> ListScheduling:
    """Priority classes: the highest priority (column `priority`) first, then the highest weight; preemptive where asked."""
    return ListScheduling("priority", by_priority(), backfill=True, preemptive=preemptive)
