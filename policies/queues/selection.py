"""The rule that the greedy family and the first-principle methods share.

The cheapest configuration that meets the due date; where none does, the fastest (hierarchical
paper, Section V; ANDREAS, Section IV-B; thesis, Section 3.1.3). A configuration is a node type
and a number of its GPUs.
"""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.tolerances import EQUAL, INSTANT_S
from simulator.model.workload import Workload

CostOf = Literal["share", "node"]
"""Cost of a configuration: the job's share of the node (thesis), or the whole node."""

NONE = -1
"""Node type of a job that can run nowhere."""


@overload
def choose_configuration(
    times_s: FloatArray,
    due_in_s: float,
    price_per_hour: FloatArray,
    gpus: npt.ArrayLike,
    cost_of: CostOf = ...,
) -> tuple[int, int]: ...


@overload
def choose_configuration(
    times_s: FloatArray,
    due_in_s: FloatArray,
    price_per_hour: FloatArray,
    gpus: npt.ArrayLike,
    cost_of: CostOf = ...,
) -> tuple[IntArray, IntArray]: ...


def choose_configuration(
    times_s: FloatArray,
    due_in_s: float | FloatArray,
    price_per_hour: FloatArray,
    gpus: npt.ArrayLike,
    cost_of: CostOf = "share",
) -> tuple[int, int] | tuple[IntArray, IntArray]:
    """Cheapest configuration that meets the due date, else the fastest.

    Times need not be monotone in the number of GPUs. Equal costs go to the shorter time, equal
    times to the lower cost, then to the first in (node type, GPUs) order.

    Parameters
    ----------
    times_s : ``(V, G + 1)`` for one job or ``(n, V, G + 1)`` for many: time left, s, infinite
        where a job cannot run.
    due_in_s : scalar or ``(n,)`` time until the due date, s; negative when overdue.
    price_per_hour : ``(V,)`` of an open node, or ``(V, G + 1)`` by GPUs in use (energy).
    gpus : ``(V,)`` GPUs of a node.
    cost_of : ``"share"``: c_v t g / G_v, the job's share of the node (thesis); ``"node"``: c_v t.

    Returns
    -------
    node type and GPUs, integers or ``(n,)``; `NONE` and 0 for a job that can run nowhere.
    """
    single = times_s.ndim == 2
    times = times_s[None] if single else times_s
    n, _, width = times.shape
    rate = configuration_price_per_hour(price_per_hour, gpus, width - 1, cost_of)
    with np.errstate(invalid="ignore"):
        cost = times * (rate / SECONDS_PER_HOUR)
    cost[~np.isfinite(times)] = np.inf
    cost, time = cost.reshape(n, -1), times.reshape(n, -1)
    due = np.reshape(np.asarray(due_in_s, dtype=np.float64), (-1, 1))
    meets: npt.NDArray[np.bool_] = np.less_equal(time, due + INSTANT_S) & np.isfinite(cost)
    finite = np.where(np.isfinite(cost), time, np.inf)
    some = np.logical_or.reduce(meets, axis=1)
    first = np.where(some[:, None], np.where(meets, cost, np.inf), finite)
    second = np.where(some[:, None], finite, cost)
    # The best by the first criterion, and among those the best by the second.
    second = np.where(_least(first), second, np.inf)
    best = _least(second).argmax(axis=1)
    runs = np.isfinite(first[np.arange(n), best])
    v = np.where(runs, best // width, NONE)
    g = np.where(runs, best % width, 0)
    return (int(v[0]), int(g[0])) if single else (v, g)


def _least(values: FloatArray) -> npt.NDArray[np.bool_]:
    """``(n, m)`` which numbers are the least of their row, but for rounding; at least 0."""
    least: npt.NDArray[np.bool_] = values <= values.min(axis=1)[:, None] * (1 + EQUAL)
    return least


def configuration_price_per_hour(
    price_per_hour: FloatArray, gpus: npt.ArrayLike, max_gpus: int, cost_of: CostOf = "share"
) -> FloatArray:
    """``(V, G + 1)`` price of an hour of a configuration; infinite where there is none.

    Parameters
    ----------
    price_per_hour : ``(V,)`` of an open node, or ``(V, G + 1)`` by GPUs in use: such a price
        (energy) belongs to the GPUs that are in use and is never shared.
    gpus : ``(V,)`` GPUs of a node.
    max_gpus : ``G``.
    cost_of : see `choose_configuration`.
    """
    capacity = np.asarray(gpus, dtype=float)[:, None]
    g = np.arange(max_gpus + 1, dtype=float)[None, :]
    price = np.asarray(price_per_hour, dtype=float)
    if price.ndim == 1:
        price = price[:, None] * (g / capacity if cost_of == "share" else np.ones_like(g))
    return np.where((g >= 1) & (g <= capacity), price, np.inf)


def node_price_per_hour(cluster: Cluster) -> FloatArray:
    """``(V, G + 1)`` price of an open node of each type by GPUs in use: leasing and energy."""
    width = cluster.max_gpus_per_node + 1
    price = np.full((len(cluster.node_types), width), np.inf)
    for v, node_type in enumerate(cluster.node_types):
        for g in range(int(min(node_type.gpus, width - 1)) + 1):
            rates = cluster.rates(v, g)
            price[v, g] = rates.leasing_per_hour + rates.energy_per_hour
    return price


def selection_price_per_hour(cluster: Cluster, cost_of: CostOf = "share") -> FloatArray:
    """``(V, G + 1)`` price by which a cluster's configurations are compared.

    Leasing is shared or not as ``cost_of`` says; energy is that of the GPUs in use.
    """
    price = node_price_per_hour(cluster)
    for v, node_type in enumerate(cluster.node_types):
        price[v, 0] = math.inf
        if cost_of == "share" and node_type.price_per_hour:
            for g in range(1, int(min(node_type.gpus, price.shape[1] - 1)) + 1):
                price[v, g] -= node_type.price_per_hour * (1 - g / node_type.gpus)
    return price


def require_configurations(
    policy: str, times_s: FloatArray, workload: Workload, cluster: Cluster
) -> None:
    """Refuse jobs that a policy could never start, in one line and before anything runs.

    Parameters
    ----------
    times_s : ``(J, V, G + 1)`` times on one node of each type.

    Raises InputError: a job that has no time on any node: most often it asks for more GPUs than a node
    has.
    """
    runs: npt.NDArray[np.bool_] = np.logical_or.reduce(np.isfinite(times_s), axis=(1, 2))
    if runs.all():
        return
    job = int(np.argmin(runs))
    gpus = int(workload.num_gpus[job])
    most = cluster.max_gpus_per_node
    wants = f"asks for {gpus} GPUs" if gpus > most else "has no time"
    raise InputError(
        f"policy {policy!r}: job {workload.job_id[job]!r} {wants} on any node (of {most} GPUs at "
        f"the most), expected jobs that run on one node; {int((~runs).sum())} of {len(runs)} jobs "
        "are so. List scheduling (fifo-strict, fifo-backfill, edf-backfill) lets jobs span nodes"
    )
