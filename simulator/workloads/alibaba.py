"""Alibaba's GPU trace of 2023 (alibaba/clusterdata, cluster-trace-gpu-v2023): ``openb_pod_list``.

One pod a row: ``name,cpu_milli,memory_mib,num_gpu,gpu_milli,..,creation_time,deletion_time,
scheduled_time``. Of Alibaba's traces it is the one that is a table of jobs by itself, with CPUs
and memory beside the GPUs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.errors import InputError
from simulator.model.performance import FixedDuration
from simulator.model.workload import Workload
from simulator.workloads.tables import Table

REQUIRED = (
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time",
    "scheduled_time",
)  # fmt: skip
GB_PER_MIB = 2**20 / 1e9


def read_alibaba(path: str | Path) -> Workload:
    """Pods with GPUs as jobs: submitted when created, as long as from scheduled to deleted.

    A pod that asks for a part of a GPU gets a whole one. Pods without GPUs, never scheduled, or
    deleted at once are left out. Both are counted in `Workload.notes`. Times start with the first
    pod that is kept.

    Raises
    ------
    InputError
        The first thing wrong with the file. The lists without times (``multigpu``, ``gpuspec``, ..)
        are not workloads.
    """
    table = Table.read(path, REQUIRED)
    gpus = table.whole_numbers("num_gpu", at_least=0)
    part = table.numbers("gpu_milli", at_least=0)
    created = table.numbers("creation_time", at_least=0)
    scheduled = table.numbers("scheduled_time", at_least=0, empty=np.nan)
    deleted = table.numbers("deletion_time", at_least=0, empty=np.nan)
    table.require("deletion_time", ~(deleted < scheduled), "a time after scheduled_time")
    cpus = table.numbers("cpu_milli", at_least=0) / 1000
    memory_gb = table.numbers("memory_mib", at_least=0) * GB_PER_MIB
    names = table.texts("name", unique=True)
    duration_s = deleted - scheduled
    keep = (gpus > 0) & (duration_s > 0)
    if not keep.any():
        raise InputError(f"{path}: no pod that ran on a GPU, expected one at least")
    jobs = np.flatnonzero(keep)
    jobs = jobs[np.argsort(created[jobs], kind="stable")]
    notes = []
    if len(jobs) < len(table):
        notes.append(f"{path}: {len(table) - len(jobs)} pods without a run on a GPU, left out")
    shared = int(np.sum((part[jobs] < 1000) & (gpus[jobs] == 1)))
    if shared:
        notes.append(f"{path}: {shared} pods with a part of a GPU, counted as a whole one")
    return Workload(
        job_id=[names[j] for j in jobs],
        submit_s=created[jobs] - created[jobs[0]],
        performance=FixedDuration(duration_s[jobs], gpus[jobs]),
        num_gpus=gpus[jobs],
        num_cpus=cpus[jobs],
        memory_gb=memory_gb[jobs],
        notes=tuple(notes),
    )
