"""Synergy's jobs: ten networks, how CPUs and memory speed them up, and the traces made of them.

A workload of Synergy gives each job a network (`Workload.model`), GPUs, and its duration at the
GPU-proportional share of the server; `with_sensitivity` then lets its rate depend on what it gets.
Tables: ``data/synergy_*.csv`` (sources there).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from simulator.catalog import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray, NodeType
from simulator.datafiles import data_path, rows_of
from simulator.errors import InputError
from simulator.performance import FixedDuration, Sensitivity, SensitivityMatrix
from simulator.statistics import Streams
from simulator.workload import ELASTIC, Workload
from simulator.workloads.tables import Table

TASKS = ("image", "language", "speech")
"""The order of the shares in a workload split such as (20, 70, 10)."""

SERVER = NodeType("server", "V100", 8, cpus=24, memory_gb=500)
"""The server of Section 5.1: 8 GPUs, 24 CPUs, 500 GB."""


@dataclass(frozen=True)
class Network:
    """One of the ten networks of Table 4.

    Attributes
    ----------
    name, title, alias : short name, the paper's spelling, another accepted spelling.
    task, dataset : what it is trained for, and on.
    iteration_time_s : one iteration at 3 CPUs and 62.5 GB per GPU, s.
    """

    name: str
    title: str
    alias: str
    task: str
    dataset: str
    iteration_time_s: float


def server(cpus_per_gpu: float = 3.0) -> NodeType:
    """The paper's server with another CPU:GPU ratio (Figure 12 has 4, 5 and 6)."""
    return replace(SERVER, cpus=SERVER.gpus * cpus_per_gpu)


def cluster(num_nodes: int, cpus_per_gpu: float = 3.0) -> Cluster:
    """``num_nodes`` of the paper's servers: 16 make its 128 GPUs, 64 its 512."""
    return Cluster.of_nodes(server(cpus_per_gpu), num_nodes)


# -- tables ----------------------------------------------------------------------------------


@cache
def networks() -> Mapping[str, Network]:
    """The ten networks by name, in the order in which traces take turns."""
    return {
        row["model"]: Network(
            row["model"], row["title"], row["alias"], row["task"], row["dataset"],
            float(row["iteration_time_s"]),
        )
        for row in rows_of("synergy_models.csv")
    }  # fmt: skip


@cache
def sensitivity_matrices() -> Mapping[str, SensitivityMatrix]:
    """The published matrices, relative to 3 CPUs and 62.5 GB per GPU, by network."""
    return read_sensitivity(data_path("synergy_sensitivity.csv"))


def read_sensitivity(path: str | Path) -> dict[str, SensitivityMatrix]:
    """Matrices from a CSV file: model, cpus_per_gpu, memory_gb_per_gpu, relative_throughput.

    Raises
    ------
    InputError
        A missing column or point, a value that is no number, a point given twice, or a matrix
        that `SensitivityMatrix` refuses.
    """
    points: dict[str, dict[tuple[float, float], float]] = {}
    names = ("cpus_per_gpu", "memory_gb_per_gpu", "relative_throughput")
    table = Table.read(path, ("model", *names))
    columns = [table.numbers(name).tolist() for name in names]
    rows = zip(table.lines.tolist(), table.texts("model"), *columns, strict=True)
    for line, model, cpus, memory_gb, value in rows:
        of_model = points.setdefault(model, {})
        if (cpus, memory_gb) in of_model:
            raise InputError(
                f"{path}, line {line}: {model} at {cpus:g} CPUs and {memory_gb:g} GB occurs "
                "twice, expected each point once"
            )
        of_model[cpus, memory_gb] = value
    return {model: _matrix(of_model, f"{path}: {model}") for model, of_model in points.items()}


