"""Elastic jobs: types that arrive by a process, bring random work, and speed up by a function.

The arrival processes have the same mean rate and differ in how bursty they are:

- ``poisson``        memoryless
- ``deterministic``  equal gaps
- ``mmpp``           a Poisson process whose rate switches between two levels (MMPP-2)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
from pydantic import Field

from simulator.arguments import whole
from simulator.errors import InputError
from simulator.files.keys import InputFile, at_key
from simulator.laws import Law, Scaled, parse_law
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.model.performance import SpeedupCurve
from simulator.model.speedup import Speedup
from simulator.model.tolerances import CAPACITY
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.job_types import read_types
from simulator.workloads.table import JobCount, Setting, WorkloadTable

BURST_RATE = 3.0
"""MMPP-2: the high rate, in mean rates."""

BURST_SHARE = 0.25
"""MMPP-2: the part of time at the high rate."""

BURST_ARRIVALS = 30.0
"""MMPP-2: mean number of arrivals in one stretch at the high rate."""


def poisson_times(rng: np.random.Generator, n: int) -> FloatArray:
    """``(n,)`` arrival times of a Poisson process of rate 1."""
    return np.cumsum(rng.standard_exponential(n))


def deterministic_times(rng: np.random.Generator, n: int) -> FloatArray:
    """``(n,)`` arrival times one apart, the first at a random part of a gap."""
    return np.arange(n, dtype=np.float64) + float(rng.random())


def mmpp_times(rng: np.random.Generator, n: int) -> FloatArray:
    """``(n,)`` arrival times of a two-state Markov-modulated Poisson process of mean rate 1.

    Source: Fischer and Meier-Hellstern, Performance Evaluation 18, 1993. The states last
    exponential times; the first is drawn as in the long run.
    """
    low_rate = (1 - BURST_SHARE * BURST_RATE) / (1 - BURST_SHARE)
    rates = (low_rate, BURST_RATE)
    high_time = BURST_ARRIVALS / BURST_RATE
    means = (high_time * (1 - BURST_SHARE) / BURST_SHARE, high_time)
    state = int(rng.random() < BURST_SHARE)
    pieces: list[FloatArray] = []
    count, now = 0, 0.0
    while count < n:
        stay = rng.exponential(means[state])
        times = now + np.sort(rng.random(rng.poisson(rates[state] * stay))) * stay
        pieces.append(times)
        count += len(times)
        now += stay
        state = 1 - state
    return np.concatenate(pieces)[:n]


ARRIVALS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "poisson": poisson_times,
    "deterministic": deterministic_times,
    "mmpp": mmpp_times,
}


def elastic_jobs(
    num_jobs: int,
    streams: Streams,
    *,
    names: Sequence[str],
    arrival_rates_per_h: Sequence[float],
    sizes_h: Sequence[Law],
    speedups: Sequence[Speedup],
    arrivals: str = "poisson",
) -> Workload:
    """Jobs of ``n`` types; each arrival is of type i with a probability proportional to its rate.

    Parameters
    ----------
    num_jobs : J.
    streams : of ``arrivals``, ``types`` and ``sizes``.
    names, arrival_rates_per_h, sizes_h, speedups : of each type; sizes are hours on one GPU. The
        name is the job's ``model``, the index its ``curve_of``.
    arrivals : a name of `ARRIVALS`.
    """
    whole(1, num_jobs=num_jobs)
    count = len(names)
    if arrivals not in ARRIVALS:
        raise InputError(f"arrivals: got {arrivals!r}, expected one of {', '.join(ARRIVALS)}")
    if not count == len(arrival_rates_per_h) == len(sizes_h) == len(speedups) > 0:
        raise InputError(
            "elastic jobs: expected at least one job, and one rate, law and speed-up a type"
        )
    rates = np.array(arrival_rates_per_h, dtype=np.float64)
    if not ((rates > 0) & np.isfinite(rates)).all():
        raise InputError(f"elastic jobs: arrival rates are {rates.tolist()}, expected all positive")
    times_h = ARRIVALS[arrivals](streams.generator("arrivals"), num_jobs) / rates.sum()
    chosen = np.cumsum(rates)[:-1] / rates.sum()
    kind = np.searchsorted(chosen, streams.generator("types").random(num_jobs), side="right")
    size_h = np.empty(num_jobs)
    for i, law in enumerate(sizes_h):
        mine = kind == i
        size_h[mine] = law.sample(streams.generator("sizes", i), int(mine.sum()))
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=times_h * SECONDS_PER_HOUR,
        performance=SpeedupCurve(
            size_h * SECONDS_PER_HOUR,
            kind.astype(np.int64),
            cast(Any, tuple(speedups)),
            tuple((rate, law.mean) for rate, law in zip(rates.tolist(), sizes_h, strict=True)),
        ),
        model=[names[i] for i in kind.tolist()],
    )


class ElasticJobs(WorkloadTable):
    """Elastic jobs on a rental pool, of the types in a file as `schedlab theory rental` reads it."""

    kind: Literal["elastic"] = "elastic"
    path: InputFile = Field(examples=["examples/rental_figure1.toml"])
    """file of job types, as `schedlab theory rental` reads it"""
    num_jobs: JobCount = 1000
    """number of jobs"""
    arrivals: Literal["poisson", "deterministic", "mmpp"] = "poisson"
    """arrivals: mmpp has bursts"""
    sizes: str = "exponential:1"
    """law of a job's size over the mean size of its type; its mean is 1"""

    def make(self, setting: Setting) -> Workload:
        """Jobs of the types in the file; what was noted of the types is noted of the jobs."""
        with at_key("workload.sizes"):
            law = parse_law(self.sizes)
            if abs(law.mean - 1) > CAPACITY:
                raise InputError(
                    f"law {self.sizes!r}: its mean is {law.mean:.9g}, expected 1, the mean size of the job's type"
                )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            types = read_types(Path(self.path), leave="no file of a scenario may name functions")
        workload = elastic_jobs(
            self.num_jobs,
            setting.streams,
            names=[t.name for t in types],
            arrival_rates_per_h=[t.arrival_rate_per_h for t in types],
            sizes_h=[law if t.mean_size_h == 1 else Scaled(law, t.mean_size_h) for t in types],
            speedups=[t.speedup for t in types],
            arrivals=self.arrivals,
        )
        return workload.noted(*(str(w.message) for w in caught))

    def with_few_jobs(self) -> Self:
        """One job; all types are read."""
        return self.model_copy(update={"num_jobs": 1})
