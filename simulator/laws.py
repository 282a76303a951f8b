"""Probability laws of times and job sizes: small frozen objects, in whatever unit they are given.

Each knows its moments, its distribution function, its Laplace-Stieltjes transform, and how to
draw from itself. A law called with a generator draws one value, so it serves as the service law
of an optimization server too. Overridden methods are described once, in `Law`.

>>> Exponential(40.0).mean, BoundedPareto.with_mean(1.0, alpha=1.5, spread=1e4).cv2 > 20
(40.0, True)
"""

# ruff: noqa: D102

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from simulator.errors import InputError

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

NODES = 4096
"""Quadrature nodes of transforms without a closed form; see `Law.laplace`."""


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

    @abstractmethod
    def laplace(self, s: npt.ArrayLike) -> ComplexArray:
        """``E[exp(-s X)]`` at complex ``s`` with a real part >= 0, any shape.

        Closed where one exists. By quadrature otherwise (lognormal, bounded Pareto), to about 1e-10
        where ``|s|`` is at most some hundred times its real part, as numerical inversion asks.
        """

    def pdf(self, x: float) -> float:
        """Density of the continuous part; 0 for a law that is all atoms."""
        return 0.0

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Values of positive probability, ascending, with their probabilities."""
        return ()

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Least and largest value, the latter perhaps infinite."""

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


class _Atomic(Law):
    """A law on finitely many values."""

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        values, weights = zip(*self.atoms, strict=True)
        return np.array(values), np.array(weights)

    def moment(self, k: int) -> float:
        values, weights = self._table
        return float(weights @ values**k)

    def partial_moment(self, k: int, x: float) -> float:
        values, weights = self._table
        below = values <= x
        return float(weights[below] @ values[below] ** k)

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        values, weights = self._table
        return values[np.searchsorted(np.cumsum(weights)[:-1], rng.random(n), side="right")]

    def laplace(self, s: npt.ArrayLike) -> ComplexArray:
        values, weights = self._table
        return np.exp(-_complex(s)[..., None] * values) @ weights.astype(np.complex128)

    @property
    def support(self) -> tuple[float, float]:
        return self.atoms[0][0], self.atoms[-1][0]


@dataclass(frozen=True)
class Deterministic(_Atomic):
    """Always the same value."""

    value: float

    def __post_init__(self) -> None:
        _positive("deterministic law", value=self.value)

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return ((self.value, 1.0),)

    def moment(self, k: int) -> float:
        return self.value**k

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        return np.full(n, self.value)


@dataclass(frozen=True)
class Bimodal(_Atomic):
    """``large`` with probability ``p_large``, else ``small``."""

    small: float
    large: float
    p_large: float

    def __post_init__(self) -> None:
        _positive("bimodal law", small=self.small, large=self.large)
        _probability("bimodal law", p_large=self.p_large)
        if self.large <= self.small:
            raise InputError(f"bimodal law: large is {self.large}, expected above {self.small}")

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return ((self.small, 1 - self.p_large), (self.large, self.p_large))

    @classmethod
    def with_mean(cls, mean: float, p_large: float, spread: float) -> Bimodal:
        """Of this mean, the large value ``spread`` times the small one."""
        _positive("bimodal law", mean=mean, spread=spread)
        small = mean / (1 - p_large + p_large * spread)
        return cls(small, small * spread, p_large)


