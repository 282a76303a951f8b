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
class FittedLaw:
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


def fits(values: npt.ArrayLike) -> list[FittedLaw]:
    """Exponential, lognormal and Weibull law, the best by Akaike's criterion first.

    Parameters
    ----------
    values : ``(n,)`` positive, at least two different ones.

    Raises InputError: fewer, or values that are not positive.
    """
    x = np.asarray(values, dtype=np.float64)
    if len(x) < 2 or not (x > 0).all() or not np.isfinite(x).all() or x.min() == x.max():
        raise InputError("fits: expected at least two different positive values")
    mean, logs = float(x.mean()), np.log(x)
    mu, sigma = float(logs.mean()), float(logs.std())
    middle, cv = math.exp(mu + sigma**2 / 2), math.sqrt(math.expm1(sigma**2))
    shape, _, scale = scipy.stats.weibull_min.fit(x, floc=0)
    weibull_mean = scale * math.gamma(1 + 1 / shape)
    families: list[tuple[str, Any, int]] = [
        (f"exponential:{mean:.6g}", scipy.stats.expon(scale=mean), 1),
        (f"lognormal:{middle:.6g},cv={cv:.6g}", scipy.stats.lognorm(sigma, scale=math.exp(mu)), 2),
        (
            f"weibull:{weibull_mean:.6g},shape={shape:.6g}",
            scipy.stats.weibull_min(shape, scale=scale),
            2,
        ),
    ]
    found = []
    for name, frozen, parameters in families:
        aic = 2 * parameters - 2 * float(frozen.logpdf(x).sum())
        found.append(FittedLaw(name, float(scipy.stats.kstest(x, frozen.cdf).statistic), aic))
    return sorted(found, key=lambda fit: fit.aic)
