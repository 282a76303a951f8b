"""Poisson arrivals of jobs of fixed demand: the queues of the textbooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simulator.arguments import whole
from simulator.errors import InputError
from simulator.files.keys import KeyedError, NonNegative, Positive, at_key
from simulator.laws import Law, parse_law
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.elastic import mmpp_times
from simulator.workloads.machines import GpuCount, StandingServers
from simulator.workloads.registry import AnyTrace
from simulator.workloads.table import JobCount, Setting, WorkloadTable

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


class PoissonJobs(WorkloadTable):
    """Poisson arrivals of jobs of fixed demand: the queue of the textbooks."""

    kind: Literal["poisson"] = "poisson"
    num_jobs: JobCount = 1000
    """number of jobs"""
    arrival_rate_per_h: Positive | None = Field(default=None, examples=[12])
    """mean number of arrivals; this or load"""
    load: Positive | None = Field(default=None, examples=[0.8])
    """offered load of the GPUs of the cluster, in place of the rate: GPU-seconds that arrive over GPU-seconds that there are"""
    duration_s: str = "exponential:3600"
    """law of the durations"""
    num_gpus: list[GpuCount] = Field(default=[1], min_length=1)
    """a job asks for one of these, with equal chances"""
    gaps: str = "exponential"
    """gaps between arrivals, scaled to the rate: exponential, mmpp (bursts), trace, or a law"""
    gaps_of: AnyTrace | None = Field(default=None, examples=[{"kind": "csv", "path": "jobs.csv"}])
    '''trace whose gaps are used in its order, with gaps = "trace"'''
    priorities: list[NonNegative] = Field(default_factory=list, examples=[[1, 3]])
    """shares of priority classes, the most urgent first"""
    patience: NonNegative | str | None = Field(default=None, examples=["exponential:1800"])
    """a job that has not started after so long leaves: s, or a law; 0: at once where all is busy"""

    of_machines = True

    @model_validator(mode="after")
    def _rate_or_load(self) -> Self:
        if (self.arrival_rate_per_h is None) == (self.load is None):
            raise InputError("arrival_rate_per_h or load, expected one of them")
        return self

    @model_validator(mode="after")
    def _gaps_and_their_trace(self) -> Self:
        if (self.gaps == "trace") != (self.gaps_of is not None):
            raise InputError('gaps = "trace" and the table gaps_of belong together, expected both')
        return self

    def rate_per_h(self, setting: Setting) -> float:
        """Mean number of arrivals in an hour, as given, or by the load of the cluster's GPUs.

        Raises KeyedError: a load without nodes, or a law that is none.
        """
        if self.load is None:
            assert self.arrival_rate_per_h is not None
            return self.arrival_rate_per_h
        nodes = setting.machines
        if not isinstance(nodes, StandingServers):
            raise KeyedError(
                "workload.load", "given without [cluster] of the kind 'nodes', expected both"
            )
        with at_key("workload.duration_s"):
            duration_s = parse_law(self.duration_s).mean
        gpu_s_of_a_job = duration_s * sum(self.num_gpus) / len(self.num_gpus)
        return self.load * nodes.num_gpus * SECONDS_PER_HOUR / gpu_s_of_a_job

    def make(self, setting: Setting) -> Workload:
        """The jobs."""
        with at_key("workload.duration_s"):
            duration_s = parse_law(self.duration_s)
        with at_key("workload.gaps"):
            gaps_cv2(self.gaps)
        gaps: str | FloatArray = self.gaps
        if self.gaps_of is not None:
            with at_key("workload.gaps_of"):
                gaps = gaps_of_trace(self.gaps_of.make(setting))
        with at_key("workload.patience"):
            law = self.patience
            patience = parse_law(law) if isinstance(law, str) else law
        with at_key("workload.priorities"):
            class_shares(self.priorities)
        return poisson_jobs(
            self.num_jobs,
            setting.streams,
            arrival_rate_per_h=self.rate_per_h(setting),
            duration_s=duration_s,
            num_gpus=self.num_gpus,
            gaps=gaps,
            priorities=self.priorities,
            patience=patience,
        )

    def check(self, setting: Setting) -> None:
        """The rate, and the laws by one job."""
        self.rate_per_h(setting)
        one = {"num_jobs": 1, "arrival_rate_per_h": 1.0, "load": None}
        self.model_copy(update=one).make(setting)

    def with_few_jobs(self) -> Self:
        """One job, with the most GPUs."""
        return type(self)(
            num_jobs=1,
            arrival_rate_per_h=1.0,
            num_gpus=[max(self.num_gpus)],
            patience=self.patience,
        )
