"""Probability laws of times and job sizes: small frozen objects, in whatever unit they are given.

Each knows its moments, its distribution function, its Laplace-Stieltjes transform, and how to
draw from itself. A law called with a generator draws one value, so it serves as the service law
of an optimization server too. Overridden methods are described once, in `Law`.

>>> Exponential(40.0).mean, BoundedPareto.with_mean(1.0, alpha=1.5, spread=1e4).cv2 > 20
(40.0, True)
"""

from simulator.laws.atoms import Bimodal, Deterministic, Empirical
from simulator.laws.base import ComplexArray, FloatArray, Law, quantile, require_law
from simulator.laws.continuous import (
    BoundedPareto,
    Exponential,
    HyperExponential,
    LogNormal,
    Weibull,
)
from simulator.laws.parsing import parse_law
from simulator.laws.scaled import Scaled

__all__ = [
    "Bimodal",
    "BoundedPareto",
    "ComplexArray",
    "Deterministic",
    "Empirical",
    "Exponential",
    "FloatArray",
    "HyperExponential",
    "Law",
    "LogNormal",
    "Scaled",
    "Weibull",
    "parse_law",
    "quantile",
    "require_law",
]
