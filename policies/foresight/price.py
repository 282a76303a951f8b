"""Value of a second of a whole node to the jobs: the price lambda of node-time.

Within a window of T seconds a group of N alike nodes gives N T node-seconds, of which eta can be
used. The price is where the dual of that limit is greatest,

    max over lambda >= 0 of  sum_j b_j V_j(r_j, d_j; lambda) - lambda N eta T,

a concave function: each V_j is a minimum over schedules of a cost that is linear in lambda. One of the
schedules is to wait until the window has passed, V_j(r_j, d_j - T; 0): without it the price of an
overloaded cluster would have no limit. The sum
runs over the active jobs, with b_j = min(1, T / W_j) the part of job j's life W_j (its due date, or
its shortest time left) that falls into the window, and over the jobs expected to arrive in it,
drawn from those seen.

The number of arrivals is random, and the best price is not linear in it. For example, if lateness costs a
thousand times as much as the lease, the best price is zero while the jobs fit on the nodes, and near the weights
of the jobs when they do not. The price is therefore the expected one, over a normally distributed number of
arrivals (Gauss-Hermite quadrature).

Where node types are fixed, a second of a node of type v costs lambda omega_v, with omega_v how much
faster its nodes get on with the jobs seen than those of the best type do: one price of work, whatever
node does it. A price for each type by itself would be a tighter dual, but coordinate ascent, which is
not sure to find the best prices of such a function, made runs cost several hundred times as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from policies.foresight.due_dates import SLOPES, DueDates, slopes_of
from policies.foresight.machines import Machines
from policies.foresight.value import SingleValue
from simulator.model.cluster import FloatArray, IntArray

PRICES = 24
"""Points of the grid of prices: 0, then geometric over four decades up to its top."""

TOP = 30.0
"""Top of the grid over the median weight of the jobs seen."""

DEVIATIONS, CHANCES = np.polynomial.hermite_e.hermegauss(5)
"""Points of a standard normal distribution, and their weights."""

CHANCES /= CHANCES.sum()

SEEN = 100
"""Jobs that the forecast is drawn from: the last ones that were submitted."""


@dataclass(frozen=True, eq=False)
class Demand:
    """Demand for node-time in the window: jobs, or fractions of jobs.

    Attributes
    ----------
    rows : ``(n,)`` rows of the statistics of jobs seen.
    work : ``(n,)`` r, the fraction of the work left.
    due_in_s : ``(n,)`` d.
    part : ``(P, n)`` b, how much of the job falls into the window, for each of `DEVIATIONS` of the number
        of arrivals.
    window_s : T.
    """

    rows: IntArray
    work: FloatArray
    due_in_s: FloatArray
    part: FloatArray
    window_s: float


class PriceGrid:
    """A_j(m; lambda) of all jobs seen on a grid of prices, and the best price for a demand.

    The grid depends on the weights of the jobs seen only. It is laid anew when their median has
    left it by a factor of two, or their number has doubled.

    Parameters
    ----------
    machines : the nodes of the controller.
    hull : whether a job may change its configuration on the way (`Value`), or not (`SingleValue`).

    Attributes
    ----------
    prices : ``(L,)`` the grid of lambda.
    speed : ``(C,)`` omega of each configuration's node type.
    """

    def __init__(self, machines: Machines, hull: bool = True) -> None:
        self._machines, self._hull = machines, hull
        self._median, self._laid_for = -1.0, 0
        self._table = np.empty((0, PRICES, SLOPES))
        self._filled = 0
        self.prices = np.zeros(PRICES)
        self.speed = np.ones(len(machines.config_type))

    def update(self, times_s: FloatArray, weight_per_s: FloatArray) -> None:
        """Take in jobs seen since the last time; ``(n, C)`` and ``(n,)`` of all jobs seen."""
        count = len(weight_per_s)
        if count == self._filled:
            return
        self._times_s, self._weight_per_s = times_s, weight_per_s
        median = float(np.median(weight_per_s))
        fits = 0.5 * self._median <= median <= 2.0 * self._median
        if not fits or count >= 2 * self._laid_for:
            self._median, self._laid_for, self._filled = median, count, 0
            relative = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, PRICES - 1)])
            self.prices = TOP * median * relative
            self.speed = _speed(self._machines, times_s)
        if count > len(self._table):
            larger = np.empty((max(64, 2 * count), PRICES, SLOPES))
            larger[: self._filled] = self._table[: self._filled]
            self._table = larger
        for first in range(self._filled, count, 256):
            new = slice(first, min(first + 256, count))
            self._table[new] = self._supports(times_s[new], slopes_of(weight_per_s[new]))
        self._filled = count

    def _supports(self, times_s: FloatArray, slopes: FloatArray) -> FloatArray:
        """``(n, L, M)`` A_j(m; lambda)."""
        machines = self._machines
        # A finite stand-in for what is impossible, so that nothing is infinite times 0.
        times = np.where(np.isfinite(times_s), times_s, 1e15)
        share = machines.config_share * self.speed
        result = np.full((len(times), PRICES, slopes.shape[1]), np.inf)
        for k in range(times.shape[1]):
            price = machines.config_price_per_s[k] + self.prices * share[k]
            cost = times[:, k, None, None] * (price[None, :, None] + slopes[:, None, :])
            np.minimum(result, cost, out=result)
        return result

    def best(self, demand: Demand, slopes: FloatArray, spare: float, deferral: bool) -> float:
        """The price lambda that maximises the dual, on average; 0 where no lateness costs anything."""
        if not self.prices[-1]:
            return 0.0
        duals = self.dual(demand, slopes, spare, deferral)
        return float(CHANCES @ [peak(self.prices, dual) for dual in duals])

    def dual(self, demand: Demand, slopes: FloatArray, spare: float, deferral: bool) -> FloatArray:
        """``(P, L)`` the dual on the grid of prices.

        Parameters
        ----------
        slopes : ``(n, M)`` of the demand's jobs.
        spare : eta.
        deferral : whether a job can wait until the window has passed.
        """
        later = replace(demand, due_in_s=demand.due_in_s - demand.window_s)
        if self._hull:
            table = self._table[demand.rows]
            value = _values(table, slopes, demand)
            if deferral:
                value = np.minimum(value, _values(table[:, :1], slopes, later))
        else:
            value = self._single_values(demand, self.prices)
            if deferral:
                value = np.minimum(value, self._single_values(later, self.prices[:1]))
        supply = self._machines.nodes_by_speed(self.speed) * spare * demand.window_s
        dual: FloatArray = demand.part @ value - self.prices * supply
        return dual

    def _single_values(self, demand: Demand, prices: FloatArray) -> FloatArray:
        """``(n, L)`` V_j(r, d; lambda) at ``(L,)`` prices, where a job keeps its configuration."""
        machines = self._machines
        share = machines.config_share * self.speed
        rate = machines.config_price_per_s[:, None] + prices * share[:, None]
        dates = DueDates.of(demand.due_in_s, self._weight_per_s[demand.rows])
        value = SingleValue(dates, self._times_s[demand.rows], rate)
        return value(np.broadcast_to(demand.work[:, None], (len(demand.rows), len(prices))), 0.0)


def _speed(machines: Machines, times_s: FloatArray) -> FloatArray:
    """``(C,)`` omega: median over the jobs of the least node-time that one takes on any type, over
    the least that it takes on this one; 1 for all where a node can have any type."""
    if machines.nodes_of_type is None:
        return np.ones(len(machines.config_type))
    node_s = times_s * machines.config_share
    least = node_s.min(axis=1)
    speed = np.ones(len(machines.config_type))
    for v in np.unique(machines.config_type):
        of_type = machines.config_type == v
        speed[of_type] = np.median(least / node_s[:, of_type].min(axis=1))
    return speed


def _values(table: FloatArray, slopes: FloatArray, demand: Demand) -> FloatArray:
    """``(n, L)`` V_j(r, d; lambda) from A_j(m; lambda)."""
    cost = demand.work[:, None, None] * table
    cost -= (slopes * demand.due_in_s[:, None])[:, None, :]
    value: FloatArray = cost.max(axis=2)
    return value


def peak(x: FloatArray, y: FloatArray) -> float:
    """Maximum of a concave function, from its values on a grid: where the slope, linear
    between the middles of the intervals beside the greatest value, is zero."""
    i = int(np.argmax(y))
    if i in (0, len(x) - 1):
        return float(x[i])
    before, after = (y[i] - y[i - 1]) / (x[i] - x[i - 1]), (y[i + 1] - y[i]) / (x[i + 1] - x[i])
    low, high = (x[i - 1] + x[i]) / 2, (x[i] + x[i + 1]) / 2
    if before <= after:
        return float(x[i])
    return float(low + (high - low) * before / (before - after))
