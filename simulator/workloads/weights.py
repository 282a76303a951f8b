"""Cost of an hour of tardiness: laws by name, or a cost for each virtual cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simulator.errors import InputError
from simulator.laws import Law, parse_law
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.workloads.hierarchical import WEIGHT_PER_S

Weights = str | Mapping[str, float]
"""``"printed"``, ``"released"``, ``"none"``, a law of the cost of an hour, or costs by virtual cluster."""

UNIFORM: Mapping[str, tuple[float, float]] = {str(name): law for name, law in WEIGHT_PER_S.items()}
"""Per second, by name: U[low, high]."""


def check_weights(weights: Weights | None) -> None:
    """Raise `InputError` for a rule that is none."""
    if isinstance(weights, Mapping):
        for vc, cost in weights.items():
            if not 0 <= cost < np.inf:
                raise InputError(f"got {cost} for {vc!r}, expected a number >= 0")
    elif weights is not None and weights not in ("none", *UNIFORM):
        _law(weights)


def weights_per_s(
    weights: Weights, vc: Sequence[str], count: int, rng: np.random.Generator
) -> tuple[FloatArray, str]:
    """``(J,)`` weights per second, and a note.

    Parameters
    ----------
    vc : virtual cluster of each job; empty or "" where it is not known.

    Raises InputError: costs by virtual cluster, and a job whose virtual cluster has none.
    """
    if isinstance(weights, Mapping):
        if not any(vc):
            raise InputError("given by virtual cluster, but the jobs name none, expected a law")
        lacking = sorted({name for name in vc if name not in weights})
        if lacking:
            raise InputError(f"no cost for virtual cluster {lacking[0]!r}, expected one for each")
        costs = np.array([weights[name] for name in vc], dtype=np.float64)
        return costs / SECONDS_PER_HOUR, f"weights by virtual cluster, {in_words(weights)}"
    note = f"weights by the law {weights!r}"
    if weights == "none":
        return np.zeros(count), note
    if weights in UNIFORM:
        return rng.uniform(*UNIFORM[weights], count), note
    return _law(weights).sample(rng, count) / SECONDS_PER_HOUR, note


def in_words(value: object) -> str:
    """A value of a rule on one line: ``research:2,product:0.5``, ``20,70,10``."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{cost:g}" for name, cost in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _law(text: str) -> Law:
    try:
        return parse_law(text)
    except InputError as error:
        raise InputError(f"{error}, or {', '.join(UNIFORM)}, or none") from None
