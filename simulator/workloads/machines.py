"""Machines of a scenario: the table [cluster] of its file."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from simulator.arguments import MOST_GPUS, MOST_NODES
from simulator.files.keys import Config, KeyedError, NonNegative, Positive, PositiveInt, at_key
from simulator.model.cluster import Cluster, NodeType
from simulator.workloads.catalogs import catalog_names, read_catalog
from simulator.workloads.gpu_types import GpuTypeName

NodeCount = Annotated[int, Field(ge=1, le=MOST_NODES)]
GpuCount = Annotated[int, Field(ge=1, le=MOST_GPUS)]


class Partitioned(Config):
    """Nodes that controllers share."""

    num_controllers: NodeCount | None = Field(default=None, examples=[4])
    """controllers, which share the nodes equally; left out: 1"""
    nodes_per_controller: NodeCount | None = Field(default=None, examples=[5])
    """nodes of a controller, in place of num_controllers"""
    nodes_per_rack: PositiveInt | None = Field(default=None, examples=[4])
    """nodes of a rack, neighbours by number; left out: all in one rack"""

    def controllers_of(self, num_nodes: int) -> int:
        """Number of controllers that share the nodes; raises KeyedError where they cannot share evenly."""
        of_each = self.nodes_per_controller
        if of_each is None:
            num_controllers = self.num_controllers or 1
        elif self.num_controllers is not None:
            raise KeyedError(
                "cluster",
                "both num_controllers and nodes_per_controller given, expected one of them",
            )
        elif num_nodes % of_each:
            raise KeyedError(
                "cluster.nodes_per_controller",
                f"{of_each} nodes for each controller of {num_nodes} nodes, expected a number that "
                "divides the nodes",
            )
        else:
            num_controllers = num_nodes // of_each
        if num_nodes % num_controllers:
            raise KeyedError(
                "cluster.num_controllers",
                f"{num_controllers} controllers for {num_nodes} nodes, expected a number that divides "
                "the nodes",
            )
        return num_controllers


class Vms(Partitioned):
    """VMs, configured at every decision from a catalogue."""

    kind: Literal["vms"] = "vms"
    num_nodes: NodeCount | None = Field(default=None, examples=[10])
    """nodes; left out: those of the workload"""
    catalog: str | None = Field(default=None, examples=["hierarchical"])
    """types of VMs: hierarchical, thesis, figure1, or a CSV file with the columns name, gpu_type, gpus, price_per_hour; left out: the workload's"""
    gpu_types: Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, examples=[["K80", "M60"]]
    )
    """of the catalogue, only the types with these GPUs"""

    def types(self) -> tuple[NodeType, ...]:
        """The VM types, those of Table II by default; raises KeyedError where there are none."""
        name = self.catalog or "hierarchical"
        if not is_file(name) and name not in catalog_names():
            known = ", ".join(catalog_names())
            raise KeyedError("cluster.catalog", f"got {name!r}, expected {known} or a CSV file")
        with at_key("cluster.catalog"):
            types = read_catalog(name)
        known_gpus = list(dict.fromkeys(t.gpu_type for t in types))
        for gpu_type in self.gpu_types or ():
            if gpu_type not in known_gpus:
                raise KeyedError(
                    "cluster.gpu_types",
                    f"got {gpu_type!r}, expected GPUs of the catalogue {name!r}: {', '.join(known_gpus)}",
                )
        return tuple(t for t in types if t.gpu_type in (self.gpu_types or known_gpus))

    def cluster(self) -> Cluster:
        """VMs for jobs that bring none."""
        if self.num_nodes is None:
            raise KeyedError("cluster.num_nodes", "missing, expected how many VMs there may be")
        return Cluster.of_vms(self.types(), self.num_nodes, self.controllers_of(self.num_nodes))


