"""Elastic jobs on nodes of two types."""

import numpy as np

from simulator import NodeType, Workload
from tests.core.jobs import elastic

CATALOG = (NodeType("small", "A", 1, 1.0), NodeType("large", "B", 3, 2.5))


def jobs(seed: int, count: int, weight: float = 2.0, gap_s: float = 600.0) -> Workload:
    """Elastic jobs on the two types, with times that need not fall with the GPUs."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.exponential(gap_s, count))
    table = np.full((count, 2, 4), np.inf)
    base = rng.uniform(500.0, 4000.0, count)
    table[:, 0, 1] = base
    table[:, 1, 1:] = base[:, None] * rng.uniform(0.2, 1.1, (count, 3))
    return elastic(
        table,
        submit,
        due_s=submit + base * rng.uniform(0.2, 3.0, count),
        weight_per_s=rng.uniform(0.0, weight, count) / 3600,
    )
