"""Expense of an episode of a learning agent so far: hours of jobs, or money."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from simulator import Cluster, Placement, Result, View, Workload
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray, IntArray


class Spent(ABC):
    """A sum that grows from decision to decision.

    A job that is gone at a decision ended then, since each completion is a decision point. At the end the sum is
    that of the result, so whatever came between two decisions is in it.

    Attributes
    ----------
    so_far : hours or money, up to the last decision point.
    """

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        self.workload, self.cluster = workload, cluster
        self.so_far = 0.0
        self._of_gone = self._of_nodes = self._per_hour = self._since_s = 0.0
        self._present: set[int] = set()

    def look(self, view: View) -> None:
        """Bring the sum up to the time of a decision."""
        now_s, present = view.now_s, set(view.active)
        gone = np.array(sorted(self._present - present), dtype=np.int64)
        self._of_gone += float(self._of_jobs(gone, now_s).sum())
        self._present = present
        self._of_nodes += self._per_hour * (now_s - self._since_s) / SECONDS_PER_HOUR
        of_jobs = float(self._of_jobs(view.jobs, now_s).sum())
        self.so_far = self._of_gone + of_jobs + self._of_nodes

    def decided(self, view: View, placements: Sequence[Placement]) -> None:
        """Jobs that a decision starts, on top of those that run."""
        self._since_s, self._per_hour = view.now_s, self._nodes_per_hour(view, placements)

    @abstractmethod
    def _nodes_per_hour(self, view: View, placements: Sequence[Placement]) -> float:
        """Expense per hour of the nodes that are up, from now on."""

    @abstractmethod
    def close(self, result: Result) -> None:
        """The sum of the whole run."""

    @abstractmethod
    def _of_jobs(self, jobs: IntArray, now_s: float) -> FloatArray:
        """Expense of each of these jobs until now."""


class TimeSpent(Spent):
    """Hours from submission to now or to the end of each job."""

    def close(self, result: Result) -> None:
        """Completion times of all jobs that were served."""
        self.so_far = float(np.nansum(result.jct_s)) / SECONDS_PER_HOUR

    def _nodes_per_hour(self, view: View, placements: Sequence[Placement]) -> float:
        return 0.0  # only jobs take time

    def _of_jobs(self, jobs: IntArray, now_s: float) -> FloatArray:
        return np.asarray((now_s - self.workload.submit_s[jobs]) / SECONDS_PER_HOUR)


class MoneySpent(Spent):
    """Leasing and energy of the nodes, and tardiness.

    Between two decisions nodes cost what they cost with what the first of them started. So a step is exact where
    decisions take no time and nothing fails; the sum at the end is exact always.
    """

    def _nodes_per_hour(self, view: View, placements: Sequence[Placement]) -> float:
        fixed, types = self.cluster.node_type_of, self.cluster.node_types
        assert fixed is not None
        starts = dict.fromkeys(view.nodes.tolist(), 0.0)
        for share in placements:
            starts[share.node] += share.gpus
        per_hour = 0.0
        for node, gpus in starts.items():
            used = types[fixed[node]].gpus - float(view.free_gpus[node]) + gpus
            rates = self.cluster.rates(fixed[node], used)
            factor = self.cluster.leasing_factor(node)
            per_hour += rates.leasing_per_hour * factor + rates.energy_per_hour
        return per_hour

    def close(self, result: Result) -> None:
        """Leasing, energy and tardiness of the run."""
        self.so_far = result.total_cost

    def _of_jobs(self, jobs: IntArray, now_s: float) -> FloatArray:
        late_s = np.maximum(now_s - self.workload.due_s[jobs], 0.0)
        return np.asarray(late_s * self.workload.weight_per_s[jobs])


SPENT: dict[str, type[Spent]] = {"time": TimeSpent, "cost": MoneySpent}
"""By what `SchedulingEnv` calls a reward."""
