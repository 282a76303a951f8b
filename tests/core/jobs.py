"""Jobs, and a law of times, that several tests build."""

from __future__ import annotations

import numpy as np

from simulator import FixedDuration, Workload


def fixed(submit_s: list[float], duration_s: list[float], gpus: list[int]) -> Workload:
    """Jobs of fixed demand, named j0, j1, .."""
    return Workload(
        [f"j{i}" for i in range(len(submit_s))],
        submit_s,
        FixedDuration(np.array(duration_s, dtype=float), np.array(gpus)),
        num_gpus=gpus,
    )


class Once:
    """The first time, then hardly ever."""

    def __init__(self, first_s: float) -> None:
        self.mean = first_s
        self._next_s = first_s

    def __call__(self, rng: object) -> float:
        found, self._next_s = self._next_s, 1e9
        return found
