"""Metrics of a schedule from its rows, and metrics that were claimed for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from experiments.bench.check.changes import HeldChanges, levels
from experiments.bench.check.stretches import Stretches
from experiments.bench.check.verdict import Fault, short, slack_s
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray
from simulator.model.fractional import demanded_gpus
from simulator.model.workload import Workload

EXACT = 1e-6
"""Relative: a claim may miss the value by so little."""


def metrics_of(
    changes: HeldChanges, stretches: Stretches, workload: Workload, cluster: Cluster
) -> dict[str, float]:
    """Metrics of a schedule that serves every job; names, units and definitions of ``summary.json``."""
    begin = np.searchsorted(stretches.job, np.arange(len(workload)))
    first_s = stretches.start_s[begin]
    end_s = np.maximum.reduceat(stretches.end_s, begin)
    lasts_s = stretches.end_s - stretches.start_s
    wait_s = end_s - workload.submit_s - np.add.reduceat(lasts_s, begin)
    jct_s = end_s - workload.submit_s
    found = {"jobs": float(len(workload)), "mean_jct_s": float(jct_s.mean())}
    found |= {f"p{q}_jct_s": float(np.quantile(jct_s, q / 100)) for q in (50, 95, 99)}
    found["mean_total_wait_s"] = float(wait_s.mean())
    found |= {f"p{q}_total_wait_s": float(np.quantile(wait_s, q / 100)) for q in (95, 99)}
    found["makespan_s"] = float(end_s.max() - workload.submit_s.min())
    late_s = np.maximum(0.0, end_s - workload.due_s)
    late = np.isfinite(workload.due_s) & (late_s > slack_s(workload.due_s))
    found["late_jobs"] = float(late.sum())
    found["tardiness_cost"] = float(late_s @ workload.weight_per_s)
    if cluster.is_configurable and not cluster.is_pool:
        found["total_cost"] = _leased(changes, cluster) + found["tardiness_cost"]
    elif math.isfinite(cluster.total_gpus):
        ratio = float(stretches.gpus @ lasts_s) / (cluster.total_gpus * found["makespan_s"])
        found |= {"gpu_utilisation": ratio, "allocation_ratio": ratio}
    return found | _against_alone(first_s, end_s, workload, cluster)


def _leased(changes: HeldChanges, cluster: Cluster) -> float:
    """Leasing and energy of nodes for as long as jobs are on them."""
    (node, kind), at_s, used = levels([changes.node, changes.kind], changes.at_s, changes.gpus)
    cost = 0.0
    for n, v, gpus, seconds in zip(
        node[:-1].tolist(), kind[:-1].tolist(), used[:-1, 0].tolist(), np.diff(at_s).tolist(), strict=True
    ):  # fmt: skip
        if gpus > 0:
            rates = cluster.rates(v, round(gpus))
            leasing = rates.leasing_per_hour * cluster.leasing_factor(n)
            cost += (leasing + rates.energy_per_hour) * seconds / SECONDS_PER_HOUR
    return cost


def _against_alone(
    first_s: FloatArray, end_s: FloatArray, workload: Workload, cluster: Cluster
) -> dict[str, float]:
    """Metrics that compare jobs with themselves alone on the fastest configuration."""
    if cluster.is_pool:
        return {}
    alone_s = workload.performance.fixed_s
    if alone_s is None:
        table_s = workload.performance.table_s(np.arange(len(workload)), cluster)
        alone_s = table_s.min(axis=(1, 2))
    submit_s, gpus = workload.submit_s, demanded_gpus(workload, in_parts=True)
    stay_s = end_s - submit_s
    share = np.where(gpus > 0, gpus, cluster.max_gpus_per_node) / cluster.total_gpus
    with np.errstate(divide="ignore", invalid="ignore"):
        slow = stay_s / alone_s
        fair = slow / np.maximum(1, _jobs_beside(submit_s, end_s) / stay_s * share)
    found = {
        "mean_slowdown": slow.mean(),
        "mean_bounded_slowdown": np.maximum(1, stay_s / np.maximum(alone_s, 10)).mean(),
        "mean_finish_time_fairness": fair.mean(),
        "max_finish_time_fairness": fair.max(),
    }
    if workload.num_gpus.all():
        found["effective_training_ratio"] = gpus @ alone_s / (gpus @ (end_s - first_s))
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def _jobs_beside(submit_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """``(J,)`` job-seconds that all jobs are there while each is; its own count."""
    ones = np.ones(len(submit_s))
    times_s = np.concatenate([submit_s, end_s])
    _, times_s, there = levels([], times_s, np.concatenate([ones, -ones])[:, None])
    area = np.append(0.0, np.cumsum(there[:-1, 0] * np.diff(times_s)))
    return np.asarray(np.interp(end_s, times_s, area) - np.interp(submit_s, times_s, area))


def claim_faults(found: Mapping[str, float], claimed: Mapping[str, Any]) -> Iterator[Fault]:
    """Metrics that were claimed, and are not what the rows give."""
    for name, value in found.items():
        said = claimed.get(name, value)
        try:
            number = math.nan if isinstance(said, bool | str) else float(said)
        except (TypeError, OverflowError):
            number = math.nan
        if not abs(number - value) <= EXACT * max(1.0, abs(value)):
            shown = short(repr(said)) if math.isnan(number) else f"{number:.9g}"
            yield Fault("summary.json", f"{name} is {shown}, the rows give {value:.9g}")
