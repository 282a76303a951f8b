"""Speed of a job of Synergy with its CPUs and memory.

Two readings. The *paper's* speeds come from the published sensitivity matrices. The *released*
simulator knows two speeds of a job: 1, or one published speed-up where it has its whole demand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from simulator.arguments import one_of
from simulator.errors import InputError
from simulator.files.bundled import rows_of
from simulator.model.cluster import Cluster, FloatArray, IntArray, NodeType
from simulator.model.performance import FixedDuration, Sensitivity, SensitivityMatrix, TimeTable
from simulator.model.sensitive_table import SensitiveTable
from simulator.model.workload import Workload
from simulator.workloads.networks.named import (
    SERVER,
    dnn_model_name,
    dnn_models,
    dnn_models_of,
    sensitivity_matrices,
)

LEAST_GAIN = 1e-8
"""Gain that makes a demand one, and changes no whole number of iterations."""


@dataclass(frozen=True)
class WholeIterations(Sensitivity):
    """Speeds of which only the whole iterations of a round count, as in the released simulator.

    For example: an iteration takes 0.78 s, so 384 of them fit in a round of 300 s, and what is left
    of the round (0.48 s) is lost.

    Parameters
    ----------
    iteration_s : ``(J,)`` seconds of one iteration at the proportional share.
    round_s : length of a round, s.

    Raises InputError: an iteration that takes longer than a round.
    """

    iteration_s: FloatArray = field(default_factory=lambda: np.zeros(0))
    round_s: float = 300.0

    def __post_init__(self) -> None:
        super().__post_init__()
        longest = float(np.max(self.iteration_s, initial=0.0))
        if longest > self.round_s:
            raise InputError(
                f"round of {self.round_s:g} s: an iteration takes longer, expected at least "
                f"{longest:g} s"
            )

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds of rounds, the last one in part; see `Sensitivity.time_s`."""
        time_s = super().time_s(job, node_type, gpus, cpus, memory_gb)
        if not time_s < math.inf:
            return time_s
        rate = float(self.duration_s[job]) / time_s
        in_round = self.round_s / (float(self.iteration_s[job]) / rate)
        return time_s * in_round / math.floor(in_round + 1e-9)


def with_sensitivity(
    workload: Workload,
    cluster: Cluster,
    *,
    matrices: Mapping[str, SensitivityMatrix] | None = None,
    released: bool = False,
    round_s: float | None = None,
) -> Workload:
    """The workload with rates that depend on CPUs and memory, as its models' matrices say.

    Durations are those at the GPU-proportional share of the cluster's (first) server, whatever its
    CPU:GPU ratio is, as in the paper.

    Parameters
    ----------
    workload : jobs of `FixedDuration` with a `Workload.model` each; without any model it comes
        back as it is.
    cluster : where it will run.
    matrices : of the models by name; the paper's ten are the default.
    released : the released simulator's speeds: 1, or one published speed-up at the full demand,
        scaled by the CPUs where a server has too few (its optimal mechanism reads the matrices,
        so simulate that one without).
    round_s : count only whole iterations in rounds of this length, as the released simulator does;
        None: any progress counts. For the paper's ten models.

    Raises InputError: an unknown model, a job without GPUs, or a cluster without CPUs and memory.
    """
    if not any(workload.model):
        return workload
    if not isinstance(workload.performance, FixedDuration):
        raise InputError("workload: models with sensitivity need a fixed duration a job")
    spec = cluster.node_types[0]
    _need_all_three(spec)
    known = sensitivity_matrices() if matrices is None else matrices

    def own(name: str) -> str:
        one_of(known, model=name)
        return name

    names = dnn_models_of(workload) if matrices is None else dnn_models_of(workload, own)
    made, matrix_of = _matrices(names, workload.num_gpus, spec, None if released else known)
    columns = workload.performance.duration_s, workload.num_gpus, matrix_of, made
    if round_s is None:
        return replace(workload, performance=Sensitivity(*columns), model=names)
    seconds = {name: iteration_s(name, spec, released) for name in dict.fromkeys(names)}
    of_job_s = np.array([seconds[name] for name in names])
    return replace(workload, performance=WholeIterations(*columns, of_job_s, round_s), model=names)


def _matrices(
    names: Sequence[str],
    num_gpus: IntArray,
    spec: NodeType,
    known: Mapping[str, SensitivityMatrix] | None,
) -> tuple[list[SensitivityMatrix], IntArray]:
    """Matrices relative to the GPU-proportional share, and the index of each job's one.

    ``known`` : by model; None: the released simulator's speeds, which depend on the GPUs of the job, too.
    """
    gpus_of = num_gpus.tolist() if known is None else [0] * len(names)
    kinds = list(zip(names, gpus_of, strict=True))
    index = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    if known is None:
        made = [_released_matrix(model, gpus, spec) for model, gpus in index]
    else:
        fair_cpus, fair_gb = spec.cpus / spec.gpus, spec.memory_gb / spec.gpus
        made = [known[model].relative_to(fair_cpus, fair_gb) for model, _ in index]
    return made, np.array([index[kind] for kind in kinds], dtype=np.int64)