@dataclass(frozen=True)
class Empirical(_Atomic):
    """Each of the observed values with equal probability."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError("empirical law: no values, expected at least one")
        for value in self.values:
            _positive("empirical law", value=value)
        object.__setattr__(self, "values", tuple(sorted(float(v) for v in self.values)))

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Empirical:
        """From any sequence or array."""
        return cls(tuple(np.asarray(values, dtype=np.float64).ravel().tolist()))

    @cached_property
    def _atoms(self) -> tuple[tuple[float, float], ...]:
        found, counts = np.unique(self.values, return_counts=True)
        weights = counts / len(self.values)
        return tuple(zip(found.tolist(), weights.tolist(), strict=True))

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return self._atoms


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
            _positive(what, mean=mean, weight=weight)
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
        inside = special.gammainc(k + 1, x / means)
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
        return (1 / (1 + _complex(s)[..., None] * means)) @ weights.astype(np.complex128)

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, math.inf


class Exponential(HyperExponential):
    """Memoryless, of the given mean."""

    def __init__(self, mean: float) -> None:
        _positive("exponential law", mean=mean)
        super().__init__((1.0,), (float(mean),))

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """``(n,)`` independent draws."""
        return rng.exponential(self.means[0], n)

    def __repr__(self) -> str:
        return f"Exponential(mean={self.means[0]:g})"


class _Numeric(Law):
    """A continuous law whose transform is summed over nodes."""

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """``(NODES,)`` values and weights with ``E[f(X)] = weights @ f(values)``."""
        return self._quadrature()

    @abstractmethod
    def _quadrature(self) -> tuple[FloatArray, FloatArray]: ...

    def laplace(self, s: npt.ArrayLike) -> ComplexArray:
        values, weights = self._nodes
        return np.exp(-_complex(s)[..., None] * values) @ weights.astype(np.complex128)


@dataclass(frozen=True)
class LogNormal(_Numeric):
    """Lognormal of this mean and coefficient of variation ``cv`` (not squared)."""

    mean_value: float
    cv: float

    def __post_init__(self) -> None:
        _positive("lognormal law", mean=self.mean_value, cv=self.cv)

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
        return self.moment(k) * float(special.ndtr(score))

    def pdf(self, x: float) -> float:
        if not 0 < x < math.inf:
            return 0.0
        score = (math.log(x) - self._mu) / self._sigma
        return math.exp(-(score**2) / 2) / (x * self._sigma * math.sqrt(2 * math.pi))

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.lognormal(self._mu, self._sigma, n)

    def _quadrature(self) -> tuple[FloatArray, FloatArray]:
        # The trapezoidal rule converges geometrically on a Gaussian.
        score = np.linspace(-9.0, 9.0, NODES)
        weights = np.exp(-(score**2) / 2)
        return np.exp(self._mu + self._sigma * score), weights / weights.sum()

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, math.inf


@dataclass(frozen=True)
class BoundedPareto(_Numeric):
    """Density proportional to ``x^(-alpha - 1)`` between ``low`` and ``high``.

    Source: Crovella, Harchol-Balter and Murta, SIGMETRICS 1998.
    """

    low: float
    high: float
    alpha: float

    def __post_init__(self) -> None:
        _positive("bounded Pareto law", low=self.low, high=self.high, alpha=self.alpha)
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

    def _quadrature(self) -> tuple[FloatArray, FloatArray]:
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


def parse_law(text: str) -> Law:
    """A law as the command line writes it.

    ``deterministic:40``, ``exponential:40``, ``lognormal:40,cv=2``, ``hyperexponential:40,cv2=4``,
    ``bimodal:small=10,large=100,p_large=0.1``, ``bounded-pareto:low=1,high=1000,alpha=1.5``,
    ``empirical:38,41,40.5``; the bare number is the mean.

    Raises
    ------
    InputError
        One line with what was written and what was expected.
    """
    name, _, rest = text.partition(":")
    if name not in _PARSERS:
        raise InputError(f"law {text!r}: expected {', '.join(_PARSERS)}, e.g. exponential:40")
    keys, build = _PARSERS[name]
    bare: list[float] = []
    named: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        key, equals, number = part.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise InputError(f"law {text!r}: {number!r}, expected a number") from None
        if equals:
            named[key.strip()] = value
        else:
            bare.append(value)
    if name == "empirical" and not named:
        return Empirical(tuple(bare))
    if len(bare) == 1:
        named.setdefault("mean", bare.pop())
    if bare or sorted(named) != sorted(keys):
        raise InputError(f"law {text!r}: expected {name}:" + ",".join(f"{k}=.." for k in keys))
    return build(**named)


_PARSERS: dict[str, tuple[Sequence[str], Callable[..., Law]]] = {
    "deterministic": (("mean",), lambda mean: Deterministic(mean)),
    "exponential": (("mean",), Exponential),
    "lognormal": (("mean", "cv"), lambda mean, cv: LogNormal(mean, cv)),
    "hyperexponential": (("mean", "cv2"), HyperExponential.with_cv2),
    "bimodal": (("small", "large", "p_large"), Bimodal),
    "bounded-pareto": (("low", "high", "alpha"), BoundedPareto),
    "empirical": (("value",), Empirical.of),
}


def quantile(law: Law, q: float) -> float:
    """Least ``x`` with ``P(X <= x) >= q``, 0 < q < 1."""
    low, high = law.support
    high = high if high < math.inf else low + law.mean
    while law.cdf(high) < q:
        high *= 2
    for value, _ in law.atoms:
        if law.cdf(value) >= q:
            return value
    return float(optimize.brentq(lambda x: law.cdf(x) - q, low, high, xtol=1e-14, rtol=1e-14))


def _complex(s: npt.ArrayLike) -> ComplexArray:
    return np.asarray(s, dtype=np.complex128)


def _positive(what: str, **values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"{what}: {name} is {value}, expected a positive number")


def _probability(what: str, **values: float) -> None:
    for name, value in values.items():
        if not 0 < value < 1:
            raise InputError(f"{what}: {name} is {value}, expected between 0 and 1")
