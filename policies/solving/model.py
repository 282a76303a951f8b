"""A mixed-integer linear program as arrays, and what a solver answers.

minimise    cost @ x + offset
subject to  row_lower <= A x <= row_upper,  lower <= x <= upper,  x[integer] whole
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.arguments import nonnegative
from simulator.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

Status = Literal["optimal", "feasible", "no_solution", "infeasible", "unbounded", "error"]
"""Status of a solution: proven within the gap; a solution at the limit; none at the limit; there is none;
no minimum; the solver failed."""

# Tolerances of this package.

FEASIBLE_WITHIN = 1e-9
"""On rows and whole columns of `Model.tight` models: postponing a job can cost 1e8 times as much as
its lease, so the solvers' usual 1e-6 of a job would be worth more than the decision."""
WHOLE_WITHIN = 10 * FEASIBLE_WITHIN
"""Tolerance for whole numbers in columns of a linear program."""
LEAST_RISE = 1e-7
"""A rise of the bound, relative to it, that counts as none when a branch is chosen."""
BOUND_ABOVE = 1e-9
"""By how much, relatively, a bound may exceed the objective in floating point."""


@dataclass(frozen=True, eq=False)
class Model:
    """A MILP, independent of who solves it.

    Attributes
    ----------
    cost, lower, upper : ``(n,)`` of each column.
    integer : ``(n,)`` whether the column must be whole.
    row_start : ``(m + 1,)`` where each row begins in `column` and `value` (compressed rows).
    column, value : ``(nonzeros,)``.
    row_lower, row_upper : ``(m,)``, infinite where open.
    offset : the objective is ``cost @ x + offset``.
    constant : part of the objective that no decision changes. Solvers stop, and gaps are quoted,
        relative to the objective without it: a large constant would hide a poor solution.
    tight : the relaxation is nearly whole and presolve finds nothing, so that branching alone
        solves it soonest.
    priority : ``(n,)`` branch first on the columns where this is highest; empty: no preference.
    """

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    row_start: Int32Array
    column: Int32Array
    value: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    offset: float = 0.0
    constant: float = 0.0
    tight: bool = False
    priority: Int32Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def nonzeros(self) -> int:
        """Number of coefficients."""
        return len(self.value)

    def objective(self, x: FloatArray) -> float:
        """``cost @ x + offset``."""
        return float(self.cost @ x) + self.offset


@dataclass(frozen=True, eq=False)
class Solution:
    """A solver's answer.

    Attributes
    ----------
    solver : who answered, ``"highs"`` or ``"gurobi"``.
    status : see `Status`.
    x : ``(n,)``, or None where no solution was found.
    objective : of ``x`` with the constant part; NaN where there is none.
    bound : proven lower bound on the objective, constant part included; ``-inf`` where unknown.
    gap : `relative_gap` of the two; infinite where there is no solution.
    columns, rows, nonzeros : size of the model.
    solve_cpu_s : CPU seconds.
    nodes : of the branch-and-bound tree.
    """

    solver: str
    status: Status
    x: FloatArray | None
    objective: float
    bound: float
    gap: float
    columns: int
    rows: int
    nonzeros: int
    solve_cpu_s: float
    nodes: int


@dataclass(frozen=True)
class SolverOptions:
    """Options of a solver.

    Attributes
    ----------
    mip_gap : relative gap at which to stop, of the objective without its constant part.
    gap_of_total : stop at that gap of the whole objective instead, as solvers do that do not know
        of the constant part (the papers' 5 %); gaps are quoted without it all the same.
    gap_of_parts : where the objective is a small difference of large sums, stop at that gap of half the
        sum of the parts' sizes in the relaxation as well (HiGHS on `tight` models).
    time_limit_s : seconds of wall time, None for none. Where it is reached, the answer depends on
        the machine.
    seed : of the solver.

    Raises InputError: an option out of range.
    """

    mip_gap: float = 1e-6
    time_limit_s: float | None = None
    seed: int = 0
    gap_of_total: bool = False
    gap_of_parts: bool = False

    def __post_init__(self) -> None:
        nonnegative("milp", mip_gap=self.mip_gap)
        if self.time_limit_s is not None and not self.time_limit_s >= 0:
            raise InputError(f"milp: time_limit_s is {self.time_limit_s}, expected seconds >= 0")
        if not 0 <= self.seed <= 2_000_000_000:
            raise InputError(f"milp: seed is {self.seed}, expected 0 to 2000000000")

    def shift(self, model: Model) -> float:
        """Amount to subtract from a model's offset before it is solved.

        A solver's own gap includes the offset, so what is left must be what decisions can change.
        """
        return 0.0 if self.gap_of_total else model.constant


