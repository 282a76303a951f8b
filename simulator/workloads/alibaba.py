"""Alibaba's GPU trace of 2023 (alibaba/clusterdata, cluster-trace-gpu-v2023): ``openb_pod_list``.

Of Alibaba's traces it is the one that is a table of jobs by itself, one pod a row, with CPUs and
memory beside the GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.workloads.openb import PODS, TIMES
from simulator.workloads.pods import GB_PER_MIB, WHOLE_GPU
from simulator.workloads.tables import Table
from simulator.workloads.trace import Trace


class AlibabaJobs(Trace):
    """Pods with GPUs as jobs: submitted when created, as long as from scheduled to deleted.

    A pod that asks for a part of a GPU gets a whole one. Pods without GPUs, never scheduled, or
    deleted at once are left out. Both are counted in `Workload.notes`. Times start with the first
    pod that is kept. The lists without times (``multigpu``, ``gpuspec``, ..) are not workloads.
    """

    kind: Literal["alibaba"] = "alibaba"

    reads = (replace(PODS[0], unique=False), *PODS[1:], *TIMES)
    written = "Alibaba's list of pods of 2023"
    example = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0002,88000,327680,8,1000,,LS,Succeeded,300,800,310
"""
    a_job = "pod"

    def parse(self, table: Table) -> dict[str, Any]:
        """A pod runs from when it was scheduled to when it was deleted."""
        memory_gb = table.numbers("memory_mib") * GB_PER_MIB
        return super().parse(table) | {
            "memory_gb": memory_gb,
            "gpu_types": table.texts("gpu_spec"),
        }

    def notes(self, table: Table, kept: npt.NDArray[np.bool_]) -> Mapping[str, int]:
        """Demands that are rounded up, or not met."""
        part = (table.numbers("gpu_milli") < WHOLE_GPU) & (table.whole_numbers("num_gpu") == 1)
        return {
            "pods with a part of a GPU, counted as a whole one": int((kept & part).sum()),
        }
