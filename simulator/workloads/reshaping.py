"""Other performance models for the same jobs: fixed demand becomes elastic, and the reverse.

Each function returns new columns for a `Workload`; `simulator.adaptation` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from simulator.arguments import times_shape
from simulator.errors import InputError
from simulator.model import tolerances
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.goodput import Goodput, packed
from simulator.model.performance import (
    DurationByType,
    FixedDuration,
    Performance,
    Sensitivity,
    SpeedupCurve,
    TimeTable,
)
from simulator.model.speedup import Speedup, Tabulated
from simulator.model.workload import Workload
from simulator.workloads.gpu_demand import gpu_demand_law
from simulator.workloads.networks.named import dnn_models_of
from simulator.workloads.networks.speeds import relative_speedup, relative_times

WIDEST = 16
"""Largest number of GPUs of the points behind a speed-up curve."""


def time_shared(workload: Workload) -> Workload:
    """The same jobs, which may now share their GPUs in time, as processor sharing does.

    Raises InputError: jobs without a fixed demand and one duration.
    """
    if not isinstance(workload.performance, FixedDuration):
        raise InputError("sharing in time: expected jobs of fixed demand with one duration each")
    return replace(workload, performance=replace(workload.performance, time_shared=True))


def fixed_times(workload: Workload) -> FloatArray:
    """``(J,)`` durations of jobs of fixed demand; `InputError` where jobs are elastic."""
    performance = workload.performance
    if not isinstance(performance, FixedDuration | Sensitivity):
        raise InputError("the jobs are elastic already, expected jobs of fixed demand")
    return performance.duration_s


def elastic(workload: Workload, cluster: Cluster, gpu_type: str) -> Workload:
    """Jobs of fixed demand with a time on every configuration: t[j, v, g].

    A job's time at its own demand on ``gpu_type`` is its duration; the other configurations follow
    the throughput of its network. A demand of more GPUs than a node has counts for the scale
    alone: the job then runs on one node, for longer.

    Raises InputError: a job without a known network, a GPU type without throughput, or a network that
    fits on no node type.
    """
    duration_s = fixed_times(workload)
    rows, row_of = _kinds(dnn_models_of(workload), workload.num_gpus)
    tables = np.stack([relative_times(name, cluster, gpu_type, g) for name, g in rows])
    runs = np.isfinite(tables).reshape(len(rows), -1).any(axis=1)
    if not runs.all():
        name = rows[int(np.argmin(runs))][0]
        types = ", ".join(dict.fromkeys(t.gpu_type for t in cluster.node_types))
        raise InputError(
            f"model {name!r}: fits on no GPU of {types}, expected one with more memory"
        )
    return _without_demand(workload, TimeTable(tables[row_of] * duration_s[:, None, None]))


def _without_demand(workload: Workload, performance: Performance) -> Workload:
    """The jobs with these times, and the GPUs, CPUs and memory that the policy chooses."""
    nobody = np.full(len(workload), np.nan)
    return replace(workload, performance=performance, num_cpus=nobody, memory_gb=nobody)


def _kinds(names: Sequence[str], gpus: IntArray) -> tuple[list[tuple[str, int]], IntArray]:
    """The distinct pairs of network and GPUs, and which of them each job is."""
    known = list(dict.fromkeys(names))
    code = {name: i for i, name in enumerate(known)}
    column = np.array([code[name] for name in names], dtype=np.int64)
    most = int(gpus.max()) + 1
    pairs, row_of = np.unique(column * most + gpus, return_inverse=True)
    return [(known[int(p) // most], int(p) % most) for p in pairs], row_of.reshape(-1)


def with_curves(workload: Workload, gpu_type: str) -> Workload:
    """Jobs of fixed demand as jobs of a rental pool: t(k) = duration / s(k).

    The points of s(k) are the throughputs of the job's network on 1 to `WIDEST` GPUs of
    ``gpu_type``; between them and above them s(k) is their concave hull.
    """
    duration_s = fixed_times(workload)
    names = dnn_models_of(workload)
    widths = list(range(1, WIDEST + 1))
    speed = {name: relative_speedup(name, gpu_type, widths) for name in dict.fromkeys(names)}
    most = int(workload.num_gpus.max())
    own = {name: relative_speedup(name, gpu_type, range(1, most + 1)) for name in speed}
    alone_s = np.array(
        [t * own[n][g - 1] for t, n, g in zip(duration_s, names, workload.num_gpus, strict=True)]
    )
    order = {name: i for i, name in enumerate(speed)}
    curves = [concave(widths, s) for s in speed.values()]
    return _on_pool(workload, alone_s, np.array([order[n] for n in names], dtype=np.int64), curves)


def curves_of_table(workload: Workload, own: Cluster) -> Workload:
    """Elastic jobs as jobs of a rental pool, by their own times on the largest node type.

    A job that needs more than one GPU's memory counts as linear up to the first number of GPUs on
    which it runs.
    """
    jobs = np.arange(len(workload), dtype=np.int64)
    table = workload.performance.table_s(jobs, own)
    usable = [v for v in range(table.shape[1]) if np.isfinite(table[:, v]).any(axis=1).all()]
    if not usable:
        raise InputError("no node type runs all jobs, expected one for their speed-up curves")
    v = max(usable, key=lambda v: own.node_types[v].gpus)
    widths = list(range(1, int(own.node_types[v].gpus) + 1))
    times_s = table[:, v, 1 : len(widths) + 1]
    first = np.isfinite(times_s).argmax(axis=1)
    at_first = times_s[jobs, first]
    alone_s = at_first * (first + 1)
    with np.errstate(divide="ignore"):
        speed = np.round(alone_s[:, None] / times_s, 9)
    # Below the first number of GPUs on which a job runs it is linear.
    below = np.array(widths)[None, :] <= first[:, None] + 1
    speed = np.where(below, np.array(widths, dtype=np.float64), speed)
    rows, curve_of = np.unique(speed, axis=0, return_inverse=True)
    return _on_pool(workload, alone_s, curve_of.reshape(-1), [concave(widths, r) for r in rows])


def _on_pool(
    workload: Workload, alone_s: FloatArray, curve_of: IntArray, curves: Sequence[Speedup]
) -> Workload:
    functions = cast("Sequence[Callable[[float], float]]", curves)
    return _without_demand(workload, SpeedupCurve(alone_s, curve_of, functions))


def concave(widths: Sequence[int], throughput: FloatArray) -> Speedup:
    """The least concave, non-decreasing s(k) <= k over the points, s(1) = 1."""
    k = np.array(widths, dtype=np.float64)
    s = np.maximum.accumulate(np.minimum(np.asarray(throughput) / throughput[0], k))
    corners: list[int] = []
    for i in range(len(k)):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (s[b] - s[a]) * (k[i] - k[a]) > (s[i] - s[a]) * (k[b] - k[a]):
                break
            corners.pop()
        corners.append(i)
    return Tabulated(tuple(k), tuple(np.interp(k, k[corners], s[corners])))


def of_demand(
    workload: Workload, cluster: Cluster, rule: str, rng: np.random.Generator
) -> tuple[Workload, str]:
    """Elastic jobs with a fixed number of GPUs, and what was done, in words.

    On equal servers the jobs then have a `FixedDuration`. Where there are several node types, the
    times at the chosen number of GPUs stay, type by type, and the others go.

    Parameters
    ----------
    rule : ``"stated"``: that of jobs with tables of goodput (`Goodput`), as their users ask for it, on as few
        nodes as possible; ``"cheapest"``: of the cheapest configuration on time, else of the fastest;
        ``"efficient"``: of the configuration of the fewest GPU-seconds; ``"law:philly"`` and
        ``"law:gavel"``: drawn as that trace's jobs ask for them, at most what the job runs on.
    """
    performance = workload.performance
    if rule == "stated":
        return _stated(workload, cluster), "jobs have their users' GPUs and batch sizes"
    if not isinstance(performance, TimeTable | Goodput):
        raise InputError("the jobs have fixed demands or curves, expected elastic jobs with times")
    jobs = np.arange(len(workload), dtype=np.int64)
    table = performance.table_s(jobs, cluster)
    if rule == "cheapest":
        gpus = _cheapest(workload, table, cluster)
    elif rule == "efficient":
        with np.errstate(invalid="ignore"):
            work = np.where(np.isfinite(table), table * np.arange(table.shape[2]), np.inf)
        gpus = work.reshape(len(jobs), -1).argmin(axis=1) % table.shape[2]
    else:
        gpus = _drawn(rule.removeprefix("law:"), table, rng)
    mean = float(gpus.mean())
    note = f"jobs have a fixed demand by the rule {rule!r}, {mean:.3g} GPUs on average"
    if len(cluster.node_types) == 1:
        return replace(workload, performance=FixedDuration(table[jobs, 0, gpus], gpus)), note
    kept = np.arange(table.shape[2])[None, None, :] == gpus[:, None, None]
    masked = TimeTable(np.where(kept, table, np.inf))
    return replace(workload, performance=masked), note + "; the node type stays free"


def _stated(workload: Workload, cluster: Cluster) -> Workload:
    """Jobs with tables of goodput on their users' GPUs."""
    performance, gpus = workload.performance, workload.num_gpus
    if not isinstance(performance, Goodput):
        raise InputError("the jobs have no tables of goodput, expected jobs that have them")
    performance.check_types(cluster)
    if not performance.on_other_types:
        whole_s = [
            performance.whole_s(job, packed(int(g), cluster.max_gpus_per_node))
            for job, g in enumerate(gpus)
        ]
        return replace(workload, performance=FixedDuration(np.array(whole_s), gpus))
    times_s = np.array(
        [
            [
                performance.whole_s(job, packed(int(g), int(node_type.gpus)), v)
                for v, node_type in enumerate(cluster.node_types)
            ]
            for job, g in enumerate(gpus)
        ]
    )
    times = DurationByType(times_s.min(axis=1), gpus, times_s=times_s)
    return replace(workload, performance=times)


