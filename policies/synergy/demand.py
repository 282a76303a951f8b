"""Demands of jobs: the demand vector of each kind of job, and the shares that it may get.

Jobs of one model with one GPU demand are alike to every mechanism: they are one *kind*. A *share*
is CPUs and GB of memory per GPU, so that a job over several servers has the same on each GPU
(Synergy, Section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from simulator import InputError, Sensitivity, SensitivityMatrix, Workload
from simulator.model.cluster import FloatArray, IntArray, NodeType
from simulator.model.tolerances import EQUAL


class Share(NamedTuple):
    """CPUs and memory of each GPU of a job."""

    cpus: float
    memory_gb: float


class Option(NamedTuple):
    """A share that a job may get, and its rate there relative to the proportional share."""

    share: Share
    rate: float


@dataclass(frozen=True)
class ServerSize:
    """One server: GPUs, CPUs and GB of memory; 0 CPUs or GB where they are not modelled."""

    gpus: int
    cpus: float
    memory_gb: float

    @classmethod
    def of(cls, spec: NodeType) -> ServerSize:
        """Capacity of a node type; `InputError` for a rental pool."""
        if not math.isfinite(spec.gpus):
            raise InputError(f"node type {spec.name!r}: unlimited GPUs, expected servers")
        cpus = spec.cpus if math.isfinite(spec.cpus) else 0.0
        memory_gb = spec.memory_gb if math.isfinite(spec.memory_gb) else 0.0
        return cls(int(spec.gpus), cpus, memory_gb)

    @property
    def fair(self) -> Share:
        """The GPU-proportional share."""
        return Share(self.cpus / self.gpus, self.memory_gb / self.gpus)

    def cap(self, gpus: int) -> Share:
        """Most that a job may have per GPU: its servers' worth, on as few servers as hold it."""
        servers = -(-gpus // self.gpus)
        return Share(self.cpus * servers / gpus, self.memory_gb * servers / gpus)


@dataclass(frozen=True)
class Kind:
    """Jobs that are alike.

    Attributes
    ----------
    gpus : GPUs of each.
    fair : the GPU-proportional share, relative rate 1.
    best : the demand: the least share at which the rate is highest.
    best_rate : rate there, relative to the reference server's proportional share.
    fair_rate : rate at the proportional share of this server; 1 where that is the reference.
    options : shares worth having, none below the fair rate (for the optimal mechanism).
    all_options : every share, for servers of several types.
    """

    gpus: int
    fair: Share
    best: Share
    best_rate: float
    options: tuple[Option, ...]
    fair_rate: float = 1.0
    all_options: tuple[Option, ...] = ()

    @property
    def exceeds_fair(self) -> bool:
        """True where the demand is above the proportional share in any resource."""
        return self.best.cpus > self.fair.cpus or self.best.memory_gb > self.fair.memory_gb


@dataclass(frozen=True)
class Kinds:
    """The jobs of a workload by kind.

    Attributes
    ----------
    kinds : each of them.
    kind_of : ``(J,)`` index of each job's kind.
    duration_s : ``(J,)`` at the proportional share, s.
    gpus : ``(J,)`` GPUs demanded.
    """

    kinds: Sequence[Kind]
    kind_of: IntArray
    duration_s: FloatArray
    gpus: IntArray

    @classmethod
    def of(cls, workload: Workload, capacity: ServerSize, node_type: int = 0) -> Kinds:
        """Kinds of the jobs on servers of one type.

        Raises InputError: a job without a number of GPUs, or durations that depend on it.
        """
        gpus = workload.num_gpus
        if not (gpus > 0).all():
            job = workload.job_id[int(np.argmin(gpus > 0))]
            raise InputError(f"workload: job {job!r}: num_gpus is 0, expected at least 1")
        performance = workload.performance
        if isinstance(performance, Sensitivity):
            matrix_of = performance.matrix_of
            column = matrix_of if matrix_of.ndim == 1 else matrix_of[:, node_type]
            columns = np.column_stack((column, gpus))
        else:
            asked = np.nan_to_num(np.column_stack((workload.num_cpus, workload.memory_gb)), nan=-1)
            columns = np.column_stack((asked, gpus))
        rows, kind_of = np.unique(columns, axis=0, return_inverse=True)
        if isinstance(performance, Sensitivity):
            kinds = [
                sensitive(performance.matrices[int(i)], int(g), capacity) for i, g in rows.tolist()
            ]
        else:
            kinds = [insensitive(int(g), c, m, capacity) for c, m, g in rows.tolist()]
        duration_s = _durations_s(workload, capacity, node_type)
        return cls(kinds, kind_of.reshape(-1), duration_s, gpus)


def _durations_s(workload: Workload, capacity: ServerSize, node_type: int) -> FloatArray:
    """``(J,)`` seconds of each job at the proportional share, as its model of performance says."""
    performance, fair = workload.performance, capacity.fair
    if isinstance(performance, Sensitivity):  # the reference, where its matrices are 1
        return performance.duration_s
    gpus = workload.num_gpus.tolist()
    return np.array(
        [
            performance.time_s(job, node_type, g, fair.cpus * g, fair.memory_gb * g)
            for job, g in enumerate(gpus)
        ]
    )


def kinds_on_types(
    workload: Workload, capacities: Sequence[ServerSize], types: Sequence[int]
) -> tuple[Kinds, list[Sequence[Kind]]]:
    """Kinds of the jobs on servers of several types, and what each kind is on each type.

    A job's fair rate, which A.2 leaves to an oracle, is that of its slowest type: any place will
    do then.
    """
    each = [Kinds.of(workload, c, v) for c, v in zip(capacities, types, strict=True)]
    if len(each) == 1:
        return each[0], [each[0].kinds]
    rows, kind_of = np.unique(
        np.column_stack([k.kind_of for k in each]), axis=0, return_inverse=True
    )
    of_type: list[list[Kind]] = [[] for _ in each]
    for row in rows.tolist():
        of_row = [k.kinds[i] for k, i in zip(each, row, strict=True)]
        least = min(kind.fair_rate for kind in of_row)
        for v, kind in enumerate(of_row):
            offered = [o for o in kind.all_options if o.rate >= least * (1 - EQUAL)]
            of_type[v].append(replace(kind, options=tuple(options_worth_having(offered))))
    kinds = Kinds(of_type[0], kind_of.reshape(-1), each[0].duration_s, each[0].gpus)
    return kinds, list(of_type)


def sensitive(matrix: SensitivityMatrix, gpus: int, capacity: ServerSize) -> Kind:
    """A kind whose rate follows a sensitivity matrix.

    Shares are the points of the matrix, the proportional share, and all that a server has: the
    discrete space of Section 4.1, cut off at a server's worth.
    """
    fair, cap = capacity.fair, capacity.cap(gpus)
    fair_rate = matrix(*fair)
    if fair_rate <= 0:
        raise InputError(
            f"sensitivity matrix: no throughput at the proportional share of {fair.cpus:g} CPUs "
            f"and {fair.memory_gb:g} GB per GPU, expected > 0"
        )
    cpus = _candidates(matrix.cpus, fair.cpus, cap.cpus)
    memory_gb = _candidates(matrix.memory_gb, fair.memory_gb, cap.memory_gb)
    options = [Option(Share(c, m), matrix(c, m)) for c in cpus for m in memory_gb]
    best = options_worth_having(options)[-1]
    offered = options_worth_having([o for o in options if o.rate >= fair_rate * (1 - EQUAL)])
    return Kind(gpus, fair, best.share, best.rate, tuple(offered), fair_rate, tuple(options))


def insensitive(gpus: int, cpus: float, memory_gb: float, capacity: ServerSize) -> Kind:
    """A kind of fixed duration: a stated demand in all (-1: none), else the proportional share."""
    fair, cap = capacity.fair, capacity.cap(gpus)
    share = Share(
        min(cpus / gpus, cap.cpus) if cpus >= 0 else fair.cpus,
        min(memory_gb / gpus, cap.memory_gb) if memory_gb >= 0 else fair.memory_gb,
    )
    only = (Option(share, 1.0),)
    return Kind(gpus, fair, share, 1.0, only, 1.0, only)


def options_worth_having(options: Sequence[Option]) -> list[Option]:
    """Without those that another one matches with no more CPUs and memory; ascending in rate."""
    kept: list[Option] = []
    for o in sorted(options, key=lambda o: (-o.rate, o.share.cpus, o.share.memory_gb)):
        if not any(
            k.share.cpus <= o.share.cpus
            and k.share.memory_gb <= o.share.memory_gb
            and k.rate >= o.rate * (1 - EQUAL)
            for k in kept
        ):
            kept.append(o)
    # Of equally fast ones the first needs the fewest CPUs.
    return sorted(kept, key=lambda o: (o.rate, -o.share.cpus))


def _candidates(grid: FloatArray, fair: float, cap: float) -> list[float]:
    """Points of the grid that one server can give, its own and the proportional one among them."""
    within = [x for x in grid.tolist() if x <= cap * (1 + EQUAL)]
    return sorted({*within, fair, cap})
