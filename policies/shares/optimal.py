"""Allocations that optimise: Gavel's policies (Narayanan et al., OSDI 2020, Table 1 and Section 4).

Each is a value of every job's time, of which the least is maximised, or a sum to be maximised first.
On GPUs of one type the first kind has a closed form, and no program is solved.
"""

from __future__ import annotations

import numpy as np

from policies.shares.interior import centre_of_types
from policies.shares.linear import Program, Row, rounded
from policies.shares.one_type import centre, knapsack, least, level
from policies.shares.problem import Active, Pairs, Shares
from policies.solving.solvers import SolverName
from simulator.errors import InputError
from simulator.model.cluster import FloatArray

HALVINGS = 100
"""Of the interval of finish-time fairness; it is smaller than floating point then."""
LOSES = 1e-9
"""What the sum may lose, relatively, while the least value is maximised."""


def max_min(
    active: Active,
    value: FloatArray,
    solver: SolverName = "highs",
    solution: str = "lexicographic",
) -> Shares:
    """Shares of which the least value ``sum_k value * X`` is maximal; ``value`` is ``(n, K)``.

    Of all such shares the lexicographically max-min ones, or the analytic centre.
    """
    if value.shape[1] == 1:
        closed = centre if solution == "centre" else level
        return closed(value[:, 0], active.gpus.astype(float), float(active.capacity[0]))[:, None]
    if solution == "centre":
        gpus, capacity = active.gpus.astype(float), active.capacity.astype(float)
        return rounded(centre_of_types(value, gpus, capacity))
    return Program(active, solver=solver).max_min(value)


def max_min_fairness(
    active: Active,
    aware: bool = True,
    solver: SolverName = "highs",
    solution: str = "lexicographic",
    pairs: Pairs | None = None,
) -> Shares:
    """Least attained service by type: the least normalised throughput is maximised.

    A job's throughput counts relative to that under equal shares of the cluster, times its GPUs, over its
    weight (Section 4.1). With ``aware = False`` all types are as fast. With pairs it is the sum of that alone and
    those in pairs (Section 3.1); the shares of the pairs are rows after those of the jobs.
    """
    value = normalised(active, aware) / active.weight[:, None]
    if pairs is not None:
        return Program(active, solver=solver, pairs=pairs).max_min(value)
    return max_min(active, value, solver, solution)


def normalised(active: Active, aware: bool = True) -> FloatArray:
    """``(n, K)`` throughput times GPUs, relative to that under equal shares of the cluster."""
    rate = active.rate if aware else (active.rate > 0).astype(float)
    equal = (rate * active.capacity).sum(axis=1) / active.capacity.sum()
    return np.asarray(rate * (active.gpus / equal)[:, None])


def min_makespan(
    active: Active, solver: SolverName = "highs", solution: str = "lexicographic"
) -> Shares:
    """The last job ends as soon as possible; then the last but one, and so on (Section 4.2)."""
    return max_min(active, active.rate / work_left(active)[:, None], solver, solution)


def max_throughput(active: Active, solver: SolverName = "highs") -> Shares:
    """The sum of throughputs, each relative to that on the job's fastest type, is maximised."""
    return most(active, active.rate / active.rate.max(axis=1, keepdims=True), (), solver)


def alone_rate(active: Active) -> FloatArray:
    """``(n,)`` work/s of each job on an n-th of the cluster."""
    part = np.minimum(1.0, active.capacity.sum() / len(active) / active.gpus)
    mix = np.where(active.rate > 0, active.capacity, 0) / active.capacity.sum()
    return np.asarray((active.rate * mix).sum(axis=1) * part)


