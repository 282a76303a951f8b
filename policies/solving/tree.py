"""Branch and bound over warm-started linear programs, for models whose relaxation is nearly whole.

A general MIP solver spends its time on cuts and heuristics at the root of such a model. Here
branching alone is enough, if it is on the right columns: those of a high priority (counts of nodes,
of places for jobs) split the solutions evenly, a single pattern hardly at all; and among them the
one whose two sides raise the bound most, by what earlier branches on it did (pseudo-costs, both
sides solved the first time). Columns of a lower priority are looked at where those raise nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from policies.solving.model import (
    LEAST_RISE,
    WHOLE_WITHIN,
    FloatArray,
    IntArray,
    Model,
    SolverOptions,
    Status,
)

MAX_NODES = 400
"""Linear programs; then the MIP solver takes over."""

LOOK = 4
"""Columns without a pseudo-cost that are tried at one node."""

FADE = 8.0
"""Tries of a column that are remembered from one search to the next, at most."""


class Found(NamedTuple):
    """Result of the search.

    Attributes
    ----------
    status : None where the MIP solver should go on.
    x : best solution, or None.
    bound : lower bound on the objective as the solver has it, shifted.
    nodes : linear programs solved.
    """

    status: Status | None
    x: FloatArray | None
    bound: float
    nodes: int


class _Node(NamedTuple):
    """A part of the tree: lower bound on its objective, bounds of the integer columns.

    ``point``: those columns where the relaxation is least, if that is known already.
    ``cause``: the branch that led here: side (0 below, 1 above), column, how far it was moved.
    """

    bound: float
    lower: FloatArray
    upper: FloatArray
    point: FloatArray | None = None
    cause: tuple[int, int, float] | None = None


class Learned:
    """Effect of branches on the bound in earlier searches of similar models: pseudo-costs by name.

    A search that is given it need not try both sides of a column that was tried before. The order of
    branching changes, not what is proven.
    """

    def __init__(self) -> None:
        self._of: dict[Hashable, FloatArray] = {}

    def take(self, names: Sequence[Hashable]) -> tuple[FloatArray, FloatArray]:
        """``(2, n)`` sums of the rises and numbers of tries of these columns, below and above."""
        none = np.zeros(4)
        found = np.array([self._of.get(name, none) for name in names]).reshape(-1, 4).T
        return found[:2].copy(), found[2:].copy()

    def keep(self, names: Sequence[Hashable], gain: FloatArray, tries: FloatArray) -> None:
        """Take in what a search has learnt; older knowledge fades."""
        fade = np.minimum(1.0, FADE / np.maximum(tries, 1.0))
        for name, values in zip(names, np.concatenate([gain * fade, tries * fade]).T, strict=True):
            self._of[name] = values


class _Stop(Exception):
    """No more linear programs: the time is up, or there were too many, or one failed."""

    def __init__(self, status: Status | None) -> None:
        self.status = status


def search(
    highs: Any,
    model: Model,
    options: SolverOptions,
    start: FloatArray | None = None,
    learned: tuple[Learned, Sequence[Hashable]] | None = None,
) -> Found:
    """Solve a model from its relaxation.

    Parameters
    ----------
    highs : the relaxation, loaded; its objective is the one that gaps refer to.
    start : a solution to begin from, of which the integer columns are looked at; NaN where one
        follows from the others.
    learned : what earlier searches learnt, and the names of the integer columns in it.
    """
    searching = _Search(highs, model, options)
    if learned is None:
        return searching.run(model, start)
    memory, names = learned
    searching.gain, searching.tries = memory.take(names)
    found = searching.run(model, start)
    memory.keep(names, searching.gain, searching.tries)
    return found


class _Search:
    """Dives depth first to the nearer side, then goes on where the bound is lowest."""

    def __init__(self, highs: Any, model: Model, options: SolverOptions) -> None:
        self._highs = highs
        self._columns: IntArray = np.flatnonzero(model.integer)
        self._indices = self._columns.astype(np.int32)
        count = len(self._columns)
        self._priority = model.priority[self._columns] if len(model.priority) else np.zeros(count)
        limit = options.time_limit_s
        self._end = math.inf if limit is None else time.monotonic() + limit
        self._gap = options.mip_gap
        self.gain = np.zeros((2, count))
        self.tries = np.zeros((2, count))
        self._stack: list[_Node] = []
        self._solved = 0
        self._best = math.inf
        self._cost = model.cost if options.gap_of_parts else None
        self._near = 0.0
        self._x: FloatArray | None = None
        self._lowest_cut = math.inf

    def run(self, model: Model, start: FloatArray | None) -> Found:
        lower, upper = model.lower[self._columns], model.upper[self._columns]
        node = None
        try:
            if start is not None:
                begin = start[self._columns]
                known = ~np.isnan(begin)
                fixed = np.where(known, begin, lower), np.where(known, begin, upper)
                self._solve(_Node(-math.inf, *fixed))
            node = _Node(-math.inf, lower, upper)
            while node is not None:
                node = self._dive(node)
        except _Stop as stop:
            open_ = [n.bound for n in self._stack] + ([node.bound] if node else [-math.inf])
            bound = min([*open_, self._lowest_cut, self._best])
            status = stop.status
            if status == "no_solution" and self._x is not None:
                status = "feasible"
            return Found(status, self._x, bound, self._solved)
        if self._x is None:
            return Found("infeasible", None, math.inf, self._solved)
        return Found("optimal", self._x, min(self._best, self._lowest_cut), self._solved)

    def _dive(self, node: _Node) -> _Node | None:
        """Branch on a node; return the one to go on with."""
        if self._worth(node.bound):
            value, point = node.bound, node.point
            if point is None:
                value, point = self._solve(node)
                self._learn(node, value)
            if point is not None and self._worth(value):
                sides = self._branch(node, value, point)
                self._stack.extend(sides)
                if sides:
                    return self._stack.pop()
        if not self._stack:
            return None
        self._stack.sort(key=lambda n: -n.bound)
        return self._stack.pop()

    def _worth(self, bound: float) -> bool:
        """True where a part of the tree may hold a solution that is better by more than the gap."""
        near = max(self._gap * abs(self._best), self._near)
        if bound < self._best - near or self._x is None:
            return bound < math.inf
        self._lowest_cut = min(self._lowest_cut, bound)
        return False

    def _solve(self, node: _Node) -> tuple[float, FloatArray | None]:
        """Objective and integer columns of the relaxation; infinite where it is infeasible.

        A whole solution is kept if it is the best so far; its columns are not returned.
        """
        if time.monotonic() >= self._end:
            raise _Stop("no_solution")
        if self._solved >= MAX_NODES:
            raise _Stop(None)
        highs = self._highs
        highs.changeColsBounds(len(self._indices), self._indices, node.lower, node.upper)
        highs.run()
        self._solved += 1
        if self._solved == 1:
            # It helps to find the first optimum; from there on it costs more than it saves.
            highs.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0)
        status = highs.getModelStatus().name
        if status == "kInfeasible":
            return math.inf, None
        if status != "kOptimal":
            raise _Stop("no_solution" if status == "kTimeLimit" else None)
        value = float(highs.getInfo().objective_function_value)
        point = np.array(highs.getSolution().col_value)
        whole = point[self._columns]
        if self._cost is not None and node.cause is None:
            self._near = self._gap * 0.5 * float(np.abs(self._cost) @ point)
        if np.abs(whole - np.rint(whole)).max() > WHOLE_WITHIN:
            return value, whole
        if value < self._best:
            self._best, self._x = value, point
        return value, None

    def _branch(self, node: _Node, value: float, point: FloatArray) -> list[_Node]:
        """Both sides of the column that promises most, the nearer one last (it is next)."""
        away = np.abs(point - np.rint(point))
        known: dict[int, list[_Node]] = {}
        column, most = -1, -1.0
        for priority in np.unique(self._priority[away > WHOLE_WITHIN])[::-1]:
            columns = np.flatnonzero((away > WHOLE_WITHIN) & (self._priority == priority))
            unknown = columns[self.tries[:, columns].min(axis=0) == 0]
            for new in unknown[np.argsort(-away[unknown], kind="stable")][:LOOK].tolist():
                known[new] = self._try(node, value, point, new)
            score = self._score(columns, value, point)
            if score.max() > most:
                column, most = int(columns[score.argmax()]), float(score.max())
            if most > 1.0:
                break
        sides = known[column] if column in known else _sides(node, value, point, column)
        up_is_nearer = point[column] - math.floor(point[column]) > 0.5
        sides = sides if up_is_nearer else sides[::-1]
        return [side for side in sides if self._worth(side.bound)]

    def _try(self, node: _Node, value: float, point: FloatArray, column: int) -> list[_Node]:
        """Solve both sides of a column, and learn. Returns the sides that need more branching."""
        sides = []
        for side in _sides(node, value, point, column):
            bound, at = self._solve(side)
            self._learn(side, bound)
            if at is not None:
                sides.append(side._replace(bound=bound, point=at))
        return sides

    def _learn(self, node: _Node, value: float) -> None:
        """Note how far the branch that led to a node raised the bound."""
        if node.cause is None:
            return
        side, column, distance = node.cause
        # Infeasible: as good as doubling the objective.
        rise = max(0.0, value - node.bound) if value < math.inf else max(1.0, abs(node.bound))
        self.gain[side, column] += rise / distance
        self.tries[side, column] += 1

    def _score(self, columns: IntArray, value: float, point: FloatArray) -> FloatArray:
        """Product of the expected rises of the bound on both sides, each in units of ``LEAST_RISE``."""
        part = point[columns] - np.floor(point[columns])
        tries = self.tries[:, columns]
        rise = self.gain[:, columns] / np.maximum(tries, 1) * np.stack([part, 1 - part])
        product = np.maximum(rise / (LEAST_RISE * max(1.0, abs(value))), 1.0).prod(axis=0)
        score: FloatArray = np.where(tries.min(axis=0) > 0, product, 0.0)
        return score


def _sides(node: _Node, value: float, point: FloatArray, column: int) -> list[_Node]:
    """Below and above a fractional column."""
    upper, lower = node.upper.copy(), node.lower.copy()
    upper[column], lower[column] = math.floor(point[column]), math.ceil(point[column])
    part = float(point[column] - math.floor(point[column]))
    return [
        _Node(value, node.lower, upper, cause=(0, column, part)),
        _Node(value, lower, node.upper, cause=(1, column, 1 - part)),
    ]
