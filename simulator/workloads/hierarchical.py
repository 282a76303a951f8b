"""The random scenario of the hierarchical paper (Section V-A), with its released variants.

Jobs train AlexNet, ResNet-50, VGG-16 or DeepSpeech in PyTorch or TensorFlow; batch size and number
of epochs vary. Execution times on every VM type and number of GPUs come from `throughput`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from simulator.arguments import MOST_JOBS, expect_few
from simulator.errors import InputError
from simulator.files.keys import Positive
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, NodeType
from simulator.model.performance import TimeTable
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.machines import NodeCount, Vms
from simulator.workloads.pool_times import pool_times
from simulator.workloads.table import Setting, WorkloadTable
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


class HierarchicalJobs(WorkloadTable):
    """The random scenario of the hierarchical paper, Section V-A."""

    kind: Literal["hierarchical"] = "hierarchical"
    seed: Annotated[int, Field(ge=0)] | None = Field(default=None, examples=[1])
    """seed of the jobs alone, so that a sweep over the scenario's seeds keeps the jobs; left out: the scenario's"""
    num_nodes: NodeCount = 10
    """nodes for which jobs are drawn"""
    jobs_per_node: Annotated[int, Field(ge=1, le=100_000)] = 10
    """jobs for each node"""
    mean_gap_s: Positive = 45_000.0
    """mean gap between submissions, divided by the number of nodes"""
    arrivals: Arrivals = "exponential"
    """gaps: exponential; nearly constant (poisson-distributed); mixed: ten jobs at a high rate, then ten at a quarter of it"""
    due: Due = "min-2max"
    """due dates: uniform from the least time of the job to 2 times the longest, 3 times the least, or the longest"""
    weights: Weights = "printed"
    """cost of tardiness: U[0.36, 1.08] an hour (printed) or U[0.003, 0.015] a second (released)"""
    times: Times = "throughput"
    """execution times: fitted throughput, or the authors' public pool of jobs"""

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        expect_few(self.num_nodes * self.jobs_per_node, MOST_JOBS, "jobs in all")
        return self

    of_machines = True

    @property
    def num_drawn(self) -> int:
        """``J``."""
        return self.num_nodes * self.jobs_per_node

    def cluster(
        self, num_controllers: int | None = None, catalog: Sequence[NodeType] = ()
    ) -> Cluster:
        """``N`` VMs of a catalogue (Table II) under ``K`` controllers, ``K = N/5`` where not given.

        Raises InputError: ``K`` does not divide ``N``.
        """
        if num_controllers is None:
            if self.num_nodes % NODES_PER_CONTROLLER:
                raise InputError(
                    f"num_nodes is {self.num_nodes}, expected a multiple of "
                    f"{NODES_PER_CONTROLLER} or a number of controllers that divides it"
                )
            num_controllers = self.num_nodes // NODES_PER_CONTROLLER
        return Cluster.of_vms(catalog or _table2(), self.num_nodes, num_controllers)

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The jobs, and VMs of the scenario's catalogue under one controller."""
        vms = setting.machines if isinstance(setting.machines, Vms) else Vms()
        catalog = vms.types()
        return generate(self, catalog, setting.seed), self.cluster(1, catalog)

    def with_few_jobs(self) -> Self:
        """A job a node."""
        return type(self)(num_nodes=self.num_nodes, jobs_per_node=1)


def generate(jobs: HierarchicalJobs, catalog: Sequence[NodeType] = (), seed: int = 0) -> Workload:
    """The jobs, with times ``(J, V, G + 1)`` over a catalogue (Table II where left out).

    The same seed gives the same jobs in every catalogue. Streams: ``arrivals``, ``job-mix``, ``due``, ``weight``, so that a variant of one leaves the
    others alone.

    Raises InputError: a GPU type without training times, or a job that no VM type of the catalogue can
    run.
    """
    streams = Streams(seed if jobs.seed is None else jobs.seed)
    times = pool_times if jobs.times == "pool" else _times
    drawn = times(jobs.num_drawn, catalog or _table2(), streams.generator("job-mix"))
    return with_times(jobs, streams, *drawn)


def with_times(
    jobs: HierarchicalJobs, streams: Streams, times_s: FloatArray, model: list[str]
) -> Workload:
    """The jobs with these times ``(J, V, G + 1)`` and names, whatever its own are.

    Raises
    ------
    InputError
        A job that no VM type of the catalogue can run.
    """
    finite = np.where(np.isfinite(times_s), times_s, np.nan).reshape(len(model), -1)
    if np.isnan(finite).all(axis=1).any():
        stuck = model[int(np.argmax(np.isnan(finite).all(axis=1)))]
        raise InputError(f"catalog: no VM type has the GPU memory to run {stuck!r}")
    low, high = np.nanmin(finite, axis=1), np.nanmax(finite, axis=1)
    latest = {"min-2max": 2 * high, "min-3min": 3 * low, "min-max": high}[jobs.due]
    submit_s = _submissions(jobs, streams.generator("arrivals"))
    due_s = submit_s + streams.generator("due").uniform(low, latest)
    weight = streams.generator("weight").uniform(*WEIGHT_PER_S[jobs.weights], len(model))
    return Workload(
        job_id=[f"J{j + 1}" for j in range(len(model))],
        submit_s=submit_s,
        performance=TimeTable(times_s),
        due_s=due_s,
        weight_per_s=weight,
        model=model,
    )


def _submissions(jobs: HierarchicalJobs, rng: np.random.Generator) -> FloatArray:
    """``(J,)`` submission times; the first job comes at 0, as in the released instances."""
    mean = jobs.mean_gap_s / jobs.num_nodes
    count = jobs.num_drawn - 1
    if jobs.arrivals == "poisson-distributed":
        gaps = rng.poisson(mean, count).astype(np.float64)
    else:
        gaps = rng.exponential(mean, count)
    if jobs.arrivals == "mixed":
        slow = np.arange(count) // CLUSTER_OF_JOBS % 2 == 1
        gaps *= np.where(slow, LOW_OVER_HIGH_GAP, 1.0) * 2 / (1 + LOW_OVER_HIGH_GAP)
    return np.concatenate([[0.0], np.cumsum(gaps)])


def _times(
    count: int, catalog: Sequence[NodeType], rng: np.random.Generator
) -> tuple[FloatArray, list[str]]:
    """``(J, V, G + 1)`` times and the jobs' names, e.g. ``"tensorflow_vgg16"``.

    Every pair of network and framework is as likely, and so is every batch size of the network.
    The epochs are such that the shortest time lies in `SHORTEST_S` (log-uniform).
    """
    apps = list(applications().values())
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
            own = epoch_s(app, FRAMEWORKS[f], batch, catalog)
            fastest = epoch_s(app, FRAMEWORKS[f], batch, table2).min()
            epochs[key] = (own, float(fastest))
        own, fastest = epochs[key]
        rows.append(np.ceil(s / fastest) * own)
        model.append(f"{FRAMEWORKS[f]}_{app.name}")
    return np.array(rows), model