def relative_gap(objective: float, bound: float, constant: float) -> float:
    """Gap that the objective may have, relative to its part that decisions change."""
    difference = max(0.0, objective - bound)
    if not math.isfinite(difference):
        return math.inf
    # Below this the difference is rounding of the two numbers, not a gap.
    if difference <= 1e-12 * max(abs(objective), 1.0):
        return 0.0
    return difference / max(abs(objective - constant), 1e-12)


def make_solution(
    model: Model, solver: str, status: Status, x: FloatArray | None, bound: float, **facts: float
) -> Solution:
    """A solution with its objective and gap worked out from the model."""
    objective = math.nan if x is None else model.objective(x)
    if status == "optimal" and not model.integer.any():
        bound = objective
    return Solution(
        solver=solver,
        status=status,
        x=x,
        objective=objective,
        bound=bound,
        gap=math.inf if x is None else relative_gap(objective, bound, model.constant),
        columns=model.columns,
        rows=model.rows,
        nonzeros=model.nonzeros,
        solve_cpu_s=float(facts["solve_cpu_s"]),
        nodes=int(facts["nodes"]),
    )


class Builder:
    """Collects columns and rows as blocks of arrays; no object per variable."""

    def __init__(self) -> None:
        self._blocks: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
        self.columns = self.rows = 0

    def add_columns(
        self,
        shape: int | tuple[int, ...],
        *,
        cost: npt.ArrayLike = 0.0,
        lower: npt.ArrayLike = 0.0,
        upper: npt.ArrayLike = np.inf,
        integer: bool = False,
        priority: int = 0,
    ) -> IntArray:
        """New columns; returns their indices in the given shape. Arrays broadcast to it."""
        self._add(shape, np.float64, cost=cost, lower=lower, upper=upper)
        self._add(shape, np.bool_, integer=integer)
        self._add(shape, np.int32, priority=priority)
        index = self.columns + np.arange(int(np.prod(shape))).reshape(shape)
        self.columns += index.size
        return index

    def add_rows(
        self, shape: int | tuple[int, ...], *, lower: npt.ArrayLike, upper: npt.ArrayLike
    ) -> IntArray:
        """New empty rows; returns their indices in the given shape."""
        self._add(shape, np.float64, row_lower=lower, row_upper=upper)
        index = self.rows + np.arange(int(np.prod(shape))).reshape(shape)
        self.rows += index.size
        return index

    def add(self, row: IntArray, column: IntArray, value: npt.ArrayLike = 1.0) -> None:
        """Coefficients; the three arrays broadcast. Each (row, column) at most once."""
        shape = np.broadcast_shapes(row.shape, column.shape, np.shape(value))
        self._add(shape, np.int64, row=row, column=column)
        self._add(shape, np.float64, value=value)

    def _add(
        self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, **blocks: npt.ArrayLike
    ) -> None:
        for name, values in blocks.items():
            block = np.broadcast_to(np.asarray(values, dtype=dtype), shape)
            self._blocks[name].append(block.reshape(-1))

    def build(self, *, offset: float, constant: float, tight: bool = False) -> Model:
        """The model, in compressed rows."""
        of = {name: np.concatenate(blocks) for name, blocks in self._blocks.items()}
        row, column, value = (of.pop(name) for name in ("row", "column", "value"))
        order = np.argsort(row, kind="stable")
        order = order[value[order] != 0.0]
        start = np.zeros(self.rows + 1, dtype=np.int32)
        np.cumsum(np.bincount(row[order], minlength=self.rows), out=start[1:])
        return Model(
            row_start=start,
            column=column[order].astype(np.int32),
            value=value[order],
            offset=offset,
            constant=constant,
            tight=tight,
            **of,
        )
