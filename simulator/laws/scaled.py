"""A law in another unit."""

# ruff: noqa: D102

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.arguments import positive
from simulator.laws.base import ComplexArray, FloatArray, Law, as_complex


@dataclass(frozen=True)
class Scaled(Law):
    """``factor`` times what another law draws: hours of a type of jobs from multiples of its mean."""

    law: Law
    factor: float

    def __post_init__(self) -> None:
        positive("scaled law", factor=self.factor)

    def moment(self, k: int) -> float:
        return self.factor**k * self.law.moment(k)

    def partial_moment(self, k: int, x: float) -> float:
        own = x / self.factor
        for value, _ in self.law.atoms:  # the division may end on the other side of an atom at x
            if self.factor * value > x:
                own = min(own, math.nextafter(value, 0.0))
                break
            own = max(own, value)
        return self.factor**k * self.law.partial_moment(k, own)

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        return self.factor * self.law.sample(rng, n)

    def laplace(self, s: npt.ArrayLike) -> ComplexArray:
        return self.law.laplace(self.factor * as_complex(s))

    def pdf(self, x: float) -> float:
        return self.law.pdf(x / self.factor) / self.factor

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return tuple((self.factor * value, share) for value, share in self.law.atoms)

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.law.support
        return self.factor * low, self.factor * high