def finish_time_fairness(
    active: Active,
    past_s: FloatArray | None = None,
    solver: SolverName = "highs",
    solution: str = "lexicographic",
) -> Shares:
    """The largest ratio of finish time to that on an n-th of the cluster is minimised (Themis).

    The ratio is ``(age + left / throughput) / (past + left / throughput on an n-th)``. For a given
    ratio, the throughputs that it needs follow; the least ratio is found by halving.

    Parameters
    ----------
    past_s : ``(n,)`` seconds that each job's progress would have taken on an n-th; None: its age.
    """
    left = work_left(active)
    past_s = active.age_s if past_s is None else past_s
    alone_s = np.maximum(past_s + left / alone_rate(active), 1.0)

    def value(ratio: float) -> FloatArray:
        needed = left / (ratio * alone_s - active.age_s)
        return np.asarray(active.rate / needed[:, None])

    fastest_s = active.age_s + left / active.rate.max(axis=1)
    low, high = float((fastest_s / alone_s).max()), 1.0
    while _least(active, value(high), solver) < 1:
        low, high = high, 2 * high
    for _ in range(HALVINGS if active.rate.shape[1] == 1 else 40):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _least(active, value(middle), solver) < 1:
            low = middle
        else:
            high = middle
    return max_min(active, value(high), solver, solution)


def min_cost(
    active: Active,
    usd_per_h: FloatArray,
    due_in_s: FloatArray | None = None,
    solver: SolverName = "highs",
) -> Shares:
    """The most throughput for the money, with the due dates that can be met (Section 4.2).

    The ratio of summed throughput, relative to each job's fastest type and times its GPUs, to cost is maximised by
    Dinkelbach's method; of all such shares those are taken with the most throughput.

    Parameters
    ----------
    usd_per_h : ``(K,)`` price of a GPU of each type.
    due_in_s : ``(n,)`` seconds to each due date; a job that cannot meet its own has none.

    Raises InputError where a price is not positive.
    """
    if not (np.asarray(usd_per_h) > 0).all():
        raise InputError(f"min-cost: prices are {list(usd_per_h)}, expected numbers > 0")
    gain = active.rate / active.rate.max(axis=1, keepdims=True) * active.gpus[:, None]
    cost = np.outer(active.gpus, usd_per_h) * (active.rate > 0)
    rows = _due_rows(active, due_in_s, solver)
    program, ratio = Program(active, rows, solver), 0.0
    for _ in range(HALVINGS):
        shares = program.best(gain - ratio * cost)
        if shares is None:
            raise InputError("min-cost: due dates cannot be met together, expected later ones")
        if float(((gain - ratio * cost) * shares).sum()) <= LOSES * len(active):
            break
        ratio = float((gain * shares).sum() / (cost * shares).sum())
    net = gain - ratio * cost
    return most(active, gain, (*rows, Row(net, -LOSES * len(active))), solver)


def most(
    active: Active, gain: FloatArray, rows: tuple[Row, ...] = (), solver: SolverName = "highs"
) -> Shares:
    """Shares with the most ``sum(gain * X)``; of those, lexicographically max-min by job."""
    if gain.shape[1] == 1 and not rows:
        return knapsack(gain[:, 0], active.gpus.astype(float), float(active.capacity[0]))[:, None]
    best = Program(active, rows, solver).best(gain)
    if best is None:
        raise InputError("shares: no shares meet all conditions, expected weaker ones")
    total = float((gain * best).sum())
    kept = (*rows, Row(gain, total - LOSES * max(1.0, abs(total))))
    return rounded(Program(active, kept, solver).max_min(gain))


def work_left(active: Active) -> FloatArray:
    """``(n,)`` work that is left, never 0, so that a job of none still has a value."""
    return np.asarray(np.maximum(active.left, 1e-9 * active.rate.max(axis=1)))


def _least(active: Active, value: FloatArray, solver: SolverName) -> float:
    """Least value at the max-min shares."""
    if value.shape[1] == 1:
        return least(value[:, 0], active.gpus.astype(float), float(active.capacity[0]))
    return Program(active, solver=solver).least(value)


def _due_rows(active: Active, due_in_s: FloatArray | None, solver: SolverName) -> tuple[Row, ...]:
    """Conditions that jobs meet their due dates, in order of submission as far as they can be met."""
    rows: tuple[Row, ...] = ()
    if due_in_s is None:
        return rows
    for j in np.flatnonzero(np.isfinite(due_in_s) & (due_in_s > 0)).tolist():
        needed = np.zeros_like(active.rate)
        needed[j] = active.rate[j] * due_in_s[j] / work_left(active)[j]
        more = (*rows, Row(needed, 1.0))
        if Program(active, more, solver).best(np.zeros_like(active.rate)) is not None:
            rows = more
    return rows
