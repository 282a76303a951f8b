"""The random scenario of the hierarchical paper (Section V-A), with its released variants.

Jobs train AlexNet, ResNet-50, VGG-16 or DeepSpeech in PyTorch or TensorFlow; batch size and number
of epochs vary. Execution times on every VM type and number of GPUs come from `throughput`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from simulator.arguments import one_of, positive, whole
from simulator.errors import InputError
from simulator.limits import MOST_JOBS, expect_few
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, NodeType
from simulator.model.performance import TimeTable
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.pool_times import pool_times
from simulator.workloads.throughput import FRAMEWORKS, applications, epoch_s

Arrivals = Literal["exponential", "poisson-distributed", "mixed"]
Due = Literal["min-2max", "min-3min", "min-max"]
Weights = Literal["printed", "released"]
Times = Literal["throughput", "pool"]

NODES_PER_CONTROLLER = 5
SHORTEST_S = (45_000.0, 100_000.0)
"""Bounds of a job's time on its fastest configuration of Table II. The paper: the mean gap of
45,000 s is below the execution time of the shortest jobs."""
CLUSTER_OF_JOBS = 10
"""Jobs of one rate in a row under mixed arrivals, as in the released instances."""
LOW_OVER_HIGH_GAP = 4.0
"""Mean gap at the low rate over that at the high rate, as in the released instances."""
WEIGHT_PER_S = {
    "printed": (0.36 / SECONDS_PER_HOUR, 1.08 / SECONDS_PER_HOUR),
    "released": (0.003, 0.015),
}


def _table2() -> tuple[NodeType, ...]:
    return read_catalog("hierarchical")


@dataclass(frozen=True)
class HierarchicalScenario:
    """The parameters of Section V-A.

    Attributes
    ----------
    num_nodes : ``N``; the paper has 5 to 100.
    jobs_per_node : ``J / N``.
    mean_gap_s : mean time between two submissions *times N*, s.
    arrivals : ``exponential`` gaps; ``poisson-distributed`` gaps as in the released generator,
        which are nearly constant; or ``mixed``, ten jobs at a high rate and ten at a quarter of it
        in turn, with the same mean.
    due : due date after submission, with the extremes of the job's times: U[min, 2 max] (printed),
        U[min, 3 min] or U[min, max] (other released generators).
    times : ``throughput``, from the networks' throughput on each GPU type, or ``pool``, as in the
        authors' public pool of jobs (`pool_times`).
    weights : cost of tardiness, ``printed`` U[0.36, 1.08] $/h or ``released`` U[0.003, 0.015] $/s.
    catalog : VM types; Table II where left out.
    seed : of all random numbers. The same seed gives the same jobs in every catalogue.
    """

    num_nodes: int = 10
    jobs_per_node: int = 10
    mean_gap_s: float = 45_000.0
    arrivals: Arrivals = "exponential"
    due: Due = "min-2max"
    weights: Weights = "printed"
    times: Times = "throughput"
    catalog: tuple[NodeType, ...] = field(default_factory=_table2)
    seed: int = 0

    def __post_init__(self) -> None:
        whole(1, num_nodes=self.num_nodes, jobs_per_node=self.jobs_per_node)
        expect_few(self.num_jobs, MOST_JOBS, "jobs in all")
        positive(mean_gap_s=self.mean_gap_s)
        one_of(get_args(Arrivals), arrivals=self.arrivals)
        one_of(get_args(Due), due=self.due)
        one_of(get_args(Weights), weights=self.weights)
        one_of(get_args(Times), times=self.times)
        if not self.catalog:
            raise InputError("catalog is empty, expected at least one VM type")
        Streams(self.seed)

    @property
    def num_jobs(self) -> int:
        """``J``."""
        return self.num_nodes * self.jobs_per_node

    def cluster(self, num_controllers: int | None = None) -> Cluster:
        """``N`` VMs of the catalogue under ``K`` controllers, ``K = N/5`` where not given.

        Raises InputError: ``K`` does not divide ``N``.
        """
        if num_controllers is None:
            if self.num_nodes % NODES_PER_CONTROLLER:
                raise InputError(
                    f"num_nodes is {self.num_nodes}, expected a multiple of "
                    f"{NODES_PER_CONTROLLER} or a number of controllers that divides it"
                )
            num_controllers = self.num_nodes // NODES_PER_CONTROLLER
        return Cluster.of_vms(self.catalog, self.num_nodes, num_controllers)


def generate(scenario: HierarchicalScenario) -> Workload:
    """The jobs of a scenario, with times ``(J, V, G + 1)`` over its catalogue.

    Streams: ``arrivals``, ``job-mix``, ``due``, ``weight``, so that a variant of one leaves the
    others alone.

    Raises InputError: a GPU type without training times, or a job that no VM type of the catalogue can
    run.
    """
    job_mix = Streams(scenario.seed).generator("job-mix")
    if scenario.times == "pool":
        return with_times(scenario, *pool_times(scenario.num_jobs, scenario.catalog, job_mix))
    return with_times(scenario, *_times(scenario, job_mix))


def with_times(scenario: HierarchicalScenario, times_s: FloatArray, model: list[str]) -> Workload:
    """The jobs of a scenario with these times ``(J, V, G + 1)`` and names, whatever its own are.

    Raises
    ------
    InputError
        A job that no VM type of the catalogue can run.
    """
    streams = Streams(scenario.seed)
    finite = np.where(np.isfinite(times_s), times_s, np.nan).reshape(len(model), -1)
    if np.isnan(finite).all(axis=1).any():
        stuck = model[int(np.argmax(np.isnan(finite).all(axis=1)))]
        raise InputError(f"catalog: no VM type has the GPU memory to run {stuck!r}")
    low, high = np.nanmin(finite, axis=1), np.nanmax(finite, axis=1)
    latest = {"min-2max": 2 * high, "min-3min": 3 * low, "min-max": high}[scenario.due]
    submit_s = _submissions(scenario, streams.generator("arrivals"))
    due_s = submit_s + streams.generator("due").uniform(low, latest)
    weight = streams.generator("weight").uniform(*WEIGHT_PER_S[scenario.weights], len(model))
    return Workload(
        job_id=[f"J{j + 1}" for j in range(len(model))],
        submit_s=submit_s,
        performance=TimeTable(times_s),
        due_s=due_s,
        weight_per_s=weight,
        model=model,
    )


def _submissions(scenario: HierarchicalScenario, rng: np.random.Generator) -> FloatArray:
    """``(J,)`` submission times; the first job comes at 0, as in the released instances."""
    mean = scenario.mean_gap_s / scenario.num_nodes
    count = scenario.num_jobs - 1
    if scenario.arrivals == "poisson-distributed":
        gaps = rng.poisson(mean, count).astype(np.float64)
    else:
        gaps = rng.exponential(mean, count)
    if scenario.arrivals == "mixed":
        slow = np.arange(count) // CLUSTER_OF_JOBS % 2 == 1
        gaps *= np.where(slow, LOW_OVER_HIGH_GAP, 1.0) * 2 / (1 + LOW_OVER_HIGH_GAP)
    return np.concatenate([[0.0], np.cumsum(gaps)])


def _times(
    scenario: HierarchicalScenario, rng: np.random.Generator
) -> tuple[FloatArray, list[str]]:
    """``(J, V, G + 1)`` times and the jobs' names, e.g. ``"tensorflow_vgg16"``.

    Every pair of network and framework is as likely, and so is every batch size of the network.
    The epochs are such that the shortest time lies in `SHORTEST_S` (log-uniform).
    """
    apps = list(applications().values())
    count = scenario.num_jobs
    network = rng.integers(len(apps), size=count)
    framework = rng.integers(len(FRAMEWORKS), size=count)
    batch_draw = rng.random(count)
    shortest = np.exp(rng.uniform(math.log(SHORTEST_S[0]), math.log(SHORTEST_S[1]), count))

    epochs: dict[tuple[int, int, int], tuple[FloatArray, float]] = {}
    table2 = _table2()
    rows, model = [], []
    for n, f, u, s in zip(network, framework, batch_draw, shortest, strict=True):
        app = apps[n]
        batch = app.batch_sizes[int(u * len(app.batch_sizes))]
        key = (int(n), int(f), batch)
        if key not in epochs:
            own = epoch_s(app, FRAMEWORKS[f], batch, scenario.catalog)
            fastest = epoch_s(app, FRAMEWORKS[f], batch, table2).min()
            epochs[key] = (own, float(fastest))
        own, fastest = epochs[key]
        rows.append(np.ceil(s / fastest) * own)
        model.append(f"{FRAMEWORKS[f]}_{app.name}")
    return np.array(rows), model
