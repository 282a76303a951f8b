"""Laws on finitely many values."""

# ruff: noqa: D102

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simulator.arguments import inside, positive
from simulator.errors import InputError
from simulator.laws.base import FloatArray, Law


class _Atomic(Law):
    """A law on finitely many values."""

    def moment(self, k: int) -> float:
        values, weights = self.nodes
        return float(weights @ values**k)

    def partial_moment(self, k: int, x: float) -> float:
        values, weights = self.nodes
        below = values <= x
        return float(weights[below] @ values[below] ** k)

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        values, weights = self.nodes
        return values[np.searchsorted(np.cumsum(weights)[:-1], rng.random(n), side="right")]


@dataclass(frozen=True)
class Deterministic(_Atomic):
    """Always the same value."""

    value: float

    def __post_init__(self) -> None:
        positive("deterministic law", value=self.value)

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
        positive("bimodal law", small=self.small, large=self.large)
        inside("bimodal law", p_large=self.p_large)
        if self.large <= self.small:
            raise InputError(f"bimodal law: large is {self.large}, expected above {self.small}")

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return ((self.small, 1 - self.p_large), (self.large, self.p_large))

    @classmethod
    def with_mean(cls, mean: float, p_large: float, spread: float) -> Bimodal:
        """Of this mean, the large value ``spread`` times the small one."""
        positive("bimodal law", mean=mean, spread=spread)
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
            positive("empirical law", value=value)
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
