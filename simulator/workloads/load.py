"""Load that a workload offers to a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.performance import FixedDuration
from simulator.model.workload import ELASTIC, Workload


@dataclass(frozen=True)
class OfferedLoad:
    """Work that arrives per unit of time, over what the cluster can do: above 1 queues grow.

    Attributes
    ----------
    packed : every job with the configuration that takes the least of a node (time x GPUs / GPUs
        of the node), nodes filled to the last GPU. A lower bound for every policy.
    alone : every job alone on a node, as fast as it can be there: what policies that put one job
        on a node can reach at best.
    arrivals_per_h : rate of submission.
    """

    packed: float
    alone: float
    arrivals_per_h: float


def offered_load(workload: Workload, cluster: Cluster) -> OfferedLoad:
    """Offered load of a workload on a cluster of nodes.

    The rate of submission is ``(J - 1) / (last - first submission)``; jobs of fixed demand that
    need several nodes count the nodes that they fill.

    Raises InputError: fewer than two jobs, all submitted at once, or a rental pool, which has no load.
    """
    span_s = float(workload.submit_s[-1] - workload.submit_s[0])
    if len(workload) < 2 or span_s <= 0:
        raise InputError("offered load: expected jobs submitted at two times at least")
    if not all(np.isfinite(t.gpus) for t in cluster.node_types):
        raise InputError("offered load: the pool has no limit, expected a cluster of nodes")
    node_s, alone_s = _node_seconds(workload, cluster)
    per_s = (len(workload) - 1) / span_s
    capacity = per_s / cluster.num_nodes
    return OfferedLoad(
        packed=float(np.mean(node_s) * capacity),
        alone=float(np.mean(alone_s) * capacity),
        arrivals_per_h=per_s * SECONDS_PER_HOUR,
    )


def _node_seconds(workload: Workload, cluster: Cluster) -> tuple[FloatArray, FloatArray]:
    """``(J,)`` node-seconds that each job takes at least, packed and alone."""
    packed, alone = np.empty(len(workload)), np.empty(len(workload))
    fixed = np.flatnonzero(workload.num_gpus != ELASTIC)
    most = max(t.gpus for t in cluster.node_types)
    gpus = workload.num_gpus[fixed]
    times_s = _fixed_times(workload, cluster, fixed)
    packed[fixed], alone[fixed] = times_s * gpus / most, times_s * np.ceil(gpus / most)
    elastic = np.flatnonzero(workload.num_gpus == ELASTIC).astype(np.int64)
    if len(elastic):
        table = workload.performance.table_s(elastic, cluster)
        gpus_of = np.array([t.gpus for t in cluster.node_types])
        share = np.arange(cluster.max_gpus_per_node + 1) / gpus_of[:, None]
        finite = np.isfinite(table)  # else infinity times no GPUs
        node_s = np.where(finite, np.where(finite, table, 0.0) * share, np.inf)
        packed[elastic] = node_s.min(axis=(1, 2))
        alone[elastic] = table.min(axis=(1, 2))
    return packed, alone


def _fixed_times(workload: Workload, cluster: Cluster, jobs: IntArray) -> FloatArray:
    """``(n,)`` least times of jobs of fixed demand, at the GPU-proportional share."""
    performance = workload.performance
    if isinstance(performance, FixedDuration):
        return performance.duration_s[jobs]
    return np.array(
        [
            min(
                performance.time_s(j, v, g, t.cpus * g / t.gpus, t.memory_gb * g / t.gpus)
                for v, t in enumerate(cluster.node_types)
            )
            for j, g in zip(jobs.tolist(), workload.num_gpus[jobs].tolist(), strict=True)
        ]
    )
