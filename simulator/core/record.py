"""Record of a run: what a simulation leaves, and the times of jobs that follow from it.

Costs: `NodeMeters` has leasing and energy; tardiness is the weight of every job times the seconds that it ends
after its due date. All in the cluster's currency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.core.logs import DecisionLog, ScheduleLog
from simulator.core.node import NodeMeters
from simulator.errors import InputError
from simulator.model.cluster import Cluster, FloatArray, IntArray
from simulator.model.contract import Configuration
from simulator.model.decision_points import ServerSpec
from simulator.model.workload import Workload
from simulator.schema import ColumnData

ROWS_AT_ONCE = 4096
"""Jobs whose tables of times are looked at together."""


def present_beside(start_s: FloatArray, end_s: FloatArray, amount: FloatArray) -> FloatArray:
    """``(J,)`` integral, from its start to its end, of the amounts of all that are there; its own counts."""
    times = np.concatenate([start_s, end_s])
    order = np.argsort(times, kind="stable")
    times, there = times[order], np.concatenate([amount, -amount])[order].cumsum()
    area = np.concatenate([[0.0], np.cumsum(there[:-1] * np.diff(times))])
    return np.asarray(np.interp(end_s, times, area) - np.interp(start_s, times, area))


@dataclass(frozen=True)
class RunRecord:
    """Everything that a simulation leaves.

    Attributes
    ----------
    workload, cluster : what was simulated.
    policy, seed : by which policy, on which random numbers.
    first_start_s, completion_s, gpu_seconds, running_s : ``(J,)`` s, s, GPU-seconds held, s that it held GPUs.
    preemptions : ``(J,)`` how often a running job was sent back to wait.
    reconfigurations : ``(J,)`` how often its placement was changed while it ran.
    meters : costs and use of the nodes.
    named_use : ``(U, 4)`` node, start, end (s), GPUs in use of each stretch in which jobs of a node have GPUs by
        number, by node and time: a GPU that several jobs share counts once.
    decisions : one row a decision, in order.
    schedule : one record a share and stretch of time, or None if not recorded.
    server : the optimization server; None: decisions took no time.
    server_wait_s, server_response_s : one value a request to it, s.
    streamed_to : the folder of the Parquet files that hold decisions and schedule (`simulate`,
        ``stream_to``); None: they are in memory.
    left : ``(J,)`` jobs that left before they started, at their ``completion_s``; None: none can.
    parts : what features leave (`simulator.core.feature.FeatureRecord`), by the name of the feature.
    configurations : job, time (s) and configuration for each change of what a job runs with beside its GPUs.
    eligible_s : ``(J,)`` times from which waiting counts, where features held jobs back before their submission; None:
        those of the workload.
    informed : whether a policy or the dispatcher asked for jobs that had not come (`View.all_jobs`).
    extra : columns that features add to the table of jobs, ``(J,)`` values each.
    """

    workload: Workload
    cluster: Cluster
    policy: str
    seed: int
    first_start_s: FloatArray
    completion_s: FloatArray
    gpu_seconds: FloatArray
    running_s: FloatArray
    preemptions: IntArray
    reconfigurations: IntArray
    meters: NodeMeters
    decisions: DecisionLog
    schedule: ScheduleLog | None
    server_wait_s: FloatArray
    server_response_s: FloatArray
    server: ServerSpec | None = None
    streamed_to: Path | None = None
    left: npt.NDArray[np.bool_] | None = None
    parts: Mapping[str, Any] = field(default_factory=dict)
    configurations: Sequence[tuple[int, float, Configuration]] = ()
    extra: tuple[ColumnData, ...] = ()
    eligible_s: FloatArray | None = None
    informed: bool = False
    named_use: FloatArray = field(default_factory=lambda: np.empty((0, 4)))

    @property
    def submit_s(self) -> FloatArray:
        """``(J,)`` times of submission in this run."""
        return self.workload.submit_s if self.eligible_s is None else self.eligible_s

    @cached_property
    def wait_s(self) -> FloatArray:
        """``(J,)`` from submission to first start."""
        return self.first_start_s - self.submit_s

    @cached_property
    def jct_s(self) -> FloatArray:
        """``(J,)`` job completion time: from submission to completion; NaN for a job that left."""
        stay_s = self.completion_s - self.submit_s
        return stay_s if self.left is None else np.where(self.left, np.nan, stay_s)

    @cached_property
    def tardiness_s(self) -> FloatArray:
        """``(J,)`` seconds after the due date, 0 for a job in time and for one that left."""
        late_s = np.maximum(0.0, self.completion_s - self.workload.due_s)
        return late_s if self.left is None else np.where(self.left, 0.0, late_s)

    @cached_property
    def ideal_s(self) -> FloatArray:
        """``(J,)`` seconds of each job alone, on the fastest configuration of one node of the cluster.

        A job of fixed demand over several nodes: its duration. NaN on a rental pool, where there is no
        fastest one.
        """
        workload, cluster = self.workload, self.cluster
        count = len(workload)
        if cluster.is_pool:
            return np.full(count, np.nan)
        if workload.performance.fixed_s is not None:
            return workload.performance.fixed_s
        best = np.full(count, np.inf)
        for first in range(0, count, ROWS_AT_ONCE):
            jobs = np.arange(first, min(first + ROWS_AT_ONCE, count), dtype=np.int64)
            best[jobs] = workload.performance.table_s(jobs, cluster).min(axis=(1, 2))
        best[~np.isfinite(best)] = np.nan
        return best

    @cached_property
    def total_wait_s(self) -> FloatArray:
        """``(J,)`` all the time in the system without GPUs; NaN for a job that left."""
        return np.maximum(0.0, self.jct_s - self.running_s)  # sums of stretches round

    def shares(self) -> dict[str, Any] | None:
        """The schedule as columns; None where it was not recorded, or is not in memory."""
        if self.schedule is None or self.streamed_to is not None:
            return None
        return self.schedule.table()

    @property
    def tardiness_cost(self) -> float:
        """Weighted tardiness of all jobs."""
        return float(self.tardiness_s @ self.workload.weight_per_s)

    @property
    def total_cost(self) -> float:
        """Leasing, energy and tardiness."""
        return self.meters.leasing_cost + self.meters.energy_cost + self.tardiness_cost

    @cached_property
    def end_s(self) -> float:
        """The last completion of a job that did not leave: until then nodes are leased."""
        completion_s = self.completion_s if self.left is None else self.completion_s[~self.left]
        return float(completion_s.max())

    @property
    def makespan_s(self) -> float:
        """From the first submission to the last completion."""
        return float(self.end_s - self.workload.submit_s[0])

    def served(self, window: Sequence[int] | None = None) -> slice | IntArray:
        """Index of the jobs of a window, in order of submission, without those that left.

        Raises InputError: all jobs of the window left.
        """
        first, last = window or (0, len(self.workload))
        if self.left is None:
            return slice(first, last)
        found = first + np.flatnonzero(~self.left[first:last])
        if not len(found):
            raise InputError(f"window {first}:{last}: all its jobs left, expected one that started")
        return found
