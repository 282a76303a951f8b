"""Fixed widths under a budget: the optimal ones, and rules that they are compared with.

Type i arrives at rate lambda_i, brings mean work E[X_i] (hours on one GPU; load rho_i is the
product) and speeds up as s_i(k) on k GPUs. With widths k_i, whatever arrivals and sizes are,

    mean response time   E[T] = sum rho_i / s_i(k_i) / lambda         (paper, Lemma 3)
    time-average budget  B    = sum rho_i k_i / s_i(k_i)              (paper, Lemma 2)

and pi* takes the widths that minimise the first with B <= b (paper, Definition 2, problem 3). In
the times of a unit of work, u_i = 1 / s_i(k_i), the problem is convex: k / s(k) is the
perspective u s^-1(1/u) of a convex function. One constraint makes its dual one-dimensional, in
the price of a GPU: at a price, each type takes the width that is best for it alone, and the
budget falls as the price rises, so that a root finder ends it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy

from simulator.errors import InputError
from simulator.laws import Law
from simulator.model.cluster import FloatArray
from simulator.model.speedup import Speedup, WholeGpus
from simulator.model.tolerances import SUMS
from simulator.workloads.job_types import JobType

if TYPE_CHECKING:
    import pandas as pd

LOWEST_PRICE = 1e-250
"""End of the search for a price: who buys nothing more here never does."""

HIGHEST_PRICE = 1e200
"""Price at which nothing is bought that costs anything."""


@dataclass(frozen=True)
class FixedWidths:
    """Every job of type i runs on ``widths_gpus[i]`` GPUs from its arrival to its end.

    Attributes
    ----------
    types : ``n`` job types.
    widths_gpus : ``(n,)`` real numbers >= 1.
    """

    types: tuple[JobType, ...]
    widths_gpus: FloatArray = field(compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", _checked(self.types))
        widths = np.array(self.widths_gpus, dtype=np.float64)
        if widths.shape != (len(self.types),):
            raise InputError(f"{widths.size} widths for {len(self.types)} types, expected one each")
        for job_type, width in zip(self.types, widths, strict=True):
            if not 1 <= width < math.inf:
                raise InputError(
                    f"job type {job_type.name!r}: width is {width:g} GPUs, expected at least 1"
                )
        widths.flags.writeable = False
        object.__setattr__(self, "widths_gpus", widths)

    @property
    def _time(self) -> FloatArray:
        """``(n,)`` hours that an hour of work takes."""
        pairs = zip(self.types, self.widths_gpus, strict=True)
        return np.array([1 / float(t.speedup(k)) for t, k in pairs])

    @property
    def budget_gpus(self) -> float:
        """GPUs rented on average over time."""
        return float(_loads(self.types) @ (self.widths_gpus * self._time))

    @property
    def response_time_h(self) -> FloatArray:
        """``(n,)`` mean response time of each type, h."""
        return np.array([t.mean_size_h for t in self.types]) * self._time

    @property
    def mean_response_time_h(self) -> float:
        """Mean response time of all jobs, h."""
        return float(_loads(self.types) @ self._time) / _rate(self.types)


@dataclass(frozen=True)
class OptimalWidths(FixedWidths):
    """The widths of pi*, and the certificate that they are optimal.

    Attributes
    ----------
    budget_limit_gpus : b.
    price : of a GPU, the multiplier of the budget: hours (of the sum over all jobs' times, per
        hour) that one more GPU saves. 0: more budget saves nothing. Infinite: the budget is the
        load, which leaves nothing to choose.
    """

    budget_limit_gpus: float = math.nan
    price: float = math.nan

    @property
    def kkt_residual(self) -> float:
        """Largest violation of the Karush-Kuhn-Tucker conditions, relative; 0 at the optimum.

        Stationarity: with the elasticity e = k s'(k) / s(k), time falls by e and GPU-time rises by
        1 - e for a relative increase of the width; at the optimum e = price k (1 - e), or between
        the sides of a corner, or <= at width 1.
        """
        residuals = [self.budget_gpus / self.budget_limit_gpus - 1]
        if math.isinf(self.price):
            return max(0.0, *residuals, *(k / w - 1 for k, w in self._widest_within_load()))
        if self.price > 0:
            residuals.append(-residuals[0])  # complementary slackness
        for job_type, k in zip(self.types, self.widths_gpus, strict=True):
            wider = self._gain(job_type.speedup, float(k), "right")
            residuals.append(wider)
            if k > 1:
                residuals.append(-self._gain(job_type.speedup, float(k), "left"))
        return max(0.0, *residuals)

    def _gain(self, speedup: Speedup, k: float, side: str) -> float:
        """Gain from more width, net of its price, over the sum of both; in [-1, 1]."""
        slope = float(speedup.derivative(k, "right" if side == "right" else "left"))
        elasticity = min(1.0, k * slope / float(speedup(k)))
        paid = self.price * k * (1 - elasticity)
        # A speed-up that gains less than rounding counts as flat.
        return (elasticity - paid) / max(elasticity + paid, SUMS)

    def _widest_within_load(self) -> list[tuple[float, float]]:
        """The widths taken, and the widest that need no more GPU-time than width 1."""
        widest = [t.speedup.best_width(HIGHEST_PRICE) for t in self.types]
        return list(zip(self.widths_gpus.tolist(), widest, strict=True))


def optimal_widths(types: Sequence[JobType], budget_gpus: float) -> OptimalWidths:
    """The widths of pi*: least mean response time within a time-average budget.

    Parameters
    ----------
    types : at least one.
    budget_gpus : b, GPUs rented on average over time; at least the load.

    Raises InputError: the budget is below the load, or a speed-up is linear without end, so that any
    width is worth its GPUs.
    """
    types = _checked(types)
    load = float(_loads(types).sum())
    if not load * (1 - SUMS) <= budget_gpus < math.inf:
        raise InputError(
            f"budget is {budget_gpus:g} GPUs, expected at least the load of {load:g} GPUs"
        )
    price = _price(types, budget_gpus)
    if price in (0.0, math.inf):
        end = LOWEST_PRICE if price == 0 else HIGHEST_PRICE
        widths = np.array([_best_width(t, end) for t in types])
    else:
        widths = _between(types, budget_gpus, price)
    return OptimalWidths(types, widths, budget_gpus, price)


def _price(types: tuple[JobType, ...], budget_gpus: float) -> float:
    """The price at which the types, each for itself, just use the budget; 0 where never."""

    def excess(log_price: float) -> float:
        return _spent(types, math.exp(log_price)) / budget_gpus - 1

    if budget_gpus <= float(_loads(types).sum()) * (1 + SUMS):
        return math.inf
    high = 1.0
    while _spent(types, high) > budget_gpus:
        high *= 4
    low = high
    while _spent(types, low) < budget_gpus:
        low /= 16
        if low < LOWEST_PRICE:
            return 0.0
    if low == high:
        return high
    root = scipy.optimize.brentq(excess, math.log(low), math.log(high), xtol=1e-15, rtol=1e-15)
    return math.exp(float(root))


def _between(types: tuple[JobType, ...], budget_gpus: float, price: float) -> FloatArray:
    """The widths at a price, where several are best at it (straight pieces) those that use up b.

    Time and GPU-time of a unit of work are then linear between the widths just below and just above
    the price.
    """
    wide, narrow = (
        np.array([_best_width(t, price * factor) for t in types])
        for factor in (1 - 1e-12, 1 + 1e-12)
    )
    loads = _loads(types)
    time = [_unit_times(types, widths) for widths in (wide, narrow)]
    gpu_time = [wide * time[0], narrow * time[1]]
    most, least = (float(loads @ g) for g in gpu_time)
    part = min(1.0, max(0.0, (budget_gpus - least) / (most - least))) if most > least else 0.0
    mixed = [part * a + (1 - part) * b for a, b in (gpu_time, time)]
    return np.where(wide == narrow, wide, mixed[0] / mixed[1])  # corners stay exact


def _spent(types: tuple[JobType, ...], price: float) -> float:
    """Budget used where each type takes its best width at a price."""
    widths = np.array([_best_width(t, price) for t in types])
    return float(_loads(types) @ (widths * _unit_times(types, widths)))


def _best_width(job_type: JobType, price: float) -> float:
    width = job_type.speedup.best_width(price)
    if math.isinf(width):
        raise InputError(
            f"job type {job_type.name!r}: the speed-up is linear without end, so no width is the "
            "best; expected diminishing returns"
        )
    return width


def _unit_times(types: tuple[JobType, ...], widths: FloatArray) -> FloatArray:
    return np.array([1 / float(t.speedup(k)) for t, k in zip(types, widths, strict=True)])


# --- other rules ---------------------------------------------------------------------------------


def whole_gpu_widths(types: Sequence[JobType], budget_gpus: float) -> OptimalWidths:
    """The best widths in whole GPUs, a fraction of a type's jobs on one more than the others.

    At most one type needs a mixture. The types returned have `WholeGpus` speed-ups, whose ``mix``
    says which two widths and how many jobs on each.
    """
    whole = [replace(t, speedup=WholeGpus(t.speedup)) for t in _checked(types)]
    return optimal_widths(whole, budget_gpus)


def equal_widths(types: Sequence[JobType], budget_gpus: float) -> FixedWidths:
    """One width for all types, the widest within the budget."""
    types = _checked(types)

    def plan(width: float) -> FixedWidths:
        return FixedWidths(types, np.full(len(types), width))

    return plan(_widest(lambda k: plan(k).budget_gpus, budget_gpus))


@dataclass(frozen=True)
class WidthsBySize:
    """Widths that depend on a job's size, ``max(1, scale (x / mean)^-exponent)`` GPUs.

    Attributes
    ----------
    scale_gpus : width of a job of its type's mean size.
    exponent : positive: small jobs get more GPUs, as if they were more urgent; negative: fewer.
    """

    scale_gpus: float
    exponent: float

    def width(self, relative_size: npt.ArrayLike) -> FloatArray:
        """Width in GPUs of jobs of these sizes, relative to the mean of their type; any shape."""
        x = np.asarray(relative_size, dtype=np.float64)
        return np.asarray(np.maximum(1.0, self.scale_gpus * x**-self.exponent))


def widths_by_size(
    types: Sequence[JobType],
    size: Law,
    exponent: float,
    budget_gpus: float,
    draws: int = 20_000,
) -> WidthsBySize:
    """The widest rule of this exponent within the budget.

    Parameters
    ----------
    size : law of the sizes relative to their type's mean, of mean 1.
    draws : of the law over which the budget is averaged.
    """
    types = _checked(types)
    x = size.sample(np.random.default_rng(0), draws)
    x /= x.mean()

    def budget(scale: float) -> float:
        widths = WidthsBySize(scale, exponent).width(x)
        per_work = [float((x * widths / t.speedup(widths)).mean()) for t in types]
        return float(_loads(types) @ per_work)

    # Where some sizes are at width 1 anyway, a scale below 1 still narrows the others.
    return WidthsBySize(_widest(budget, budget_gpus, least=1e-6), exponent)


def _widest(budget: Callable[[float], float], limit_gpus: float, least: float = 1.0) -> float:
    """Largest width whose budget, non-decreasing in it, is within the limit."""
    if budget(least) > limit_gpus * (1 + SUMS):
        raise InputError(
            f"budget is {limit_gpus:g} GPUs, expected at least {budget(least):g} GPUs for this rule"
        )
    high = 2.0
    while budget(high) < limit_gpus:
        high *= 2
        if high > 1e12:
            raise InputError(f"budget of {limit_gpus:g} GPUs is more than any width can use")
    if budget(least) >= limit_gpus:
        return least
    return float(
        scipy.optimize.brentq(lambda k: budget(k) - limit_gpus, least, high, xtol=1e-12, rtol=1e-13)
    )


# --- tables --------------------------------------------------------------------------------------


def rental_table(types: Sequence[JobType], budgets_gpus: Sequence[float]) -> pd.DataFrame:
    """The optimal widths and the Pareto frontier, one row a budget.

    Columns ``budget_gpus``, ``width_<type>_gpus`` of each type, ``mean_response_time_h`` (the
    frontier), ``mean_response_time_<type>_h`` of each type.
    """
    plans = [optimal_widths(types, b) for b in budgets_gpus]
    names = [t.name for t in _checked(types)]
    table = {"budget_gpus": np.array(budgets_gpus, dtype=np.float64)}
    for i, name in enumerate(names):
        table[f"width_{name}_gpus"] = np.array([p.widths_gpus[i] for p in plans])
    table["mean_response_time_h"] = np.array([p.mean_response_time_h for p in plans])
    for i, name in enumerate(names):
        table[f"mean_response_time_{name}_h"] = np.array([p.response_time_h[i] for p in plans])
    import pandas as pd

    return pd.DataFrame(table)


def _loads(types: tuple[JobType, ...]) -> FloatArray:
    return np.array([t.load for t in types])


def _rate(types: tuple[JobType, ...]) -> float:
    return sum(t.arrival_rate_per_h for t in types)


def _checked(types: Sequence[JobType]) -> tuple[JobType, ...]:
    if not types:
        raise InputError("no job types, expected at least one")
    names = [t.name for t in types]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InputError(f"job type {twice!r} occurs twice, expected different names")
    return tuple(types)
