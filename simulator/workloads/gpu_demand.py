"""Laws of the number of GPUs that a job asks for, as counted in public logs (``data/synergy_gpu_demand.csv``)."""

from __future__ import annotations

from functools import cache

import numpy as np

from simulator.errors import InputError
from simulator.files.bundled import rows_of
from simulator.model.cluster import FloatArray, IntArray


@cache
def gpu_demand_law(name: str) -> tuple[IntArray, FloatArray]:
    """GPUs and their probabilities."""
    table = rows_of("synergy_gpu_demand.csv")
    of_law = [(int(row["num_gpus"]), float(row["jobs"])) for row in table if row["law"] == name]
    if not of_law:
        known = ", ".join(dict.fromkeys(row["law"] for row in table))
        raise InputError(f"law of GPU demand is {name!r}, expected one of {known}")
    jobs = np.array([count for _, count in of_law])
    return np.array([gpus for gpus, _ in of_law], dtype=np.int64), jobs / jobs.sum()
