"""Speed-up functions s(k): how much faster a job runs on k GPUs than on one.

k is any real number >= 1, s(1) = 1; s is non-decreasing and concave, and so s(k) <= k. Below
one GPU a job shares it in time, s(k) = k. Source: the rental paper (Section 1, "Our Model"), which
asks only that s(k)/k falls, but whose Lemma 1 uses concavity.

- `Amdahl`      a fraction of the work is parallel
- `Power`       k to a power
- `Tabulated`   measured points, their concave hull
- `UserDefined` any function, checked
- `WholeGpus`   whole numbers of GPUs only, a mixture in between
"""

from __future__ import annotations

import itertools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from simulator.arguments import checked
from simulator.errors import InputError
from simulator.model.tolerances import CURVES

FloatArray = npt.NDArray[np.float64]
Side = Literal["left", "right"]

WIDEST = 1e9
"""End of the search for a best width: beyond, the function counts as linear without end."""

CHECKED_TO = 1e4
"""`UserDefined` is checked at 400 widths from 1 to this many GPUs."""


class Speedup(ABC):
    """A speed-up function. Immutable, vectorised, callable."""

    @abstractmethod
    def _speed(self, gpus: FloatArray) -> FloatArray:
        """s(k) at k >= 1."""

    @abstractmethod
    def _slope(self, gpus: FloatArray, side: Side) -> FloatArray:
        """s'(k) at k >= 1."""

    @abstractmethod
    def best_width(self, price: float) -> float:
        """The width k >= 1 that minimises time plus ``price`` times GPU-time, (1 + price k) / s(k).

        Any of them where several do; infinite where wider is always better.

        Parameters
        ----------
        price : of a GPU, in the time that one would wait to save it for as long; > 0.
        """

    def __call__(self, gpus: npt.ArrayLike) -> FloatArray:
        """s(k), any shape, k >= 0."""
        k = np.asarray(gpus, dtype=np.float64)
        return np.asarray(self._speed(np.maximum(k, 1.0)) * np.minimum(k, 1.0))

    def derivative(self, gpus: npt.ArrayLike, side: Side = "right") -> FloatArray:
        """s'(k), any shape, k >= 1; at a corner, the derivative on that side of it."""
        k = np.asarray(gpus, dtype=np.float64)
        if not (k >= 1).all():
            raise InputError(f"speed-up: width is {k.min():g} GPUs, expected at least 1")
        return np.asarray(self._slope(k, side))


@checked("Amdahl speed-up")
@dataclass(frozen=True)
class Amdahl(Speedup):
    """1 / (1 - p + p / k): Amdahl's law (AFIPS 1967).

    Attributes
    ----------
    parallel_fraction : p in [0, 1], the part of the work that runs in parallel.
    """

    parallel_fraction: float

    def __post_init__(self) -> None:
        if not 0 <= self.parallel_fraction <= 1:
            raise InputError(
                f"Amdahl speed-up: parallel_fraction is {self.parallel_fraction}, expected "
                "between 0 and 1"
            )

    def _speed(self, gpus: FloatArray) -> FloatArray:
        p = self.parallel_fraction
        return 1 / (1 - p + p / gpus)

    def _slope(self, gpus: FloatArray, side: Side) -> FloatArray:
        p = self.parallel_fraction
        return p / ((1 - p) * gpus + p) ** 2

    def best_width(self, price: float) -> float:
        """Square root of p / ((1 - p) price), at least 1."""
        p = self.parallel_fraction
        serial = (1 - p) * price
        return max(1.0, math.sqrt(p / serial)) if serial > 0 else math.inf


@checked("power speed-up")
@dataclass(frozen=True)
class Power(Speedup):
    """k to the power of ``exponent``, in [0, 1]."""

    exponent: float

    def __post_init__(self) -> None:
        if not 0 <= self.exponent <= 1:
            shape = ": above 1 it is convex" if self.exponent > 1 else ""
            raise InputError(
                f"power speed-up: exponent is {self.exponent}, expected between 0 and 1{shape}"
            )

    def _speed(self, gpus: FloatArray) -> FloatArray:
        return np.asarray(gpus**self.exponent)

    def _slope(self, gpus: FloatArray, side: Side) -> FloatArray:
        return np.asarray(self.exponent * gpus ** (self.exponent - 1))

    def best_width(self, price: float) -> float:
        """a / ((1 - a) price), at least 1."""
        lost = (1 - self.exponent) * price
        return max(1.0, self.exponent / lost) if lost > 0 else math.inf


