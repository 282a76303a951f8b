"""Branch and bound over warm-started linear programs, for models whose relaxation is nearly whole.

A general MIP solver spends its time on cuts and heuristics at the root of such a model. Here
branching alone is enough, if it begins with the columns of highest priority: counts of nodes by
type and by number of jobs split the solutions evenly, a single pattern hardly at all.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from policies.milp.model import TOLERANCE, FloatArray, IntArray, Model, SolverOptions, Status

MAX_NODES = 100
"""Then the MIP solver takes over."""

WHOLE = 10 * TOLERANCE
"""How near to a whole number a column counts as one."""


class Found(NamedTuple):
    """What the search found.

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
    """A part of the tree: bound of the relaxation above, bounds of the integer columns."""

    bound: float
    lower: FloatArray
    upper: FloatArray


def search(
    highs: Any, model: Model, options: SolverOptions, start: FloatArray | None = None
) -> Found:
    """Depth first, the nearer side of each branch first.

    Parameters
    ----------
    highs : the relaxation, loaded; its objective is the one that gaps refer to.
    start : a solution's integer columns to begin from; others are not looked at.
    """
    relaxation = _Relaxation(highs, model, options.time_limit_s)
    whole = relaxation.columns
    best, x, lowest = math.inf, None, math.inf
    stack = [_Node(-math.inf, model.lower[whole], model.upper[whole])]
    if start is not None and not np.isnan(start[whole]).any():
        stack.append(_Node(-math.inf, start[whole], start[whole]))
    diving = True
    while stack:
        if relaxation.solved >= MAX_NODES:
            return Found(None, x, -math.inf, relaxation.solved)
        if not diving:
            stack.sort(key=lambda n: -n.bound)
        node = stack.pop()
        cutoff = best - options.mip_gap * abs(best) if x is not None else math.inf
        if node.bound >= cutoff:
            lowest = min(lowest, node.bound)
            continue
        diving = False
        status, value, point = relaxation.solve(node)
        if status == "kTimeLimit":
            bound = min([n.bound for n in stack] + [node.bound, lowest, best])
            return Found("no_solution" if x is None else "feasible", x, bound, relaxation.solved)
        if status == "kInfeasible":
            continue
        if point is None:
            return Found(None, x, -math.inf, relaxation.solved)
        if value >= cutoff:
            lowest = min(lowest, value)
            continue
        column = relaxation.column_to_branch(point)
        if column is None:
            best, x = value, point
        else:
            stack.extend(_branch(node, value, column, float(point[whole[column]])))
            diving = True
    if x is None:
        return Found("infeasible", None, math.inf, relaxation.solved)
    return Found("optimal", x, min(best, lowest), relaxation.solved)


class _Relaxation:
    """The linear program under changing bounds of its integer columns."""

    def __init__(self, highs: Any, model: Model, time_limit_s: float | None) -> None:
        self.columns: IntArray = np.flatnonzero(model.integer)
        self.solved = 0
        self._highs = highs
        self._indices = self.columns.astype(np.int32)
        self._priority = model.priority[self.columns] if len(model.priority) else None
        self._end = None if time_limit_s is None else time.monotonic() + time_limit_s

    def solve(self, node: _Node) -> tuple[str, float, FloatArray | None]:
        """Status, objective, and the solution where there is one."""
        if self._end is not None and time.monotonic() >= self._end:
            return "kTimeLimit", math.nan, None
        highs = self._highs
        highs.changeColsBounds(len(self._indices), self._indices, node.lower, node.upper)
        highs.run()
        self.solved += 1
        status = highs.getModelStatus().name
        if status != "kOptimal":
            return status, math.nan, None
        value = float(highs.getInfo().objective_function_value)
        return status, value, np.array(highs.getSolution().col_value)

    def column_to_branch(self, point: FloatArray) -> int | None:
        """The least whole column of the highest priority among those that are not whole."""
        value = point[self.columns]
        away = np.abs(value - np.rint(value))
        open_ = away > WHOLE
        if not open_.any():
            return None
        if self._priority is not None:
            open_ &= self._priority == self._priority[open_].max()
        return int(np.argmax(np.where(open_, away, -1.0)))


def _branch(node: _Node, value: float, column: int, at: float) -> list[_Node]:
    """Both sides of a fractional column, the nearer one last (it is taken next)."""
    upper, lower = node.upper.copy(), node.lower.copy()
    upper[column], lower[column] = math.floor(at), math.ceil(at)
    down, up = _Node(value, node.lower, upper), _Node(value, lower, node.upper)
    return [down, up] if at - math.floor(at) > 0.5 else [up, down]
