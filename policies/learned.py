"""A linear score that ranks waiting jobs: what learning agents bring back as a policy.

Each waiting job has a few features between -1 and 1; the job with the highest weighted sum that
fits is started, and so on. The same features are what `experiments.learning.environment` shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from policies.packing import FreeCapacity
from policies.registration import register
from simulator import NO_CHANGE, Decision, InputError, Placement, View
from simulator.model.cluster import FloatArray
from simulator.model.ranks import ranks
from simulator.model.tolerances import EQUAL

FEATURES = ("gpus", "duration", "work", "wait", "slack", "weight", "one")
"""GPUs over those of a node; logarithms of duration, GPU-seconds, wait; time until the job is late
over its duration; tardiness weight over the largest of the jobs in the system; 1."""

DAY_S = 86_400.0


def features(view: View, jobs: list[int]) -> FloatArray:
    """``(n, F)`` features of waiting jobs; a job of fixed demand knows its duration."""
    workload, cluster = view.workload, view.cluster
    index = np.array(jobs, dtype=np.int64)
    gpus = workload.num_gpus[index].astype(np.float64)
    work = workload.performance.work_gpu_s(cluster)[index]
    duration = work / gpus
    wait = view.now_s - workload.submit_s[index]
    slack = np.clip((workload.due_s[index] - view.now_s - duration) / duration, -1.0, 10.0) / 10
    largest = float(view.weight_per_s.max())  # of jobs that have come: nobody knows those to come
    weight = workload.weight_per_s[index] / max(largest, 1e-300)
    scale = math.log1p(DAY_S)
    columns = [
        gpus / cluster.max_gpus_per_node,
        np.log1p(duration) / scale,
        np.log1p(work) / scale / 2,
        np.log1p(wait) / scale,
        slack,
        np.clip(weight, 0.0, 1.0),
        np.ones(len(index)),
    ]
    return np.clip(np.column_stack(columns), -1.0, 1.0)


@register("linear-score", requires=("servers", "fixed-demand"))
class LinearScore:
    """Waiting jobs ranked by a weighted sum of features, as learning agents find it; no preemption.

    Parameters
    ----------
    weights : one number a feature (`FEATURES`), with commas between them. The default ranks by the time waited.
    """

    name = "linear-score"

    def __init__(self, weights: str | Sequence[float] = "0,0,0,1,0,0,0") -> None:
        given = weights.split(",") if isinstance(weights, str) else weights
        try:
            numbers = [float(w) for w in given]
        except ValueError:
            numbers = []
        if len(numbers) != len(FEATURES) or not all(map(math.isfinite, numbers)):
            raise InputError(
                f"linear-score: weights is {weights!r}, expected {len(FEATURES)} numbers with commas "
                f"between them ({', '.join(FEATURES)})"
            )
        self._weights = np.array(numbers, dtype=np.float64)

    def decide(self, view: View) -> Decision:
        """Start what fits, best first."""
        if not view.waiting or view.free_gpus_total < 1:
            return NO_CHANGE
        jobs = list(view.waiting)
        score = features(view, jobs) @ self._weights
        capacity = FreeCapacity(view)
        placements: list[Placement] = []
        within = EQUAL * float(np.abs(self._weights).sum())  # features are at most 1
        for k in np.argsort(ranks(-score, within), kind="stable").tolist():
            placements += capacity.take(jobs[k])
            if capacity.total_gpus < 1:
                break
        return Decision(placements, keep_running=True) if placements else NO_CHANGE
