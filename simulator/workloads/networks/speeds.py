"""Training speeds of Synergy's ten networks on each GPU type, and on several GPUs of a node.

A job keeps its batch on each GPU, so that one step takes

    step_s(v, g) = iteration_s / speed(v) + 2 (g - 1)/g S/W        rate(v, g) = g / step_s(v, g)

``iteration_s`` is the published time of an iteration on a V100, ``speed(v)`` the relative speed of
GPU type ``v`` (V100: 1), ``S`` the gradient and ``W`` the bandwidth of its exchange within a node.
It is the physical form of `throughput`, whose jobs divide one global batch instead. On types that were
measured with several GPUs, those speeds count in place of the second term: between the numbers of GPUs the
speed of a GPU is interpolated, beyond them it is that of the largest.

``data/gpu_speeds.csv`` holds the relative speeds, each with what it rests on.
``python -m benchmarks.gpu_speeds`` computes that table anew from the published points, and a test
compares the two. ``data/network_gradients.csv`` holds the sizes of the gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from simulator.errors import InputError
from simulator.files.bundled import read_table, records
from simulator.model.cluster import Cluster, FloatArray
from simulator.workloads.networks.named import dnn_models
from simulator.workloads.throughput import RESERVED_GB, STATE_COPIES

REFERENCE = "V100"
"""The GPU type whose relative speed is 1."""

UNNAMED = "GPU"
"""GPUs without a type: as fast as `REFERENCE`, with memory for every network."""

DEFAULT_HOST = "in-house"
"""Host whose bandwidth counts for GPU types without one of their own: PCIe, no NVLink."""


class StepParts(NamedTuple):
    """Parts of the step time of a network.

    Attributes
    ----------
    name : short name, as in `simulator.workloads.networks.named`.
    iteration_s : one iteration on one V100, s.
    gradient_gb : S, GB.
    speed_of : relative speed by GPU type.
    scaling : numbers of GPUs, and the speed of each of so many over that of one alone, by GPU type measured so.
    """

    name: str
    iteration_s: float
    gradient_gb: float
    speed_of: dict[str, float]
    scaling: dict[str, tuple[list[int], list[float]]]


@cache
def trainings() -> dict[str, StepParts]:
    """The ten networks by name."""
    speeds = relative_speeds()
    gradients = read_table("network_gradients.csv").set_index("network")["parameters_mb"]
    found = {}
    for name, network in dnn_models().items():
        own = speeds[name]
        scaling = {
            gpu_type: (list(by_gpus), [s / g / by_gpus[1] for g, s in by_gpus.items()])
            for gpu_type, by_gpus in own.items()
            if len(by_gpus) > 1
        }
        found[name] = StepParts(
            name,
            network.iteration_time_s,
            float(gradients[name]) / 1000,
            {UNNAMED: 1.0, **{gpu_type: by_gpus[1] for gpu_type, by_gpus in own.items()}},
            scaling,
        )
    return found


@cache
def relative_speeds() -> dict[str, dict[str, dict[int, float]]]:
    """Speed over that of one `REFERENCE`, by network, GPU type and number of GPUs."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in records(read_table("gpu_speeds.csv")):
        of_type = found.setdefault(row["network"], {}).setdefault(row["gpu_type"], {})
        of_type[int(row["gpus"])] = float(row["relative_speed"])
    return found


def rate(name: str, gpu_type: str, gpus: int) -> float:
    """Iterations of one GPU's batch that ``gpus`` GPUs do in a second; 0 where it does not fit.

    Raises InputError: a GPU type without figures; one line.
    """
    training = trainings()[name]
    if gpu_type not in training.speed_of:
        raise InputError(
            f"model {name!r}: no throughput on GPU type {gpu_type!r}, expected one of "
            f"{', '.join(training.speed_of)}"
        )
    memory_gb, bandwidth = _hosts()[gpu_type]
    if RESERVED_GB + STATE_COPIES * training.gradient_gb > memory_gb:
        return 0.0
    alone_s = training.iteration_s / training.speed_of[gpu_type]
    if gpu_type in training.scaling:
        return gpus * float(np.interp(gpus, *training.scaling[gpu_type])) / alone_s
    exchange_s = 2 * (gpus - 1) / gpus * training.gradient_gb / bandwidth
    return gpus / (alone_s + exchange_s)


def relative_times(name: str, cluster: Cluster, gpu_type: str, gpus: int) -> FloatArray:
    """``(V, G + 1)`` times over the time on ``gpus`` GPUs of ``gpu_type``, which is 1.

    Infinite where the weights do not fit into the GPU's memory, and at ``g = 0``.

    Raises InputError: a GPU type without figures, or a network that does not fit on ``gpu_type``
    itself.
    """
    base = rate(name, gpu_type, gpus)
    if base <= 0:
        raise InputError(
            f"model {name!r}: does not fit into the memory of a {gpu_type}, expected a GPU type "
            "on which it runs"
        )
    table = np.full((len(cluster.node_types), cluster.max_gpus_per_node + 1), np.inf)
    for v, node_type in enumerate(cluster.node_types):
        most = int(min(node_type.gpus, cluster.max_gpus_per_node))
        for g in range(1, most + 1):
            here = rate(name, node_type.gpu_type, g)
            table[v, g] = base / here if here > 0 else math.inf
    return table


def relative_speedup(name: str, gpu_type: str, widths: Sequence[int]) -> FloatArray:
    """``(n,)`` speed on ``widths`` GPUs over that on one."""
    one = rate(name, gpu_type, 1)
    return np.array([rate(name, gpu_type, g) / one for g in widths])


@cache
def _hosts() -> dict[str, tuple[float, float]]:
    """Memory of a GPU and bandwidth of the exchange, by type."""
    fit = read_table("throughput_fit.csv")
    bus = fit[fit["parameter"] == "all_reduce"].set_index("gpu_type")["value"].astype(float)
    found = {UNNAMED: (math.inf, float(bus[DEFAULT_HOST]))}
    for row in records(read_table("gpu_types.csv")):
        host = row["host"] if isinstance(row["host"], str) else DEFAULT_HOST
        found[row["gpu_type"]] = (float(row["memory_gb"]), float(bus[host]))
    return found
