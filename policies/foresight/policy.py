"""foresight: run what is worth more now than later, and look again soon.

``greedy@self-timed`` is another policy with foresight's wake-ups, so that both decide equally often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from policies.foresight import ascent
from policies.foresight.arrival_statistics import ArrivalStatistics, due_in_s
from policies.foresight.due_dates import DueDates, slopes_of
from policies.foresight.lease_end import LeaseEnd
from policies.foresight.machines import Machines
from policies.foresight.observed import ObservedSpeeds
from policies.foresight.packing import FoundPacking, PackingProblem, pose
from policies.foresight.packing import solve as solve_exactly
from policies.foresight.price import PriceGrid
from policies.foresight.value import ONE_STEP, STEPS, SingleValue, Value, step_gain
from policies.registry.registration import Wrapper, register
from policies.solving.nodes_of_solution import placements_of_assignments
from policies.solving.tree import Learned
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.contract import LEAST_AGAIN_S, Decision, Policy, View
from simulator.model.ranks import levelled
from simulator.model.tolerances import SUMS

RATIO_ROUNDS = 12
"""Steps of Dinkelbach's method for the best ratio of gain to price."""

TIE = 1e-6
"""What decides between equal gains, over the largest gain: little, but no less than a solver can tell."""


@register("foresight", requires=("nodes", "one-node", "objective"))
@dataclass
class Foresight:
    """Packs the nodes by what each job gains from running now, at a price of node-time.

    Parameters
    ----------
    tilt : c, gains count 1 + c times: how much more a second of work now is worth than one later.
    forecast : phi, factor on the arrivals expected in the window; 0: none are expected.
    dispersion : variance of the number of arrivals in the window over its mean; 0: it is known.
    spare : eta, part of the node-time that can be used.
    mip_gap : gap of the packing at which to stop, relative to half the sum of its gains and prices.
    price : whether node-time has a price beside the lease.
    deferral : whether the price knows that work can wait until the window has passed.
    weigh : whether active jobs count in the price as far as they fall into the window.
    haste : value of doing in a step all that is left of a job, relative to the largest gain of any
        job. More of it shortens completion times, and may cost more.
    two_steps : whether the step to the next decision is random (two lengths), or the mean gap.
    wake_up : whether to ask for the next decision after one mean gap between arrivals.
    hull : whether the value of a job lets it change its configuration on the way.
    moves : whether the gains count the time that it takes to move a job (reconfiguration).
    end : whether the end of the lease is a second due date of each job, where idle nodes have a price.
    exact_up_to : pairs of a job and a kind of slot up to which the packing is exact. Beyond, prices of
        slots find it, and the decision records the gap to the bound.
    """

    name: ClassVar[str] = "foresight"

    tilt: float = 0.3
    forecast: float = 0.5
    dispersion: float = 3.0
    haste: float = 0.0
    spare: float = 0.9
    mip_gap: float = 3e-3
    price: bool = True
    deferral: bool = True
    weigh: bool = True
    two_steps: bool = True
    wake_up: bool = True
    hull: bool = True
    moves: bool = True
    end: bool = True
    exact_up_to: int = 40_000
    _machines: Machines | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for option, low, high in (
            ("tilt", 0.0, 100.0),
            ("forecast", 0.0, 100.0),
            ("dispersion", 0.0, 100.0),
            ("haste", 0.0, 100.0),
            ("spare", 1e-3, 1.0),
            ("mip_gap", 0.0, 1.0),
            ("exact_up_to", 0.0, 1e9),
        ):
            value = getattr(self, option)
            if not (math.isfinite(value) and low <= value <= high):
                raise InputError(
                    f"foresight: {option} is {value}, expected a number from {low:g} to {high:g}"
                )

    def decide(self, view: View) -> Decision:
        """Plan all nodes of this controller for one step."""
        if self._machines is None:
            all_nodes = view.cluster.nodes_of(view.controller)
            self._machines = Machines.of(view.cluster, all_nodes)
            self._statistics = ArrivalStatistics(self._machines)
            self._grid = PriceGrid(self._machines, self.hull)
            self._observed = ObservedSpeeds(self._machines)
            self._learned = Learned()
            self._lease = LeaseEnd(self._machines)
        machines = self._machines.up(view.cluster, view.nodes)
        rows = self._statistics.update(view)
        tau = self._statistics.mean_gap_s(view.now_s)
        left = view.remaining * self._observed.ratio(view, self._statistics.times_s[rows])
        node_price = self._node_price(view, rows, left)
        dates = self._due_dates(view, rows, left, tau)
        gain, step_s = self._gains(view, machines, rows, left, dates, node_price, tau)
        if machines is not self._machines and machines.nodes_of_type is not None:
            gain[:, machines.nodes_of_type[machines.config_type] == 0] = -np.inf  # all down
        packed = self._pack(machines, gain, step_s)
        info: dict[str, float | int | str | bool] = {
            "gain": packed.value,
            "bound": packed.bound,
            "node_price_per_hour": 3600.0 * node_price,
            "method": packed.method,
        }
        if packed.method == "ascent":
            info["gap"] = 1.0 - packed.value / packed.bound if packed.bound > 0.0 else 0.0
        again_s = max(tau, LEAST_AGAIN_S) if self.wake_up else None
        return Decision(
            placements_of_assignments(packed.assignments, view), info=info, again_s=again_s
        )

    def _node_price(self, view: View, rows: IntArray, left: FloatArray) -> float:
        """lambda, per second of a node of the fastest type."""
        statistics = self._statistics
        if not self.price:
            return 0.0
        self._grid.update(statistics.times_s, statistics.weight_per_s)
        demand = statistics.demand(view, rows, left, self.forecast, self.dispersion, self.weigh)
        slopes = slopes_of(statistics.weight_per_s[demand.rows])
        return self._grid.best(demand, slopes, self.spare, self.deferral)

    def _due_dates(self, view: View, rows: IntArray, left: FloatArray, tau: float) -> DueDates:
        """Those of the active jobs, with the end of the lease where idle nodes have a price."""
        statistics, lease = self._statistics, self._lease
        dates = DueDates.of(due_in_s(view), statistics.weight_per_s[rows])
        if not (self.end and lease.price_per_s):
            return dates
        lease.update(statistics.times_s, self._grid.speed)
        end_s = lease.least_s(rows, left, statistics.fastest_s[rows])
        silent_s = view.now_s - statistics.last_s
        return dates.beside(end_s, lease.weight_per_s(end_s, tau, silent_s))

    def _gains(
        self,
        view: View,
        machines: Machines,
        rows: IntArray,
        left: FloatArray,
        dates: DueDates,
        node_price: float,
        tau: float,
    ) -> tuple[FloatArray, float]:
        """``(n, C)`` what each job gains on each configuration, and the mean step."""
        times = self._statistics.times_s[rows]
        rate = machines.config_price_per_s + node_price * machines.config_share * self._grid.speed
        value = (Value.of if self.hull else SingleValue)(dates, times, rate)
        speed = _speed(view, machines, times, left, tau) if self.moves else None
        gain, mean = np.zeros(times.shape), 0.0
        for length, part in STEPS if self.two_steps else ONE_STEP:
            step_s = length * tau
            gain += part * step_gain(value, left, times, step_s, speed)
            mean += part * step_s
        tilted = (1.0 + self.tilt) * gain
        return levelled(
            tilted + self._haste_and_ties(tilted, times, left, dates, speed, mean)
        ), mean

    def _haste_and_ties(
        self,
        gain: FloatArray,
        times_s: FloatArray,
        left: FloatArray,
        dates: DueDates,
        speed: FloatArray | None,
        step_s: float,
    ) -> FloatArray:
        """``(n, C)`` what is added to the gains.

        `haste` times the part of what is left that a step does, in units of the largest gain. What decides ties is `TIE`
        times the same part, so that short jobs go first. Where the lease has an end, it is instead the urgency of each job
        that can be in time, times the speed of a configuration over that of its fastest one.
        """
        largest = float(np.max(gain, initial=0.0, where=np.isfinite(gain)))
        unit = largest if largest > 0.0 else 1.0
        whole = left[:, None] * times_s
        done = unit * np.minimum(step_s / whole, 1.0)
        if not dates.with_end:
            return max(self.haste, TIE) * done
        fastest_s = whole.min(axis=1)
        urgency = dates.urgency(fastest_s)[:, None]
        pace = fastest_s[:, None] / whole * (1.0 if speed is None else speed)
        tie = np.where(urgency <= 1.0 + SUMS, unit * np.minimum(urgency, 1.0) * pace, done)
        return self.haste * done + TIE * tie

    def _pack(self, machines: Machines, gain: FloatArray, step_s: float) -> FoundPacking:
        """The best packing; where none pays, the one of the best ratio of gain to price."""
        posed = pose(machines, gain, step_s)
        if not self._is_small(posed):
            packed = self._solve(posed)
            if packed.assignments:
                return packed
        scale = 1.0
        for _ in range(RATIO_ROUNDS):
            packing = posed if scale == 1.0 else replace(posed, gain=posed.gain * scale)
            packed = self._solve(packing, at_least_one=True)
            if not packed.assignments or (scale == 1.0 and packed.value > 0.0):
                break
            earned = _earned(gain, machines, packed)
            if earned <= 0.0:
                scale *= 4.0
                continue
            best = _paid(machines, packed, step_s) / earned * (1.0 + 1e-6)
            if best <= 0.0 or abs(best - scale) <= 1e-5 * scale:
                break
            scale = best
        return packed

    def _is_small(self, packing: PackingProblem) -> bool:
        """True where it is solved exactly. Then a packing that has to run some job is looked for at once:
        if it pays, it is the best of all."""
        return int(np.count_nonzero(packing.gain > 0.0)) <= self.exact_up_to

    def _solve(self, packing: PackingProblem, at_least_one: bool = False) -> FoundPacking:
        """Exactly up to a size, by prices of slots beyond it."""
        if self._is_small(packing):
            return solve_exactly(packing, self.mip_gap, at_least_one, self._learned)
        return ascent.solve(packing, self.mip_gap, at_least_one)


