"""Laws with a density."""

# ruff: noqa: D102

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import positive
from simulator.errors import InputError
from simulator.laws.base import ComplexArray, FloatArray, Law, as_complex

NODES = 4096
"""Of the quadrature of transforms without a closed form; see `Law.laplace`."""


@dataclass(frozen=True)
class HyperExponential(Law):
    """Exponential of mean ``means[i]`` with probability ``weights[i]``."""

    weights: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        what = "hyperexponential law"
        if len(self.weights) != len(self.means) or not self.means:
            raise InputError(f"{what}: {len(self.weights)} weights for {len(self.means)} means")
        for weight, mean in zip(self.weights, self.means, strict=True):
            positive(what, mean=mean, weight=weight)
        if abs(sum(self.weights) - 1) > 1e-9:
            raise InputError(f"{what}: weights add up to {sum(self.weights)}, expected 1")

    @classmethod
    def with_cv2(cls, mean: float, cv2: float) -> HyperExponential:
        """Two phases that carry the same load (balanced means), ``cv2 > 1``.

        Source: Tijms, Stochastic Models, 1994.
        """
        if not cv2 > 1:
            raise InputError(f"hyperexponential law: cv2 is {cv2}, expected above 1")
        first = (1 + math.sqrt((cv2 - 1) / (cv2 + 1))) / 2
        return cls((first, 1 - first), (mean / (2 * first), mean / (2 * (1 - first))))

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        return np.array(self.weights), np.array(self.means)

    def moment(self, k: int) -> float:
        weights, means = self._table
        return float(math.factorial(k) * (weights @ means**k))

    def partial_moment(self, k: int, x: float) -> float:
        if x <= 0:
            return 0.0
        weights, means = self._table
        inside = scipy.special.gammainc(k + 1, x / means)
        return float(math.factorial(k) * (weights @ (means**k * inside)))

    def pdf(self, x: float) -> float:
        weights, means = self._table
        return float(weights @ (np.exp(-x / means) / means)) if x >= 0 else 0.0

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        weights, means = self._table
        phase = np.searchsorted(np.cumsum(weights)[:-1], rng.random(n), side="right")
        return rng.standard_exponential(n) * means[phase]

    def laplace(self, s: npt.ArrayLike) -> ComplexArray:
        weights, means = self._table
        return (1 / (1 + as_complex(s)[..., None] * means)) @ weights.astype(np.complex128)


class Exponential(HyperExponential):
    """Memoryless, of the given mean."""

    def __init__(self, mean: float) -> None:
        positive("exponential law", mean=mean)
        super().__init__((1.0,), (float(mean),))

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """``(n,)`` independent draws."""
        return rng.exponential(self.means[0], n)

    def __repr__(self) -> str:
        return f"Exponential(mean={self.means[0]:g})"


@dataclass(frozen=True)
class LogNormal(Law):
    """Lognormal of this mean and coefficient of variation ``cv`` (not squared)."""

    mean_value: float
    cv: float

    def __post_init__(self) -> None:
        positive("lognormal law", mean=self.mean_value, cv=self.cv)

    @property
    def _sigma(self) -> float:
        return math.sqrt(math.log1p(self.cv**2))

    @property
    def _mu(self) -> float:
        return math.log(self.mean_value) - self._sigma**2 / 2

    def moment(self, k: int) -> float:
        return math.exp(k * self._mu + (k * self._sigma) ** 2 / 2)

    def partial_moment(self, k: int, x: float) -> float:
        if x <= 0:
            return 0.0
        score = (math.log(x) - self._mu) / self._sigma - k * self._sigma if x < math.inf else x
        return self.moment(k) * float(scipy.special.ndtr(score))

    def pdf(self, x: float) -> float:
        if not 0 < x < math.inf:
            return 0.0
        score = (math.log(x) - self._mu) / self._sigma
        return math.exp(-(score**2) / 2) / (x * self._sigma * math.sqrt(2 * math.pi))

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.lognormal(self._mu, self._sigma, n)

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        # The trapezoidal rule converges geometrically on a Gaussian.
        score = np.linspace(-9.0, 9.0, NODES)
        weights = np.exp(-(score**2) / 2)
        return np.exp(self._mu + self._sigma * score), weights / weights.sum()


