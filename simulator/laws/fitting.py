"""Laws fitted to observed values by maximum likelihood, named as scenario files take them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from simulator.errors import InputError


@dataclass(frozen=True)
class Fit:
    """One family of laws, fitted.

    Attributes
    ----------
    law : as `simulator.laws.parse_law` takes it: ``"lognormal:3600,cv=2"``.
    distance : Kolmogorov and Smirnov's: the largest distance between the two distribution functions.
        It has no p-value here, since the law was fitted to the same values.
    aic : Akaike's criterion, twice the parameters minus twice the log-likelihood; less is better.
    """

    law: str
    distance: float
    aic: float


def fits(values: npt.ArrayLike) -> list[Fit]:
    """Exponential, lognormal and Weibull law, the best by Akaike's criterion first.

    Parameters
    ----------
    values : ``(n,)`` positive, at least two different ones.

    Raises
    ------
    InputError
        Fewer, or values that are not positive.
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not (x > 0).all() or not np.isfinite(x).all() or x.min() == x.max():
        raise InputError("fits: expected at least two different positive values")
    found = []
    for name, frozen, parameters in (_exponential(x), _lognormal(x), _weibull(x)):
        aic = 2 * parameters - 2 * float(frozen.logpdf(x).sum())
        found.append(Fit(name, float(scipy.stats.kstest(x, frozen.cdf).statistic), aic))
    return sorted(found, key=lambda fit: fit.aic)


def _exponential(x: npt.NDArray[np.float64]) -> tuple[str, Any, int]:
    mean = float(x.mean())
    return f"exponential:{mean:.6g}", scipy.stats.expon(scale=mean), 1


def _lognormal(x: npt.NDArray[np.float64]) -> tuple[str, Any, int]:
    mu, sigma = float(np.log(x).mean()), float(np.log(x).std())
    mean, cv = math.exp(mu + sigma**2 / 2), math.sqrt(math.expm1(sigma**2))
    return f"lognormal:{mean:.6g},cv={cv:.6g}", scipy.stats.lognorm(sigma, scale=math.exp(mu)), 2


def _weibull(x: npt.NDArray[np.float64]) -> tuple[str, Any, int]:
    shape, _, scale = scipy.stats.weibull_min.fit(x, floc=0)
    mean = scale * math.gamma(1 + 1 / shape)
    return f"weibull:{mean:.6g},shape={shape:.6g}", scipy.stats.weibull_min(shape, scale=scale), 2
