"""A law from the text of a command line or a scenario file."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from simulator.errors import InputError
from simulator.laws.atoms import Bimodal, Deterministic, Empirical
from simulator.laws.base import Law
from simulator.laws.continuous import (
    BoundedPareto,
    Exponential,
    HyperExponential,
    LogNormal,
    Weibull,
)


def parse_law(text: str) -> Law:
    """A law as the command line writes it.

    ``deterministic:40``, ``exponential:40``, ``lognormal:40,cv=2``, ``hyperexponential:40,cv2=4``,
    ``bimodal:small=10,large=100,p_large=0.1``, ``bounded-pareto:low=1,high=1000,alpha=1.5``,
    ``weibull:40,shape=0.7``, ``empirical:38,41,40.5``; the bare number is the mean.

    Raises InputError: one line with what was written and what was expected.
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
            if key.strip() in named:
                raise InputError(f"law {text!r}: {key.strip()} is given twice, expected once")
            named[key.strip()] = value
        else:
            bare.append(value)
    if name == "empirical" and not named:
        return _measurable(Empirical(tuple(bare)), text)
    if len(bare) == 1:
        if "mean" in named:
            raise InputError(f"law {text!r}: the mean is given twice, expected once")
        named["mean"] = bare.pop()
    if bare or sorted(named) != sorted(keys):
        raise InputError(f"law {text!r}: expected {name}:" + ",".join(f"{k}=.." for k in keys))
    try:
        law = build(**named)
    except (OverflowError, ZeroDivisionError):
        raise _beyond_numbers(text) from None
    return _measurable(law, text)


def _measurable(law: Law, text: str) -> Law:
    """The same law, if its mean and its variance are numbers."""
    try:
        with np.errstate(all="ignore"):
            known = all(math.isfinite(law.moment(k)) for k in (1, 2))
    except (OverflowError, ZeroDivisionError):
        known = False
    if not known:
        raise _beyond_numbers(text)
    return law


def _beyond_numbers(text: str) -> InputError:
    return InputError(
        f"law {text!r}: expected a mean and a variance below 1e+308, so less extreme parameters"
    )


_PARSERS: dict[str, tuple[Sequence[str], Callable[..., Law]]] = {
    "deterministic": (("mean",), lambda mean: Deterministic(mean)),
    "exponential": (("mean",), Exponential),
    "lognormal": (("mean", "cv"), lambda mean, cv: LogNormal(mean, cv)),
    "hyperexponential": (("mean", "cv2"), HyperExponential.with_cv2),
    "bimodal": (("small", "large", "p_large"), Bimodal),
    "bounded-pareto": (("low", "high", "alpha"), BoundedPareto),
    "weibull": (("mean", "shape"), lambda mean, shape: Weibull(mean, shape)),
    "empirical": (("value",), Empirical.of),
}
