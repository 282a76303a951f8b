"""Lower bounds on the total cost of any schedule: the distance of a method from them.

Both hold for every policy, with preemption, resizing and migration at will. They rest on the
share of a node that a job must pay at least: an open node costs c(u) per second with u GPUs in
use, so g of them cannot cost less than the minimum over u >= g of c(u) g / u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from policies.queues.selection import node_price_per_hour
from policies.solving.highs import least_cost
from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.workload import Workload


@dataclass(frozen=True)
class Options:
    """Configurations that one job may run on.

    Attributes
    ----------
    node_type, gpus : ``(k,)``.
    time_s : ``(k,)`` of the whole job.
    cost : ``(k,)`` least that running it so can cost.
    node_s : ``(k,)`` node-seconds that it takes up, t g / G.
    """

    node_type: IntArray
    gpus: IntArray
    time_s: FloatArray
    cost: FloatArray
    node_s: FloatArray


def options_of(workload: Workload, cluster: Cluster) -> list[Options]:
    """The configurations of each job.

    Raises
    ------
    InputError
        A rental pool, whose GPUs are not limited, or a job that can run nowhere.
    """
    if any(not np.isfinite(t.gpus) for t in cluster.node_types):
        raise InputError("bounds: the nodes have unlimited GPUs, expected whole nodes")
    if cluster.price_factor is not None:
        raise InputError("bounds: nodes have prices of their own (spot), expected one price a type")
    if workload.patience_s is not None:
        raise InputError("bounds: some jobs may leave (patience), expected jobs that stay")
    exists = np.ones(len(cluster.node_types), dtype=bool)
    if cluster.node_type_of is not None:
        exists[:] = False
        exists[list(cluster.node_type_of)] = True
    rate = _share_price_per_s(cluster)
    capacity = np.array([int(t.gpus) for t in cluster.node_types], dtype=np.int64)
    times_s = workload.performance.table_s(np.arange(len(workload)), cluster)
    result = []
    for job, table in enumerate(times_s):
        v, g = np.nonzero(np.isfinite(table) & np.isfinite(rate) & exists[:, None])
        if not len(v):
            raise InputError(
                f"bounds: job {workload.job_id[job]!r} fits on no single node, expected jobs that need one "
                "node each"
            )
        time_s = table[v, g]
        result.append(Options(v, g, time_s, time_s * rate[v, g], time_s * g / capacity[v]))
    return result


def _share_price_per_s(cluster: Cluster) -> FloatArray:
    """``(V, G + 1)`` least price of g GPUs of a node, whatever else runs there."""
    price = node_price_per_hour(cluster) / SECONDS_PER_HOUR
    share = np.full_like(price, np.inf)
    for v, node_type in enumerate(cluster.node_types):
        per_gpu = [price[v, u] / u for u in range(1, int(node_type.gpus) + 1)]
        for g in range(1, int(node_type.gpus) + 1):
            share[v, g] = g * min(per_gpu[g - 1 :])
    return share


def alone(workload: Workload, cluster: Cluster) -> FloatArray:
    """``(J,)`` least cost of each job, as if it were alone: what it pays and its tardiness.

    A job may change its configuration on the way, so any mixture of configurations is possible:
    cost over time is the lower convex hull of theirs, and the best point of it is a corner, or
    where the mixture is just on time.
    """
    slack_s = workload.due_s - workload.submit_s
    result = np.empty(len(workload))
    for job, options in enumerate(options_of(workload, cluster)):
        time_s, cost = _hull(options.time_s, options.cost)
        late = workload.weight_per_s[job] * np.maximum(0.0, time_s - slack_s[job])
        best = float((cost + late).min())
        if time_s[0] < slack_s[job] < time_s[-1]:
            best = min(best, float(np.interp(slack_s[job], time_s, cost)))
        result[job] = best
    return result


def _hull(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners of the lower convex hull, as far as y falls with x."""
    corners: list[tuple[float, float]] = []
    for point in sorted(zip(x.tolist(), y.tolist(), strict=True)):
        if corners and point[1] >= corners[-1][1]:
            continue
        while len(corners) > 1 and _is_above(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull = np.array(corners)
    return hull[:, 0], hull[:, 1]


def _is_above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def shared(workload: Workload, cluster: Cluster, intervals: int = 60) -> float:
    """Least total cost when the jobs share the nodes: a linear program over intervals of time.

    x[j, k, i] is the fraction of job j that runs in configuration k during interval i. The nodes
    give no more node-seconds than the interval has; a job is done no earlier than the mean start
    of the intervals in which it runs, nor earlier than its times add up. Never below the sum of
    `alone`.

    Parameters
    ----------
    intervals : more are tighter and slower; with 60, 50 jobs take a second, 100 some seconds.
    """
    options = [useful(o) for o in options_of(workload, cluster)]
    starts, ends = intervals_of(workload, options, cluster, intervals)
    rows = _Rows()
    for job, option in enumerate(options):
        usable = np.flatnonzero(ends > workload.submit_s[job])
        k, i = (a.ravel() for a in np.meshgrid(np.arange(len(option.cost)), usable, indexing="ij"))
        begin_s = np.maximum(starts[i], workload.submit_s[job])
        rows.add_job(
            cost=option.cost[k],
            late_s=np.maximum(0.0, begin_s - workload.due_s[job]),
            time_s=option.time_s[k],
            node_s=option.node_s[k],
            row=_capacity_rows(cluster, option.node_type[k], i, len(starts)),
            slack_s=float(workload.due_s[job] - workload.submit_s[job]),
            weight_per_s=float(workload.weight_per_s[job]),
        )
    return max(rows.solve(_capacity(cluster, ends - starts)), float(alone(workload, cluster).sum()))


def useful(o: Options) -> Options:
    """Without configurations that another one beats in time, cost and node-seconds."""
    keys = np.stack([o.time_s, o.cost, o.node_s], axis=1)
    keep = []
    for a in range(len(keys)):
        same_type = o.node_type == o.node_type[a]
        below = (keys <= keys[a]).all(axis=1) & (keys < keys[a]).any(axis=1) & same_type
        if not below.any():
            keep.append(a)
    return Options(*(getattr(o, name)[keep] for name in o.__dataclass_fields__))


def intervals_of(
    workload: Workload, options: list[Options], cluster: Cluster, count: int
) -> tuple[FloatArray, FloatArray]:
    """Equal intervals from the first submission until all work is certainly done, and the rest."""
    work = sum(float(o.node_s.min()) for o in options)
    first, last = float(workload.submit_s[0]), float(workload.submit_s[-1])
    end = max(last, first + 2.0 * work / cluster.num_nodes)
    end += max(float(o.time_s.min()) for o in options)
    edges = np.linspace(first, end, count)
    return edges, np.append(edges[1:], np.inf)


def _capacity_rows(
    cluster: Cluster, node_type: IntArray, interval: IntArray, count: int
) -> IntArray:
    """Row of the capacity that a configuration uses: one an interval, and a type where fixed."""
    if cluster.node_type_of is None:
        return interval
    return np.asarray(node_type * count + interval, dtype=np.int64)


def _capacity(cluster: Cluster, length_s: FloatArray) -> FloatArray:
    """Node-seconds of each such row."""
    if cluster.node_type_of is None:
        return np.asarray(cluster.num_nodes * length_s)
    nodes = np.bincount(cluster.node_type_of, minlength=len(cluster.node_types))
    with np.errstate(invalid="ignore"):
        capacity = np.outer(nodes, length_s).ravel()
    return np.where(np.isnan(capacity), 0.0, capacity)


class _Rows:
    """The linear program as it grows: columns x of all jobs, then one tardiness a job."""

    def __init__(self) -> None:
        self.cost: list[FloatArray] = []
        self.parts: dict[str, list[Any]] = {name: [] for name in ("late", "time", "node", "row")}
        self.slack_s: list[float] = []
        self.weight_per_s: list[float] = []

    def add_job(
        self,
        *,
        cost: FloatArray,
        late_s: FloatArray,
        time_s: FloatArray,
        node_s: FloatArray,
        row: IntArray,
        slack_s: float,
        weight_per_s: float,
    ) -> None:
        """One job's columns."""
        self.cost.append(cost)
        for name, part in zip(self.parts, (late_s, time_s, node_s, row), strict=True):
            self.parts[name].append(part)
        self.slack_s.append(slack_s)
        self.weight_per_s.append(weight_per_s)

    def solve(self, capacity: FloatArray) -> float:
        """The optimum."""
        jobs = len(self.cost)
        of_job = np.repeat(np.arange(jobs), [len(c) for c in self.cost])
        late, time, node, row = (np.concatenate(self.parts[name]) for name in self.parts)
        n = len(of_job)
        columns = np.arange(n)
        tardy = n + np.arange(jobs)
        limited = np.isfinite(capacity)
        scale = np.where(limited & (capacity > 0), capacity, 1.0)
        take = limited[row]
        shape = (len(capacity), n + jobs)
        use = sp.csr_array((node[take] / scale[row[take]], (row[take], columns[take])), shape=shape)
        minus = (-np.ones(jobs), (np.arange(jobs), tardy))
        sums = []
        for value in (late, time):
            part = sp.csr_array((value, (of_job, columns)), shape=(jobs, n + jobs))
            sums.append(part + sp.csr_array(minus, shape=(jobs, n + jobs)))
        slack = np.array(self.slack_s)
        bounded = np.isfinite(slack)
        upper = np.concatenate(
            [np.where(capacity > 0, 1.0, 0.0)[limited], np.zeros(jobs), slack[bounded]]
        )
        matrix = sp.vstack([use[limited], sums[0], sums[1][bounded]]).tocsr()
        whole = sp.csr_array((np.ones(n), (of_job, columns)), shape=(jobs, n + jobs))
        return least_cost(
            np.concatenate([np.concatenate(self.cost), self.weight_per_s]),
            sp.vstack([matrix, whole]).tocsr(),
            np.concatenate([np.full(len(upper), -np.inf), np.ones(jobs)]),
            np.concatenate([upper, np.ones(jobs)]),
        )
