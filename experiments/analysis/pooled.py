"""Lower bounds on the mean completion time and the makespan of any schedule, by shortest remaining work.

All GPUs are put together into one server of G GPUs that any job can use as a whole. Each job j brings its least work
w_j, in GPU-seconds, and has its least time p_j, over all configurations that it may have. A schedule of the cluster
is then one of the server: no job is faster than its work allows, the GPUs together do at most G GPU-seconds a second.

**Mean completion time.** Three bounds on the sum of the ends C_j; r_j is the time of submission. The largest one counts.

1. One server with preemption has its least sum of ends under shortest remaining processing time (Schrage, Operations
   Research 1968). So the sum is at least that of SRPT with works w_j / G.
2. Let M_j be the mean time at which j is served, weighted by the service. In the cluster j is served at a rate of at
   most w_j / p_j, so the mean lies p_j / 2 before its end or earlier: C_j >= M_j + p_j / 2. On one server the sum of
   the M_j is least if at every moment the present job with the least whole work w_j is served (Goemans, SODA 1997,
   with equal weights). So the sum of ends is at least that sum plus the sum of p_j / 2.
3. No job ends before r_j + p_j.

**Makespan.** The larger of max(r_j + p_j) and the end of a server that is never idle while a job is there.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simulator.model.performance import FixedDuration, TimeTable
from simulator.model.workload import ELASTIC

if TYPE_CHECKING:
    from simulator.model.cluster import Cluster
    from simulator.model.workload import Workload

Floats = npt.NDArray[np.float64]


def pooled_bounds(workload: Workload, cluster: Cluster) -> dict[str, float]:
    """``mean_jct_s`` and ``makespan_s`` that no schedule is below; empty for jobs that share GPUs.

    Parameters
    ----------
    workload : jobs of fixed demand with one duration, or with a table of times.
    """
    found = _least(workload, cluster)
    if found is None:
        return {}
    work, time_s = found
    gpus = float(sum(cluster.node_types[v].gpus for v in cluster.node_type_of or ()))
    if not gpus or cluster.is_pool:
        return {}
    submit_s, served_s = workload.submit_s, work / gpus
    shortest, _ = _served(submit_s, served_s, remaining=True)
    _, means = _served(submit_s, served_s, remaining=False)
    bounds = (shortest - submit_s, means + time_s / 2 - submit_s, time_s)
    last = max((submit_s + time_s).max(), _busy_until(submit_s, served_s))
    return {
        "mean_jct_s": max(float(bound.mean()) for bound in bounds),
        "makespan_s": float(last - submit_s.min()),
    }


def _least(workload: Workload, cluster: Cluster) -> tuple[Floats, Floats] | None:
    """Least work (GPU-seconds) and least time of each job; None where it is not known."""
    from simulator.workloads.reshaping import fixed_times

    performance: Any = workload.performance
    if type(performance) is FixedDuration and not performance.time_shared:
        time_s = np.asarray(fixed_times(workload), dtype=np.float64)
        return time_s * workload.num_gpus, time_s
    if type(performance) is TimeTable and (workload.num_gpus == ELASTIC).all():
        table = performance.table_s(np.arange(len(workload)), cluster)
        gpus = np.arange(table.shape[2])
        with np.errstate(invalid="ignore"):
            work = np.where(np.isfinite(table) & (gpus > 0), table * gpus, np.inf)
        return work.min(axis=(1, 2)), np.where(gpus > 0, table, np.inf).min(axis=(1, 2))
    return None


def _served(submit_s: Floats, work_s: Floats, *, remaining: bool) -> tuple[Floats, Floats]:
    """Ends and mean times of service on one server that serves the least work, remaining or whole, first."""
    order = np.argsort(submit_s, kind="stable")
    ends, means = np.zeros(len(order)), np.zeros(len(order))
    left: dict[int, float] = {}
    waiting: list[tuple[float, int]] = []
    now, coming = 0.0, 0
    while coming < len(order) or waiting:
        if not waiting:
            now = max(now, float(submit_s[order[coming]]))
        while coming < len(order) and submit_s[order[coming]] <= now:
            job = int(order[coming])
            left[job] = float(work_s[job])
            heapq.heappush(waiting, (left[job], job))
            coming += 1
        rank, job = heapq.heappop(waiting)
        until = float(submit_s[order[coming]]) if coming < len(order) else np.inf
        step = min(left[job], until - now)
        if work_s[job] > 0:
            means[job] += step / work_s[job] * (now + step / 2)
        else:
            means[job] = now
        now += step
        left[job] -= step
        if left[job] > 0:
            heapq.heappush(waiting, (left[job] if remaining else rank, job))
        else:
            ends[job] = now
    return ends, means


def _busy_until(submit_s: Floats, work_s: Floats) -> float:
    """End of a server that is never idle while a job is there."""
    order = np.argsort(submit_s, kind="stable")
    behind = np.cumsum(work_s[order][::-1])[::-1]
    return float((submit_s[order] + behind).max())
