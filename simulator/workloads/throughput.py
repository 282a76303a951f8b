"""Training times of networks on each node type: a small physical model.

One step of synchronous data-parallel training with a global batch of ``B`` samples on ``g`` of a
node's ``G`` GPUs, ``b = ceil(B/g)`` on each:

    step_s = max( factor alpha (b + beta) + 2 (g - 1)/g S/W ,  B / feed(g) )

computation and gradient exchange (see `benchmarks.calibration`), or, where it is slower, the feeding of the
GPUs with samples: prefetching hides one behind the other. A job may count on the share of the
node's CPUs and storage that goes with its GPUs, since a table t[j, v, g] cannot know its
neighbours: ``feed(g) = min(CPUs g/G x samples/s per CPU, storage g/G / sample size)``.

A configuration exists only where ``b`` samples fit into a GPU beside weights, gradients and
momentum; elsewhere the time is infinite.

Numbers and sources: ``data/applications.csv``, ``data/gpu_types.csv``,
``data/throughput_fit.csv``, data/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from simulator.errors import InputError
from simulator.files.bundled import read_table, records
from simulator.model.cluster import FloatArray, NodeType

FRAMEWORKS = ("pytorch", "tensorflow")

STATE_COPIES = 3
"""Weights, gradients and momentum lie on every GPU."""
RESERVED_GB = 0.4
"""Taken on each GPU before the first sample (driver context, libraries); our assumption."""


@dataclass(frozen=True)
class TrainedNetwork:
    """One network and the data that it is trained on.

    Attributes
    ----------
    name : e.g. ``"resnet50"``.
    samples_per_epoch : images or utterances.
    sample_mb : size of one on storage, MB.
    samples_per_cpu_s : what one CPU prepares in a second.
    parameters_mb : size of weights, and of the gradient that GPUs exchange, MB.
    memory_gb_per_sample : activations on a GPU, GB.
    fixed_samples : ``beta``, the cost of a step whatever its size, in samples.
    tensorflow_factor : time of a step in TensorFlow over PyTorch.
    batch_sizes : global batches that jobs are drawn with.
    """

    name: str
    samples_per_epoch: int
    sample_mb: float
    samples_per_cpu_s: float
    parameters_mb: float
    memory_gb_per_sample: float
    fixed_samples: float
    tensorflow_factor: float
    batch_sizes: tuple[int, ...]

    def memory_gb(self, batch_per_gpu: int) -> float:
        """Memory that ``batch_per_gpu`` samples need on one GPU, GB."""
        state = STATE_COPIES * self.parameters_mb / 1000
        return RESERVED_GB + state + batch_per_gpu * self.memory_gb_per_sample

    def factor(self, framework: str) -> float:
        """Time of a step relative to PyTorch."""
        return self.tensorflow_factor if framework == "tensorflow" else 1.0


@dataclass(frozen=True)
class GpuHost:
    """One GPU type and the machines that it sits in.

    Attributes
    ----------
    gpu_type : e.g. ``"K80"``.
    memory_gb : of one GPU.
    all_reduce_gb_per_s : bandwidth of the gradient exchange.
    cpus_per_gpu : infinite where CPUs do not limit.
    storage_mb_per_s : of the whole node, infinite where it does not limit.
    time_per_sample_s : ``alpha`` by application.
    """

    gpu_type: str
    memory_gb: float
    all_reduce_gb_per_s: float
    cpus_per_gpu: float
    storage_mb_per_s: float
    time_per_sample_s: dict[str, float]

    def feed_per_s(self, app: TrainedNetwork, gpus: int, node_gpus: int) -> float:
        """Samples/s that reach a job with ``gpus`` of the node's ``node_gpus``."""
        share = gpus / node_gpus
        by_storage = self.storage_mb_per_s * share / app.sample_mb
        return min(self.cpus_per_gpu * gpus * app.samples_per_cpu_s, by_storage)


def step_s(
    app: TrainedNetwork, framework: str, batch: int, host: GpuHost, gpus: int, node_gpus: int
) -> float:
    """Seconds of one training step; infinite where the batch does not fit."""
    per_gpu = math.ceil(batch / gpus)
    if app.memory_gb(per_gpu) > host.memory_gb:
        return math.inf
    alpha = host.time_per_sample_s[app.name]
    compute = app.factor(framework) * alpha * (per_gpu + app.fixed_samples)
    volume_gb = 2 * (gpus - 1) / gpus * app.parameters_mb / 1000
    exchange = volume_gb / host.all_reduce_gb_per_s
    return max(compute + exchange, batch / host.feed_per_s(app, gpus, node_gpus))


def epoch_s(
    app: TrainedNetwork, framework: str, batch: int, catalog: Sequence[NodeType]
) -> FloatArray:
    """``(V, G + 1)`` seconds of one epoch on ``g`` GPUs of each node type.

    Raises InputError: a GPU type without figures.
    """
    most = max(int(t.gpus) for t in catalog)
    table = np.full((len(catalog), most + 1), np.inf)
    steps = math.ceil(app.samples_per_epoch / batch)
    for v, node_type in enumerate(catalog):
        host = gpu_host(node_type.gpu_type)
        for g in range(1, int(node_type.gpus) + 1):
            table[v, g] = steps * step_s(app, framework, batch, host, g, int(node_type.gpus))
    return table


@cache
def applications() -> dict[str, TrainedNetwork]:
    """The paper's four networks by name."""
    rows = records(read_table("throughput_fit.csv"))
    fit = {(row["parameter"], row["application"]): float(row["value"]) for row in rows}
    return {
        row["application"]: TrainedNetwork(
            name=row["application"],
            samples_per_epoch=int(row["samples_per_epoch"]),
            sample_mb=float(row["sample_mb"]),
            samples_per_cpu_s=float(row["samples_per_cpu_s"]),
            parameters_mb=float(row["parameters_mb"]),
            memory_gb_per_sample=float(row["memory_gb_per_sample"]),
            fixed_samples=fit["fixed_samples", row["application"]],
            tensorflow_factor=fit["tensorflow_factor", row["application"]],
            batch_sizes=tuple(int(b) for b in row["batch_sizes"].split()),
        )
        for row in records(read_table("applications.csv"))
    }


def gpu_host(gpu_type: str) -> GpuHost:
    """One GPU type with figures; `InputError` where there are none."""
    hosts = _gpu_hosts()
    if gpu_type not in hosts:
        raise InputError(
            f"GPU type {gpu_type!r}: no training times, expected one of {', '.join(hosts)}"
        )
    return hosts[gpu_type]


@cache
def _gpu_hosts() -> dict[str, GpuHost]:
    fit = read_table("throughput_fit.csv")
    bus = fit[fit["parameter"] == "all_reduce"].set_index("gpu_type")["value"]
    alpha = fit[fit["parameter"] == "time_per_sample"]
    unlimited = {"cpus_per_gpu": math.inf, "storage_mb_per_s": math.inf}
    hosts = {}
    for row in records(read_table("gpu_types.csv").dropna(subset=["host"]).fillna(unlimited)):
        own = alpha[alpha["gpu_type"] == row["gpu_type"]]
        hosts[row["gpu_type"]] = GpuHost(
            gpu_type=row["gpu_type"],
            memory_gb=float(row["memory_gb"]),
            all_reduce_gb_per_s=float(bus[row["host"]]),
            cpus_per_gpu=float(row["cpus_per_gpu"]),
            storage_mb_per_s=float(row["storage_mb_per_s"]),
            time_per_sample_s=dict(zip(own["application"], own["value"], strict=True)),
        )
    return hosts
