"""Poisson arrivals of jobs of fixed demand: the queues of the textbooks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.arguments import whole
from simulator.errors import InputError
from simulator.laws import Law, parse_law
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.elastic import mmpp_times

LEAST_MEAN_S = 1e-6
"""Of the durations; clocks do not resolve what is much shorter."""


def poisson_jobs(
    num_jobs: int,
    streams: Streams,
    *,
    arrival_rate_per_h: float,
    duration_s: Law,
    num_gpus: Sequence[int] = (1,),
    gaps: str | FloatArray = "exponential",
    priorities: Sequence[float] = (),
    patience: float | Law | None = None,
) -> Workload:
    """Durations from a law, GPU demands drawn with equal probability, exponential gaps by default.

    Parameters
    ----------
    num_jobs : how many.
    streams : of ``arrivals``, ``durations``, ``gpus`` and ``patience``.
    arrival_rate_per_h : jobs per hour.
    duration_s : law of the durations, s.
    num_gpus : the demands to draw from.
    gaps : ``"exponential"``, ``"mmpp"`` (bursts), or a law such as ``"hyperexponential:1,cv2=4"``,
        which is scaled to the rate. Or gaps of a trace, s: used in their order from a random one on,
        again from the first after the last, and scaled to the rate. So bursts of the trace stay.
    priorities : shares of the classes, the most urgent first; the class decides the weight.
    patience : a job that has not started after so long leaves: s, the same for all, or a law. 0: it
        leaves at once where all is busy. None: no job leaves.
    """
    whole(1, num_jobs=num_jobs)
    if not duration_s.mean >= LEAST_MEAN_S:
        raise InputError(
            f"duration_s: the mean is {duration_s.mean:g} s, expected at least {LEAST_MEAN_S:g} s"
        )
    mean_gap_s = SECONDS_PER_HOUR / arrival_rate_per_h
    gaps_s = _gaps(gaps, streams.generator("arrivals"), num_jobs) * mean_gap_s
    demand = streams.generator("gpus").choice(np.array(num_gpus, dtype=np.int64), num_jobs)
    durations_s = duration_s.sample(streams.generator("durations"), num_jobs)
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=np.cumsum(gaps_s),
        performance=FixedDuration(durations_s, demand),
        weight_per_s=_weights(priorities, streams, num_jobs),  # type: ignore[arg-type]
        patience_s=_patience_s(patience, streams, num_jobs),
    )


def _gaps(text: str | FloatArray, rng: np.random.Generator, count: int) -> FloatArray:
    """``(n,)`` gaps of mean 1."""
    if not isinstance(text, str):
        start = rng.integers(len(text))
        from_there: FloatArray = np.resize(np.roll(text, -start), count)
        return np.asarray(from_there / text.mean(), dtype=np.float64)
    if text == "exponential":
        return rng.exponential(1.0, count)
    if text == "mmpp":
        return np.diff(mmpp_times(rng, count), prepend=0.0)
    law = parse_law(text)
    return law.sample(rng, count) / law.mean


def gaps_of_trace(trace: Workload) -> FloatArray:
    """``(n - 1,)`` gaps between the submissions of a trace, s.

    Raises InputError: fewer than two jobs, or all of them at the same time.
    """
    gaps_s = np.diff(trace.submit_s)
    if not gaps_s.sum() > 0:
        raise InputError(f"{len(trace)} jobs at one time, expected jobs at two times or more")
    return gaps_s


def are_exponential(gaps: str) -> bool:
    """Whether arrivals are a Poisson process: by the word, or by a law of any mean, which is scaled."""
    return gaps.partition(":")[0] == "exponential"


def gaps_cv2(text: str) -> float | None:
    """Squared coefficient of variation of the gaps; None where they depend on each other."""
    if text in ("mmpp", "trace"):
        return None
    return 1.0 if text == "exponential" else parse_law(text).cv2


def _patience_s(patience: float | Law | None, streams: Streams, count: int) -> FloatArray | None:
    """Patience of each job, s; drawn for all before anything runs, so that policies share it."""
    if patience is None or isinstance(patience, int | float):
        return None if patience is None else np.full(count, float(patience))
    return patience.sample(streams.generator("patience"), count)


def class_shares(priorities: Sequence[float]) -> FloatArray:
    """``(C,)`` shares of the classes of jobs; raises InputError where they are none."""
    shares = np.array(priorities, dtype=np.float64)
    if len(shares) and not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise InputError(f"priorities are {list(priorities)}, expected shares >= 0, one above 0")
    return shares


def _weights(priorities: Sequence[float], streams: Streams, count: int) -> FloatArray | None:
    """Weight of each job: the number of classes for the most urgent, 1 for the least."""
    if not priorities:
        return None
    shares = class_shares(priorities)
    classes = streams.generator("classes").choice(len(shares), count, p=shares / shares.sum())
    return np.asarray(len(shares) - classes, dtype=np.float64)