def _matrix(points: Mapping[tuple[float, float], float], where: str) -> SensitivityMatrix:
    cpus = sorted({c for c, _ in points})
    memory_gb = sorted({m for _, m in points})
    for c in cpus:
        for m in memory_gb:
            if (c, m) not in points:
                raise InputError(f"{where}: no value at {c:g} CPUs and {m:g} GB, expected a grid")
    values = np.array([[points[c, m] for m in memory_gb] for c in cpus])
    try:
        return SensitivityMatrix(np.array(cpus), np.array(memory_gb), values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def network_name(name: str) -> str:
    """The short name of a network, by any of its spellings; `InputError` for others."""
    found = _spellings().get(name.strip().lower())
    if found is None:
        raise InputError(f"model is {name!r}, expected one of {', '.join(networks())}")
    return found


@cache
def _spellings() -> Mapping[str, str]:
    return {
        spelling.lower(): n.name
        for n in networks().values()
        for spelling in (n.name, n.title, n.alias)
        if spelling
    }


# -- rates -----------------------------------------------------------------------------------


def with_sensitivity(
    workload: Workload,
    cluster: Cluster,
    *,
    matrices: Mapping[str, SensitivityMatrix] | None = None,
    released: bool = False,
    round_s: float | None = None,
    network_penalty: float = 1.0,
) -> Workload:
    """The workload with rates that depend on CPUs and memory, as its models' matrices say.

    Durations are those at the GPU-proportional share of the cluster's (first) server, whatever its
    CPU:GPU ratio is, as in the paper.

    Parameters
    ----------
    workload : jobs of `FixedDuration` with a `Workload.model` each; without any model it comes
        back as it is.
    cluster : where it will run.
    matrices : of the models by name; the paper's ten unless told otherwise.
    released : the released simulator's speeds: 1, or one published speed-up at the full demand,
        scaled by the CPUs where a server has too few (its optimal mechanism reads the matrices,
        so simulate that one without).
    round_s : count only whole iterations in rounds of this length, as the released simulator does;
        None: any progress counts. For the paper's ten models.
    network_penalty : see `Sensitivity`.

    Raises
    ------
    InputError
        An unknown model, a job without GPUs, or a cluster without CPUs and memory.
    """
    if not any(workload.model):
        return workload
    if not isinstance(workload.performance, FixedDuration):
        raise InputError("workload: models with sensitivity need a fixed duration a job")
    spec = cluster.node_types[0]
    if not np.isfinite([spec.gpus, spec.cpus, spec.memory_gb]).all():
        raise InputError(
            f"node type {spec.name!r}: jobs with a model need its GPUs, CPUs and memory, "
            f"expected three numbers, got {spec.gpus}, {spec.cpus} and {spec.memory_gb}"
        )
    names = _known_models(workload, matrices)
    kinds = list(
        zip(names, workload.num_gpus.tolist() if released else [0] * len(names), strict=True)
    )
    index = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    share = (spec.cpus / spec.gpus, spec.memory_gb / spec.gpus)
    if released:
        made = [_released_matrix(model, gpus, spec) for model, gpus in index]
    else:
        made = [
            (matrices or sensitivity_matrices())[model].relative_to(*share) for model, _ in index
        ]
    if round_s is not None:
        made = [
            _in_whole_iterations(matrix, model, fair_cpus=share[0], round_s=round_s)
            for matrix, (model, _) in zip(made, index, strict=True)
        ]
    performance = Sensitivity(
        workload.performance.duration_s,
        workload.num_gpus,
        np.array([index[kind] for kind in kinds], dtype=np.int64),
        made,
        network_penalty,
    )
    return replace(workload, performance=performance, model=names)


def _known_models(
    workload: Workload, matrices: Mapping[str, SensitivityMatrix] | None
) -> Sequence[str]:
    """The short name of each job's model, all of them known, all jobs with GPUs."""
    names = []
    for job, name in enumerate(workload.model):
        where = f"workload: job {workload.job_id[job]!r}: "
        if workload.num_gpus[job] == ELASTIC:
            raise InputError(where + "num_gpus is 0, expected at least 1 for a job with a model")
        if matrices is not None and name in matrices:
            names.append(name)
        elif matrices is not None:
            raise InputError(where + f"model is {name!r}, expected one of {', '.join(matrices)}")
        else:
            try:
                names.append(network_name(name))
            except InputError as error:
                raise InputError(where + str(error)) from None
    return names


def _in_whole_iterations(
    matrix: SensitivityMatrix, model: str, fair_cpus: float, round_s: float
) -> SensitivityMatrix:
    """Rates less what a round loses because its last iteration is not finished."""
    network = networks()[network_name(model)]
    base = sensitivity_matrices()[network.name](fair_cpus, SERVER.memory_gb / SERVER.gpus)
    in_round = round_s * base / network.iteration_time_s
    if in_round < 1:
        raise InputError(
            f"round of {round_s:g} s: an iteration of {network.title} takes longer, expected at "
            f"least {network.iteration_time_s / base:g} s"
        )
    whole = np.floor(in_round * matrix.relative + 1e-9)
    return SensitivityMatrix(matrix.cpus, matrix.memory_gb, whole / in_round)


def _released_matrix(model: str, gpus: int, spec: NodeType) -> SensitivityMatrix:
    """The released simulator's two speeds of a job, as a matrix of two by two points."""
    fair = (spec.cpus / spec.gpus, spec.memory_gb / spec.gpus)
    ratio = int(fair[0])
    if (ratio, model) not in _released_demands() or ratio != fair[0]:
        raise InputError(
            f"node type {spec.name!r}: {fair[0]:g} CPUs per GPU, expected 3, 4, 5 or 6: the "
            "released speed-ups are known for these alone"
        )
    cpus, memory_gb, speedup = _released_demands()[ratio, model]
    if gpus > spec.gpus:
        demand, speedup = fair, 1.0
    else:
        demand = (min(cpus, spec.cpus / gpus), min(memory_gb, spec.memory_gb / gpus))
        if cpus > fair[0]:
            speedup = 1 + (speedup - 1) * (demand[0] - fair[0]) / (cpus - fair[0])
    grid_c, grid_m = (sorted({fair[i], demand[i]}) for i in (0, 1))
    relative = [
        [speedup if c >= demand[0] and m >= demand[1] else 1.0 for m in grid_m] for c in grid_c
    ]
    return SensitivityMatrix(np.array(grid_c), np.array(grid_m), np.array(relative))


@cache
def _released_demands() -> Mapping[tuple[int, str], tuple[float, float, float]]:
    return {
        (int(row["cpus_per_gpu_of_server"]), row["model"]): (
            float(row["cpus_per_gpu"]),
            float(row["memory_gb_per_gpu"]),
            float(row["speedup"]),
        )
        for row in rows_of("synergy_released_demand.csv")
    }


# -- traces ----------------------------------------------------------------------------------


def derived_trace(
    num_jobs: int,
    streams: Streams,
    *,
    split: Sequence[float] = (20, 70, 10),
    jobs_per_hour: float | None = None,
    multi_gpu: bool = False,
    gpu_law: str = "philly",
) -> Workload:
    """The production-derived trace of Section 5.1, at GPU-proportional durations.

    Minutes are 10^x, x uniform on [1.5, 3] with probability 0.8 and on [3, 4] with 0.2 (16.8 h on
    average). A task is the one that lags most behind its share of the split; the networks of a task
    take turns.

    Parameters
    ----------
    num_jobs : how many.
    streams : of ``arrivals``, ``durations`` and ``gpus``; the same jobs come at every load.
    split : shares of image, language and speech jobs.
    jobs_per_hour : rate of the Poisson arrivals; None: all jobs at time 0.
    multi_gpu : GPUs drawn from ``gpu_law`` (up to 16), else 1 each.
    gpu_law : ``"philly"`` or ``"gavel"``, a law of ``data/synergy_gpu_demand.csv``.
    """
    if num_jobs < 1:
        raise InputError(f"derived trace: {num_jobs} jobs, expected at least 1")
    if jobs_per_hour is not None and not 0 < jobs_per_hour < np.inf:
        raise InputError(f"derived trace: {jobs_per_hour} jobs/h, expected a number > 0")
    rng = streams.generator("durations")
    long = rng.random(num_jobs) < 0.2
    x = np.where(long, rng.uniform(3, 4, num_jobs), rng.uniform(1.5, 3, num_jobs))
    gpus = np.ones(num_jobs, dtype=np.int64)
    if multi_gpu:
        sizes, probability = gpu_demand_law(gpu_law)
        gpus = streams.generator("gpus").choice(sizes, size=num_jobs, p=probability)
    submit_s = np.zeros(num_jobs)
    if jobs_per_hour is not None:
        gaps = streams.generator("arrivals").exponential(size=num_jobs)
        submit_s = np.cumsum(gaps) * SECONDS_PER_HOUR / jobs_per_hour
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=submit_s,
        performance=FixedDuration(60 * 10**x, gpus),
        num_gpus=gpus,
        model=models_of_split(num_jobs, split),
    )


