"""Alibaba's GPU-sharing trace of 2023 as it is: pods with parts of GPUs, and the machines.

``openb_pod_list_*`` of alibaba/clusterdata (cluster-trace-gpu-v2023) has one pod a row (`PODS`),
``openb_node_list_*`` one machine a row (`NODES`). `simulator.workloads.alibaba` reads the same pods
as jobs of whole GPUs.

The files are not part of this project. `like_openb` draws pods from the marginal distributions of
the default list, and `openb_machines` is its cluster, both from small tables in ``data/``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from simulator.files.bundled import read_table
from simulator.files.keys import Positive, at_key
from simulator.laws import Law, parse_law
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.places import types_of
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.pods import (
    WHOLE_GPU,
    Demands,
    MachineTable,
    shared_cluster,
    shared_workload,
)
from simulator.workloads.table import JobCount, Setting, WorkloadTable
from simulator.workloads.tables import InputColumn, Table

PODS = (
    InputColumn("name", "", "name of the pod", "text", unique=True, gives="job_id"),
    InputColumn("cpu_milli", "1/1000 CPU", "CPUs", "integer", at_least=0, gives="num_cpus", per=1000),
    InputColumn("memory_mib", "MiB", "memory", "integer", at_least=0),
    InputColumn("num_gpu", "", "GPUs", "integer", at_least=0, gives="num_gpus"),
    InputColumn("gpu_milli", "1/1000 GPU", "part of each GPU, 1000 with several", "integer", at_least=0),
    InputColumn("gpu_spec", "", "GPU models that will do", "text", required=False, empty=""),
)  # fmt: skip
"""Columns of a list of pods."""

TIMES = (
    InputColumn("creation_time", "s", "time of submission", "number", at_least=0, gives="submit_s"),
    InputColumn("scheduled_time", "s", "start; empty: never", "number", empty=np.nan, at_least=0,
                gives="start_s"),
    InputColumn("deletion_time", "s", "end; empty: it still runs", "number",
                empty=np.nan, at_least=0, not_before="scheduled_time", gives="end_s"),
)  # fmt: skip
"""Columns with times, which some of the trace's lists lack."""

MOST_GPUS = 62
NODES = (
    InputColumn("sn", "", "name of the machine", "text", unique=True),
    InputColumn("cpu_milli", "1/1000 CPU", "CPUs", "integer", at_least=1),
    InputColumn("memory_mib", "MiB", "memory", "integer", at_least=1),
    InputColumn("gpu", "", "GPUs", "integer", at_least=0, at_most=MOST_GPUS),
    InputColumn("model", "", "GPU model", "text", empty=""),
)
"""Columns of a list of machines."""


def read_pods(path: str | Path) -> Demands:
    """All pods of a list, those without GPUs among them.

    Raises InputError: the first thing wrong with the file: file, line, column, value, what was
    expected.
    """
    return pods_of(Table.read(path, PODS))


def pods_of(table: Table) -> Demands:
    """The pods of a table with the columns `PODS`; raises InputError as `read_pods`."""
    gpus, milli = table.whole_numbers("num_gpu"), table.whole_numbers("gpu_milli")
    part = np.where(gpus > 0, (milli > 0) & (milli <= WHOLE_GPU), milli == 0)
    table.require("gpu_milli", part, "1 to 1000 thousandths of each GPU, 0 without GPUs")
    table.require("gpu_milli", (gpus <= 1) | (milli == WHOLE_GPU), "1000 with several GPUs")
    return Demands(
        table.texts("name"),
        table.whole_numbers("cpu_milli"),
        table.whole_numbers("memory_mib"),
        gpus,
        milli,
        table.texts("gpu_spec"),
    )


def read_nodes(path: str | Path) -> MachineTable:
    """All machines of a list.

    Raises InputError: the first thing wrong with the file.
    """
    table = Table.read(path, NODES)
    table.texts("sn")
    cpu_milli, memory_mib, gpus = (
        table.whole_numbers(name) for name in ("cpu_milli", "memory_mib", "gpu")
    )
    return MachineTable(cpu_milli, memory_mib, gpus, table.texts("model"))


GROUPS = {"cpu": 0, "share": 1, "1": 1, "2": 2, "4": 4, "8": 8}
"""Groups of pods and their GPUs: none, a part of one, 1, 2, 4 and 8 whole ones."""


