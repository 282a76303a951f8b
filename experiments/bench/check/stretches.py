"""Stretches of time in which a job holds the same shares: what it is sure to do there, and how fast."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.bench.check.changes import NONE, HeldChanges, levels, numbers_of
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.workload import Workload


@dataclass(frozen=True)
class Stretches:
    """``S`` stretches, in order of job and time; jobs without GPUs have none.

    Attributes
    ----------
    job, start_s, end_s : ``(S,)``.
    gpus, cpus, memory_gb : ``(S,)`` what the job holds of all nodes.
    nodes, racks : ``(S,)`` on how many it is.
    kinds : ``(S, V)`` whether it is on nodes of a type.
    """

    job: IntArray
    start_s: FloatArray
    end_s: FloatArray
    gpus: FloatArray
    cpus: FloatArray
    memory_gb: FloatArray
    nodes: IntArray
    racks: IntArray
    kinds: npt.NDArray[np.bool_]

    def of_jobs(self, count: int) -> list[slice]:
        """``(J,)`` where the stretches of each job are."""
        ends = np.searchsorted(self.job, np.arange(count + 1)).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]


def stretches_of(changes: HeldChanges, cluster: Cluster) -> Stretches:
    """The stretches between changes of each job."""
    (job,), at_s, held = levels([changes.job], changes.at_s, changes.amounts)

    def numbers(of: Any) -> IntArray:
        return numbers_of(changes.job, of, changes.at_s, changes.gpus)[2]

    on_kind = [
        levels([changes.job], changes.at_s, changes.gpus * (changes.kind == v)[:, None])[2] > NONE
        for v in range(len(cluster.node_types))
    ]
    kept = held[:, 0] > NONE  # the last change of a job is its end, so each has a next one
    after = np.flatnonzero(kept) + 1
    gpus, cpus, memory_gb = held[kept].T
    return Stretches(
        job[kept], at_s[kept], at_s[after], gpus, cpus, memory_gb,
        numbers(changes.node)[kept], numbers(cluster.rack_of[changes.node])[kept],
        np.hstack(on_kind)[kept],
    )  # fmt: skip


def rates_of(stretches: Stretches, workload: Workload) -> FloatArray:
    """``(S,)`` part of the job's work that is done in a second, by the performance model; 0 where it cannot run so.

    On nodes of several types that of the slowest.
    """
    known: dict[tuple[float, ...], float] = {}
    time_s = workload.performance.time_s
    kinds = [np.flatnonzero(row).tolist() for row in stretches.kinds]
    columns = (stretches.job, stretches.gpus, stretches.cpus, stretches.memory_gb)
    found = []
    for of_kinds, job, *amounts in zip(kinds, *(c.tolist() for c in columns), strict=True):
        slowest = 0.0
        for kind in of_kinds:
            key = (job, kind, *amounts)
            if key not in known:
                known[key] = time_s(*key)
            slowest = max(slowest, known[key])
        found.append(1 / slowest if slowest > 0 else 0.0)
    return np.array(found)
