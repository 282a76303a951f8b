"""Shockwave (Zheng et al., NSDI 2023): rounds of a window, planned by a market with logarithmic utility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies.milp.model import Builder, SolverOptions
from policies.milp.solvers import SolverName, solve
from policies.shares.problem import Active
from simulator.model.cluster import FloatArray, IntArray

STEPS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
"""Progress at which the logarithm is exact; between them it is linear."""
LEAST_PROGRESS = 0.01
"""Progress whose logarithm stands for that of no progress."""


@dataclass(frozen=True)
class Window:
    """Rules of a window.

    Attributes
    ----------
    rounds, round_s : length of the window, in rounds, and of a round, s.
    regularizer : weight of the longest remaining time, 1/s, against the mean utility (``k``).
    exponent : of the estimated finish-time fairness, as the price of a job (``lambda``).
    gap : relative gap at which the search for a plan ends.
    """

    rounds: int = 20
    round_s: float = 120.0
    regularizer: float = 1e-3
    exponent: float = 12.0
    gap: float = 1e-3


def plan_rounds(
    active: Active, done: FloatArray, fairness: FloatArray, window: Window, solver: SolverName
) -> IntArray:
    """``(n,)`` rounds of the window in which each job runs.

    The mean of ``fairness ** exponent * log(progress)``, with fairness relative to the largest, less ``regularizer`` times the longest time that
    a job still needs after the window is maximised (Sections 4 and 6). Rounds of a window are alike, so their numbers
    are all that there is to decide. Each job counts on its fastest type.

    Parameters
    ----------
    done : ``(n,)`` fraction of each job's work that is done.
    fairness : ``(n,)`` estimated finish time over that on an n-th of the cluster.
    """
    n, rate = len(active), active.rate.max(axis=1)
    needed_s = active.left / rate
    in_round = (1 - done) * np.minimum(1.0, window.round_s / needed_s)
    price = (fairness / fairness.max()) ** window.exponent
    model = Builder()
    runs = model.add_columns(
        n, upper=np.minimum(window.rounds, np.ceil(needed_s / window.round_s)), integer=True
    )
    utility = model.add_columns(n, cost=-price / n, lower=-np.inf, upper=0.0)
    longest = model.add_columns(1, cost=window.regularizer)
    height = np.log(np.maximum(STEPS, LEAST_PROGRESS))
    slope = np.diff(height) / np.diff(STEPS)
    for begin, at, rise in zip(STEPS, height, slope, strict=False):
        # utility <= at + rise * (done + in_round * runs - begin)
        below = model.add_rows(n, lower=-np.inf, upper=at + rise * (done - begin))
        model.add(below, utility)
        model.add(below, runs, -rise * in_round)
    after = model.add_rows(n, lower=needed_s, upper=np.inf)
    model.add(after, runs, window.round_s)
    model.add(after, np.broadcast_to(longest, n))
    fits = model.add_rows(1, lower=0.0, upper=float(window.rounds * active.capacity.sum()))
    model.add(np.broadcast_to(fits, n), runs, active.gpus)
    options = SolverOptions(mip_gap=window.gap)
    found = solve(model.build(offset=0.0, constant=0.0), solver, options)
    if found.x is None:
        raise RuntimeError(f"shockwave: the program of a window ended with: {found.status}")
    return np.asarray(np.round(found.x[runs]), dtype=np.int64)
