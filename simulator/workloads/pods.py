"""Pods of a cluster manager: demands in thousandths of CPUs and GPUs, the machines, and both as a workload.

A job asks for a number of GPUs and for a part of each, in thousandths: "1 GPU, 470" is a little less
than half a GPU, "4 GPUs, 1000" are four whole ones. CPUs are counted in thousandths, memory in MiB,
as cluster managers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from simulator.arguments import checked
from simulator.errors import InputError
from simulator.model.cluster import Cluster, FloatArray, IntArray, NodeType
from simulator.model.fractional import SharedDuration
from simulator.model.tolerances import PART_OF_A_GPU
from simulator.model.workload import Workload
from simulator.schema import taken

WHOLE_GPU = 1000
"""Thousandths of a GPU."""

GB_PER_MIB = 2**20 / 1e9


@checked("demands")
@dataclass(frozen=True)
class Demands:
    """Demands of ``J`` jobs.

    Attributes
    ----------
    name : of each job.
    cpu_milli, memory_mib : ``(J,)`` thousandths of a CPU, MiB of main memory.
    num_gpus : ``(J,)`` GPUs; 0: none.
    gpu_milli : ``(J,)`` thousandths of each of them; 1000 where there are several.
    gpu_spec : GPU models that the job may use, ``"V100M16|V100M32"``; empty: any.

    Raises
    ------
    InputError
        A part of several GPUs, or a part that is no number from 1 to 1000.
    """

    name: Sequence[str]
    cpu_milli: IntArray
    memory_mib: IntArray
    num_gpus: IntArray
    gpu_milli: IntArray
    gpu_spec: Sequence[str]

    def __post_init__(self) -> None:
        if not len(self.name):
            raise InputError("no jobs, expected at least one")
        some = self.num_gpus > 0
        good = np.where(
            some, (self.gpu_milli > 0) & (self.gpu_milli <= WHOLE_GPU), self.gpu_milli == 0
        )
        good &= (self.num_gpus <= 1) | (self.gpu_milli == WHOLE_GPU)
        if not good.all():
            j = int(np.argmin(good))
            raise InputError(
                f"job {self.name[j]!r}: {self.gpu_milli[j]} thousandths of each of "
                f"{self.num_gpus[j]} GPUs, expected 1 to {WHOLE_GPU} of one, {WHOLE_GPU} of several, "
                "0 of none"
            )

    def __len__(self) -> int:
        return len(self.name)

    def take(self, jobs: IntArray) -> Demands:
        """These jobs, in that order."""
        return Demands(**taken(vars(self), jobs))


@dataclass(frozen=True)
class MachineTable:
    """``N`` machines.

    Attributes
    ----------
    cpu_milli, memory_mib, num_gpus : ``(N,)`` thousandths of CPUs, MiB, GPUs.
    model : the GPUs of each.
    """

    cpu_milli: IntArray
    memory_mib: IntArray
    num_gpus: IntArray
    model: Sequence[str]

    def __len__(self) -> int:
        return len(self.model)

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """The GPU models, in the order of the alphabet."""
        return tuple(sorted({m for m, g in zip(self.model, self.num_gpus, strict=True) if g}))

    def take(self, order: IntArray) -> MachineTable:
        """These machines, in that order."""
        return replace(self, **taken({f.name: getattr(self, f.name) for f in fields(self)}, order))


def whole_gpus(gpus: FloatArray) -> IntArray:
    """``(J,)`` GPUs of jobs, parts rounded up."""
    return np.minimum(np.ceil(gpus - PART_OF_A_GPU), 2**53).astype(np.int64)


def shared_workload(demands: Demands, submit_s: FloatArray, duration_s: FloatArray) -> Workload:
    """Jobs with parts of GPUs, in order of submission; those without a GPU are left out, with a note."""
    jobs = np.flatnonzero(demands.num_gpus > 0)
    jobs = jobs[np.argsort(submit_s[jobs], kind="stable")]
    left_out, demands = len(demands) - len(jobs), demands.take(jobs)
    part: FloatArray = np.asarray(demands.gpu_milli / WHOLE_GPU, dtype=np.float64)
    return Workload(
        job_id=demands.name,
        submit_s=submit_s[jobs],
        performance=SharedDuration(duration_s[jobs], demands.num_gpus, part=part),
        num_cpus=demands.cpu_milli / 1000,
        memory_gb=np.asarray(demands.memory_mib * GB_PER_MIB, dtype=np.float64),
        gpu_types=demands.gpu_spec,
        notes=(f"{left_out} jobs without a GPU, left out",) if left_out else (),
    )


def shared_cluster(machines: MachineTable) -> Cluster:
    """Machines as nodes, one type for each kind of machine; those without GPUs are left out."""
    rows = list(zip(machines.model, machines.num_gpus.tolist(), machines.cpu_milli.tolist(),
                    machines.memory_mib.tolist(), strict=True))  # fmt: skip
    rows = [row for row in rows if row[1]]
    kinds = sorted(set(rows))
    types = tuple(
        NodeType(f"{model}-{gpus}-{cpu // 1000}", model, gpus, cpus=cpu / 1000,
                 memory_gb=mib * GB_PER_MIB)
        for model, gpus, cpu, mib in kinds
    )  # fmt: skip
    return Cluster(types, len(rows), tuple(kinds.index(row) for row in rows))