@dataclass(frozen=True)
class Tabulated(Speedup):
    """Measured points, joined by straight lines; beyond the last, no gain.

    Attributes
    ----------
    gpus : ascending, from 1.
    throughput : of the job at each, in any unit; it is divided by that of one GPU. What lies under
        the concave hull (noise, or a slower run on more GPUs) is lifted onto it, with a warning.
    """

    gpus: tuple[float, ...]
    throughput: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", tuple(float(k) for k in self.gpus))
        object.__setattr__(self, "throughput", tuple(float(s) for s in self.throughput))
        self._check()
        hull = np.interp(self.gpus, *self._hull) * self.throughput[0]
        lifted = np.flatnonzero(hull > np.array(self.throughput) * (1 + CURVES))
        if len(lifted):
            worst = lifted[np.argmax(hull[lifted] / np.array(self.throughput)[lifted])]
            warnings.warn(
                f"tabulated speed-up: {len(lifted)} of {len(self.gpus)} points lie under the concave "
                f"hull, which is used instead; at {self.gpus[worst]:g} GPUs it is "
                f"{hull[worst] / self.throughput[worst] - 1:.1%} higher",
                stacklevel=3,
            )

    def _check(self) -> None:
        k, s = np.array(self.gpus), np.array(self.throughput)
        what = "tabulated speed-up"
        if len(k) != len(s) or not len(k):
            raise InputError(
                f"{what}: {len(k)} numbers of GPUs for {len(s)} values, expected equal"
            )
        if k[0] != 1 or (np.diff(k) <= 0).any():
            raise InputError(f"{what}: gpus are {list(self.gpus)}, expected ascending from 1")
        if not (np.isfinite(s).all() and (s > 0).all()):
            raise InputError(f"{what}: values are {list(self.throughput)}, expected all positive")
        over = np.flatnonzero(s / s[0] > k * (1 + CURVES))
        if len(over):
            i = int(over[0])
            raise InputError(
                f"{what}: s({k[i]:g}) = {s[i] / s[0]:g} is more than linear, expected a concave "
                "function"
            )
        chord = s[0] + (s[-1] - s[0]) * (k - 1) / (k[-1] - 1) if len(k) > 1 else s
        if len(k) > 2 and (s[1:-1] < chord[1:-1] * (1 - CURVES)).all() and s[-1] > s[0]:
            raise InputError(
                f"{what}: convex, every point lies under the line from {k[0]:g} to {k[-1]:g} GPUs, "
                "expected a concave function"
            )

    @cached_property
    def _hull(self) -> tuple[FloatArray, FloatArray]:
        """Corners of the least concave, non-decreasing function over the points."""
        corners: list[tuple[float, float]] = []
        highest = max(self.throughput)
        for k, s in zip(self.gpus, self.throughput, strict=True):
            while len(corners) > 1 and _slope_of(corners[-2], corners[-1]) <= _slope_of(
                corners[-1], (k, s)
            ):
                corners.pop()
            corners.append((k, s))
            if s == highest:
                break
        x, y = np.array(corners).T
        return x, y / self.throughput[0]

    @cached_property
    def _prices(self) -> FloatArray:
        """Price at which each piece of the hull is worth its GPUs: slope over intercept."""
        x, y = self._hull
        slope = np.diff(y) / np.diff(x)
        intercept = y[:-1] - slope * x[:-1]
        linear = intercept <= 1e-12
        return np.where(linear, np.inf, slope / np.where(linear, 1.0, intercept))

    def _speed(self, gpus: FloatArray) -> FloatArray:
        return np.asarray(np.interp(gpus, *self._hull))

    def _slope(self, gpus: FloatArray, side: Side) -> FloatArray:
        x, y = self._hull
        slopes = np.concatenate([[np.inf], np.diff(y) / np.diff(x), [0.0]])
        return np.asarray(slopes[np.searchsorted(x, gpus, side=side)])

    def best_width(self, price: float) -> float:
        """The corner after the last piece that is worth its price."""
        return float(self._hull[0][np.searchsorted(-self._prices, -price, side="left")])


