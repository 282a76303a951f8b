"""Packing by prices of slots, for thousands of nodes: a bound, and a packing near it.

With a price mu_s >= 0 for each kind of slot, jobs and nodes of the packing (`policies.foresight.packing`)
are independent, and

    L(mu) = sum_j max(0, max_s (gain_js - mu_s)) + sum over types of N max(0, max_k (D_k mu - price_k))

is no less than the value of any packing. There are few kinds of slots however many jobs there are, so mu
is a short vector. The least L is found by cutting planes: the patterns' part of L is written out, the
jobs' part is the greatest of its tangents so far, and the next mu is the best one of this model within a
box around the best mu found. One step costs one look at all jobs and one small linear program. The
duals of that program are the patterns of the linear relaxation, in fractions of nodes. They are
rounded, the jobs are assigned to these slots exactly (`policies.foresight.transport`), and single
nodes change their pattern where that helps.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import scipy

from policies.foresight.packing import FoundPacking, PackingProblem, assign
from policies.foresight.packing import solve as solve_exactly
from policies.foresight.transport import Transport
from simulator.model.cluster import FloatArray, IntArray

NEAR = 1e-6
"""Relative distance of L from its model at which prices are good enough."""

STEPS = 400
CUTS = 120
"""Steps of the search for prices at most, and tangents that are kept."""

WIDTH = 0.2
"""Half the width of the first box, over the largest gain."""

TRIES = 60
"""Changes of one node's pattern that are tried at most."""


def solve(packing: PackingProblem, mip_gap: float, at_least_one: bool = False) -> FoundPacking:
    """A packing, and a bound on the best one; the gap between them is small where nodes are many.

    Parameters
    ----------
    mip_gap : relative gap at which rounding needs no repair.
    at_least_one : some job has to run, if any can. Then the best packing of few nodes is found
        exactly: a node's slots are best filled by the jobs that gain most in each kind of slot.
    """
    if at_least_one:
        return _few(packing, mip_gap)
    unit = float(np.max(packing.gain, initial=0.0, where=np.isfinite(packing.gain)))
    if unit <= 0.0 or not len(packing.kept):
        return FoundPacking([], 0.0, 0.0, "ascent")
    problem = _Slots.of(packing, unit)
    bound, prices, shares = _descend(problem)
    counts = _rounded(problem, shares)
    transport = Transport(problem.gain, prices)
    transport.fill(problem.slots(counts))
    counts, transport = _repaired(problem, counts, transport, bound, mip_gap)
    job = np.flatnonzero(transport.kind < transport.none)
    value = unit * (transport.value() - float(problem.price @ counts))
    if value <= 0.0:
        return FoundPacking([], 0.0, unit * bound, "ascent")
    placed = assign(packing, counts, job, transport.kind[job])
    return FoundPacking(placed, value, max(value, unit * bound), "ascent")


def _few(packing: PackingProblem, mip_gap: float) -> FoundPacking:
    """The exact packing of the jobs that gain most in any kind of slot."""
    places = int(packing.demand.sum(axis=1).max(initial=1.0))
    best = np.argsort(-packing.gain, axis=0, kind="stable")[:places]
    rows = np.unique(best)
    found = solve_exactly(
        replace(packing, gain=packing.gain[rows], used=packing.used[rows]), mip_gap, True
    )
    named = [a._replace(job=int(rows[a.job])) for a in found.assignments]
    return replace(found, assignments=named, method="ascent")


@dataclass(frozen=True, eq=False)
class _Slots:
    """A packing in units of its largest gain.

    Attributes
    ----------
    gain, demand, price, group : as `PackingProblem` has them.
    limits : ``(groups,)`` nodes.
    """

    gain: FloatArray
    demand: FloatArray
    price: FloatArray
    group: IntArray
    limits: FloatArray

    @classmethod
    def of(cls, packing: PackingProblem, unit: float) -> _Slots:
        return cls(
            packing.gain / unit,
            packing.demand,
            packing.price / unit,
            packing.group,
            packing.machines.node_limits.astype(np.float64),
        )

    def slots(self, counts: IntArray) -> IntArray:
        """``(R,)`` slots of each kind on ``counts`` nodes of each pattern."""
        return np.rint(counts @ self.demand).astype(np.int64)

    def jobs_part(self, prices: FloatArray) -> tuple[float, FloatArray]:
        """Gain of the jobs at prices of slots, and ``(R,)`` the slots that they take."""
        net = self.gain - prices
        best = net.argmax(axis=1)
        gain = net[np.arange(len(net)), best]
        takes = gain > 0.0
        load = np.bincount(best[takes], minlength=len(prices)).astype(np.float64)
        return float(gain[takes].sum()), load

    def nodes_part(self, prices: FloatArray) -> float:
        """Revenue of the nodes at prices of slots."""
        most = np.zeros(len(self.limits))
        np.maximum.at(most, self.group, self.demand @ prices - self.price)
        return float(self.limits @ most)


