"""Failures and checkpoints in a scenario file: [failures], [checkpoints].

[failures]
time_to_failure = "exponential:18000"
repair = "deterministic:600"

[checkpoints]
interval_s = "daly"
cost_s = 60
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from simulator.features.failures.checkpoints import Checkpoints
from simulator.features.failures.outages import Outages, failure_rates
from simulator.features.failures.servers import Reliability
from simulator.features.failures.spec import Failures
from simulator.features.table import FeatureTable, Scene
from simulator.files.keys import KeyedError, NonNegative, Positive, PositiveInt, at_key
from simulator.laws import Law, parse_law

Probability = Annotated[float, Field(ge=0, le=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]


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

    time_to_failure: str | None = Field(default=None, examples=["exponential:18000"])
    """law of the time from repair to failure of each node, s"""
    repair: str | None = Field(default=None, examples=["deterministic:600"])
    """law of the time of its repair, s"""
    rack_time_to_failure: str | None = Field(default=None, examples=["exponential:80000"])
    """law of the time to failure of each rack as a whole, s"""
    rack_repair: str | None = Field(default=None, examples=["exponential:1200"])
    """law of the time of its repair, s"""
    job_time_to_failure: str | None = Field(default=None, examples=["exponential:20000"])
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
        if scene.nodes_per_rack is None:
            raise KeyedError(
                "cluster.nodes_per_rack", "missing, expected beside failures.rack_time_to_failure"
            )
        yield Outages.of_racks(num_nodes, scene.nodes_per_rack, *laws)

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


class ReliabilityKeys(FailureTable):
    """Large jobs that go on after a failure of a server (a node), with another one in its place."""

    table: ClassVar[str] = "reliability"

    time_to_failure_s: Positive = Field(examples=[8640000])
    """mean time to failure of a good server that a job uses, s; exponential"""
    fails_in_restart: bool = False
    """whether servers also fail while their job does not work: after its start, or a failure"""
    bad_fraction: Probability = 0.0
    """part of the servers that are bad at first"""
    bad_factor: NonNegative = 0.0
    """further rate of failures of a bad server, over that of a good one"""
    standbys: NonNegativeInt = 0
    """servers that each job holds beside its own; those that come back from repair fill them up"""
    spare_nodes: NonNegativeInt = 0
    """the last nodes of the cluster: other work holds them until a job takes them for good"""
    host_selection_s: NonNegative = 0.0
    """time without work at a start, and when no standby is left"""
    preemption_s: NonNegative = 0.0
    """time without work for each spare node that is taken, where no server is free"""
    auto_repair: str = Field(examples=["exponential:7200"])
    """law of the time of an automated repair, s"""
    manual_repair: str | None = Field(default=None, examples=["exponential:172800"])
    """law of the time of a manual repair after it, s"""
    to_manual: Probability = 0.0
    """probability that a manual repair follows"""
    auto_fails: Probability = 0.0
    """probability that the fault is still there after an automated repair alone"""
    manual_fails: Probability = 0.0
    """probability that it is still there after a manual repair"""
    diagnosed: Probability = 1.0
    """probability that a failed server is found; else none is repaired, and the job restarts on the same ones"""
    misdiagnosed: Probability = 0.0
    """probability that another server of the job is repaired in place of the one that failed"""
    retire_after: PositiveInt | None = Field(default=None, examples=[3])
    """failures at which a server is retired when its repair is over"""
    retire_window_s: Positive | None = Field(default=None, examples=[604800])
    """time in which they count; left out: always"""
    retire_score: Positive | None = Field(default=None, examples=[2.5])
    """score at which a server is retired when its repair is over: each failure counts 1"""
    score_half_life_s: Positive | None = Field(default=None, examples=[604800])
    """time after which a failure counts a half; left out: never"""

    def make(self, scene: Scene) -> Failures:
        """Servers that fail."""
        laws = {
            key: law_of(f"reliability.{key}", getattr(self, key))
            for key in ("auto_repair", "manual_repair")
        }
        never = {
            key: math.inf
            for key in ("retire_window_s", "score_half_life_s")
            if getattr(self, key) is None
        }
        with at_key("reliability"):
            return Failures(reliability=Reliability(**{**dict(self), **laws, **never}))

    def check(self, scene: Scene) -> None:
        """Check the keys, and that there are servers beside the spare ones."""
        super().check(scene)
        reliability = self.make(scene).reliability
        assert reliability is not None
        with at_key("reliability"):
            reliability.check(scene.cluster)

    def notes(self, scene: Scene) -> Iterable[str]:
        """Keys that need another one, which is not given."""
        pairs = {
            "bad_factor": self.bad_fraction,
            "bad_fraction": self.bad_factor,
            "preemption_s": self.spare_nodes,
            "manual_repair": self.to_manual,
            "manual_fails": self.to_manual,
            "misdiagnosed": self.diagnosed,
            "retire_window_s": self.retire_after,
            "score_half_life_s": self.retire_score,
        }
        for key, needed in pairs.items():
            if getattr(self, key) and not needed:
                yield f"reliability.{key}: what it goes with is 0 or not given; no effect"
        if failures_of(scene).checkpoints is None:
            yield "reliability: without [checkpoints], a job begins anew at each failure; interval_s = 0 keeps its work"


class CheckpointKeys(FailureTable):
    """Checkpoints of jobs; without this table, all that a job did is lost."""

    table: ClassVar[str] = "checkpoints"

    interval_s: Positive | Literal[0, "young", "daly", "best"] | None = Field(
        default=None, examples=[1800]
    )
    """work between two checkpoints; young, daly, best: chosen by the failures to be expected; 0: work is never lost; left out: no checkpoints"""
    cost_s: NonNegative = 0.0
    """time of a checkpoint, without work"""
    restart_s: NonNegative = 0.0
    """time without work when a job that failed starts again"""
    cost_of_model: dict[str, NonNegative] = Field(default_factory=dict, examples=[{"vgg19": 120}])
    """time of a checkpoint by model"""
    cost_per_gpu_s: NonNegative = 0.0
    """added to it for each GPU of the job"""

    def make(self, scene: Scene) -> Failures:
        """Checkpoints of all jobs."""
        with at_key("checkpoints"):
            interval_s = math.inf if self.interval_s is None else self.interval_s
            values: dict[str, Any] = {**dict(self), "interval_s": interval_s}
            return Failures(checkpoints=Checkpoints(**values))

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
                f'checkpoints.interval_s: "{self.interval_s}" follows the failures that come without notice, '
                "and none does; no checkpoint is made"
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


def law_of(key: str, text: str | None) -> Law | None:
    """The law that a key names; None where it is not given."""
    if text is None:
        return None
    with at_key(key):
        return parse_law(text)
