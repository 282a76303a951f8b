"""Alibaba's GPU-sharing trace of 2023 as it is: pods with parts of GPUs, and the machines.

``openb_pod_list_*`` of alibaba/clusterdata (cluster-trace-gpu-v2023) has one pod a row:
``name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,..``; ``openb_node_list_*`` one machine a
row: ``sn,cpu_milli,memory_mib,gpu,model``. `simulator.workloads.alibaba` reads the same pods as jobs
of whole GPUs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.sharing import WHOLE_GPU, Demands, Machines
from simulator.workloads.tables import Table

PODS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
NODES = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


def read_pods(path: str | Path) -> Demands:
    """All pods of a list, those without GPUs among them.

    Raises
    ------
    InputError
        The first thing wrong with the file: file, line, column, value, what was expected.
    """
    table = Table.read(path, PODS, ("gpu_spec",))
    gpus = table.whole_numbers("num_gpu", at_least=0)
    milli = table.whole_numbers("gpu_milli", at_least=0)
    part = np.where(gpus > 0, (milli > 0) & (milli <= WHOLE_GPU), milli == 0)
    table.require("gpu_milli", part, "1 to 1000 thousandths of each GPU, 0 without GPUs")
    table.require("gpu_milli", (gpus <= 1) | (milli == WHOLE_GPU), "1000 with several GPUs")
    spec = list(table.frame["gpu_spec"]) if "gpu_spec" in table else [""] * len(table)
    return Demands(
        table.texts("name", unique=True),
        table.whole_numbers("cpu_milli", at_least=0),
        table.whole_numbers("memory_mib", at_least=0),
        gpus,
        milli,
        spec,
    )


def read_nodes(path: str | Path) -> Machines:
    """All machines of a list.

    Raises
    ------
    InputError
        The first thing wrong with the file.
    """
    table = Table.read(path, NODES)
    table.texts("sn", unique=True)
    gpus = table.whole_numbers("gpu", at_least=0)
    table.require("gpu", gpus <= 62, "at most 62 GPUs")
    return Machines(
        table.whole_numbers("cpu_milli", at_least=1),
        table.whole_numbers("memory_mib", at_least=1),
        gpus,
        list(table.frame["model"]),
    )
