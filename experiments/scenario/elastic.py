"""Elastic jobs of a scenario: types with speed-up functions, from a file, for a rental pool."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.config import at_key
from experiments.scenario.job_types import read_types
from experiments.scenario.schema import ElasticJobs
from simulator.errors import InputError
from simulator.laws import Law, Scaled, parse_law
from simulator.model.tolerances import CAPACITY
from simulator.statistics import Streams
from simulator.workloads.elastic import elastic_jobs

if TYPE_CHECKING:
    from simulator import Workload


def draw_elastic(jobs: ElasticJobs, seed: int) -> Workload:
    """The jobs; what was noted of their types is noted of them.

    Raises
    ------
    InputError
        A file that holds no types or names functions, or a law of sizes whose mean is not 1.
    """
    with at_key("workload.sizes"):
        law = size_law(jobs.sizes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        types = read_types(Path(jobs.path), leave="no file of a scenario may name functions")
    workload = elastic_jobs(
        jobs.num_jobs,
        Streams(seed),
        names=[t.name for t in types],
        arrival_rates_per_h=[t.arrival_rate_per_h for t in types],
        sizes_h=[law if t.mean_size_h == 1 else Scaled(law, t.mean_size_h) for t in types],
        speedups=[t.speedup for t in types],
        arrivals=jobs.arrivals,
    )
    return workload.noted(*(str(w.message) for w in caught))


def size_law(text: str) -> Law:
    """The law of a job's size in the mean of its type, whose mean is therefore 1."""
    law = parse_law(text)
    if abs(law.mean - 1) > CAPACITY:
        raise InputError(
            f"law {text!r}: its mean is {law.mean:.9g}, expected 1, the mean size of the job's type"
        )
    return law
