"""Draws of names, such as models or tenants, for jobs that have none."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from simulator.errors import InputError


def drawn(
    table: str, chances: Mapping[str, float], count: int, rng: np.random.Generator
) -> list[str]:
    """``(count,)`` names, drawn with these chances.

    Raises InputError: chances that are negative or all 0; ``table`` names what they belong to.
    """
    names = sorted(chances)  # the order in which they are written must not matter
    values = np.array([chances[name] for name in names], dtype=np.float64)
    if not len(values) or (values < 0).any() or not 0 < sum(values.tolist()) < math.inf:
        raise InputError(f"{table}: draw is {dict(chances)}, expected chances >= 0, one above 0")
    return [names[k] for k in rng.choice(len(names), size=count, p=values / values.sum()).tolist()]
