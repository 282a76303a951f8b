"""Tenants: their jobs, weights and quotas, and fair shares between them.

A tenant is a virtual cluster or a user. `simulate` takes `Tenants`, and policies read them in
``view.tenants``. A run without them executes nothing of this.

In a scenario file:

[tenants]
by = "vc"
weight = { research = 2, product = 1 }
quota = { research = 16, product = 8 }
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from simulator.arguments import checked
from simulator.errors import InputError
from simulator.features.table import FeatureTable, Scene, drawn
from simulator.files.keys import KeyedError, NonNegative, Positive, PositiveInt, at_key
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import PART_OF_A_GPU
from simulator.model.workload import Workload
from simulator.statistics import Streams

Owner = Literal["vc", "user", "account", "qos"]
AtLeastOne = Annotated[float, Field(ge=1)]

NOBODY = "(none)"
"""The tenant of jobs that name none."""

MOST_WEIGHT = 1e12
"""A weight beyond it is a mistake."""


@checked("tenants")
@dataclass(frozen=True)
class Tenants:
    """``T`` tenants and the jobs of each.

    Attributes
    ----------
    names : of the tenants, in the order of the alphabet.
    of : ``(J,)`` index of each job's tenant; in a view those of the jobs so far.
    weight : ``(T,)`` of what is shared, a tenant gets in proportion to this.
    quota : ``(T,)`` GPUs; infinite: none.
    borrowing : whether a quota is a guarantee, and idle GPUs beyond it may be lent; without it,
        a quota is a limit that nobody exceeds, whatever the policy.
    max_jobs : ``(T,)`` jobs that may run at once, the others are set aside; None: any number. Slurm's MaxJobsPU.
    """

    job_columns: ClassVar[tuple[str, ...]] = ("of",)

    names: tuple[str, ...]
    of: IntArray
    weight: FloatArray
    quota: FloatArray
    borrowing: bool = False
    max_jobs: FloatArray | None = None

    def __post_init__(self) -> None:
        columns = [("weight", self.weight, PART_OF_A_GPU), ("quota", self.quota, 1)]
        if self.max_jobs is not None:
            columns.append(("max_jobs", self.max_jobs, 1))
        for name, column, least in columns:
            if column.shape != (len(self.names),):
                raise InputError(f"tenants: {name} has {len(column)} values for {len(self.names)}")
            for tenant, value in zip(self.names, column.tolist(), strict=True):
                if not value >= least or (name == "weight" and value > MOST_WEIGHT):
                    wanted = (
                        f"a number above 0, at most {MOST_WEIGHT:g}"
                        if name == "weight"
                        else f"at least 1 {'GPU' if name == 'quota' else 'job'}"
                    )
                    raise InputError(f"tenants: {name} of {tenant!r} is {value}, expected {wanted}")

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_limited(self) -> bool:
        """Whether there are limits that the engine keeps."""
        return self.has_quotas or self.max_jobs is not None

    @property
    def has_quotas(self) -> bool:
        """Whether quotas are limits."""
        return not self.borrowing and bool(np.isfinite(self.quota).any())


def tenants_of(
    workload: Workload,
    by: Owner = "vc",
    weight: Mapping[str, float] | None = None,
    quota: float | Mapping[str, float] | None = None,
    borrowing: bool = False,
    known: Sequence[str] = (),
    max_jobs: float | Mapping[str, float] = math.inf,
) -> Tenants:
    """The tenants that the jobs name; jobs that name none belong to one of their own.

    Parameters
    ----------
    known : tenants that there are even if they have no job.
    quota, max_jobs : of each tenant, or by name.

    Raises
    ------
    InputError
        A weight or quota of somebody who has no job, or one that is not positive.
    """
    named = [name or NOBODY for name in getattr(workload, by)]
    names = tuple(sorted({*named, *known}))
    index = {name: k for k, name in enumerate(names)}
    columns = []
    for what, of_each, otherwise in (
        ("weight", weight, 1.0), ("quota", quota, math.inf), ("max_jobs", max_jobs, math.inf),
    ):  # fmt: skip
        given, default = (
            (of_each, otherwise) if isinstance(of_each, Mapping) else ({}, of_each or otherwise)
        )
        for name in given:
            if name not in index:
                raise InputError(
                    f"tenants: {what} of {name!r}, who has no job; expected one of "
                    f"{', '.join(names[:10])}"
                )
        columns.append(np.array([float(given.get(name, default)) for name in names]))
    of = np.array([index[name] for name in named], dtype=np.int64)
    limits = columns[2] if np.isfinite(columns[2]).any() else None
    return Tenants(names, of, columns[0], columns[1], borrowing, limits)


def with_drawn_tenants(
    workload: Workload,
    by: Owner,
    chances: Mapping[str, float],
    streams: Streams,
) -> Workload:
    """The workload with a tenant for every job, drawn with these chances; a stream of its own.

    Raises
    ------
    InputError
        Chances that are negative or all 0, or jobs that name tenants themselves.
    """
    if any(getattr(workload, by)):
        raise InputError(f"tenants: draw is given, but the jobs name a {by} themselves")
    column = drawn("tenants", chances, len(workload), streams.generator("tenants"))
    return replace(workload, **{by: column})  # type: ignore[arg-type]


def check_limits(tenants: Tenants, workload: Workload) -> None:
    """Raise `InputError` where a limit keeps a job from running for ever."""
    if not tenants.has_quotas:
        return
    if not workload.num_gpus.all():
        raise InputError(
            "tenants: quotas are limits on the GPUs that jobs ask for, expected jobs of fixed demand "
            "(or borrowing = true)"
        )
    over = workload.num_gpus > tenants.quota[tenants.of]
    if over.any():
        j = int(np.argmax(over))
        t = int(tenants.of[j])
        raise InputError(
            f"tenants: job {workload.job_id[j]!r} asks for {workload.num_gpus[j]} GPUs, the quota of "
            f"{tenants.names[t]!r} is {tenants.quota[t]:g}"
        )


def water_filling(demand: FloatArray, weight: FloatArray, total: float) -> FloatArray:
    """``(T,)`` weighted max-min fair shares of ``total`` GPUs: nobody gets more than the demand.

    All tenants that want more have the same share over weight, the water level (Bertsekas and
    Gallager, Data Networks, Section 6.5.2).
    """
    share = np.zeros(len(demand))
    left, open_ = total, np.flatnonzero(demand > 0)
    while len(open_) and left > PART_OF_A_GPU:
        level = left / weight[open_].sum()
        done = open_[demand[open_] <= level * weight[open_] + PART_OF_A_GPU]
        if not len(done):
            share[open_] = level * weight[open_]
            return share
        share[done] = demand[done]
        left -= float(demand[done].sum())
        open_ = np.setdiff1d(open_, done)
    return share


def envy_rate(held: FloatArray, demand: FloatArray, weight: FloatArray) -> FloatArray:
    """``(T,)`` GPUs that each tenant would rather have: those of another, for its own weight.

    A tenant's use of ``a`` GPUs is ``min(a, demand)``. It envies another by what the other's GPUs,
    scaled to its own weight, would be of use to it beyond its own (envy-freeness as in Ghodsi et
    al., DRF, NSDI 2011).
    """
    most = np.minimum((held / weight).max() * weight, demand)
    return np.asarray(np.maximum(0.0, most - np.minimum(held, demand)))


def shares_over_time(
    tenants: Tenants,
    jobs: Sequence[int],
    gpus: Sequence[float],
    start_s: Sequence[float],
    end_s: Sequence[float],
    submit_s: FloatArray,
    completion_s: FloatArray,
    demand: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Change points (s), and ``(n, T)`` GPUs held and GPUs asked for from each of them on.

    Parameters
    ----------
    jobs, gpus, start_s, end_s : the schedule, one row a share of a node.
    submit_s, completion_s, demand : ``(J,)`` of the jobs that were served.
    """
    of, count = tenants.of, len(tenants)
    rows_t = np.concatenate([start_s, end_s, submit_s, completion_s])
    times, place = np.unique(rows_t, return_inverse=True)
    held, asked = np.zeros((len(times), count)), np.zeros((len(times), count))
    n, j = len(start_s), len(submit_s)
    owner, some = of[np.asarray(jobs, dtype=np.int64)], np.asarray(gpus, dtype=np.float64)
    np.add.at(held, (place[:n], owner), some)
    np.add.at(held, (place[n : 2 * n], owner), -some)
    np.add.at(asked, (place[2 * n : 2 * n + j], of[:j]), demand)
    np.add.at(asked, (place[2 * n + j :], of[:j]), -demand)
    return times, held.cumsum(axis=0).round(9), asked.cumsum(axis=0).round(9)


