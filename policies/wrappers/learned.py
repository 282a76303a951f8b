"""A linear score that ranks waiting jobs: what learning agents bring back as a policy.

Each waiting job has a few features between -1 and 1; the job with the highest weighted sum that
fits is started, and so on. The same features are what `experiments.learning.environment` shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from policies.queues.free_capacity import FreeCapacity, free_now
from policies.queues.waiting import WaitingArray, alike
from policies.registry.registration import register
from simulator import NO_CHANGE, Decision, InputError, Placement, View, Workload
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import FloatArray, IntArray
from simulator.model.tolerances import EQUAL

FEATURES = ("gpus", "duration", "work", "wait", "slack", "weight", "one")
"""GPUs over those of a node; logarithms of duration, GPU-seconds, wait; time until the job is late
over its duration; tardiness weight over the largest of the jobs in the system; 1."""

SCALE = math.log1p(DAY_S)
"""Logarithms of s and of GPU-seconds are in units of that of a day."""


def features(view: View, jobs: list[int]) -> FloatArray:
    """``(n, F)`` features of waiting jobs; a job of fixed demand knows its duration."""
    index = np.array(jobs, dtype=np.int64)
    duration_s, (gpus, duration, work, one) = _constant(view, view.workload, index)
    wait, weight = _wait(view, index), _weight(view, index, float(view.weight_per_s.max()))
    slack = _slack(view, index, duration_s)
    return np.column_stack([gpus, duration, work, wait, slack, weight, one])


def _constant(
    view: View, workload: Workload, jobs: IntArray | slice
) -> tuple[FloatArray, list[FloatArray]]:
    """Durations of jobs, and the features that time does not change: GPUs, duration, work, one."""
    gpus = workload.num_gpus[jobs].astype(np.float64)
    work_gpu_s = workload.performance.work_gpu_s(view.cluster)[jobs]
    duration_s = work_gpu_s / gpus
    columns = [
        gpus / view.cluster.max_gpus_per_node,
        np.log1p(duration_s) / SCALE,
        np.log1p(work_gpu_s) / SCALE / 2,
        np.ones(len(gpus)),
    ]
    return duration_s, [np.minimum(column, 1.0) for column in columns]


def _wait(view: View, jobs: IntArray) -> FloatArray:
    waited_s = view.now_s - view.workload.submit_s[jobs]
    return np.minimum(np.log(1.0 + waited_s) / SCALE, 1.0)  # numpy's log1p takes four times as long


def _slack(view: View, jobs: IntArray, duration_s: FloatArray) -> FloatArray:
    left_s = view.workload.due_s[jobs] - view.now_s - duration_s
    return np.asarray(np.clip(left_s / duration_s, -1.0, 10.0) / 10)


def _weight(view: View, jobs: IntArray, largest: float) -> FloatArray:
    """``largest``: of jobs that have come; nobody knows those to come."""
    return np.clip(view.workload.weight_per_s[jobs] / max(largest, 1e-300), 0.0, 1.0)


@register("linear-score", requires=("servers", "fixed-demand"), places=True)
class LinearScore:
    """Waiting jobs ranked by a weighted sum of features, such as a learning agent finds; no preemption.

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
        self._weight_of = dict(zip(FEATURES, numbers, strict=True))
        self._waiting = WaitingArray()
        self._free: FreeCapacity | None = None
        self._workload: Workload | None = None

    def decide(self, view: View) -> Decision:
        """Start what fits, best first; of the jobs that are as good, the longest in the queue."""
        if not view.waiting or view.free_gpus_total < 1:
            return NO_CHANGE
        if view.workload is not self._workload:  # the first decision of a simulation
            self._workload = view.workload
            self._duration_s, (gpus, duration, work, one) = _constant(view, view.rows, slice(None))
            weight = self._weight_of
            self._constant = gpus * weight["gpus"] + duration * weight["duration"]
            self._constant += work * weight["work"] + one * weight["one"]
        jobs = self._waiting.refresh(view)
        score = self._score(view, jobs)
        within = EQUAL * sum(map(abs, self._weight_of.values()))  # features are at most 1
        self._free = capacity = free_now(view, self._free)
        placements: list[Placement] = []
        while capacity.total_gpus >= 1 and score.max() > -math.inf:
            best = _best(score, within)
            score[best] = -math.inf
            while len(best) and capacity.total_gpus >= 1:
                job = int(jobs[best[0]])
                shares = capacity.take(job)
                placements += shares
                best = best[1:]
                if not shares:
                    others = ~alike(view, jobs, job)
                    score[~others] = -math.inf
                    best = best[others[best]]
        self._waiting.taken = [share.job for share in placements]
        return Decision(placements, keep_running=True) if placements else NO_CHANGE

    def _score(self, view: View, jobs: IntArray) -> FloatArray:
        """``(n,)`` weighted sums of the features; those without weight are left out."""
        score = self._constant[jobs]
        weight = self._weight_of
        if weight["wait"]:
            score += weight["wait"] * _wait(view, jobs)
        if weight["slack"]:
            score += weight["slack"] * _slack(view, jobs, self._duration_s[jobs])
        if weight["weight"]:
            of = view.workload.weight_per_s
            largest = max(float(of[jobs].max()), *map(of.item, view.running), 0.0)
            score += weight["weight"] * _weight(view, jobs, largest)
        return score


def _best(score: FloatArray, within: float) -> IntArray:
    """Places of the jobs of the highest rank (`simulator.model.ranks.ranks`)."""
    low = score.max()
    while True:
        best = np.flatnonzero(score >= low - within)
        least = score[best].min()
        if least == low:
            return best
        low = least