def _descend(problem: _Slots) -> tuple[float, FloatArray, FloatArray]:
    """The least L found, its prices, and ``(K,)`` the model's nodes of each pattern, in fractions."""
    kinds = problem.demand.shape[1]
    center, width, flat = np.zeros(kinds), WIDTH, 0
    gain, load = problem.jobs_part(center)
    tangents, offsets = [load], [gain + float(load @ center)]
    best = gain + problem.nodes_part(center)
    shares = np.zeros(len(problem.price))
    for _ in range(STEPS):
        low, high = np.maximum(center - width, 0.0), center + width
        prices, value, shares = _model_step(problem, tangents[-CUTS:], offsets[-CUTS:], low, high)
        promised = best - value
        on_edge = bool(((prices >= high - 1e-12) | ((prices <= low + 1e-12) & (low > 0.0))).any())
        if promised <= NEAR * best:
            if not on_edge or flat > 4:
                break
            width, flat = 8.0 * width, flat + 1  # the box alone may have kept the model from more
            continue
        gain, load = problem.jobs_part(prices)
        found = gain + problem.nodes_part(prices)
        tangents.append(load)
        offsets.append(gain + float(load @ prices))
        if found < best - 0.1 * promised:
            best, center = found, prices
            if on_edge:
                width *= 1.5
        elif found > best + 0.5 * promised:
            width *= 0.7
    return best, center, shares


def _model_step(
    problem: _Slots,
    tangents: list[FloatArray],
    offsets: list[float],
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, float, FloatArray]:
    """Minimum of the model of L within a box: prices, its value, the patterns' duals.

    Columns: prices, what a node earns at most (each type), what the jobs gain.
    """
    kinds, groups = problem.demand.shape[1], len(problem.limits)
    patterns = np.hstack(
        [problem.demand, -np.eye(groups)[problem.group], np.zeros((len(problem.price), 1))]
    )
    cuts = np.hstack(
        [-np.array(tangents), np.zeros((len(tangents), groups)), -np.ones((len(tangents), 1))]
    )
    edges = np.zeros((kinds + groups + 1, 2))
    edges[:kinds, 0], edges[:kinds, 1] = low, high
    edges[kinds:, 1] = np.inf
    found = scipy.optimize.linprog(
        np.concatenate([np.zeros(kinds), problem.limits, [1.0]]),
        A_ub=np.vstack([patterns, cuts]),
        b_ub=np.concatenate([problem.price, -np.array(offsets)]),
        bounds=[(a, b) for a, b in edges.tolist()],
        method="highs-ds",
    )
    if found.x is None or found.fun is None:
        raise RuntimeError(f"foresight: prices of slots: {found.message}")
    shares = np.maximum(-found.ineqlin.marginals[: len(problem.price)], 0.0)
    return np.maximum(found.x[:kinds], 0.0), float(found.fun), shares


def _rounded(problem: _Slots, shares: FloatArray) -> IntArray:
    """``(K,)`` whole nodes: fractions cut, and what is left to those that lost most."""
    counts = np.floor(shares + 1e-6).astype(np.int64)
    for group, limit in enumerate(problem.limits.tolist()):
        mine = np.flatnonzero(problem.group == group)
        left = min(round(float(shares[mine].sum())), int(limit)) - int(counts[mine].sum())
        lost = shares[mine] - counts[mine]
        counts[mine[np.argsort(-lost, kind="stable")[: max(left, 0)]]] += 1
    return counts


def _repaired(
    problem: _Slots, counts: IntArray, transport: Transport, bound: float, mip_gap: float
) -> tuple[IntArray, Transport]:
    """Single nodes take another pattern, open or close, as long as that brings more."""
    value = transport.value() - float(problem.price @ counts)
    for _ in range(TRIES):
        if bound - value <= mip_gap * bound:
            break
        for change in _changes(problem, counts, transport):
            trial, other = counts + change, copy.copy(transport)
            other.kind = transport.kind.copy()
            other.fill(problem.slots(trial))
            found = other.value() - float(problem.price @ trial)
            if found > value + 1e-9:
                counts, transport, value = trial, other, found
                break
        else:
            break
    return counts, transport


def _changes(problem: _Slots, counts: IntArray, transport: Transport) -> list[IntArray]:
    """The three most promising changes of one node's pattern, ``(K,)`` each."""
    more, less = transport.margins(problem.slots(counts))
    opens = problem.demand @ more - problem.price
    closes = problem.price - problem.demand @ less
    closes[counts <= 0] = -np.inf
    used = np.bincount(problem.group, weights=counts, minlength=len(problem.limits))
    full = (used >= problem.limits)[problem.group]
    same = problem.group[:, None] == problem.group[None, :]
    swap = np.where(same, closes[:, None] + opens[None, :], -np.inf)
    np.fill_diagonal(swap, -np.inf)
    unit = np.eye(len(counts), dtype=np.int64)
    options = [(float(swap[k, m]), unit[m] - unit[k]) for k, m in _best(swap)]
    options += [(float(closes[k]), -unit[k]) for (k,) in _best(closes)]
    opens[full] = -np.inf
    options += [(float(opens[k]), unit[k]) for (k,) in _best(opens)]
    options.sort(key=lambda option: -option[0])
    return [change for promise, change in options[:3] if promise > 1e-9]


def _best(value: FloatArray) -> list[tuple[int, ...]]:
    """Places of the three greatest values."""
    order = np.argsort(-value, axis=None, kind="stable")[:3]
    return [tuple(int(i) for i in np.unravel_index(o, value.shape)) for o in order]