def _speed(
    view: View, machines: Machines, times_s: FloatArray, left: FloatArray, tau: float
) -> FloatArray | None:
    """``(n, C)`` the part of a run in which a job gets on, the rest being reconfiguration.

    A job that has run before and is not left as it is loses the delay once, over a run of two mean
    gaps or to its end, whichever is shorter. None where there is no delay.
    """
    delay_s: float = getattr(view, "reconfiguration", 0.0)
    if not delay_s:
        return None
    run_s = np.minimum(left[:, None] * times_s, 2.0 * tau)
    speed: FloatArray = np.where(view.has_started[:, None], run_s / (run_s + delay_s), 1.0)
    speed[~np.isfinite(times_s)] = 1.0
    fixed = view.cluster.node_type_of
    row = {job: i for i, job in enumerate(view.jobs.tolist())}
    for job, shares in view.running.items():
        share = shares[0]
        v = share.node_type if fixed is None else fixed[share.node]
        same = (machines.config_type == v) & (machines.config_gpus == share.gpus)
        speed[row[job], same] = 1.0
    return speed


def _earned(gain: FloatArray, machines: Machines, packed: FoundPacking) -> float:
    index = machines.config_index
    return sum(max(float(gain[a.job, index[a.node_type, a.gpus]]), 0.0) for a in packed.assignments)


def _paid(machines: Machines, packed: FoundPacking, step_s: float) -> float:
    used: dict[int, tuple[int, int]] = {}
    for a in packed.assignments:
        used[a.node] = (a.node_type, used.get(a.node, (0, 0))[1] + a.gpus)
    price, full = machines.node_price_per_s, machines.gpus
    return sum(
        float(price[v, u if machines.by_use else int(full[v])]) * step_s for v, u in used.values()
    )


@register("@self-timed", requires=("nodes", "one-node"))
class SelfTimed(Wrapper):
    """A policy that asks to be asked again after one mean gap between arrivals."""

    def __init__(self, policy: Policy, inner_name: str) -> None:
        super().__init__(policy, inner_name)
        self._statistics: ArrivalStatistics | None = None

    def decide(self, view: View) -> Decision:
        """The policy's own decision, and when it wants to be asked again."""
        if self._statistics is None:
            self._statistics = ArrivalStatistics(Machines.of(view.cluster, view.nodes))
        self._statistics.update(view)
        again_s = max(self._statistics.mean_gap_s(view.now_s), LEAST_AGAIN_S)
        return replace(self.policy.decide(view), again_s=again_s)
