"""Spot VMs, in a scenario file: [spot]. They are cheaper, and taken away with notice.

A spot VM is a node with a factor of the price (`Cluster.price_factor`), not a type: policies that choose types meet no two
that differ in the price alone, and prefer no spot VM by themselves. Of equal servers they are a second type.

[spot]
nodes = 4
time_to_reclaim = "exponential:7200"
down = "exponential:1800"
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simulator.features.failures import Failures, Outages
from simulator.features.failures.keys import FailureTable
from simulator.features.table import Scene
from simulator.files.keys import KeyedError, NonNegative, PositiveInt, at_key
from simulator.laws import parse_law
from simulator.model.cluster import Cluster


class SpotKeys(FailureTable):
    """Spot VMs: cheaper, and taken away with notice."""

    table: ClassVar[str] = "spot"

    nodes: PositiveInt = Field(examples=[4])
    """number of spot VMs: the last nodes; of VMs, the first, which policies open first"""
    time_to_reclaim: str = Field(examples=["exponential:7200"])
    """law of the time until a spot VM is taken away, s"""
    down: str = Field(examples=["exponential:1800"])
    """law of the time until there is one again, s"""
    notice_s: NonNegative = 120.0
    """time before it is taken away, in which jobs save their work"""
    price: NonNegative = 0.3
    """price of a spot VM divided by that of another node"""
    warn: bool = False
    """whether policies are told at the notice"""

    def make(self, scene: Scene) -> Failures:
        """An outage of its own for each spot VM."""
        cluster = scene.cluster
        self._expect_enough(cluster)
        with at_key("spot.time_to_reclaim"):
            reclaim = parse_law(self.time_to_reclaim)
        with at_key("spot.down"):
            down = parse_law(self.down)
        begin = 0 if cluster.is_configurable else cluster.num_nodes - self.nodes
        groups = [(n,) for n in range(begin, begin + self.nodes)]
        return Failures(
            [Outages(reclaim, down, groups, self.notice_s, name="spot", warns=self.warn)]
        )

    def on_cluster(self, cluster: Cluster) -> Cluster:
        """The cluster with some nodes at the price of spot VMs; they cost nothing while they are down.

        Equal servers get a type of their own, which policies see. VMs and nodes of several types keep
        their types, and get a factor of the price (`Cluster.price_factor`), which only the accounts see.
        """
        if cluster.is_pool:
            raise KeyedError("spot", "given with a rental pool, expected nodes or VMs")
        self._expect_enough(cluster)
        if cluster.price_factor is not None:
            return cluster
        own, *others = cluster.node_types
        name = f"{own.name} spot"
        cheap = replace(own, name=name, price_per_hour=own.price_per_hour * self.price)
        kept = cluster.num_nodes - self.nodes
        if [other.name for other in others] == [name]:  # the prices of its types are new
            return replace(cluster, node_types=(own, cheap))
        if cluster.is_configurable or others:
            spot, full = (self.price,) * self.nodes, (1.0,) * kept
            factor = spot + full if cluster.is_configurable else full + spot
            return replace(cluster, price_factor=factor)
        return replace(
            cluster, node_types=(own, cheap), node_type_of=(0,) * kept + (1,) * self.nodes
        )

    def _expect_enough(self, cluster: Cluster) -> None:
        if self.nodes > cluster.num_nodes:
            raise KeyedError(
                "spot.nodes", f"got {self.nodes}, expected at most {cluster.num_nodes} nodes"
            )
