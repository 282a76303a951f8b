"""Failures: nodes that go down, jobs that fail, checkpoints, and the record of all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simulator.arguments import checked
from simulator.core.execution import Execution
from simulator.core.feature import Feature, FeatureRecord
from simulator.core.record import RunRecord
from simulator.errors import InputError
from simulator.features.failures.checkpoints import Checkpointing, Checkpoints
from simulator.features.failures.gangs import Gangs
from simulator.features.failures.guard import FaultGuard
from simulator.features.failures.jobs import JobFailures
from simulator.features.failures.outages import Cause, NodeOutages, check_law
from simulator.features.failures.servers import Reliability
from simulator.laws import Law
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray, IntArray
from simulator.schema import Derived, RunTable, Schema, Values

if TYPE_CHECKING:
    import pyarrow as pa


@checked("failures")
@dataclass(frozen=True)
class Failures:
    """All that goes wrong in a simulation.

    Attributes
    ----------
    outages : the causes for which nodes go down.
    checkpoints : how jobs save their work; None: only before an outage that they have notice of.
    job_time_to_failure : seconds that a job runs until it fails by itself (Philly's attempts), drawn
        anew at each start; None: never.
    max_attempts : a job that has failed so often by itself is abandoned; None: never.
    reliability : servers that fail under large jobs, which go on with others; None: none do.
    """

    outages: Sequence[Cause] = ()
    checkpoints: Checkpoints | None = None
    job_time_to_failure: Law | None = None
    max_attempts: int | None = None
    reliability: Reliability | None = None

    def __post_init__(self) -> None:
        if self.max_attempts is not None and self.max_attempts < 1:
            raise InputError(f"max_attempts is {self.max_attempts}, expected at least 1")
        if self.reliability is not None and self.outages:
            raise InputError(
                "reliability: given beside outages of nodes (failures, maintenance, spot), expected one of them"
            )
        if self.job_time_to_failure is not None:
            check_law("failures: job_time_to_failure", self.job_time_to_failure)

    def joined(self, other: Failures) -> Failures:
        """These and the other ones; each key is given once."""
        return Failures(
            [*self.outages, *other.outages],
            self.checkpoints or other.checkpoints,
            self.job_time_to_failure or other.job_time_to_failure,
            self.max_attempts or other.max_attempts,
            self.reliability or other.reliability,
        )

    def features(self) -> list[Feature]:
        """Failures of jobs, checkpoints and outages of nodes, which one record joins."""
        guard = FaultGuard()
        jobs = JobFailures(self.job_time_to_failure, self.max_attempts, guard)
        nodes = NodeOutages(self.outages, guard)
        law = self.job_time_to_failure
        own_rate = 1 / law.mean if law is not None else 0.0

        def failure_rate(execution: Execution) -> float:
            """Failures per second that a job has to expect on its nodes."""
            return sum(nodes.failure_rate[s.node] for s in execution.shares) + own_rate

        saving = Checkpointing(self.checkpoints or Checkpoints(), failure_rate)
        spec = self.reliability
        gangs = [] if spec is None else [Gangs(spec, guard, jobs, saving, nodes)]
        return [jobs, saving, nodes, *gangs, _Damages(jobs, saving, nodes)]


class _Damages(Feature):
    """The record of all failures."""

    name = "failures"

    def __init__(self, jobs: JobFailures, saving: Checkpointing, nodes: NodeOutages) -> None:
        self._parts = jobs, saving, nodes

    def record(self, end_s: float) -> Damage:
        """The record until the last completion."""
        jobs, saving, nodes = self._parts
        outages, down_s, down = nodes.until(end_s)
        return Damage(
            np.array(jobs.failures, dtype=np.int64),
            np.array(saving.lost_gpu_s),
            np.array(saving.overhead_gpu_s),
            outages,
            down_s,
            down,
            None if jobs.max_attempts is None else np.array(jobs.abandoned, dtype=np.int64),
        )


@dataclass(frozen=True)
class Damage(FeatureRecord):
    """Record of faults in a simulation.

    Attributes
    ----------
    failures : ``(J,)`` how often each job was thrown off its nodes, or failed by itself.
    lost_gpu_s : ``(J,)`` GPU-seconds of work that were done and lost.
    overhead_gpu_s : ``(J,)`` GPU-seconds held without work: checkpoints, restarts, reconfigurations.
    outages : ``(N,)`` outages of each node.
    down_s : ``(N,)`` seconds that each node was down until the last job ended.
    down : ``(O, 3)`` node, start and end (s) of each stretch of time that it was down, in order of the ends; one
        that goes on ends with the last job.
    abandoned : ``(J,)`` 1 for a job that failed too often; None: there is no limit.
    """

    failures: IntArray
    lost_gpu_s: FloatArray
    overhead_gpu_s: FloatArray
    outages: IntArray
    down_s: FloatArray
    down: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    abandoned: IntArray | None = None

    def statuses(self) -> Mapping[str, IntArray]:
        """Jobs that were abandoned."""
        return {} if self.abandoned is None else {"abandoned": self.abandoned}

    def scalars(self, run: RunRecord) -> dict[str, float | int | None]:
        """Counts of faults, as scalars.

        ``goodput`` is the part of the GPU-seconds held by jobs that was work and was not lost.
        ``effective_training_ratio`` is the same work over the GPU-seconds that the jobs would have held without a
        break from first start to end, at their mean GPUs: waiting for a repair or for GPUs counts.
        ``availability`` is the part of the node-seconds, from the first submission to the last
        completion, in which a node was up.
        """
        lost, overhead = float(self.lost_gpu_s.sum()), float(self.overhead_gpu_s.sum())
        held, span_s = float(run.gpu_seconds.sum()), run.makespan_s * run.cluster.num_nodes
        ran = run.running_s > 0
        from_start_s = (run.completion_s - run.first_start_s)[ran]
        without_break = float((run.gpu_seconds[ran] / run.running_s[ran] * from_start_s).sum())
        return {
            "outages": int(self.outages.sum()),
            "job_failures": int(self.failures.sum()),
            "abandoned_jobs": 0 if self.abandoned is None else int(self.abandoned.sum()),
            "lost_gpu_h": lost / SECONDS_PER_HOUR,
            "overhead_gpu_h": overhead / SECONDS_PER_HOUR,
            "goodput": 1 - (lost + overhead) / held if held else None,
            "effective_training_ratio": (held - lost - overhead) / without_break
            if without_break
            else None,
            "availability": 1 - float(self.down_s.sum()) / span_s if span_s else None,
        }


def _in_order(damage: Damage, column: int) -> Values:
    down = damage.down
    found: Values = down[np.lexsort((down[:, 0], down[:, 1])), column]
    return found


OUTAGES: Schema[Damage] = Schema(
    "outages",
    "a stretch of time in which a node was down, in order of the starts",
    (
        Derived("node", "", "node, counted from 0", "integer",
                values=lambda damage: np.asarray(_in_order(damage, 0), dtype=np.int64)),
        Derived("start_s", "s", "from when", "number", values=lambda damage: _in_order(damage, 1)),
        Derived("end_s", "s", "until when", "number", values=lambda damage: _in_order(damage, 2)),
    ),
    when="something can fail",
)  # fmt: skip


def _outages(record: RunRecord) -> pa.Table | None:
    damage = record.parts.get("failures")
    return None if damage is None else OUTAGES.table(damage)


TABLES = (RunTable(OUTAGES, _outages),)