class ServerGroup(Config):
    """Equal servers: a group of those of a cluster, or all of them."""

    num_nodes: NodeCount = Field(examples=[4])
    """servers, all equal"""
    gpus_per_node: GpuCount = 8
    """GPUs of a server"""
    gpu_type: GpuTypeName | None = Field(default=None, examples=["H100"])
    """type of its GPUs: jobs of fixed demand take as long as there, where the trace or adapt.gpu_type says on which GPUs their durations were taken"""
    speed: Positive | None = Field(default=None, examples=[2.5])
    """speed of its GPUs over those that the durations of jobs of fixed demand were taken on, in place of what gpu_type says"""
    cpus_per_node: Positive | None = Field(default=None, examples=[24])
    """CPUs of a server; left out: CPUs do not count"""
    memory_gb_per_node: Positive | None = Field(default=None, examples=[500])
    """main memory of a server; left out: memory does not count"""
    price_per_hour: NonNegative = 0.0
    """price of a server"""
    partitions: list[str] | None = Field(default=None, examples=[["gpu", "debug"]])
    """partitions (vc) whose jobs may run here; left out: jobs of any"""

    def node_type(self, name: str, gpu_type: str) -> NodeType:
        """Their type; ``gpu_type`` where the key does not name one."""
        return NodeType(
            name,
            self.gpu_type or gpu_type,
            self.gpus_per_node,
            self.price_per_hour,
            cpus=self.cpus_per_node or math.inf,
            memory_gb=self.memory_gb_per_node or math.inf,
        )


class StandingServers(Partitioned):
    """Base of servers that stand there, of one kind or of several."""

    def groups_by_key(self) -> dict[str, ServerGroup]:
        """Groups of equal servers, each by where its keys stand in the file."""
        raise NotImplementedError

    @property
    def num_gpus(self) -> int:
        """GPUs of all servers."""
        return sum(g.num_nodes * g.gpus_per_node for g in self.groups_by_key().values())

    def cluster(self, gpu_type: str = "GPU") -> Cluster:
        """The servers, group after group; ``gpu_type`` where a group does not name one."""
        types, type_of = [], []
        for v, (key, group) in enumerate(self.groups_by_key().items()):
            name = key.rpartition(".")[2] if "." in key else f"{group.gpus_per_node}-GPU"
            types.append(group.node_type(name, gpu_type))
            type_of += [v] * group.num_nodes
        num_nodes = len(type_of)
        return Cluster(tuple(types), num_nodes, tuple(type_of), self.controllers_of(num_nodes))


class Nodes(StandingServers, ServerGroup):
    """Equal servers."""

    kind: Literal["nodes"] = "nodes"

    def groups_by_key(self) -> dict[str, ServerGroup]:
        """All servers."""
        return {"cluster": self}


class Mixed(StandingServers):
    """Servers of several kinds, each a table [cluster.groups.NAME]."""

    kind: Literal["mixed"] = "mixed"
    groups: Annotated[dict[str, ServerGroup], Field(min_length=1)] = Field(
        examples=[{"old": {"num_nodes": 4}, "new": {"num_nodes": 2, "speed": 3.0}}]
    )
    """groups of equal servers by name, each with the keys of the kind nodes"""

    def groups_by_key(self) -> dict[str, ServerGroup]:
        """The groups."""
        return {f"cluster.groups.{name}": group for name, group in self.groups.items()}


class RentedPool(Config):
    """An unlimited pool of rented GPUs."""

    kind: Literal["pool"] = "pool"
    price_per_gpu_hour: NonNegative = 0.0
    """price of a GPU"""


class InstanceNodes(Partitioned):
    """The nodes that the instance brings."""

    kind: Literal["instance"] = "instance"


Machines = Vms | Nodes | Mixed | RentedPool | InstanceNodes


def is_file(catalog: Any) -> bool:
    """Whether a catalogue is a file, not one of the names that `read_catalog` knows."""
    return isinstance(catalog, str) and ("/" in catalog or "." in catalog)
