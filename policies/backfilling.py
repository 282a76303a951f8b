"""Backfilling with reservations: a job may pass others where it delays none that has a reservation.

A job is expected to end when the time is over that it asked for (`Workload.requested_s`); where it asked for none,
after its duration as policies see it, on the slowest nodes. A job that runs longer is expected to end at once.

Options
-------
order : who is looked at first: fifo, sjf (shortest time asked for), priority (`Workload.priority`, then weight),
    multifactor (Slurm's, `policies.multifactor`, whose options are those from weight_age on).
bf_window_s : jobs that would start later get no reservation, s; 0: all do. Slurm's bf_window, there in minutes.
bf_max_job_test : so many jobs are looked at, the first in the order; 0: all. Slurm's bf_max_job_test.
bf_resolution_s : expected durations are rounded up to a multiple of it, s; 0: they are not. After Slurm's bf_resolution.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar

import numpy as np

from policies.free_capacity import FreeCapacity
from policies.multifactor import Multifactor
from policies.registration import register
from policies.waiting import Order
from simulator import FIXED, NO_CHANGE, Decision, InputError, Placement, View
from simulator.model.cluster import FloatArray
from simulator.model.places import Places
from simulator.model.ranks import ranked
from simulator.model.tolerances import CAPACITY, INSTANT_S

OVERDUE_S = 4 * INSTANT_S
"""A job that should have ended is expected to end so much later than now."""

Shares = Sequence[Placement]
Ordered = Callable[[View, Iterable[int]], Iterable[int]]


def expected_s(view: View, job: int) -> float:
    """Seconds that a job is expected to hold its GPUs from a start now."""
    asked_s = view.workload.requested_s.item(job)
    if not math.isnan(asked_s):
        return asked_s
    return _whole_s(view, job) * view.remaining_of(job)


def _whole_s(view: View, job: int) -> float:
    slowest_s = view.workload.performance.slowest_s
    if slowest_s is None:
        raise InputError("this policy needs jobs of fixed demand")
    return slowest_s.item(job)


class Reservations:
    """Free capacity from now on: steps in time, between which it stays the same.

    Where only GPUs are limited, a job may use any of them and their total decides. Else shares have nodes, and each
    step has a row for each node.

    Parameters
    ----------
    ends : when each running job is expected to end, s, and what it holds.
    """

    def __init__(self, view: View, ends: Iterable[tuple[float, Shares]]) -> None:
        cluster = view.cluster
        self.at_s: list[float] = [view.now_s]
        self.gpus: list[float] = [view.free_gpus_total]
        self._view, self._names = view, ("gpus", *cluster.limited_resources)
        self._row = {n: row for row, n in enumerate(view.nodes.tolist())}
        self._nodes: list[FloatArray] = []
        self._places = Places(view.rows, cluster) if view.workload.has_places else None
        if cluster.limited_resources or self._places is not None:
            self._all = np.array(
                [[getattr(cluster.type_of[n], r) for r in self._names] for n in self._row],
                dtype=np.float64,
            )
            free = self._all.copy()
            for n, row in self._row.items():
                for share in view.shares[n].values():
                    free[row] -= [getattr(share, r) for r in self._names]
            self._nodes = [free]
        for end_s, shares in sorted(ends, key=lambda end: end[0]):
            self._add(end_s, math.inf, shares, -1)

    @property
    def by_node(self) -> bool:
        """Whether shares have the nodes that they will be on."""
        return bool(self._nodes)

    def reserve(self, start_s: float, length_s: float, shares: Shares, sign: int = 1) -> None:
        """Take shares for a while; with the sign -1 give them back."""
        self._add(start_s, start_s + length_s, shares, sign)

    def holds(self, start_s: float, length_s: float, shares: Shares) -> bool:
        """Whether shares are free for a while."""
        if not all(share.node in self._row for share in shares):
            return False
        first = bisect_left(self.at_s, start_s + INSTANT_S) - 1
        last = max(self._step(start_s + length_s), first + 1)
        if self._nodes:
            room = np.min(self._nodes[first:last], axis=0) + CAPACITY * self._all
            rows = [self._row[share.node] for share in shares]
            needs = [[getattr(share, r) for r in self._names] for share in shares]
            return bool((room[rows] >= needs).all())
        return min(self.gpus[first:last]) >= sum(share.gpus for share in shares)

    def earliest(
        self, job: int, length_s: float, latest_s: float = math.inf
    ) -> tuple[float, Shares] | None:
        """When a job can start and hold its GPUs for so long, and where; None: not until ``latest_s``."""
        at_s, free, gpus = self.at_s, self.gpus, self._view.workload.num_gpus_list[job]
        first = 0
        while first < len(at_s) and at_s[first] <= latest_s:
            end_s = at_s[first] + length_s - INSTANT_S
            step = first
            while step < len(at_s) and (step == first or at_s[step] < end_s):
                if free[step] < gpus:
                    break
                step += 1
            else:
                shares = self._place(job, gpus, first, step)
                if shares:
                    return at_s[first], shares
                step = first
            first = step + 1
        return None

    def _place(self, job: int, gpus: int, first: int, last: int) -> Shares:
        """Shares that are free in these steps: the fullest node that holds the job, else the emptiest nodes."""
        nodes = list(self._row)
        if not self._nodes:
            return (Placement(job, nodes[0], gpus),)
        free = np.min(self._nodes[first:last], axis=0)
        room, free_gpus = free + CAPACITY * self._all, free[:, 0]
        workload = self._view.workload
        stated = {"cpus": workload.num_cpus.item(job), "memory_gb": workload.memory_gb.item(job)}
        per_gpu = np.ones_like(room)
        for column, name in enumerate(self._names[1:], start=1):
            own = self._all[:, column] / self._all[:, 0]
            amount = stated[name] / gpus
            per_gpu[:, column] = (
                np.where(np.isfinite(own), own, 0) if math.isnan(amount) else amount
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.floor(np.where(per_gpu > 0, room / per_gpu, np.inf).min(axis=1))
        wanted = 0
        if self._places is not None:
            fixed, wanted = self._view.cluster.node_type_of or (), self._places.nodes[job]
            most[[not self._places.allows(job, fixed[n]) for n in nodes]] = 0
        chosen: list[tuple[int, int]] = []
        if self._places is None or not self._places.one_rack[job]:
            chosen = _rows(gpus, wanted, most, free_gpus)
        else:
            racks = [[self._row[n] for n in rack] for rack in self._places.racks(nodes)]
            for rack in sorted(racks, key=lambda rack: free_gpus[rack].sum()):
                there = np.isin(np.arange(len(nodes)), rack)
                chosen = chosen or _rows(gpus, wanted, np.where(there, most, 0), free_gpus)
        shares = []
        for row, part in chosen:
            more = dict(zip(self._names, (per_gpu[row] * part).tolist(), strict=True))
            cpus, memory_gb = more.get("cpus", 0.0), more.get("memory_gb", 0.0)
            shares.append(Placement(job, nodes[row], part, FIXED, cpus, memory_gb))
        return tuple(shares)

    def _step(self, at_s: float) -> int:
        """The first step that begins at a time, or later."""
        return bisect_left(self.at_s, at_s - INSTANT_S)

    def _cut(self, at_s: float) -> int:
        """The step that begins at a time, made where there is none."""
        step = self._step(at_s)
        if step == len(self.at_s) or self.at_s[step] > at_s + INSTANT_S:
            self.at_s.insert(step, at_s)
            self.gpus.insert(step, self.gpus[step - 1])
            if self._nodes:
                self._nodes.insert(step, self._nodes[step - 1].copy())
        return step

    def _add(self, start_s: float, end_s: float, shares: Shares, sign: int) -> None:
        first = self._cut(start_s)
        last = len(self.at_s) if end_s == math.inf else self._cut(end_s)
        gpus = sign * sum(share.gpus for share in shares)
        for step in range(first, last):
            self.gpus[step] -= gpus
        for share in shares if self._nodes else ():
            taken = [sign * getattr(share, r) for r in self._names]
            for step in range(first, last):
                self._nodes[step][self._row[share.node]] -= taken


def _rows(gpus: int, wanted: int, most: FloatArray, free_gpus: FloatArray) -> list[tuple[int, int]]:
    """Rows of nodes and GPUs there, of nodes that hold at most so many; empty where the job does not fit.

    The fullest ``wanted`` nodes in equal parts; for 0 the fullest node that holds the job, else the emptiest.
    """
    each = gpus // max(wanted, 1)
    holding = np.flatnonzero(most >= each)
    if len(holding) >= max(wanted, 1):
        fullest = holding[np.argsort(free_gpus[holding], kind="stable")]
        return [(row, each) for row in sorted(fullest[: max(wanted, 1)].tolist())]
    chosen, left = [], gpus
    for row in () if wanted else np.argsort(-most, kind="stable").tolist():
        if left > 0 and most[row] > 0:
            chosen.append((row, int(min(left, most[row]))))
            left -= chosen[-1][1]
    return [] if left else chosen


@dataclass
class Backfilling(Multifactor):
    """Jobs of fixed demand in an order, with reservations for the first that wait; options as above.

    Attributes
    ----------
    all_reserved : every job has a reservation, and keeps it or gets an earlier one; else only the first that cannot
        start, anew at each decision.
    """

    order: str = "fifo"
    bf_window_s: float = 0.0
    bf_max_job_test: int = 0
    bf_resolution_s: float = 0.0
    promised: dict[int, tuple[float, Shares]] = field(default_factory=dict, init=False)
    """When jobs that wait start at the latest, s, and where, if no job runs longer than expected."""

    name: ClassVar[str]
    all_reserved: ClassVar[bool]

    def __post_init__(self) -> None:
        super().__post_init__()
        orders: dict[str, Ordered] = {
            "fifo": Order().ordered,
            "sjf": Order(expected_s, INSTANT_S, "time asked for").ordered,
            "priority": _by_priority,
            "multifactor": super().ordered,
        }
        if self.order not in orders:
            raise InputError(f"order is {self.order!r}, expected one of {', '.join(orders)}")
        self._ordered = orders[self.order]
        for name in ("bf_window_s", "bf_max_job_test", "bf_resolution_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(
                    f"policy {self.name}: {name} is {getattr(self, name)}, expected a number >= 0"
                )

    @property
    def by(self) -> str:
        """The order, in words (`policies.decision_trace`)."""
        return self.order

    def ordered(self, view: View, jobs: Iterable[int] | None = None) -> Iterable[int]:
        """The waiting jobs in the order in which they are looked at."""
        return self._ordered(view, view.waiting if jobs is None else jobs)

    def decide(self, view: View) -> Decision:
        """Start what delays no reservation."""
        if not view.waiting or not (self.all_reserved or view.free_gpus_total >= 1):
            return NO_CHANGE
        now_s = view.now_s
        plan = Reservations(
            view, [(self._end_s(view, job), held) for job, held in view.running.items()]
        )
        latest_s = now_s + (self.bf_window_s or math.inf)
        free = FreeCapacity(view)
        kept = self._kept(view, plan) if self.all_reserved else {}
        promised: dict[int, tuple[float, Shares]] = {}
        started: list[Placement] = []
        waiting = self.ordered(view)
        for job in islice(waiting, self.bf_max_job_test or None):
            if not self.all_reserved and promised and free.total_gpus < 1:
                break
            length_s = self._length_s(view, job)
            if job in kept:
                plan.reserve(kept[job][0], length_s, kept[job][1], -1)
            only_now = promised and not self.all_reserved
            found = plan.earliest(job, length_s, now_s if only_now else latest_s)
            if found is None:
                continue
            start_s, shares = found
            plan.reserve(start_s, length_s, shares)
            if start_s > now_s:
                promised[job] = found
            elif plan.by_node:
                free.add(shares)
                started += shares
            else:
                started += free.take(job)
        self.promised = promised
        return Decision(started, keep_running=True) if started else NO_CHANGE

    def _kept(self, view: View, plan: Reservations) -> dict[int, tuple[float, Shares]]:
        """Reservations of before that still hold, taken from the plan in order of time."""
        kept: dict[int, tuple[float, Shares]] = {}
        for job, (at_s, shares) in sorted(self.promised.items(), key=lambda each: each[1][0]):
            start_s, length_s = max(at_s, view.now_s), self._length_s(view, job)
            if job in view.waiting and plan.holds(start_s, length_s, shares):
                plan.reserve(start_s, length_s, shares)
                kept[job] = start_s, shares
        return kept

    def _end_s(self, view: View, job: int) -> float:
        """When a job that runs is expected to end."""
        asked = not math.isnan(view.workload.requested_s.item(job))
        since_s = view.states.held_since_s[job] if asked else view.now_s
        return max(since_s + self._length_s(view, job), view.now_s + OVERDUE_S)

    def _length_s(self, view: View, job: int) -> float:
        """Seconds that a job is expected to hold its GPUs, rounded up."""
        length_s, step_s = expected_s(view, job), self.bf_resolution_s
        if not step_s:
            return length_s
        asked_s = view.workload.requested_s.item(job)
        whole_s = _whole_s(view, job) if math.isnan(asked_s) else asked_s
        return length_s + math.ceil(whole_s / step_s) * step_s - whole_s


def _by_priority(view: View, jobs: Iterable[int]) -> Iterable[int]:
    """Highest priority first, then highest weight, then as submitted."""
    workload, jobs = view.workload, sorted(jobs)
    by_weight = ranked(jobs, [-workload.weight_per_s.item(job) for job in jobs], None)
    return sorted(by_weight, key=lambda job: -workload.priority.item(job))


@register(
    "easy-backfill",
    requires=("servers", "fixed-demand"),
    paper="Lifka (EASY), JSSPP 1995",
    places=True,
)
class EasyBackfill(Backfilling):
    """EASY backfilling: jobs pass the first that does not fit where they do not delay it."""

    name = "easy-backfill"
    all_reserved = False


@register(
    "conservative-backfill",
    requires=("servers", "fixed-demand"),
    paper="Mu'alem and Feitelson, TPDS 2001",
    places=True,
)
class ConservativeBackfill(Backfilling):
    """Conservative backfilling: every job has a reservation, which no other job delays."""

    name = "conservative-backfill"
    all_reserved = True