def like_openb(count: int, rng: np.random.Generator) -> Demands:
    """Pods drawn from the marginals of the default list.

    A pod's group (no GPU, a part of one, 1, 2, 4 or 8) is drawn first, then CPUs, memory and the part
    of the GPU, each by itself, from the pods of that group. What goes together inside a group in the
    trace (a small part of a GPU with few CPUs) is therefore lost.
    """
    table = read_table("openb_demand.csv")
    sizes = table[table["quantity"] == "jobs"]
    share = sizes["count"].to_numpy(dtype=float)
    group = rng.choice(sizes["group"].to_numpy(dtype=str), size=count, p=share / share.sum())
    columns = {q: np.zeros(count, np.int64) for q in ("cpu_milli", "memory_mib", "gpu_milli")}
    gpus = np.array([GROUPS[g] for g in group], dtype=np.int64)
    columns["gpu_milli"][gpus > 0] = WHOLE_GPU
    for (name, quantity), rows in table.groupby(["group", "quantity"], sort=False):
        if quantity != "jobs":
            members = np.flatnonzero(group == name)
            often = rows["count"].to_numpy(dtype=float)
            values = rows["value"].to_numpy(dtype=np.int64)
            columns[str(quantity)][members] = rng.choice(
                values, size=len(members), p=often / often.sum()
            )
    return Demands(
        [f"pod-{i}" for i in range(count)],
        columns["cpu_milli"],
        columns["memory_mib"],
        gpus,
        columns["gpu_milli"],
        [""] * count,
    )


def openb_machines() -> MachineTable:
    """The trace's 1,213 machines with 6,212 GPUs of seven models."""
    table = read_table("openb_machines.csv")
    times = table["count"].to_numpy(dtype=np.int64)

    def column(name: str) -> IntArray:
        return np.repeat(table[name].to_numpy(dtype=np.int64), times)

    models = np.repeat(table["model"].to_numpy(dtype=str), times)
    return MachineTable(column("cpu_milli"), column("memory_mib"), column("gpus"), models.tolist())


class OpenbLikeJobs(WorkloadTable):
    """Pods with parts of GPUs, drawn from the marginals of Alibaba's openb trace; brings its nodes.

    They come as a Poisson stream to some of the machines, and leave again. Pods that fit on none of these
    machines are left out.
    """

    kind: Literal["openb-like"] = "openb-like"
    num_jobs: JobCount = 1000
    """number of pods"""
    num_nodes: Annotated[int, Field(ge=1, le=1213)] = 40
    """machines of the trace, which the workload brings"""
    load: Positive = 0.9
    """offered load"""
    duration_s: str = "lognormal:3600,cv=2"
    """law of the durations"""

    def make(self, setting: Setting) -> tuple[Workload, Cluster]:
        """The pods and the machines; streams ``pods``, ``machines``, ``arrivals`` and ``durations``."""
        with at_key("workload.duration_s"):
            duration_s = parse_law(self.duration_s)
        streams = setting.streams
        machines = some_of(openb_machines(), self.num_nodes, streams)
        pods = like_openb(3 * self.num_jobs + 100, streams.generator("pods"))
        kept = np.flatnonzero((pods.num_gpus > 0) & fit_somewhere(pods, machines))[: self.num_jobs]
        demands = pods.take(kept)
        submit_s = poisson_s(demands, machines, self.load, duration_s, streams)
        times_s = duration_s.sample(streams.generator("durations"), len(kept))
        return shared_workload(demands, submit_s, times_s), shared_cluster(machines)


def some_of(machines: MachineTable, num_nodes: int, streams: Streams) -> MachineTable:
    """So many of the machines, drawn; in their order."""
    drawn = streams.generator("machines").permutation(len(machines))[:num_nodes]
    return machines.take(np.sort(drawn))


def fit_somewhere(
    pods: Demands, machines: MachineTable
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """``(J,)`` whether some machine of a model that will do has as many GPUs, CPUs and as much memory."""
    models, model_of = np.unique(np.array(machines.model, dtype=str), return_inverse=True)
    kinds = np.unique(
        np.column_stack([machines.num_gpus, machines.cpu_milli, machines.memory_mib, model_of]),
        axis=0,
    )
    asked = (pods.num_gpus, pods.cpu_milli, pods.memory_mib)
    fits = [a[:, None] <= has for a, has in zip(asked, kinds.T, strict=False)]
    specs = {spec: types_of(spec) for spec in {*pods.gpu_spec}}
    will_do = {
        spec: [not types or models[m].lower() in types for m in kinds[:, 3]]
        for spec, types in specs.items()
    }
    of_model = np.array([will_do[spec] for spec in pods.gpu_spec], dtype=np.bool_)
    return np.asarray((fits[0] & fits[1] & fits[2] & of_model).any(axis=1))


def poisson_s(
    demands: Demands, machines: MachineTable, load: float, duration_s: Law, streams: Streams
) -> FloatArray:
    """``(J,)`` times of submission, s: a Poisson stream of this load."""
    count = len(demands)
    gpus_each = float((demands.num_gpus * demands.gpu_milli).mean()) / WHOLE_GPU
    rate_per_s = load * float(machines.num_gpus.sum()) / (gpus_each * duration_s.mean)
    return np.asarray(np.cumsum(streams.generator("arrivals").exponential(1 / rate_per_s, count)))
