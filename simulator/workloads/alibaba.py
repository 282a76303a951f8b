"""Alibaba's GPU trace of 2023 (alibaba/clusterdata, cluster-trace-gpu-v2023): ``openb_pod_list``.

Of Alibaba's traces it is the one that is a table of jobs by itself, one pod a row, with CPUs and
memory beside the GPUs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.features.fractional import GB_PER_MIB, WHOLE_GPU
from simulator.model.workload import Workload
from simulator.workloads.logs import jobs_that_ran
from simulator.workloads.openb import PODS, TIMES
from simulator.workloads.tables import Table

COLUMNS = (*PODS, *TIMES)
EXAMPLE = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0002,88000,327680,8,1000,,LS,Succeeded,300,800,310
"""


def read_alibaba(path: str | Path) -> Workload:
    """Pods with GPUs as jobs: submitted when created, as long as from scheduled to deleted.

    A pod that asks for a part of a GPU gets a whole one. Pods without GPUs, never scheduled, or
    deleted at once are left out. Both are counted in `Workload.notes`. Times start with the first
    pod that is kept.

    Raises InputError: the first thing wrong with the file. The lists without times (``multigpu``,
    ``gpuspec``, ..) are not workloads.
    """
    table = Table.read(path, COLUMNS)
    gpus, part = table.whole_numbers("num_gpu"), table.numbers("gpu_milli")
    created, scheduled = table.numbers("creation_time"), table.numbers("scheduled_time")
    duration_s = table.numbers("deletion_time") - scheduled
    workload = jobs_that_ran(
        table.path,
        table.texts("name"),
        created,
        duration_s,
        gpus,
        what="pod",
        num_cpus=table.numbers("cpu_milli") / 1000,
        memory_gb=table.numbers("memory_mib") * GB_PER_MIB,
    )
    kept = (gpus > 0) & (duration_s > 0)
    counts = {
        "pods with a part of a GPU, counted as a whole one": kept
        & (part < WHOLE_GPU)
        & (gpus == 1),
        "pods ask for a GPU model, here they take any": kept
        & np.array([bool(spec) for spec in table.texts("gpu_spec")]),
    }
    return workload.noted(*(f"{path}: {n.sum()} {what}" for what, n in counts.items() if n.any()))
