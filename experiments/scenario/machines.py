"""The machines of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.config import KeyedError
from experiments.scenario.schema import Scenario
from simulator.workloads.machines import Machines, Partitioned, RentedPool, StandingServers, Vms

if TYPE_CHECKING:
    from simulator import Cluster


def machines_of(scenario: Scenario, own: Cluster | None) -> Cluster:
    """The machines that a scenario asks for; by default those that its workload brings.

    Raises KeyedError: the two do not go together.
    """
    cluster = _machines_of(scenario.cluster, own, scenario)
    if isinstance(scenario.cluster, Partitioned):
        return replace(cluster, nodes_per_rack=scenario.cluster.nodes_per_rack)
    return cluster


def _machines_of(machines: Machines | None, own: Cluster | None, scenario: Scenario) -> Cluster:
    from simulator import Cluster

    if isinstance(machines, StandingServers | RentedPool):
        if own is not None and scenario.adapt is None:
            raise KeyedError(
                "cluster.kind",
                f"got {machines.kind!r}, expected none or "
                f"{'instance' if scenario.workload.kind == 'instance' else 'vms'!r}: workload "
                f"{scenario.workload.kind!r} brings its machines (with a table [adapt] it runs on "
                "others)",
            )
        if isinstance(machines, StandingServers):
            return machines.cluster(own.node_types[0].gpu_type if own is not None else "GPU")
        return Cluster.rental_pool(machines.price_per_gpu_hour)
    kind = scenario.workload.kind
    if own is None and isinstance(machines, Vms) and scenario.adapt and scenario.adapt.speedup:
        return machines.cluster()
    if own is None:
        others = "" if kind == "elastic" else " (with [adapt] speedup it runs on 'vms' too)"
        raise KeyedError(
            "cluster.kind" if machines else "cluster",
            f"{f'got {machines.kind!r}' if machines else 'missing'}, expected 'nodes' or 'pool': "
            f"workload {kind!r} brings no machines{others}",
        )
    if machines is None:
        return own
    if isinstance(machines, Vms) and kind in ("instance", "andreas"):
        if own.node_type_of is not None:
            raise KeyedError("cluster.kind", "got 'vms', expected 'instance': its nodes are fixed")
        if machines.catalog is not None:
            raise KeyedError("cluster.catalog", "given with an instance, which brings its own")
        if machines.gpu_types is not None:
            raise KeyedError(
                "cluster.gpu_types",
                "given with an instance, expected none: it brings its own types",
            )
    num_nodes = machines.num_nodes if isinstance(machines, Vms) else None
    num_nodes = num_nodes or own.num_nodes
    controllers = machines.controllers_of(num_nodes)
    return replace(own, num_nodes=num_nodes, num_controllers=controllers)
