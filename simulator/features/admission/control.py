"""Admission control: each arriving job is promised its due date, downgraded, or rejected.

The test uses the times that policies see; where these are predicted wrongly, promises are broken (``broken_promises``).
A downgraded job has no due date in the columns that policies see; its tardiness is counted by the true one.

[admission]
rule = "reject"
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simulator.core.feature import Feature, FeatureRecord
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.admission.elastic import Ask, least_shares, packed, within
from simulator.features.admission.promises import SHARE, Promise, all_on_time, in_units
from simulator.features.table import FeatureTable, Scene
from simulator.model import tolerances
from simulator.model.cluster import FloatArray
from simulator.model.fractional import demanded_gpus
from simulator.model.workload import Workload

BoolArray = npt.NDArray[np.bool_]


class Admission(FeatureTable):
    """Treatment of a job that cannot meet its due date."""

    table: ClassVar[str] = "admission"

    rule: Literal["reject", "downgrade"] = "reject"
    """a job that cannot be promised its due date leaves (reject), or runs without one (downgrade)"""

    def make(self, scene: Scene) -> Admission:
        """The rule."""
        return self


@dataclass(frozen=True)
class AdmissionRecord(FeatureRecord):
    """Record of admission control.

    Attributes
    ----------
    rejected, downgraded, promised : ``(J,)`` jobs that left at once, that lost their due date, and that
        were promised it.
    can_reject : whether a job can be rejected.
    """

    rejected: BoolArray
    downgraded: BoolArray
    promised: BoolArray
    can_reject: bool = False

    def statuses(self) -> Mapping[str, BoolArray]:
        """Jobs that were rejected."""
        return {"rejected": self.rejected} if self.can_reject else {}

    def scalars(self, run: Any) -> dict[str, float | int | None]:
        """Numbers of jobs; a promise is broken where a job ends after its due date all the same."""
        rounding_s = tolerances.SUMS * np.maximum(1.0, run.completion_s)
        late = (run.tardiness_s > rounding_s) & self.promised
        return {
            "rejected_jobs": int(self.rejected.sum()),
            "downgraded_jobs": int(self.downgraded.sum()),
            "promised_jobs": int(self.promised.sum()),
            "broken_promises": int(late.sum()),
        }


class AdmissionControl(Feature):
    """A test of each arriving job that has a due date, together with all jobs that have a promise.

    Attributes
    ----------
    rejected, downgraded, promised : ``(J,)`` as in `AdmissionRecord`.
    """

    name = "admission"

    def __init__(self, spec: Admission) -> None:
        self.spec = spec

    def attach(self, simulation: Simulation) -> None:
        """Read how long jobs take, as far as policies know it: predicted times where there are any."""
        self._simulation = simulation
        masks = np.zeros((3, len(simulation.workload)), dtype=np.bool_)
        self.rejected, self.downgraded, self.promised = masks
        self._open: dict[int, float] = {}
        cluster, workload = simulation.cluster, simulation.workload
        if cluster.is_pool:
            raise InputError("admission: expected nodes to run jobs on, got a rental pool")
        if cluster.node_type_of is None:
            raise InputError("admission: expected nodes of fixed types, got VMs")
        duration_s = simulation.rows.performance.fixed_s
        is_fixed = duration_s is not None
        if not is_fixed and workload.num_gpus.any():
            raise InputError(
                "admission: expected jobs of fixed demand and duration, or jobs that choose their GPUs"
            )
        if not is_fixed and len(set(cluster.node_type_of)) > 1:
            raise InputError("admission: expected equal nodes where jobs choose their GPUs")
        if not np.isfinite(workload.due_s).any():
            raise InputError("admission: no job has a due date, expected one at least")
        self._duration_s: FloatArray = np.empty(0) if duration_s is None else duration_s
        self._keeps = self._keeps_fixed if is_fixed else self._keeps_elastic
        asked = demanded_gpus(workload, simulation.fractional_gpus)
        self._total_gpus = float(cluster.total_gpus)
        self._units = in_units(asked)
        if (asked % 1).any():
            self._total_gpus *= SHARE
        if not is_fixed:
            node = cluster.node_types[cluster.node_type_of[0]]
            self._columns = packed(int(node.gpus), cluster.num_nodes)

    def shown(self, workload: Workload) -> Workload:
        """A copy, in which due dates may be taken away."""
        return workload.with_own("due_s", "weight_per_s")

    def admits(self, job: int) -> bool:
        """Whether the job may stay."""
        simulation = self._simulation
        due_s, now_s = float(simulation.workload.due_s[job]), simulation.clock.now
        if due_s == math.inf:
            return True
        if self._keeps([*self._open.items(), (job, due_s)], now_s):
            self._open[job] = due_s
            self.promised[job] = True
            return True
        if self.spec.rule == "downgrade":
            self.downgraded[job] = True
            self._forget_due_date(job)
            return True
        self.rejected[job] = True
        simulation.renege(job, now_s)
        simulation.end(job)
        return False

    def on_end(self, job: int) -> None:
        """A job that is over needs no promise."""
        self._open.pop(job, None)

    def _keeps_fixed(self, due: Sequence[tuple[int, float]], now_s: float) -> bool:
        """Whether all these jobs of fixed demand can be on time: job and due date, s, of each."""
        left = self._simulation.jobs.remaining_at
        promises = [
            Promise(due_s - now_s, j, self._units[j], left(j, now_s) * float(self._duration_s[j]))
            for j, due_s in due
        ]
        return all_on_time(promises, self._total_gpus)

    def _keeps_elastic(self, due: Sequence[tuple[int, float]], now_s: float) -> bool:
        """The same of jobs that run on any number of GPUs of a node."""
        simulation = self._simulation
        assert simulation.cluster.node_type_of is not None
        v = simulation.cluster.node_type_of[0]
        jobs = np.array([j for j, _ in due], dtype=np.int64)
        left = np.array([simulation.jobs.remaining_at(j, now_s) for j, _ in due])
        table_s = simulation.rows.performance.table_s(jobs, simulation.cluster)
        table_s = table_s[:, v, : len(self._columns)]
        left_s = np.where(np.isfinite(table_s), table_s, 1.0) * left[:, None]  # no 0 times infinity
        left_s[~np.isfinite(table_s)] = np.inf
        left_s = within(left_s, self._columns)
        asks = [
            Ask(due_s - now_s, j, row) for (j, due_s), row in zip(due, left_s.tolist(), strict=True)
        ]
        return least_shares(asks, int(self._total_gpus)) is not None

    def _forget_due_date(self, job: int) -> None:
        """Policies see the job without a due date; what is counted at the end keeps it."""
        shown = self._simulation.rows
        for column, value in ((shown.due_s, math.inf), (shown.weight_per_s, 0.0)):
            column.flags.writeable = True
            column[job] = value
            column.flags.writeable = False

    def record(self, end_s: float) -> AdmissionRecord:
        """The jobs of each kind."""
        can_reject = self.spec.rule == "reject"
        return AdmissionRecord(self.rejected, self.downgraded, self.promised, can_reject)
