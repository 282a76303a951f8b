"""Rental policies in the simulator: they run elastic jobs on a pool of real-valued GPU shares.

Those that rent what they use (`OwnWidth`) pay for just that. Those that always rent the same
number of GPUs (`Equi`, `Srpt`, `HeSrpt`) and `Autoscaler`, which follows the load, pay for idle
GPUs too; each decision records ``rented_gpus``, what is paid for from then on, and
``rented_empty_gpus``, what is paid for once no job is left (policies are not asked then).

Jobs need the `SpeedupCurve` performance model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from policies.rental.widths import WidthsBySize
from simulator.errors import InputError
from simulator.model.cluster import FloatArray
from simulator.model.contract import NO_CHANGE, Decision, Placement, View
from simulator.model.performance import SpeedupCurve
from simulator.model.ranks import ranks
from simulator.model.tolerances import CAPACITY, INSTANT_S
from simulator.model.workload import Workload

POOL = 0
"""The only node of a rental pool."""


@dataclass
class OwnWidth:
    """Each job from its arrival to its end on a width that depends on the job alone.

    Parameters
    ----------
    width : of a job, GPUs, given the workload and the job's index.
    name : for results.
    """

    width: Callable[[Workload, int], float]
    name: str = "own-width"

    def decide(self, view: View) -> Decision:
        """Start what has just arrived."""
        if not view.waiting:
            return NO_CHANGE
        started = [Placement(j, POOL, self.width(view.workload, j)) for j in view.waiting]
        return Decision(started, keep_running=True)


def fixed_width(widths_gpus: FloatArray) -> OwnWidth:
    """All jobs of a type on the same width (paper, Definition 1).

    Parameters
    ----------
    widths_gpus : ``(n,)`` by the type's index, which is its curve's.

    Raises InputError: a width below one GPU.
    """
    widths = _checked(widths_gpus).tolist()
    return OwnWidth(lambda workload, job: widths[_curves(workload).curve_of[job]], "fixed-width")


def _checked(widths_gpus: FloatArray) -> FloatArray:
    widths = np.array(widths_gpus, dtype=np.float64)
    if not (np.isfinite(widths) & (widths >= 1)).all():
        raise InputError(f"widths are {widths.tolist()}, expected finite numbers of GPUs from 1 on")
    return widths


def mixed_width(choices: list[tuple[int, int, float]]) -> OwnWidth:
    """Whole GPUs: of each type a fraction of the jobs one GPU wider (see `WholeGpus.mix`).

    The wide jobs are spread evenly over the order of arrival, which needs no random numbers.

    Parameters
    ----------
    choices : narrow width, wide width and fraction of wide jobs, of each type.
    """

    def width(workload: Workload, job: int) -> float:
        narrow, wide, fraction = choices[_curves(workload).curve_of[job]]
        golden = (job + 1) * 0.6180339887498949 % 1.0  # a low-discrepancy sequence
        return float(wide if golden < fraction else narrow)

    return OwnWidth(width, "whole-gpus")


def width_by_size(rule: WidthsBySize, mean_size_h: FloatArray) -> OwnWidth:
    """Widths that depend on a job's size, as if sizes were known.

    Parameters
    ----------
    mean_size_h : ``(n,)`` mean work of each type, hours on one GPU.
    """
    mean_s = np.array(mean_size_h, dtype=np.float64) * 3600.0

    def width(workload: Workload, job: int) -> float:
        curves = _curves(workload)
        return float(rule.width(curves.duration_s[job] / mean_s[curves.curve_of[job]]))

    return OwnWidth(width, "width-by-size")


@dataclass
class Equi:
    """An equal part of ``gpus`` always-rented GPUs for every job that is there."""

    gpus: float
    name: str = "equi"

    def __post_init__(self) -> None:
        _check_gpus(self.gpus)

    def decide(self, view: View) -> Decision:
        """Divide anew."""
        share = self.gpus / view.num_active
        return _rented([Placement(j, POOL, share) for j in view.jobs.tolist()], self.gpus)


@dataclass
class Srpt:
    """All of ``gpus`` always-rented GPUs for the job with the least work left."""

    gpus: float
    name: str = "srpt"

    def __post_init__(self) -> None:
        _check_gpus(self.gpus)

    def decide(self, view: View) -> Decision:
        """The least work left first; of equals the first that came."""
        job = int(view.jobs[int(np.argmin(_work_left_s(view)))])
        return _rented([Placement(job, POOL, self.gpus)], self.gpus)


@dataclass
class HeSrpt:
    """High-efficiency SRPT on ``gpus`` always-rented GPUs: more for less work left, none idle.

    Optimal for mean response time where all jobs are there at the start and s(k) = k^exponent.
    Source: Berg, Vesilo and Harchol-Balter, heSRPT (arXiv 1903.09346, 2019).

    Attributes
    ----------
    exponent : of the power law that stands for all speed-ups, in (0, 1).
    """

    gpus: float
    exponent: float = 0.5
    name: str = "hesrpt"

    def __post_init__(self) -> None:
        _check_gpus(self.gpus)
        if not 0 < self.exponent < 1:
            raise InputError(f"heSRPT: exponent is {self.exponent}, expected between 0 and 1")

    def decide(self, view: View) -> Decision:
        """The i-th largest of m jobs gets (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p)) of the GPUs."""
        count = view.num_active
        largest_first = view.jobs[np.argsort(ranks(-_work_left_s(view), INSTANT_S), kind="stable")]
        shares = self.gpus * np.diff((np.arange(count + 1) / count) ** (1 / (1 - self.exponent)))
        pairs = zip(largest_first.tolist(), shares.tolist(), strict=True)
        return _rented([Placement(j, POOL, share) for j, share in pairs], self.gpus)


@dataclass
class Autoscaler:
    """Fixed widths on GPUs that boot: rents what the jobs here ask for, gives back what idles.

    GPUs are paid for from the order on and serve after ``boot_s``; jobs wait for them in order of
    arrival. GPUs that no job here asks for are kept for ``keep_s`` and given back, all of them at
    once where no job is left. Needs periodic decisions beside those at arrivals and completions;
    a boot ends at the next of all these.

    Attributes
    ----------
    widths_gpus : ``(n,)`` width by type.
    boot_s : from the order of a GPU to its first use.
    keep_s : how long spare GPUs are kept.

    Raises InputError: a width below one GPU.
    """

    widths_gpus: FloatArray
    boot_s: float
    keep_s: float
    name: str = "autoscaler"
    _ready: float = field(default=0.0, init=False)
    _booting: list[tuple[float, float]] = field(default_factory=list, init=False)
    _spare_since_s: float = field(default=math.inf, init=False)

    def __post_init__(self) -> None:
        self.widths_gpus = _checked(self.widths_gpus)

    def decide(self, view: View) -> Decision:
        """Take over what has booted, order or give back, start what fits."""
        now, rounding = view.now_s + INSTANT_S, CAPACITY * (1 + self._ready)
        if (
            not view.running and (view.submit_s > view.now_s - INSTANT_S).all()
        ):  # all was given back since
            self._ready, self._booting, self._spare_since_s = 0.0, [], math.inf
        self._ready += sum(g for ready_s, g in self._booting if ready_s <= now)
        self._booting = [(t, g) for t, g in self._booting if t > now]
        curve_of = _curves(view.workload).curve_of
        wanted = float(self.widths_gpus[curve_of[view.jobs]].sum())
        self._scale(view.now_s, wanted)
        free = self._ready - sum(p.gpus for shares in view.running.values() for p in shares)
        started = []
        for job in view.waiting:
            width = float(self.widths_gpus[curve_of[job]])
            if width > free + rounding:
                break
            started.append(Placement(job, POOL, width))
            free -= width
        rented = self._ready + sum(g for _, g in self._booting)
        info = {"rented_gpus": rented, "rented_empty_gpus": 0.0}
        return Decision(started, keep_running=True, info=info)

    def _scale(self, now_s: float, wanted: float) -> None:
        coming = sum(g for _, g in self._booting)
        if wanted >= self._ready:
            self._spare_since_s = math.inf
            if wanted > self._ready + coming:
                self._booting.append((now_s + self.boot_s, wanted - self._ready - coming))
            return
        self._spare_since_s = min(self._spare_since_s, now_s)
        if now_s - self._spare_since_s >= self.keep_s - INSTANT_S:
            self._ready = wanted
            self._spare_since_s = math.inf


def _rented(placements: list[Placement], gpus: float) -> Decision:
    return Decision(placements, info={"rented_gpus": gpus, "rented_empty_gpus": gpus})


def _work_left_s(view: View) -> FloatArray:
    """``(n,)`` work left, in seconds on one GPU."""
    left: FloatArray = view.remaining * _curves(view.workload).duration_s[view.jobs]
    return left


def _curves(workload: Workload) -> SpeedupCurve:
    if not isinstance(workload.performance, SpeedupCurve):
        raise InputError("rental policies: the jobs have no speed-up curves, expected elastic jobs")
    return workload.performance


def _check_gpus(gpus: float) -> None:
    if not 0 < gpus < math.inf:
        raise InputError(f"always-rented GPUs: got {gpus}, expected a positive number")
