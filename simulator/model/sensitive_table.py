"""Elastic jobs whose rate depends on CPUs and memory: t[j, v, g] and a matrix W[c, m] for each network.

    t = t[j, v, g] W(fair share of v) / W(c / g, m / g)

The table holds the times at the GPU-proportional share of each node type. The matrix is per GPU and the same
at each number of GPUs, as Synergy takes it. So a wide job gains from CPUs as much as a narrow one; where the
GPUs exchange gradients for long, this is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import IntArray
from simulator.model.performance import SensitivityMatrix, TimeTable


@dataclass(frozen=True)
class SensitiveTable(TimeTable):
    """Execution times t[j, v, g] at the proportional share, and what CPUs and memory change of them.

    A job that is given neither CPUs nor memory has its proportional share: most policies on elastic
    jobs do not speak of them.

    Parameters
    ----------
    matrix_of : ``(J, V)`` index of the job's matrix on each node type.
    matrices : `SensitivityMatrix` of each network and node type, 1 at the proportional share there.

    Raises InputError: another number of rows or types than the table has, or an index without a matrix.
    """

    matrix_of: IntArray = field(kw_only=True)
    matrices: Sequence[SensitivityMatrix] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        matrix_of = np.array(self.matrix_of, dtype=np.int64)
        if matrix_of.shape != self.times_s.shape[:2]:
            raise InputError(
                f"matrix_of: shape is {matrix_of.shape}, expected {self.times_s.shape[:2]}, jobs and types"
            )
        if matrix_of.size and not 0 <= matrix_of.min() <= matrix_of.max() < len(self.matrices):
            raise InputError(
                f"matrix_of: is {matrix_of.min()} to {matrix_of.max()}, expected 0 to "
                f"{len(self.matrices) - 1}"
            )
        matrix_of.flags.writeable = False
        object.__setattr__(self, "matrix_of", matrix_of)

    @property
    def offers(self) -> frozenset[str]:
        """A table of times, and what CPUs and memory change of them."""
        return super().offers | {"elastic-sensitivity"}

    def matrix(self, job: int, node_type: int) -> SensitivityMatrix:
        """The matrix of a job on a node type."""
        return self.matrices[self.matrix_of.item(job, node_type)]

    def time_s(self, job: int, node_type: int, gpus: float, cpus: float, memory_gb: float) -> float:
        """Seconds with ``cpus`` and ``memory_gb`` in all; with neither, at the proportional share."""
        time_s = super().time_s(job, node_type, gpus, cpus, memory_gb)
        if not (cpus or memory_gb) or time_s == math.inf:
            return time_s
        rate = self.matrix(job, node_type)(cpus / gpus, memory_gb / gpus)
        return time_s / rate if rate > 0 else math.inf
