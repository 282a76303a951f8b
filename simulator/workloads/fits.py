"""Whether a cluster can run a workload at all: told before the simulation, not after it."""

from __future__ import annotations

import numpy as np

from simulator.catalog import Cluster, FloatArray
from simulator.errors import InputError
from simulator.performance import TimeTable
from simulator.workload import ELASTIC, Workload


def check_fits(workload: Workload, cluster: Cluster) -> None:
    """Check that every job can run on the empty cluster.

    A job of fixed demand may lie on several nodes, so it must fit in the whole cluster: its GPUs,
    its CPUs, its memory. A job whose GPUs the policy chooses needs one finite execution time.

    Raises
    ------
    InputError
        One line with the first job that does not fit.
    """
    fixed = workload.num_gpus != ELASTIC
    _check_demand(workload, "num_gpus", np.where(fixed, workload.num_gpus, 0.0), cluster, "gpus")
    _check_demand(workload, "num_cpus", workload.num_cpus, cluster, "cpus")
    _check_demand(workload, "memory_gb", workload.memory_gb, cluster, "memory_gb")
    if fixed.all():
        return
    if isinstance(workload.performance, TimeTable):
        _check_shape(workload.performance, cluster)
    jobs = np.flatnonzero(~fixed).astype(np.int64)
    table = workload.performance.table_s(jobs, cluster)
    runs = np.isfinite(table).reshape(len(jobs), -1).any(axis=1)
    if not runs.all():
        job = workload.job_id[int(jobs[int(np.argmin(runs))])]
        raise InputError(f"job {job!r}: no node type can run it, expected one finite time")


def _check_demand(
    workload: Workload, name: str, demand: FloatArray, cluster: Cluster, attribute: str
) -> None:
    """No job wants more of a resource than all nodes have together."""
    per_type = [float(getattr(t, attribute)) for t in cluster.node_types]
    if cluster.node_type_of is None:
        capacity = cluster.num_nodes * max(per_type)
    else:
        capacity = sum(per_type[v] for v in cluster.node_type_of)
    too_much = demand > capacity
    if too_much.any():
        job = int(np.argmax(too_much))
        raise InputError(
            f"job {workload.job_id[job]!r}: {name} is {demand[job]:g}, expected at most "
            f"{capacity:g}, what the {cluster.num_nodes} nodes have together"
        )


def _check_shape(performance: TimeTable, cluster: Cluster) -> None:
    expected = (len(cluster.node_types), cluster.max_gpus_per_node + 1)
    if performance.times_s.shape[1:] != expected:
        types, gpus = performance.times_s.shape[1:]
        raise InputError(
            f"times for {types} node types of up to {gpus - 1} GPUs, expected "
            f"{expected[0]} and {expected[1] - 1} as the cluster has them"
        )
