"""Alibaba's GPU-sharing trace of 2023 as a workload over time: pods with their parts of GPUs, and the machines.

    jobs, cluster = openb_trace("openb_pod_list_default.csv", Streams(1), num_nodes=100)

A pod is submitted when it was created. It holds its GPUs, or its part of one, for as long as from when it was
scheduled to when it was deleted. Some of the trace's lists have no times; then they are drawn.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simulator.arguments import positive, whole
from simulator.errors import InputError
from simulator.features.fractional import Machines, shared_cluster, shared_workload
from simulator.laws import Law, require_law
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.workload import Workload
from simulator.statistics import Streams
from simulator.workloads.openb import (
    PODS,
    TIMES,
    fit_somewhere,
    openb_machines,
    poisson_s,
    read_nodes,
    read_pods,
    some_of,
)
from simulator.workloads.tables import Table


def openb_trace(
    pods: str | Path,
    streams: Streams,
    *,
    nodes: str | Path | None = None,
    num_nodes: int | None = None,
    max_jobs: int | None = None,
    load: float | None = None,
    duration_s: Law | None = None,
) -> tuple[Workload, Cluster]:
    """The pods of a list that ask for GPUs, as they are, and machines for them.

    Pods without GPUs, those that never ran, and those that fit on none of the machines are left out. So is the
    GPU model that some pods ask for: they may go to any. `Workload.notes` counts all of these.

    Parameters
    ----------
    pods, nodes : lists of the trace; without ``nodes``: the machines of the default list.
    num_nodes : so many of the machines, drawn; None: all.
    max_jobs : so many of the pods, the first by time of creation (of the list, where times are drawn).
    load, duration_s : times are drawn: a Poisson stream with this load, and durations of this law. Both, or
        neither: the file's own times.

    Raises InputError: the first thing wrong with a file, one without times where none are to be drawn,
    no pod is left, or parameters that do not fit together.
    """
    _check(num_nodes, max_jobs, load, duration_s)
    demands = read_pods(pods)
    machines = _machines(nodes, num_nodes, streams)
    has_gpus, fits = demands.num_gpus > 0, fit_somewhere(demands, machines)
    if load is None or duration_s is None:
        created, times_s = _times(pods)
        ran = times_s > 0
    else:
        created, times_s = np.arange(len(demands), dtype=np.float64), np.ones(len(demands))
        ran = np.ones(len(demands), dtype=np.bool_)
    kept = np.flatnonzero(has_gpus & fits & ran)
    kept = kept[np.argsort(created[kept], kind="stable")][:max_jobs]
    if not len(kept):
        raise InputError(
            f"{pods}: no pod that ran on a GPU of these machines, expected one at least"
        )
    submit_s, times_s = created[kept] - created[kept[0]], times_s[kept]
    chosen = demands.take(kept)
    if load is not None and duration_s is not None:
        submit_s = poisson_s(chosen, machines, load, duration_s, streams)
        times_s = duration_s.sample(streams.generator("durations"), len(kept))
    counts = {
        "pods without GPUs, left out": np.count_nonzero(~has_gpus),
        "pods that never ran, left out": np.count_nonzero(has_gpus & ~ran),
        "pods that fit on none of the machines, left out": np.count_nonzero(has_gpus & ran & ~fits),
        "pods ask for a GPU model, here they take any": sum(map(bool, chosen.gpu_spec)),
    }
    notes = [f"{pods}: {count} {what}" for what, count in counts.items() if count]
    workload = shared_workload(chosen, submit_s, times_s)
    return workload.noted(*notes), shared_cluster(machines)


def _check(
    num_nodes: int | None, max_jobs: int | None, load: float | None, duration_s: Law | None
) -> None:
    """Check the parameters of `openb_trace`."""
    for name, count in (("num_nodes", num_nodes), ("max_jobs", max_jobs)):
        if count is not None:
            whole(1, **{name: count})
    if load is not None and duration_s is not None:
        positive(load=load)
        require_law("duration_s", duration_s)
    elif load is not None or duration_s is not None:
        raise InputError("load and duration_s: got one of them, expected both or neither")


def _machines(nodes: str | Path | None, num_nodes: int | None, streams: Streams) -> Machines:
    """Those of a list, or of the default one, that have GPUs: all, or so many of them, drawn."""
    machines = openb_machines() if nodes is None else read_nodes(nodes)
    machines = machines.take(np.flatnonzero(machines.num_gpus > 0))
    if not len(machines):
        raise InputError(f"{nodes}: no machine has a GPU, expected one at least")
    if num_nodes is None:
        return machines
    if num_nodes > len(machines):
        raise InputError(f"num_nodes is {num_nodes}, the list has {len(machines)} with GPUs")
    return some_of(machines, num_nodes, streams)


def _times(path: str | Path) -> tuple[FloatArray, FloatArray]:
    """Creation time and running time of each pod, s; not a number: it never ran."""
    table = Table.read(path, [PODS[0], *(replace(column, required=False) for column in TIMES)])
    for column in TIMES:
        if column.name not in table:
            raise InputError(
                f"{path}: has no column {column.name!r}, expected the times of each pod "
                "(or load and duration_s, from which times are drawn)"
            )
    created, scheduled = table.numbers("creation_time"), table.numbers("scheduled_time")
    return created, table.numbers("deletion_time") - scheduled
