"""Jobs that several tests of the core build."""

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
