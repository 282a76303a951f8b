"""Linear programs over shares, with one solution whatever the solver.

An optimum of these programs is rarely unique, and which one a solver returns decides who runs first.
So the solution is defined here: the values of the jobs are lexicographically max-min, then shares go to
types of GPU by a stated preference, in which earlier jobs count more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from policies.shares.problem import Active, Pairs, Shares
from policies.solving.model import BoolArray, Model, SolverOptions
from policies.solving.solvers import SolverName, solve
from simulator.errors import InputError
from simulator.model.cluster import FloatArray

SLACK = 1e-9
"""What a value that was reached may lose, relatively, when the next ones are maximised."""
RISES = 1e-5
"""A job whose time could rise by no more than this has reached its end."""
DIGITS = 6
"""Decimals of shares: below them solvers differ, and a difference would break a tie of priorities."""
SLACKS = (0.0, 1e-8, 1e-7, 1e-6)
"""What further conditions may lose, relatively, one after the other, where rounding makes them infeasible or stops the solver."""

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
    pairs : jobs that may also run together; X has a row for each pair, after those of the jobs.
    """

    def __init__(
        self,
        active: Active,
        rows: tuple[Row, ...] = (),
        solver: SolverName = "highs",
        pairs: Pairs | None = None,
    ):
        n, k = active.rate.shape
        self.pairs = pairs or Pairs(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2, k)))
        self.active, self.rows, self.solver = active, rows, solver
        self.shape = (n + len(self.pairs), k)
        runs = np.vstack([np.eye(n), np.eye(n)[self.pairs.members].sum(axis=1)])
        gpus = np.concatenate([active.gpus, np.ones(len(self.pairs))])
        self._fits = [-np.kron(runs.T, np.ones(k)), -np.kron(gpus, np.eye(k))]
        self._least = [-np.ones(n), -active.capacity.astype(float)]
        for row in rows:
            self._fits.append(row.coefficients.reshape(1, -1))
            self._least.append(np.array([row.least]))
        self._certain = n + k
        able = np.vstack([active.rate > 0, (self.pairs.speed > 0).all(axis=1)])
        self._upper = able.astype(float).ravel()

    def best(self, gain: FloatArray, rows: tuple[Row, ...] = ()) -> Shares | None:
        """``(n, K)`` shares with the most ``sum(gain * X)``; None where none are possible."""
        found = self._solve(-gain.ravel(), np.zeros((0, gain.size)), np.zeros(0), 0, rows)
        return None if found is None else found[: gain.size].reshape(self.shape)

    def max_min(
        self,
        value: FloatArray,
        split: Callable[[BoolArray], FloatArray] | None = None,
        together: bool = False,
    ) -> Shares:
        """``(n + P, K)`` shares whose job values ``sum_k value * X`` are lexicographically max-min.

        The values rise together until a job has reached its most; the others go on (water filling).

        Parameters
        ----------
        value : ``(n, K)`` value of each job's time on each type, alone; in a pair, times its speed.
        split : how fast the value of each job rises, ``(n,)``, given which can still rise; None: all alike.
        together : the values that rise stop when the first of them can rise no more.

        Raises InputError where no shares meet the rows.
        """
        scale = value.max(axis=1)
        open_ = scale > 0
        rows = self._rows_of(value) / np.where(open_, scale, 1.0)[:, None]
        floor = np.zeros(len(rows))
        while open_.any():
            pace = np.where(open_, 1.0 if split is None else split(open_), 0.0)
            pace /= np.where(scale > 0, scale, 1.0)
            pace /= pace.max()
            floor = floor + pace * self._level(rows, pace, floor)
            rising = pace > 0
            if together:
                floor *= 1 - SLACK
                open_ &= ~rising
                continue
            rise = self._rise(rows, floor, rising)
            floor *= 1 - SLACK
            # In exact arithmetic one job at least cannot rise at all.
            open_ &= ~rising | (rise > max(RISES, rise[rising].min()))
        return self._preferred(rows, floor)

    def least(self, value: FloatArray) -> float:
        """Most that all job values reach together."""
        return self._level(self._rows_of(value), np.ones(len(value)), np.zeros(len(value)))

    def _rows_of(self, value: FloatArray) -> FloatArray:
        """``(n, (n + P) K)`` rows of the values of all jobs."""
        n, pairs = len(value), self.pairs
        rows = np.zeros((n, *self.shape))
        rows[np.arange(n), np.arange(n)] = value
        for members, speed in zip(pairs.members.T, pairs.speed.swapaxes(0, 1), strict=True):
            rows[members, np.arange(n, len(rows[0]))] = value[members] * speed
        return rows.reshape(n, -1)

    def _level(self, rows: FloatArray, pace: FloatArray, floor: FloatArray) -> float:
        """Most by which all values rise above `floor`, each at its pace."""
        cost = np.zeros(rows.shape[1] + 1)
        cost[-1] = -1.0
        found = self._solve(cost, np.hstack([rows, -pace[:, None]]), floor, 1, ())
        if found is None:
            raise InputError("shares: no shares meet all conditions, expected weaker ones")
        return float(found[-1])

    def _rise(self, rows: FloatArray, floor: FloatArray, rising: BoolArray) -> FloatArray:
        """``(n,)`` how far each of some jobs was seen above `floor` while the others keep theirs.

        Those that no solution has lifted by more than `RISES` are asked for together, until none rises.
        """
        rise, asked = np.zeros(len(floor)), rising.copy()
        while asked.any():
            found = self._solve(-rows[asked].sum(axis=0), rows, floor * (1 - SLACK), 0, ())
            if found is None:
                break
            rise = np.maximum(rise, np.where(rising, rows @ found - floor, 0.0))
            if not (asked & (rise > RISES)).any():
                break
            asked &= rise <= RISES
        return rise

    def _preferred(self, rows: FloatArray, floor: FloatArray) -> Shares:
        """Of all shares with these values those that prefer the types in their order, first jobs first, then pairs."""
        n, k = self.shape
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
            if found.x is not None:
                return found.x
        if found.status != "infeasible":
            raise RuntimeError(f"shares: the linear program ended with: {found.status}")
        return None


def rounded(shares: FloatArray) -> Shares:
    """Shares to `DIGITS` decimals, none below 0 or above 1."""
    return np.asarray(np.clip(np.round(shares, DIGITS), 0.0, 1.0) + 0.0)