class TenantKeys(FeatureTable):
    """Tenants: weights, quotas (GPUs), and a draw where the jobs do not name theirs."""

    table: ClassVar[str] = "tenants"
    needs_schedule: ClassVar[bool] = True

    by: Owner = "vc"
    """column that names the tenant: virtual cluster, user, account or quality of service"""
    weight: dict[str, Positive] = Field(
        default_factory=dict, examples=[{"research": 2, "product": 1}]
    )
    """weights; 1 where nothing is given"""
    quota: AtLeastOne | dict[str, AtLeastOne] = Field(
        default_factory=dict, examples=[{"research": 24, "product": 16}, 16]
    )
    """quotas, GPUs, of each tenant or by name; none where nothing is given"""
    max_jobs: PositiveInt | dict[str, PositiveInt] = Field(
        default_factory=dict, examples=[10, {"research": 10}]
    )
    """jobs of a tenant that may run at once, of each or by name; meanwhile policies do not see its other jobs"""
    borrowing: bool = False
    """quotas are guarantees, and idle GPUs beyond them are lent; else quotas are limits"""
    draw: dict[str, NonNegative] = Field(
        default_factory=dict, examples=[{"research": 0.6, "product": 0.4}]
    )
    """tenants for jobs that name none, with these chances"""

    def on_jobs(self, workload: Workload, streams: Streams) -> Workload:
        """The jobs with a tenant each, where tenants are drawn."""
        if not self.draw:
            return workload
        with at_key("tenants.draw"):
            return with_drawn_tenants(workload, self.by, self.draw, streams)

    def make(self, scene: Scene) -> Tenants:
        """The tenants."""
        if not self.draw and not any(getattr(scene.workload, self.by)):
            raise KeyedError(
                "tenants.by", f"no job names its {self.by}, expected names, or tenants.draw"
            )
        with at_key("tenants"):
            return tenants_of(
                scene.workload,
                self.by,
                self.weight,
                self.quota,
                self.borrowing,
                tuple(self.draw),
                self.max_jobs,
            )

    def notes(self, scene: Scene) -> Iterable[str]:
        """Borrowing without quotas."""
        if self.borrowing and not self.quota:
            yield "tenants.borrowing: there is no quota beyond which to borrow; no effect"
