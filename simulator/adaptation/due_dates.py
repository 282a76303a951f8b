"""Arrival times, due dates and tardiness weights of jobs.

A step is ``(workload, context) -> (workload, note)``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.adaptation.rules import DUE, Context, factors
from simulator.model.cluster import Cluster, FloatArray
from simulator.model.performance import FixedDuration, Sensitivity, SpeedupCurve
from simulator.model.workload import Workload
from simulator.workloads.load import offered_load
from simulator.workloads.weights import weights_per_s


def due(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Due dates by ``rules.due``."""
    law = given.rules.due
    assert law is not None
    if law == "none":
        return replace(workload, due_s=np.full(len(workload), np.inf)), "no due dates"
    least, most = _extremes(workload, given.cluster)
    low, high = least, {"min-2max": 2 * most, "min-3min": 3 * least, "min-max": most}.get(law, most)
    if law not in DUE:
        a, b = factors(law)
        low, high = a * least, b * least
    slack_s = given.streams.generator("adapt-due").uniform(low, high)
    return replace(workload, due_s=workload.submit_s + slack_s), f"due dates by the law {law!r}"


def _extremes(workload: Workload, cluster: Cluster) -> tuple[FloatArray, FloatArray]:
    """``(J,)`` least and longest time of each job over its configurations."""
    performance = workload.performance
    if isinstance(performance, FixedDuration | Sensitivity):
        return performance.duration_s, performance.duration_s
    jobs = np.arange(len(workload), dtype=np.int64)
    if isinstance(performance, SpeedupCurve):
        most = np.array([float(s(1e6)) for s in performance.curves])
        return performance.duration_s / most[performance.curve_of], performance.duration_s
    table = performance.table_s(jobs, cluster).reshape(len(workload), -1)
    return table.min(axis=1), np.where(np.isfinite(table), table, 0.0).max(axis=1)


def weights(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Weights of tardiness by ``rules.weights``."""
    rules = given.rules
    assert rules.weights is not None
    rng = given.streams.generator("adapt-weights")
    weight, note = weights_per_s(rules.weights, workload.vc, len(workload), rng)
    return replace(workload, weight_per_s=weight), note


def load(workload: Workload, given: Context) -> tuple[Workload, str]:
    """Gaps between submissions for ``rules.load``."""
    rules = given.rules
    assert rules.load is not None
    before = offered_load(workload, given.cluster).packed
    stretch = before / rules.load
    first = workload.submit_s[0]
    submit_s = first + (workload.submit_s - first) * stretch
    due_s = submit_s + (workload.due_s - workload.submit_s)
    note = f"gaps between submissions times {stretch:.4g}: offered load {rules.load:g}"
    return replace(workload, submit_s=submit_s, due_s=due_s), f"{note} instead of {before:.4g}"
