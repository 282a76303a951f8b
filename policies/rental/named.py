"""Rental policies by name: what they need beside their options they take from the workload.

A rental policy is planned for long-run rates: how often jobs of each speed-up curve come, how much
work they bring. Here these are the generator's where it states them, else those of all jobs, those
to come too: then the policy is informed. So it knows the law of the jobs, not one job's arrival. The budget
is stated, or a multiple of the load.

Options
-------
gpus : budget, or GPUs that are always rented; 0: over_load times the load.
over_load : budget over the load of the whole workload, above 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from policies.queues.free_gpus import FreeGpus
from policies.registry.registration import register
from policies.rental.online import Equi, HeSrpt, OwnWidth, Srpt, mixed_width
from policies.rental.widths import optimal_widths, whole_gpu_widths
from simulator.arguments import nonnegative
from simulator.errors import InputError
from simulator.model.cluster import (
    SECONDS_PER_HOUR,
    Cluster,
    FloatArray,
    IntArray,
)
from simulator.model.contract import NO_CHANGE, Decision, View
from simulator.model.performance import SpeedupCurve
from simulator.model.placement import in_proportion
from simulator.model.speedup import Speedup, WholeGpus
from simulator.model.workload import Workload
from simulator.workloads.job_types import JobType
from simulator.workloads.reshaping import concave

Types = Callable[[], list[JobType]]


@dataclass
class Planned:
    """A rental policy that is made when the workload is first seen.

    Attributes
    ----------
    make : from what makes the types of the jobs, and a number of GPUs.
    gpus : budget, or GPUs that are always rented; 0: ``over_load`` times the load.
    over_load : budget over the load of the whole workload, above 1.
    """

    name: str
    make: Callable[[Types, float], Any]
    gpus: float = 0.0
    over_load: float = 1.5
    _policy: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        nonnegative(self.name, gpus=self.gpus)
        if not 1 < self.over_load < math.inf:
            raise InputError(f"{self.name}: over_load is {self.over_load}, expected more than 1")

    def decide(self, view: View) -> Decision:
        """As the policy that was made."""
        if self._policy is None:

            def types() -> list[JobType]:
                states_it = getattr(view.workload.performance, "long_run", None) is not None
                return job_types(view.workload if states_it else view.all_jobs)

            budget = self.gpus or self.over_load * sum(t.load for t in types())
            self._policy = self.make(types, budget)
        return cast(Decision, self._policy.decide(view))


def job_types(workload: Workload) -> list[JobType]:
    """The curves of a workload as types with the rates and mean sizes of its jobs in the long run.

    Where the workload does not say these (`SpeedupCurve.long_run`), they are those of all its jobs.

    Raises InputError: jobs without curves, or all submitted at once, so that there is no rate.
    """
    performance = workload.performance
    if not isinstance(performance, SpeedupCurve):
        raise InputError("rental policies: the jobs have no speed-up curves, expected some")
    types = []
    if performance.long_run is not None:
        for i, (curve, (rate, size_h)) in enumerate(
            zip(performance.curves, performance.long_run, strict=True)
        ):
            types.append(JobType(str(i), rate, size_h, cast(Speedup, curve)))
        return types
    hours = _span_h(workload)
    for i, curve in enumerate(performance.curves):
        mine = performance.curve_of == i
        count = max(int(mine.sum()), 0)
        # A curve that no job has weighs next to nothing.
        size_h = float(performance.duration_s[mine].mean()) / SECONDS_PER_HOUR if count else 1e-9
        types.append(JobType(str(i), max(count, 1e-9) / hours, size_h, cast(Speedup, curve)))
    return types


def _span_h(workload: Workload) -> float:
    span_s = float(workload.submit_s[-1] - workload.submit_s[0])
    if span_s <= 0:
        raise InputError("rental policies: all jobs come at once, expected a rate of arrivals")
    return span_s * len(workload) / max(len(workload) - 1, 1) / SECONDS_PER_HOUR


@register("rental-fixed-width", requires=("pool", "curves", "arrivals"), paper="Li et al., 2024")
def rental_fixed_width(gpus: float = 0.0, over_load: float = 1.5) -> Planned:
    """Rental: the optimal fixed width for each speed-up curve within a budget (pi*)."""
    return Planned("rental-fixed-width", _fixed, gpus, over_load)


def _fixed(types: Types, budget: float) -> OwnWidth:
    widths = optimal_widths(types(), budget).widths_gpus

    def width(workload: Workload, job: int) -> float:
        return float(widths[cast(SpeedupCurve, workload.performance).curve_of[job]])

    return OwnWidth(width, "rental-fixed-width")


@register(
    "rental-whole-gpus", requires=("pool", "curves", "arrivals"), paper="after Li et al., 2024"
)
def rental_whole_gpus(gpus: float = 0.0, over_load: float = 1.5) -> Planned:
    """Rental: the best widths in whole GPUs within a budget."""

    def make(types: Types, budget: float) -> OwnWidth:
        plan = whole_gpu_widths(types(), budget)
        pairs = zip(plan.types, plan.widths_gpus.tolist(), strict=True)
        return mixed_width([cast(WholeGpus, t.speedup).mix(k) for t, k in pairs])

    return Planned("rental-whole-gpus", make, gpus, over_load)


@register("rental-equi", requires=("pool", "curves", "arrivals"), paper="Li et al., 2024")
def rental_equi(gpus: float = 0.0, over_load: float = 1.5) -> Planned:
    """Rental: an equal part of always-rented GPUs for every job (EQUI)."""
    return Planned("rental-equi", lambda _, budget: Equi(budget), gpus, over_load)


@register("rental-srpt", requires=("pool", "curves", "arrivals"), paper="Li et al., 2024")
def rental_srpt(gpus: float = 0.0, over_load: float = 1.5) -> Planned:
    """Rental: all of always-rented GPUs for the job with the least work left (SRPT)."""
    return Planned("rental-srpt", lambda _, budget: Srpt(budget), gpus, over_load)


@register(
    "rental-hesrpt",
    requires=("pool", "curves", "arrivals"),
    paper="Berg et al., 2019; rival in Li et al., 2024",
)
def rental_hesrpt(gpus: float = 0.0, over_load: float = 1.5, exponent: float = 0.5) -> Planned:
    """Rental: more of always-rented GPUs for less work left (heSRPT).

    Parameters
    ----------
    exponent : of the speed-up k^exponent that heSRPT assumes for all jobs.
    """
    HeSrpt(1.0, exponent)  # a wrong exponent is reported before the run
    make = lambda _, budget: HeSrpt(budget, exponent)  # noqa: E731
    return Planned("rental-hesrpt", make, gpus, over_load)


# -- nodes -----------------------------------------------------------------------------------


@register(
    "rental-on-nodes",
    requires=("servers", "one-type", "elastic", "arrivals"),
    paper="after Li et al., 2024",
)
@dataclass
class WidthOnNodes:
    """Rental: the optimal widths in whole GPUs on nodes, with a queue when they are full.

    Jobs run on one node each, first come, first served. The widths are those of pi* for the jobs' classes (their `Workload.model`) with ``utilisation``
    times the GPUs of the cluster as the budget; where the load is above that, every class gets one
    GPU. A job that finds no node with enough free GPUs waits, and the jobs behind it too. The policy is informed: it
    knows how often jobs of each class come.

    Attributes
    ----------
    utilisation : part of the GPUs that are planned to be in use on average.
    """

    name: ClassVar[str] = "rental-on-nodes"

    utilisation: float = 0.8
    _widths: IntArray | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.utilisation <= 1:
            raise InputError(
                f"{self.name}: utilisation is {self.utilisation}, expected above 0 and at most 1"
            )

    def decide(self, view: View) -> Decision:
        """Start what fits, in order of submission."""
        if not view.waiting:
            return NO_CHANGE
        if self._widths is None:
            self._widths = widths_on_nodes(view.all_jobs, view.cluster, self.utilisation)
        free = FreeGpus({n: int(view.free_gpus[n]) for n in view.nodes.tolist()})
        placements = []
        for job in view.waiting:
            width = int(self._widths[job])
            found = free.fullest(width)
            if not found:
                break
            free.take(found)
            placements += [in_proportion(job, n, g, view.cluster.type_of[n]) for n, g in found]
        return Decision(placements, keep_running=True) if placements else NO_CHANGE


def widths_on_nodes(workload: Workload, cluster: Cluster, utilisation: float) -> IntArray:
    """``(J,)`` whole GPUs of each job, among those that it can run on."""
    jobs = np.arange(len(workload), dtype=np.int64)
    times_s = workload.performance.table_s(jobs, cluster)[:, 0, 1:]
    names = list(dict.fromkeys(workload.model))
    class_of = np.array([names.index(name) for name in workload.model])
    types = _classes(workload, times_s, class_of)
    budget = utilisation * cluster.total_gpus
    load = sum(t.load for t in types)
    planned = np.ones(len(types))
    if load < budget:
        planned = optimal_widths(types, budget).widths_gpus
    wanted = np.minimum(np.round(planned[class_of]), times_s.shape[1])
    # The nearest number of GPUs that the job has a time on.
    apart = np.abs(np.arange(1, times_s.shape[1] + 1) - wanted[:, None])
    chosen: IntArray = np.where(np.isfinite(times_s), apart, np.inf).argmin(axis=1) + 1
    return chosen


def _classes(workload: Workload, times_s: FloatArray, class_of: IntArray) -> list[JobType]:
    """A type for each class: its mean work on one GPU, and its mean speed-up."""
    hours = _span_h(workload)
    gpus = np.arange(1, times_s.shape[1] + 1)
    first = np.isfinite(times_s).argmax(axis=1)
    alone_s = times_s[np.arange(len(times_s)), first] * (first + 1)
    speed = np.where(gpus <= first[:, None] + 1, gpus, alone_s[:, None] / times_s)
    types = []
    for i in range(int(class_of.max()) + 1):
        mine = class_of == i
        curve = concave(gpus.tolist(), speed[mine].mean(axis=0))
        size_h = float(alone_s[mine].mean()) / SECONDS_PER_HOUR
        types.append(JobType(str(i), int(mine.sum()) / hours, size_h, curve))
    return types
