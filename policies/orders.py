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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from policies.list_scheduling import BY_DUE_DATE, BY_WEIGHT, ListScheduling, demand
from policies.packing import FreeCapacity, proportional_share
from policies.registration import register
from policies.waiting import Rank, WaitingJobs
from simulator import NO_CHANGE, Decision, InputError, Placement, View, Workload
from simulator.model.cluster import FloatArray
from simulator.model.contract import LEAST_AGAIN_S
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
class Preemptive:
    """The jobs of least rank run; what must make room for them waits, its progress kept.

    Parameters
    ----------
    name : how results call it.
    rank : the order.
    """

    name: str
    rank: Rank
    _waiting: WaitingJobs = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._waiting = WaitingJobs(self.rank, demand)

    @property
    def by(self) -> str:
        """The number by which jobs are ordered, in words (`policies.decision_trace`)."""
        return self.rank.by

    def ordered(self, view: View) -> list[int]:
        """The active jobs, the first to be served first."""
        return self.rank.ordered(view, view.jobs.tolist())

    def decide(self, view: View) -> Decision:
        """Choose in order while GPUs are left; who is chosen and runs stays where it is."""
        if not view.changed:
            return NO_CHANGE
        capacity = FreeCapacity(view, empty=True, last_first=True)
        self._waiting.refresh(view)
        line = self._waiting.line(view, also=view.running)
        placements: list[Placement] = []
        while line and capacity.total_gpus >= 1:
            shares = view.running.get(line.head, ())
            if not shares or not capacity.holds(shares):
                shares = capacity.place(line.head)
            capacity.add(shares)
            placements += shares
            line.next(taken=bool(shares))
        return Decision(placements)


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
        part, again_s = _parts(demand, attained_s, _total_gpus(view))
        placements = _fill(view, demand * part)
        return Decision(placements, relaxed=True, again_s=again_s)


def _total_gpus(view: View) -> float:
    fixed = view.cluster.node_type_of
    assert fixed is not None
    return float(sum(view.cluster.node_types[fixed[n]].gpus for n in view.nodes.tolist()))


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
    fixed = view.cluster.node_type_of
    assert fixed is not None
    nodes = view.nodes.tolist()
    free = [float(view.cluster.node_types[fixed[n]].gpus) for n in nodes]
    placements, at = [], 0
    for job, wanted in zip(view.jobs.tolist(), gpus.tolist(), strict=True):
        left = wanted
        while left > PART_OF_A_GPU * max(1.0, wanted):
            while at < len(nodes) - 1 and free[at] <= PART_OF_A_GPU:
                at += 1
            share = min(left, free[at]) if at < len(nodes) - 1 else left
            cpus, memory_gb = proportional_share(view.cluster.node_types[fixed[nodes[at]]], share)
            placements.append(Placement(job, nodes[at], share, cpus=cpus, memory_gb=memory_gb))
            free[at] -= share
            left -= share
    return placements


@register("processor-sharing", requires=("servers", "time-shared"))
def processor_sharing() -> Sharing:
    """Processor sharing: all jobs share the GPUs equally at every moment."""
    return Sharing("processor-sharing", least_attained=False)


@register("las", requires=("servers", "time-shared"))
def las() -> Sharing:
    """Least attained service (foreground-background): who has had least service so far shares."""
    return Sharing("las", least_attained=True)


def _remaining_s(view: View) -> Callable[[int], float]:
    duration_s = whole_durations_s(view.workload).item
    return lambda job: duration_s(job) * view.remaining_of(job)


def _duration_s(view: View) -> Callable[[int], float]:
    return whole_durations_s(view.workload).item


BY_DURATION = Rank(_duration_s, INSTANT_S, "duration")
"""Shortest job first, by its whole duration."""


@register("srpt", requires=("servers", "fixed-demand"))
def srpt() -> Preemptive:
    """Shortest remaining processing time first, with preemption."""
    return Preemptive("srpt", Rank(_remaining_s, INSTANT_S, "remaining time"))


@register("deadline-first", requires=("servers", "fixed-demand", "due"))
def deadline_first() -> Preemptive:
    """Earliest due date first, with preemption: keeps what admission control has promised."""
    return Preemptive("deadline-first", BY_DUE_DATE)


@register("sjf", requires=("servers", "fixed-demand"))
def sjf(preemptive: bool = False) -> ListScheduling | Preemptive:
    """Shortest job first, by its whole duration; it waits for running jobs unless preemptive."""
    if preemptive:
        return Preemptive("sjf", BY_DURATION)
    return ListScheduling("sjf", BY_DURATION, backfill=True)


@register("random-order", requires=("servers", "fixed-demand"))
@dataclass
class RandomOrder:
    """Service in random order: whenever GPUs are free, any waiting job with equal probability."""

    name: ClassVar[str] = "random-order"

    def decide(self, view: View) -> Decision:
        """Draw jobs as long as one fits."""
        whole_durations_s(view.workload)
        if not view.waiting or view.free_gpus_total < 1:
            return NO_CHANGE
        waiting = list(view.waiting)
        capacity = FreeCapacity(view)
        placements: list[Placement] = []
        for i in view.rng.permutation(len(waiting)):
            placements += capacity.take(waiting[i])
            if capacity.total_gpus < 1:
                break
        return Decision(placements, keep_running=True) if placements else NO_CHANGE


@register("priority", requires=("servers", "fixed-demand", "weights"))
def priority(preemptive: bool = False) -> ListScheduling | Preemptive:
    """Priority classes: the highest weight first, equals by submission; preemptive where asked."""
    if preemptive:
        return Preemptive("priority", BY_WEIGHT)
    return ListScheduling("priority", BY_WEIGHT, backfill=True)