def philly_like_trace(
    num_jobs: int,
    streams: Streams,
    jobs_per_hour: float,
    *,
    split: Sequence[float] = (20, 70, 10),
) -> Workload:
    """Jobs with the GPU demands and durations of the Philly trace, and Poisson arrivals.

    Durations come from the quantiles of jobs with as many GPUs
    (``data/synergy_philly_durations.csv``), linear in between.
    """
    quantiles: dict[int, tuple[int, list[tuple[float, float]]]] = {}
    for row in rows_of("synergy_philly_durations.csv"):
        points = quantiles.setdefault(int(row["num_gpus"]), (int(row["jobs"]), []))[1]
        points.append((float(row["quantile"]), float(row["duration_s"])))
    jobs = np.array([count for count, _ in quantiles.values()])
    gpus = streams.generator("gpus").choice(list(quantiles), size=num_jobs, p=jobs / jobs.sum())
    at = streams.generator("durations").random(num_jobs)
    duration_s = np.zeros(num_jobs)
    for size, (_, points) in quantiles.items():
        q, seconds = np.array(points).T
        duration_s = np.where(gpus == size, np.interp(at, q, seconds), duration_s)
    gaps = streams.generator("arrivals").exponential(size=num_jobs)
    return Workload(
        job_id=[str(j) for j in range(num_jobs)],
        submit_s=np.cumsum(gaps) * SECONDS_PER_HOUR / jobs_per_hour,
        performance=FixedDuration(duration_s, gpus),
        num_gpus=gpus,
        model=models_of_split(num_jobs, split),
    )


