"""Failures and checkpoints in a scenario file: [failures], [checkpoints].

[failures]
time_to_failure = "exponential:18000"
repair = "deterministic:600"

[checkpoints]
interval_s = "daly"
cost_s = 60
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from pydantic import Field

from simulator.features.failures.checkpoints import Checkpoints
from simulator.features.failures.outages import Outages, failure_rates, law_of
from simulator.features.failures.servers import Reliability
from simulator.features.failures.spec import Failures
from simulator.features.table import FeatureTable, Scene
from simulator.files.keys import KeyedError, LawKey, PositiveInt, at_key
from simulator.laws import Law


class FailureTable(FeatureTable):
    """A table that lets something fail, or says what then happens."""

    def make(self, scene: Scene) -> Failures:
        """Its part of what goes wrong."""
        raise NotImplementedError

    def check(self, scene: Scene) -> None:
        """Check the keys, and that there are machines that can fail."""
        self.make(scene)
        if scene.cluster.is_pool:
            raise KeyedError("cluster.kind", "got 'pool', expected machines that can fail")


class FailureKeys(FailureTable):
    """Failures of nodes, of racks, and of jobs by themselves; times are laws, in s."""

    table: ClassVar[str] = "failures"

    time_to_failure: LawKey | None = Field(default=None, examples=["exponential:18000"])
    """law of the time from repair to failure of each node, s"""
    repair: LawKey | None = Field(default=None, examples=["deterministic:600"])
    """law of the time of its repair, s"""
    rack_time_to_failure: LawKey | None = Field(default=None, examples=["exponential:80000"])
    """law of the time to failure of each rack as a whole, s"""
    rack_repair: LawKey | None = Field(default=None, examples=["exponential:1200"])
    """law of the time of its repair, s"""
    job_time_to_failure: LawKey | None = Field(default=None, examples=["exponential:20000"])
    """law of the time to failure of each job by itself, s, drawn anew at each start"""
    max_attempts: PositiveInt | None = Field(default=None, examples=[3])
    """failures of its own after which a job is abandoned"""

    def make(self, scene: Scene) -> Failures:
        """Outages of nodes and racks, and failures of jobs."""
        own = law_of("failures.job_time_to_failure", self.job_time_to_failure)
        if self.max_attempts is not None and own is None and not scene.workload.fails_at:
            raise KeyedError(
                "failures.max_attempts",
                "given without job_time_to_failure, expected it, or [workload] attempts = true",
            )
        return Failures(
            list(self._outages(scene)), job_time_to_failure=own, max_attempts=self.max_attempts
        )

    def _outages(self, scene: Scene) -> Iterator[Outages]:
        num_nodes = scene.cluster.num_nodes
        laws = self._pair("time_to_failure", "repair")
        if laws is not None:
            yield Outages.of_each_node(num_nodes, *laws)
        laws = self._pair("rack_time_to_failure", "rack_repair")
        if laws is None:
            return
        if scene.cluster.nodes_per_rack is None:
            raise KeyedError(
                "cluster.nodes_per_rack", "missing, expected beside failures.rack_time_to_failure"
            )
        yield Outages.of_racks(num_nodes, scene.cluster.nodes_per_rack, *laws)

    def _pair(self, first: str, second: str) -> tuple[Law, Law] | None:
        """Two laws that belong together; None where neither is given."""
        found = [law_of(f"failures.{key}", getattr(self, key)) for key in (first, second)]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
        if found[0] is found[1]:
            return None
        missing, there = (second, first) if found[1] is None else (first, second)
        raise KeyedError(f"failures.{missing}", f"missing, expected beside {there}, a law in s")

    def notes(self, scene: Scene) -> Iterable[str]:
        """A table that lets nothing fail."""
        made = failures_of(scene)
        has_own = made.job_time_to_failure is not None or scene.workload.fails_at
        if not (made.outages or has_own):
            yield "failures: no time_to_failure is given, so nothing fails; no effect"


class ReliabilityKeys(Reliability, FailureTable):
    """Large jobs that continue after a failure of a server (a node) with another server in its place."""

    table: ClassVar[str] = "reliability"

    def make(self, scene: Scene) -> Failures:
        """Servers that fail."""
        return Failures(reliability=self)

    def check(self, scene: Scene) -> None:
        """Check the keys, and that there are servers beside the spare ones."""
        super().check(scene)
        with at_key("reliability"):
            self.check_machines(scene.cluster)

    def notes(self, scene: Scene) -> Iterable[str]:
        """Keys that need another one, which is not given."""
        pairs = {
            "bad_factor": "bad_fraction",
            "bad_fraction": "bad_factor",
            "preemption_s": "spare_nodes",
            "manual_repair": "to_manual",
            "manual_fails": "to_manual",
            "misdiagnosed": "diagnosed",
            "retire_window_s": "retire_after",
            "score_half_life_s": "retire_score",
        }
        for key, needed in pairs.items():
            if getattr(self, key) and not getattr(self, needed):
                yield f"reliability.{key}: no effect, since {needed} is 0 or not given"
        if failures_of(scene).checkpoints is None:
            yield "reliability: without [checkpoints], a job begins anew at each failure; interval_s = 0 keeps its work"


class CheckpointKeys(Checkpoints, FailureTable):
    """Checkpoints of jobs; without this table, all that a job did is lost."""

    table: ClassVar[str] = "checkpoints"

    def make(self, scene: Scene) -> Failures:
        """Checkpoints of all jobs."""
        return Failures(checkpoints=self)

    def notes(self, scene: Scene) -> Iterable[str]:
        """An interval that follows from failures that there are not, and costs without checkpoints."""
        made = failures_of(scene)
        can_fail = (
            made.job_time_to_failure is not None
            or made.reliability is not None
            or any(failure_rates(made.outages, scene.cluster.num_nodes))
        )
        if isinstance(self.interval_s, str) and not can_fail:
            yield (
                f'checkpoints.interval_s: "{self.interval_s}" is computed from the failures that come without notice, but '
                "there are none, so no checkpoint is made"
            )
        warned = any(cause.notice_s > 0 for cause in made.outages)
        costs = self.cost_s or self.cost_per_gpu_s or self.cost_of_model
        if self.interval_s is None and costs and not warned:
            yield "checkpoints.interval_s: not given, so no checkpoint is made and its cost has no effect"

    def models(self) -> Mapping[str, Mapping[str, float]]:
        """Costs by model."""
        return {"cost_of_model": self.cost_of_model}


def failures_of(scene: Scene) -> Failures:
    """Faults by all tables of a scenario."""
    found = Failures()
    for table in scene.tables.values():
        if isinstance(table, FailureTable):
            found = found.joined(table.make(scene))
    return found
