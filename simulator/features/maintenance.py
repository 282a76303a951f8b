"""Planned outages, in a scenario file: [maintenance].

[maintenance]
every_s = 604800
duration_s = 3600
nodes_at_a_time = 2
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from simulator.features.failures import Failures, Outages, racks_of
from simulator.features.failures.keys import FailureTable
from simulator.features.table import Scene
from simulator.files.keys import KeyedError, NonNegative, Positive, PositiveInt
from simulator.laws import Deterministic


class MaintenanceKeys(FailureTable):
    """Planned outages of groups of nodes, one group after the other."""

    table: ClassVar[str] = "maintenance"

    every_s: Positive = Field(examples=[604800])
    """period in which all nodes are down once"""
    duration_s: Positive = Field(examples=[3600])
    """time that a group is down"""
    nodes_at_a_time: PositiveInt = 1
    """nodes of a group; one group goes after the other"""
    notice_s: NonNegative = 86_400.0
    """time before an outage in which jobs save their work"""
    warn: bool = False
    """whether policies are told at the notice"""

    def make(self, scene: Scene) -> Failures:
        """One group after the other, in each period."""
        groups = racks_of(scene.cluster.num_nodes, self.nodes_at_a_time)
        round_s = len(groups) * self.duration_s
        if self.every_s < round_s:
            raise KeyedError(
                "maintenance.every_s",
                f"got {self.every_s:g}, expected at least {round_s:g}, the time of all {len(groups)} groups",
            )
        up = Deterministic(self.every_s - self.duration_s or 1e-9)
        down = Deterministic(self.duration_s)
        cause = Outages(up, down, groups, self.notice_s, self.duration_s, "maintenance", self.warn)
        return Failures([cause])