def models_of_split(num_jobs: int, split: Sequence[float]) -> list[str]:
    """A network for each job: the task furthest behind its share, its networks in turn.

    Raises
    ------
    InputError
        The split is not three shares >= 0 with a positive sum.
    """
    share = np.array(split, dtype=np.float64)
    if share.shape != (len(TASKS),) or not (share >= 0).all() or not share.sum() > 0:
        raise InputError(
            f"split is {tuple(split)}, expected three shares >= 0: image, language, speech"
        )
    share /= share.sum()
    of_task = [[n.name for n in networks().values() if n.task == task] for task in TASKS]
    shares = share.tolist()
    given = [0] * len(TASKS)
    models = []
    for job in range(1, num_jobs + 1):
        # In whole billionths: equal deficits stay equal whatever rounding does.
        lag = [round((s * job - g) * 1e9) for s, g in zip(shares, given, strict=True)]
        task = lag.index(max(lag))
        of = of_task[task]
        models.append(of[given[task] % len(of)])
        given[task] += 1
    return models


def deployment_trace(name: Literal["static", "dynamic"]) -> Workload:
    """One of the two traces behind Table 5: 100 single-GPU jobs on four servers.

    ``static``: all at time 0, split (60, 30, 10), scheduled with FIFO in the paper; ``dynamic``:
    arrivals over time, split (30, 60, 10), with SRTF.
    """
    if name not in ("static", "dynamic"):
        raise InputError(f"deployment trace: got {name!r}, expected 'static' or 'dynamic'")
    rows = rows_of(f"synergy_trace_{name}.csv")
    gpus = np.array([int(row["num_gpus"]) for row in rows], dtype=np.int64)
    return Workload(
        job_id=[str(row["job_id"]) for row in rows],
        submit_s=np.array([float(row["submit_s"]) for row in rows]),
        performance=FixedDuration(np.array([float(row["duration_s"]) for row in rows]), gpus),
        num_gpus=gpus,
        model=[row["model"] for row in rows],
    )


@cache
def gpu_demand_law(name: str) -> tuple[IntArray, FloatArray]:
    """GPUs and their probabilities."""
    rows = rows_of("synergy_gpu_demand.csv")
    of_law = [(int(row["num_gpus"]), float(row["jobs"])) for row in rows if row["law"] == name]
    if not of_law:
        known = ", ".join(dict.fromkeys(row["law"] for row in rows))
        raise InputError(f"law of GPU demand is {name!r}, expected one of {known}")
    jobs = np.array([count for _, count in of_law])
    return np.array([gpus for gpus, _ in of_law], dtype=np.int64), jobs / jobs.sum()
