"""State for rules of GPU sharing: demands, and nodes with the free part of each GPU.

Amounts are whole numbers, as a cluster manager counts them: thousandths of a CPU, MiB, thousandths
of a GPU. A job asks for ``gpus`` GPUs and ``milli`` thousandths of each: 1 and 470 is not quite half
a GPU, 4 and 1000 are four whole ones, 0 and 0 none at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.model.cluster import FloatArray, IntArray
from simulator.model.places import types_of
from simulator.workloads.pods import WHOLE_GPU, Demands, MachineTable

RANDOM, DOT_PRODUCT, CLUSTERING, PACKING, BEST_FIT, FGD = range(6)
"""The rules of the FGD paper (`policies.fractional_gpus.kernels`)."""
RULES = {
    "random": RANDOM,
    "dot-product": DOT_PRODUCT,
    "clustering": CLUSTERING,
    "packing": PACKING,
    "best-fit": BEST_FIT,
    "fgd": FGD,
}

STEPS = 100
"""Kubernetes' scores run from 0 to 100, in whole numbers; 0: real numbers."""

BoolArray = npt.NDArray[np.bool_]

CPU, MEMORY, GPUS, MILLI = 0, 1, 2, 3
"""Columns of a demand."""

NO_GPU = 0
"""`State.models` of a machine without GPUs, which no job that names a GPU model may use."""


class Classes(NamedTuple):
    """Distinct demands.

    Attributes
    ----------
    demand : ``(C, 4)`` thousandths of a CPU, MiB, GPUs, thousandths of each GPU.
    allowed : ``(C, M)`` whether a job may run on a GPU model.
    """

    demand: IntArray
    allowed: BoolArray


class State(NamedTuple):
    """Free capacity of ``N`` nodes of up to ``G`` GPUs. Rules read it, `place` and `remove` change it.

    Attributes
    ----------
    cpu, memory : ``(N,)`` thousandths of a CPU, MiB.
    gpu : ``(N, G)`` thousandths of each GPU; 0 where there is none.
    gpus : ``(N,)`` GPUs of the node.
    models : ``(N,)`` index of the GPU model.
    kinds : ``(N, G + 1)`` jobs on the node by kind: 0 a part of a GPU, k whole GPUs.
    changed : ``(N,)`` how often the node has changed.
    """

    cpu: IntArray
    memory: IntArray
    gpu: IntArray
    gpus: IntArray
    models: IntArray
    kinds: IntArray
    changed: IntArray


class Known(NamedTuple):
    """Scores worked out before, by class and node, and at which change of the node."""

    score: FloatArray
    at: IntArray


@dataclass(frozen=True)
class Typical:
    """The jobs that a cluster expects: the classes that count for fragmentation, and how often.

    Attributes
    ----------
    classes : ``T`` demands.
    share : ``(T,)`` how often each comes; they add up to 1.
    """

    classes: Classes
    share: FloatArray

    @classmethod
    def of(cls, demands: Demands, machines: MachineTable, popularity: float = 0.95) -> Typical:
        """The most frequent demands, until they make up ``popularity`` of all jobs.

        As in the released simulator of FGD (Weng et al., ATC 2023): jobs without GPUs count too,
        memory does not distinguish, equals come in descending order of CPUs, part and number of
        GPUs and model.
        """
        counts: dict[tuple[int, int, int, str], int] = {}
        for cpu, gpus, milli, spec in zip(
            demands.cpu_milli.tolist(), demands.num_gpus.tolist(),
            demands.gpu_milli.tolist(), demands.gpu_spec, strict=True,
        ):  # fmt: skip
            key = (cpu, milli, gpus, spec)
            counts[key] = counts.get(key, 0) + 1
        ranked = sorted(counts, key=lambda key: (counts[key], *key), reverse=True)
        kept, reached = [], 0
        for key in ranked:
            if reached >= popularity * len(demands):
                break
            kept.append(key)
            reached += counts[key]
        demand = np.array([[cpu, 0, gpus, milli] for cpu, milli, gpus, _ in kept], dtype=np.int64)
        allowed = allowed_models([spec for *_, spec in kept], machines)
        share = np.array([counts[key] for key in kept], dtype=np.float64) / reached
        return cls(Classes(demand, allowed), share)


def allowed_models(specs: Sequence[str], machines: MachineTable) -> BoolArray:
    """``(C, M)`` which models each ``A|B`` names; an empty one names all."""
    names = ("", *machines.model_names)
    allowed = np.zeros((len(specs), len(names)), dtype=bool)
    for row, spec in enumerate(specs):
        wanted = types_of(spec)
        allowed[row] = [not wanted or name.lower() in wanted for name in names]
    return allowed


def classes_of(demands: Demands, machines: MachineTable) -> tuple[Classes, IntArray]:
    """The distinct demands, and ``(J,)`` the class of each job."""
    table = np.column_stack(
        [demands.cpu_milli, demands.memory_mib, demands.num_gpus, demands.gpu_milli]
    ).astype(np.int64)
    specs, spec_of = np.unique(np.array(demands.gpu_spec, dtype=str), return_inverse=True)
    rows, class_of = np.unique(np.column_stack([table, spec_of]), axis=0, return_inverse=True)
    allowed = allowed_models([str(specs[i]) for i in rows[:, 4]], machines)
    return Classes(np.ascontiguousarray(rows[:, :4]), allowed), class_of.reshape(-1)


def empty_state(machines: MachineTable) -> State:
    """All machines empty."""
    count = machines.num_gpus.astype(np.int64)
    most = max(1, int(count.max()))
    gpu = np.where(np.arange(most) < count[:, None], WHOLE_GPU, 0).astype(np.int64)
    names = ("", *machines.model_names)
    models = np.array([names.index(m) if g else NO_GPU for m, g in
                       zip(machines.model, count, strict=True)], dtype=np.int64)  # fmt: skip
    return State(
        machines.cpu_milli.astype(np.int64).copy(),
        machines.memory_mib.astype(np.int64).copy(),
        gpu,
        count,
        models,
        np.zeros((len(count), most + 1), dtype=np.int64),
        np.zeros(len(count), dtype=np.int64),
    )


def nothing_known(classes: Classes, state: State) -> Known:
    """No score worked out yet."""
    shape = (len(classes.demand), len(state.gpus))
    return Known(np.full(shape, -1.0), np.full(shape, -1, dtype=np.int64))
