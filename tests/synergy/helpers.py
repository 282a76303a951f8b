"""A look inside a run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from policies.synergy.demand import Kinds, ServerSize
from simulator import Cluster, Decision, Sensitivity, View, Workload


@dataclass
class Watched:
    """A policy with a look at every round: what was there, and what was decided."""

    policy: Any
    look: Callable[[View, dict[int, list[Any]]], None]
    _now: dict[int, list[Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.policy.name)

    def decide(self, view: View) -> Decision:
        decision = self.policy.decide(view)
        if decision.placements:
            self._now = {}
            for placement in decision.placements:
                self._now.setdefault(placement.job, []).append(placement)
            self.look(view, self._now)
        return decision


def rate_of(workload: Workload, job: int, placements: list[Any]) -> float:
    """Relative rate of a job on what it was given."""
    performance = workload.performance
    assert isinstance(performance, Sensitivity)
    gpus, cpus, memory_gb = (
        sum(getattr(p, name) for p in placements) for name in ("gpus", "cpus", "memory_gb")
    )
    return float(performance.duration_s[job] / performance.time_s(job, 0, gpus, cpus, memory_gb))


def kinds_of(workload: Workload, servers: Cluster) -> Kinds:
    return Kinds.of(workload, ServerSize.of(servers.node_types[0]))