def _cheapest(workload: Workload, table: FloatArray, cluster: Cluster) -> IntArray:
    """``(J,)`` GPUs of the cheapest configuration on time, else of the fastest."""
    prices = [
        (t.price_per_hour + t.price_per_gpu_hour * t.gpus) / t.gpus for t in cluster.node_types
    ]
    price = np.array(prices if any(prices) else [1.0] * len(prices)) / SECONDS_PER_HOUR
    g = np.arange(table.shape[2])
    finite = np.isfinite(table)
    times_s = np.where(finite, table, 0.0)
    cost = np.where(finite, times_s * price[None, :, None] * g, np.inf)
    due_in_s = (workload.due_s - workload.submit_s)[:, None, None] + tolerances.INSTANT_S
    on_time = np.where(table <= due_in_s, cost, np.inf).reshape(len(table), -1)
    late = ~np.isfinite(on_time).any(axis=1)
    on_time[late] = table.reshape(len(table), -1)[late]
    chosen: IntArray = on_time.argmin(axis=1) % table.shape[2]
    return chosen


def _drawn(law: str, table: FloatArray, rng: np.random.Generator) -> IntArray:
    """``(J,)`` GPUs drawn from a trace's law; the next number that the job runs on."""
    sizes, probability = gpu_demand_law(law)
    wanted = rng.choice(sizes, size=len(table), p=probability)
    runs = np.isfinite(table).any(axis=1)
    width = table.shape[2]
    # The largest number of GPUs up to the wanted one, else the smallest of all.
    below = np.where(runs & (np.arange(width) <= wanted[:, None]), np.arange(width), 0).max(axis=1)
    chosen: IntArray = np.where(below > 0, below, runs.argmax(axis=1))
    return chosen


def on_nodes(workload: Workload, own: Cluster, cluster: Cluster) -> Workload:
    """Elastic jobs of one catalogue on machines of another: the times of the same GPU type.

    Raises InputError: the catalogue has no node type with such GPUs.
    """
    if not isinstance(workload.performance, TimeTable):
        return workload
    table = workload.performance.times_s
    shape = times_shape(len(table), len(cluster.node_types), cluster.max_gpus_per_node)
    times_s = np.full(shape, np.inf)
    for v, node_type in enumerate(cluster.node_types):
        same = [u for u, t in enumerate(own.node_types) if t.gpu_type == node_type.gpu_type]
        if not same:
            known = ", ".join(dict.fromkeys(t.gpu_type for t in own.node_types))
            raise InputError(
                f"no times on GPU type {node_type.gpu_type!r}, expected one of {known}"
            )
        for u in sorted(same, key=lambda u: own.node_types[u].gpus):
            most = int(min(node_type.gpus, own.node_types[u].gpus))
            columns = slice(1, most + 1)
            here = table[:, u, columns]
            times_s[:, v, columns] = np.where(np.isfinite(here), here, times_s[:, v, columns])
    return replace(workload, performance=TimeTable(times_s))