@dataclass(frozen=True)
class BoundedPareto(Law):
    """Density proportional to ``x^(-alpha - 1)`` between ``low`` and ``high``.

    Source: Crovella, Harchol-Balter and Murta, SIGMETRICS 1998.
    """

    low: float
    high: float
    alpha: float

    def __post_init__(self) -> None:
        positive("bounded Pareto law", low=self.low, high=self.high, alpha=self.alpha)
        if self.high <= self.low:
            raise InputError(f"bounded Pareto law: high is {self.high}, expected above {self.low}")

    @classmethod
    def with_mean(cls, mean: float, alpha: float, spread: float) -> BoundedPareto:
        """Of this mean, the largest value ``spread`` times the least."""
        low = mean / cls(1.0, spread, alpha).mean
        return cls(low, low * spread, alpha)

    @property
    def _scale(self) -> float:
        return (
            self.alpha
            * math.pow(self.low, self.alpha)
            / -math.expm1(-self.alpha * self._log_spread)
        )

    @property
    def _log_spread(self) -> float:
        return math.log(self.high / self.low)

    def moment(self, k: int) -> float:
        return self.partial_moment(k, self.high)

    def partial_moment(self, k: int, x: float) -> float:
        if x < self.low:
            return 0.0
        span = math.log(min(x, self.high) / self.low)
        # integral of x^(k-alpha-1) from low: low^d (e^(d span) - 1) / d, also right at d = 0
        d = k - self.alpha
        growth = math.expm1(d * span) / d if d else span
        return self._scale * math.pow(self.low, d) * growth

    def pdf(self, x: float) -> float:
        return self._scale * math.pow(x, -self.alpha - 1) if self.low <= x <= self.high else 0.0

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        kept = -math.expm1(-self.alpha * self._log_spread)
        return self.low * (1 - rng.random(n) * kept) ** (-1 / self.alpha)

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        # Gauss-Legendre on panels of log x.
        points, weights = np.polynomial.legendre.leggauss(16)
        edges = np.linspace(0.0, self._log_spread, NODES // 16 + 1)
        half = np.diff(edges)[:, None] / 2
        span = (edges[:-1, None] + half * (points + 1)).ravel()
        mass = (half * weights).ravel() * np.exp(-self.alpha * span)
        return self.low * np.exp(span), mass / mass.sum()

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class Weibull(Law):
    """Weibull of shape ``k``: failures grow rarer with age below 1, more frequent above.

    ``P(X > x) = exp(-(x / scale)^k)``; shape 1 is the exponential law.
    """

    mean_value: float
    shape: float

    def __post_init__(self) -> None:
        positive("weibull law", mean=self.mean_value, shape=self.shape)

    @cached_property
    def scale(self) -> float:
        """Scale parameter, in the unit of the mean."""
        return self.mean_value / math.gamma(1 + 1 / self.shape)

    def moment(self, k: int) -> float:
        return float(self.scale**k * math.gamma(1 + k / self.shape))

    def partial_moment(self, k: int, x: float) -> float:
        if x <= 0:
            return 0.0
        below = scipy.special.gammainc(1 + k / self.shape, (x / self.scale) ** self.shape)
        return float(self.moment(k) * below)

    def pdf(self, x: float) -> float:
        if x <= 0:
            return 0.0
        z = x / self.scale
        return float(self.shape / self.scale * z ** (self.shape - 1) * math.exp(-(z**self.shape)))

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        return self.scale * rng.weibull(self.shape, n)

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        # Over quantiles: E[f(X)] = int_0^1 f(Q(u)) du.
        points, weights = np.polynomial.legendre.leggauss(512)
        return self.scale * (-np.log1p(-(points + 1) / 2)) ** (1 / self.shape), weights / 2
