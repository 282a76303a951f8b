"""Linear programs over shares, with one solution whatever the solver.

An optimum of these programs is rarely unique, and which one a solver returns decides who runs first.
So the solution is defined here: the values of the jobs are lexicographically max-min, then shares go to
types of GPU by a stated preference, in which earlier jobs count more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from policies.milp.model import BoolArray, Model, SolverOptions
from policies.milp.solvers import SolverName, solve
from policies.shares.problem import Active, Shares
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

SLACK = 1e-9
"""What a value that was reached may lose, relatively, when the next ones are maximised."""
RISES = 1e-5
"""A job whose time could rise by no more than this has reached its end."""
DIGITS = 6
"""Decimals of shares: below them solvers differ, and a difference would break a tie of priorities."""
SLACKS = (0.0, 1e-8, 1e-7, 1e-6)
"""What further conditions may lose, relatively, one after the other, where rounding makes them infeasible."""

COST_SCALE = 1e4
"""Solvers stop at reduced costs of 1e-7; of costs of 1 that would be seen in the shares."""


@dataclass(frozen=True)
class Row:
    """A condition on the shares: ``coefficients * X`` sums up to at least ``least``."""

    coefficients: FloatArray
    least: float


class Program:
    """Shares X >= 0 that fit: no job runs more than all the time, no type has more jobs than GPUs.

    Parameters
    ----------
    active : the jobs.
    rows : further conditions.
    solver : which solver answers.
    """

    def __init__(self, active: Active, rows: tuple[Row, ...] = (), solver: SolverName = "highs"):
        self.active, self.rows, self.solver = active, rows, solver
        n, k = active.rate.shape
        self.shape = (n, k)
        self._fits = [-np.kron(np.eye(n), np.ones(k))]
        self._fits.append(-np.kron(active.gpus.astype(float), np.eye(k)))
        self._least = [-np.ones(n), -active.capacity.astype(float)]
        for row in rows:
            self._fits.append(row.coefficients.reshape(1, -1))
            self._least.append(np.array([row.least]))
        self._certain = n + k
        self._upper = (active.rate > 0).astype(float).ravel()

    def best(self, gain: FloatArray, rows: tuple[Row, ...] = ()) -> Shares | None:
        """``(n, K)`` shares with the most ``sum(gain * X)``; None where none are possible."""
        found = self._solve(-gain.ravel(), np.zeros((0, gain.size)), np.zeros(0), 0, rows)
        return None if found is None else found[: gain.size].reshape(self.shape)

    def max_min(
        self, value: FloatArray, split: Callable[[BoolArray], FloatArray] | None = None
    ) -> Shares:
        """``(n, K)`` shares whose job values ``sum_k value * X`` are lexicographically max-min.

        The values rise together until a job has reached its most; the others go on (water filling).

        Parameters
        ----------
        value : ``(n, K)`` value of each job's time on each type.
        split : how fast the value of each job rises, ``(n,)``, given which can still rise; None: all alike.

        Raises InputError where no shares meet the rows.
        """
        n = self.shape[0]
        scale = value.max(axis=1)
        open_ = scale > 0
        value = value / np.where(open_, scale, 1.0)[:, None]
        floor = np.zeros(n)
        while open_.any():
            pace = np.where(open_, 1.0 if split is None else split(open_), 0.0)
            pace /= np.where(scale > 0, scale, 1.0)
            pace /= pace.max()
            floor = floor + pace * self._level(value, pace, floor)
            rising = pace > 0
            rise = self._rise(value, floor, rising)
            floor *= 1 - SLACK
            # In exact arithmetic one job at least cannot rise at all.
            open_ &= ~rising | (rise > max(RISES, rise[rising].min()))
        return self._preferred(value, floor)

    def least(self, value: FloatArray) -> float:
        """Most that all job values reach together."""
        return self._level(value, np.ones(len(value)), np.zeros(len(value)))

    def _rows_of(self, value: FloatArray, jobs: IntArray) -> FloatArray:
        """``(m, nK)`` rows of the values of some jobs."""
        n, k = self.shape
        rows = np.zeros((len(jobs), n * k))
        for i, j in enumerate(jobs.tolist()):
            rows[i, j * k : (j + 1) * k] = value[j]
        return rows

    def _level(self, value: FloatArray, pace: FloatArray, floor: FloatArray) -> float:
        """Most by which all values rise above the floor, each at its pace."""
        rows = self._rows_of(value, np.arange(len(floor)))
        cost = np.zeros(rows.shape[1] + 1)
        cost[-1] = -1.0
        found = self._solve(cost, np.hstack([rows, -pace[:, None]]), floor, 1, ())
        if found is None:
            raise InputError("shares: no shares meet all conditions, expected weaker ones")
        return float(found[-1])

    def _rise(self, value: FloatArray, floor: FloatArray, rising: BoolArray) -> FloatArray:
        """``(n,)`` how far each of some jobs was seen above the floor while the others keep theirs.

        Those that no solution has lifted by more than `RISES` are asked for together, until none rises.
        """
        n = len(floor)
        rows = self._rows_of(value, np.arange(n))
        rise, asked = np.zeros(n), rising.copy()
        while asked.any():
            gain = np.where(asked, 1.0, 0.0)[:, None] * value
            found = self._solve(-gain.ravel(), rows, floor * (1 - SLACK), 0, ())
            if found is None:
                break
            reached = (value * found[: value.size].reshape(self.shape)).sum(axis=1)
            rise = np.maximum(rise, np.where(rising, reached - floor, 0.0))
            if not (asked & (rise > RISES)).any():
                break
            asked &= rise <= RISES
        return rise

    def _preferred(self, value: FloatArray, floor: FloatArray) -> Shares:
        """Of all shares with these values those that prefer the types in their order, first jobs first."""
        n, k = self.shape
        rows = self._rows_of(value, np.arange(n))
        order = 1.0 + 1.0 / np.sqrt(np.arange(2, n + 2))
        cost = -np.outer(order, np.arange(k, 0, -1)).ravel()
        found = self._solve(cost, rows, floor * (1 - 100 * SLACK), 0, ())
        if found is None:
            raise RuntimeError("max-min shares: their own values cannot be reached")
        return rounded(found.reshape(self.shape))

    def _solve(
        self,
        cost: FloatArray,
        rows: FloatArray,
        least: FloatArray,
        extra: int,
        more: tuple[Row, ...],
    ) -> FloatArray | None:
        """Solution of ``min cost @ x`` over shares and ``extra`` free columns; None: there is none."""
        fits = [np.hstack([f, np.zeros((len(f), extra))]) for f in self._fits]
        fits += [row.coefficients.reshape(1, -1) for row in more]
        matrix = np.vstack([*fits, rows])
        low = np.concatenate([*self._least, [row.least for row in more], least])
        used = matrix != 0
        row_start = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        model = Model(
            cost * COST_SCALE,
            np.concatenate([np.zeros_like(self._upper), np.full(extra, -np.inf)]),
            np.concatenate([self._upper, np.full(extra, np.inf)]),
            np.zeros(len(cost), dtype=bool),
            row_start.astype(np.int32),
            np.nonzero(used)[1].astype(np.int32),
            matrix[used],
            low,
            np.full(len(low), np.inf),
            tight=True,
        )
        room = np.where(np.arange(len(low)) < self._certain, 0.0, np.maximum(1.0, np.abs(low)))
        for slack in SLACKS:
            found = solve(
                replace(model, row_lower=low - slack * room), self.solver, SolverOptions()
            )
            if found.status != "infeasible":
                break
        else:
            return None
        if found.x is None:
            raise RuntimeError(f"shares: the linear program ended with: {found.status}")
        return found.x


def rounded(shares: FloatArray) -> Shares:
    """Shares to `DIGITS` decimals, none below 0 or above 1."""
    return np.asarray(np.clip(np.round(shares, DIGITS), 0.0, 1.0) + 0.0)
