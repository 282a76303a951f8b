"""Base class of laws, and their quantiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import short
from simulator.errors import InputError

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Law(ABC):
    """A distribution on the positive numbers."""

    @abstractmethod
    def moment(self, k: int) -> float:
        """``E[X^k]``, k >= 0."""

    @abstractmethod
    def partial_moment(self, k: int, x: float) -> float:
        """``E[X^k; X <= x]``; with ``k = 0`` the distribution function."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """``(n,)`` independent draws."""

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Values and weights with ``E[f(X)] = weights @ f(values)``: atoms, or those of a quadrature."""
        values, weights = zip(*self.atoms, strict=True)
        return np.array(values), np.array(weights)

    def laplace(self, s: npt.ArrayLike) -> ComplexArray:
        """``E[exp(-s X)]`` at complex ``s`` with a real part >= 0, any shape.

        Closed where one exists. By quadrature otherwise (lognormal, bounded Pareto), to about 1e-10
        where ``|s|`` is at most some hundred times its real part, as numerical inversion asks.
        """
        values, weights = self.nodes
        return np.exp(-as_complex(s)[..., None] * values) @ weights.astype(np.complex128)

    def pdf(self, x: float) -> float:
        """Density of the continuous part; 0 for a law that is all atoms."""
        return 0.0

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Values of positive probability, ascending, with their probabilities."""
        return ()

    @property
    def support(self) -> tuple[float, float]:
        """Least and largest value, the latter perhaps infinite."""
        return (self.atoms[0][0], self.atoms[-1][0]) if self.atoms else (0.0, math.inf)

    def cdf(self, x: float) -> float:
        """``P(X <= x)``."""
        return self.partial_moment(0, x)

    @property
    def mean(self) -> float:
        """``E[X]``."""
        return self.moment(1)

    @property
    def second_moment(self) -> float:
        """``E[X^2]``."""
        return self.moment(2)

    @property
    def variance(self) -> float:
        """``Var[X]``."""
        return max(0.0, self.moment(2) - self.moment(1) ** 2)

    @property
    def cv2(self) -> float:
        """Squared coefficient of variation, variance over squared mean."""
        return self.variance / self.mean**2

    def __call__(self, rng: np.random.Generator) -> float:
        """One draw."""
        return float(self.sample(rng, 1)[0])


def quantile(law: Law, q: float) -> float:
    """Least ``x`` with ``P(X <= x) >= q``, 0 < q < 1."""
    low, high = law.support
    high = high if high < math.inf else low + law.mean
    while law.cdf(high) < q:
        high *= 2
    for value, _ in law.atoms:
        if law.cdf(value) >= q:
            return value
    return float(scipy.optimize.brentq(lambda x: law.cdf(x) - q, low, high, xtol=1e-14, rtol=1e-14))


def require_law(name: str, law: Law) -> None:
    """`InputError` unless it is a law; ``name`` is the parameter."""
    if not isinstance(law, Law):
        raise InputError(f"{name} is {short(law)}, expected a law of seconds (simulator.laws)")


def as_complex(s: npt.ArrayLike) -> ComplexArray:
    """An argument of a transform, as an array of complex numbers."""
    return np.asarray(s, dtype=np.complex128)