@dataclass(frozen=True)
class UserDefined(Speedup):
    """A function of one number, checked: s(1) = 1, non-decreasing, concave.

    Attributes
    ----------
    function : s(k), defined for every k >= 1.
    slope : its derivative; None: by numerical differentiation.
    """

    function: Callable[[float], float]
    slope: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        k = np.geomspace(1.0, CHECKED_TO, 400)
        s = self._speed(k)
        what = f"speed-up {getattr(self.function, '__name__', 'function')!r}"
        if not np.isfinite(s).all():
            i = int(np.argmin(np.isfinite(s)))
            raise InputError(f"{what}: s({k[i]:.4g}) is {s[i]}, expected a finite number")
        if abs(s[0] - 1) > CURVES:
            raise InputError(f"{what}: s(1) is {s[0]:g}, expected 1")
        falls = np.flatnonzero(np.diff(s) < -CURVES * s[:-1])
        if len(falls):
            i = int(falls[0])
            raise InputError(
                f"{what}: falls from s({k[i]:.4g}) = {s[i]:.6g} to s({k[i + 1]:.4g}) = "
                f"{s[i + 1]:.6g}, expected a non-decreasing function"
            )
        slopes = np.diff(s) / np.diff(k)
        bends = np.flatnonzero(np.diff(slopes) > 1e-6 * slopes[:-1] + 1e-12)
        if len(bends) or s[1] > k[1] * (1 + CURVES):
            i = int(bends[0]) if len(bends) else 0
            raise InputError(
                f"{what}: convex around {k[i + 1]:.4g} GPUs, or more than linear, expected a "
                "concave function"
            )

    def _speed(self, gpus: FloatArray) -> FloatArray:
        return np.asarray(np.vectorize(self.function, otypes=[np.float64])(gpus))

    def _slope(self, gpus: FloatArray, side: Side) -> FloatArray:
        slope = self._numeric_slope if self.slope is None else self.slope
        return np.asarray(np.vectorize(slope, otypes=[np.float64])(gpus))

    def _numeric_slope(self, k: float) -> float:
        """Richardson's extrapolation of one-sided differences: s need not exist below 1."""
        steps = [0.02 * k / 2**i for i in range(9)]
        here = self.function(k)
        table = [(self.function(k + h) - here) / h for h in steps]
        best, error = table[-1], math.inf
        for order in range(1, len(steps) - 1):
            factor = 2.0**order
            table = [(factor * b - a) / (factor - 1) for a, b in itertools.pairwise(table)]
            if abs(table[-1] - table[-2]) < error:
                best, error = table[-1], abs(table[-1] - table[-2])
        return float(best)

    def best_width(self, price: float) -> float:
        """Root of s'(k) (1 + price k) = price s(k), which has one at most."""

        slope = self.slope or self._numeric_slope

        def gain(k: float) -> float:
            return slope(k) * (1 + price * k) - price * self.function(k)

        if gain(1.0) <= 0:
            return 1.0
        high = 2.0
        while gain(high) > 0:
            high *= 2
            if high > WIDEST:
                return math.inf
        return float(scipy.optimize.brentq(gain, high / 2, high, xtol=1e-13 * high, rtol=1e-14))


@dataclass(frozen=True)
class WholeGpus(Speedup):
    """Another function at whole numbers of GPUs, a mixture of the two neighbours in between.

    Where some jobs run on k GPUs and the others on k + 1, mean time and mean GPU-time lie on the
    straight line between (k, s(k)) and (k + 1, s(k + 1)); see `mix`.
    """

    of: Speedup

    def _speed(self, gpus: FloatArray) -> FloatArray:
        low = np.floor(gpus)
        s = self.of._speed(low)
        return np.asarray(s + (gpus - low) * (self.of._speed(low + 1) - s))

    def _slope(self, gpus: FloatArray, side: Side) -> FloatArray:
        low = np.floor(gpus) if side == "right" else np.maximum(np.ceil(gpus) - 1, 1.0)
        slope = self.of._speed(low + 1) - self.of._speed(low)
        return np.asarray(np.where((side == "left") & (gpus <= 1), np.inf, slope))

    def best_width(self, price: float) -> float:
        """The end of the last piece that is worth its price, near the best real width."""
        real = self.of.best_width(price)
        if math.isinf(real):
            return real
        k = float(math.floor(real))
        while self._is_worth(k, price):
            k += 1
        while k > 1 and not self._is_worth(k - 1, price):
            k -= 1
        return k

    def _is_worth(self, k: float, price: float) -> bool:
        """True where k + 1 GPUs are better than k: the piece's slope over its intercept."""
        s, wider = self.of._speed(np.array([k, k + 1])).tolist()
        slope = wider - s
        return bool(slope > price * (s - slope * k))

    def mix(self, width: float) -> tuple[int, int, float]:
        """The two whole widths behind a real one, and the fraction of jobs on the wider."""
        low = math.floor(width)
        if low == width:
            return low, low, 0.0
        s_low, s, s_high = (float(self(k)) for k in (low, width, low + 1))
        return low, low + 1, (1 / s_low - 1 / s) / (1 / s_low - 1 / s_high)


def _slope_of(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])