def with_sensitive_table(workload: Workload, cluster: Cluster) -> Workload:
    """Elastic jobs with rates that depend on CPUs and memory too, as their models' matrices say.

    The times that the jobs have are those at the GPU-proportional share of each node type.

    Parameters
    ----------
    workload : jobs of `TimeTable` with a `Workload.model` each.
    cluster : where it will run.

    Raises InputError: an unknown model, or a node type without CPUs and memory.
    """
    performance = workload.performance
    if not isinstance(performance, TimeTable):
        raise InputError("workload: expected elastic jobs with a table of times")
    for spec in cluster.node_types:
        _need_all_three(spec)
    names = dnn_models_of(workload)
    index = {name: i for i, name in enumerate(dict.fromkeys(names))}
    known = sensitivity_matrices()
    types = cluster.node_types
    made = [
        known[name].relative_to(spec.cpus / spec.gpus, spec.memory_gb / spec.gpus)
        for name in index
        for spec in types
    ]
    first = np.array([index[name] for name in names], dtype=np.int64) * len(types)
    table = SensitiveTable(
        performance.times_s, matrix_of=first[:, None] + np.arange(len(types)), matrices=made
    )
    return replace(workload, performance=table, model=names)


def _need_all_three(spec: NodeType) -> None:
    if not np.isfinite([spec.gpus, spec.cpus, spec.memory_gb]).all():
        raise InputError(
            f"node type {spec.name!r}: jobs with a model need its GPUs, CPUs and memory, "
            f"expected three numbers, got {spec.gpus}, {spec.cpus} and {spec.memory_gb}"
        )


def iteration_s(model: str, spec: NodeType, released: bool = False) -> float:
    """Seconds of one iteration of a network at the proportional share of a server.

    ``released``: as the released simulator has it for servers of 3, 4, 5 and 6 CPUs per GPU.
    """
    network = dnn_models()[dnn_model_name(model)]
    if released:
        return _released_demand(network.name, spec).iteration_s
    fair_cpus = spec.cpus / spec.gpus
    base = sensitivity_matrices()[network.name](fair_cpus, SERVER.memory_gb / SERVER.gpus)
    return network.iteration_time_s / base


def with_durations_of(
    workload: Workload, base: NodeType, spec: NodeType, released: bool = False
) -> Workload:
    """Jobs with the durations at the proportional share of ``spec``, where they have those of ``base``.

    Both are servers of one memory a GPU; a job has as many iterations on either. Jobs without a model stay
    as they are. ``released``: see `iteration_s`.

    Raises
    ------
    InputError
        Jobs without fixed durations, or a model that is not known.
    """
    if not isinstance(workload.performance, FixedDuration):
        raise InputError("workload: durations of another server need a fixed duration a job")
    factor = {
        name: iteration_s(name, spec, released) / iteration_s(name, base, released) if name else 1.0
        for name in dict.fromkeys(workload.model)
    }
    duration_s = workload.performance.duration_s * np.array([factor[m] for m in workload.model])
    return replace(workload, performance=FixedDuration(duration_s, workload.num_gpus))


# -- the released simulator's two speeds -----------------------------------------------------------


class _Demand(NamedTuple):
    """Demand of a network per GPU, its speed-up with it, and its iteration without, s."""

    cpus: float
    memory_gb: float
    speedup: float
    iteration_s: float


def _released_matrix(model: str, gpus: int, spec: NodeType) -> SensitivityMatrix:
    """The released simulator's two speeds of a job, as a matrix of two by two points.

    A demand beyond one server is cut to it, and the speed-up then falls along a straight line over
    the CPUs. A job of more GPUs than a server has asks for the proportional share instead, without
    any speed-up.
    """
    fair = (spec.cpus / spec.gpus, spec.memory_gb / spec.gpus)
    wanted = _released_demand(model, spec)
    speedup = wanted.speedup
    if gpus > spec.gpus:
        beyond = (gpus * wanted.cpus > spec.cpus, gpus * wanted.memory_gb > spec.memory_gb)
        demand = tuple(fair[r] if beyond[r] else wanted[r] for r in (0, 1))
        speedup = 1.0 if any(beyond) else speedup
    else:
        demand = (min(wanted.cpus, spec.cpus / gpus), min(wanted.memory_gb, spec.memory_gb / gpus))
        if demand != (wanted.cpus, wanted.memory_gb) and wanted.cpus > fair[0]:
            slope = (speedup - 1) / (gpus * (wanted.cpus - fair[0]))
            speedup = 1 + slope * gpus * (demand[0] - fair[0])
    if demand[0] > fair[0] or demand[1] > fair[1]:
        # Who gains nothing from its demand (M5 at 6 CPUs per GPU) asks for it all the same.
        speedup = max(speedup, 1 + LEAST_GAIN)
    grid_c, grid_m = (sorted({fair[i], demand[i]}) for i in (0, 1))
    relative = [
        [speedup if c >= demand[0] and m >= demand[1] else 1.0 for m in grid_m] for c in grid_c
    ]
    return SensitivityMatrix(np.array(grid_c), np.array(grid_m), np.array(relative))


def _released_demand(model: str, spec: NodeType) -> _Demand:
    """Of a network on a server; `InputError` for one whose speed-ups were never published."""
    ratio = spec.cpus / spec.gpus
    found = _released_demands().get((ratio, model))
    if found is None:
        raise InputError(
            f"node type {spec.name!r}: {ratio:g} CPUs per GPU, expected 3, 4, 5 or 6: the "
            "released speed-ups are known for these alone"
        )
    return found


@cache
def _released_demands() -> Mapping[tuple[float, str], _Demand]:
    return {
        (float(row["cpus_per_gpu_of_server"]), row["model"]): _Demand(
            float(row["cpus_per_gpu"]),
            float(row["memory_gb_per_gpu"]),
            float(row["speedup"]),
            float(row["iteration_time_s"]),
        )
        for row in rows_of("synergy_released_demand.csv")
    }
