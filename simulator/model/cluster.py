"""Machines and what they cost: node types, and the cluster that is built of them.

A node is a machine with GPUs. Its type is either fixed (a server room) or chosen at every
decision from a catalogue of VM types (a cloud). A rental pool is one node without limits that
is paid by the GPU. Prices are per hour in the cluster's currency, power is in watt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.arguments import MOST_GPUS, checked, nonnegative, whole
from simulator.errors import InputError

SECONDS_PER_HOUR = 3600.0
SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR

MOST_PRICE = 1e12
"""A price beyond it is a mistake: sums of costs would exceed what numbers can hold."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@checked("node type")
@dataclass(frozen=True, slots=True)
class NodeType:
    """One kind of machine: a VM type of a catalogue, or a server.

    Attributes
    ----------
    name : its name in the catalogue, e.g. ``"NC24"``.
    gpu_type : the GPUs that it holds, e.g. ``"K80"``.
    gpus : how many; infinite for a rental pool.
    price_per_hour : leasing price while the node is open, whatever its GPUs do.
    price_per_gpu_hour : price of each GPU in use (rental pool).
    cpus, memory_gb : capacities beside the GPUs; infinite where they are not modelled.
    power_w : power with 0, 1, .. GPUs in use, W; empty where energy is not modelled. An idle node
        draws ``power_w[0]``.
    """

    name: str
    gpu_type: str
    gpus: float
    price_per_hour: float = 0.0
    price_per_gpu_hour: float = 0.0
    cpus: float = math.inf
    memory_gb: float = math.inf
    power_w: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.gpus > 0 or (math.isfinite(self.gpus) and self.gpus != int(self.gpus)):
            raise InputError(
                f"node type {self.name!r}: gpus is {self.gpus}, expected a whole number > 0"
            )
        if MOST_GPUS < self.gpus < math.inf:
            raise InputError(
                f"node type {self.name!r}: gpus is {self.gpus:g}, expected at most {MOST_GPUS:,}"
            )
        nonnegative(
            f"node type {self.name!r}",
            price_per_hour=self.price_per_hour,
            price_per_gpu_hour=self.price_per_gpu_hour,
        )
        for what in ("price_per_hour", "price_per_gpu_hour"):
            value = getattr(self, what)
            if value > MOST_PRICE:
                raise InputError(
                    f"node type {self.name!r}: {what} is {value:g}, expected at most {MOST_PRICE:g}"
                )
        for what in ("cpus", "memory_gb"):
            value = getattr(self, what)
            if not value > 0:
                raise InputError(f"node type {self.name!r}: {what} is {value}, expected > 0")
        if not all(math.isfinite(watt) for watt in self.power_w):
            raise InputError(
                f"node type {self.name!r}: power_w is {self.power_w}, expected numbers"
            )
        if self.power_w and (len(self.power_w) != self.gpus + 1 or min(self.power_w) < 0):
            raise InputError(
                f"node type {self.name!r}: power_w has {len(self.power_w)} values, expected "
                f"{self.gpus:g} + 1 (0 to all GPUs in use), none negative"
            )


def proportional_share(spec: NodeType, gpus: float) -> tuple[float, float]:
    """CPUs and GB that go with ``gpus`` GPUs of a node: in proportion; 0 where not modelled."""
    share = gpus / spec.gpus
    return (
        spec.cpus * share if math.isfinite(spec.cpus) else 0.0,
        spec.memory_gb * share if math.isfinite(spec.memory_gb) else 0.0,
    )


class Rates(NamedTuple):
    """Cost of a node per hour, by its state (see `Cluster.rates`)."""

    leasing_per_hour: float
    energy_per_hour: float
    power_kw: float


@checked("cluster")
@dataclass(frozen=True)
class Cluster:
    """The machines of a scenario.

    Attributes
    ----------
    node_types : the catalogue, ``V`` types.
    num_nodes : ``N``, how many nodes may be open at once.
    node_type_of : ``(N,)`` index of each node's type, or None: each decision configures the nodes
        that it uses (VMs of a cloud) and those that it does not use are closed.
    num_controllers : ``K``; controller ``k`` owns the nodes ``k, k + K, k + 2K, ..``.
    currency : of all prices.
    energy_price_per_kwh : 0 where energy is not charged.
    pue : power usage effectiveness, total over IT power.
    carbon_g_per_kwh : carbon intensity of the energy.
    price_factor : ``(N,)`` what the leasing of each node costs, over the price of its type (spot VMs);
        None: 1. Policies reckon with the prices of the types.
    nodes_per_rack : the nodes of a rack, neighbours by number; None: all nodes are in one rack.
    """

    node_types: tuple[NodeType, ...]
    num_nodes: int
    node_type_of: tuple[int, ...] | None = None
    num_controllers: int = 1
    currency: str = "USD"
    energy_price_per_kwh: float = 0.0
    pue: float = 1.0
    carbon_g_per_kwh: float = 0.0
    price_factor: tuple[float, ...] | None = None
    nodes_per_rack: int | None = None
    _rates: dict[tuple[int, int], Rates] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not self.node_types:
            raise InputError("cluster: no node types, expected at least one")
        if len({t.name for t in self.node_types}) != len(self.node_types):
            raise InputError("cluster: two node types have the same name")
        whole(1, "cluster", num_nodes=self.num_nodes)
        if self.nodes_per_rack is not None:
            whole(1, "cluster", nodes_per_rack=self.nodes_per_rack)
        if self.num_controllers < 1 or self.num_nodes % self.num_controllers:
            raise InputError(
                f"cluster: {self.num_controllers} controllers for {self.num_nodes} nodes, "
                "expected a number that divides the nodes"
            )
        nonnegative(
            "cluster",
            energy_price_per_kwh=self.energy_price_per_kwh,
            pue=self.pue,
            carbon_g_per_kwh=self.carbon_g_per_kwh,
        )
        if self.price_factor is not None:
            self._check_price_factor(self.price_factor)
        if self.node_type_of is not None and (
            len(self.node_type_of) != self.num_nodes
            or not all(0 <= v < len(self.node_types) for v in self.node_type_of)
        ):
            raise InputError(
                f"cluster: node_type_of needs {self.num_nodes} indices below {len(self.node_types)}"
            )

    def _check_price_factor(self, factor: tuple[float, ...]) -> None:
        if self.is_pool:
            raise InputError(
                "cluster: price_factor is given for a rental pool, expected nodes or VMs"
            )
        if len(factor) != self.num_nodes or not all(0 <= f < math.inf for f in factor):
            raise InputError(
                f"cluster: price_factor needs {self.num_nodes} numbers >= 0, one for each node"
            )

    def leasing_factor(self, node: int) -> float:
        """Leasing cost of a node over the price of its type."""
        return 1.0 if self.price_factor is None else self.price_factor[node]

    @classmethod
    def of_vms(
        cls, catalog: Sequence[NodeType], num_nodes: int, num_controllers: int = 1
    ) -> Cluster:
        """Up to ``num_nodes`` VMs, each of any type of the catalogue."""
        return cls(tuple(catalog), num_nodes, num_controllers=num_controllers)

    @classmethod
    def of_nodes(cls, node_type: NodeType, num_nodes: int, num_controllers: int = 1) -> Cluster:
        """``num_nodes`` equal servers."""
        whole(1, "cluster", num_nodes=num_nodes)
        return cls((node_type,), num_nodes, (0,) * num_nodes, num_controllers)

    @classmethod
    def rental_pool(cls, price_per_gpu_hour: float = 0.0) -> Cluster:
        """An unlimited pool of GPUs, paid by real-valued GPU-hours."""
        pool = NodeType("pool", "GPU", math.inf, price_per_gpu_hour=price_per_gpu_hour)
        return cls((pool,), 1, (0,))

    @property
    def is_configurable(self) -> bool:
        """True where decisions choose the nodes' types."""
        return self.node_type_of is None

    @cached_property
    def type_of(self) -> Sequence[NodeType]:
        """``(N,)`` the type of each node; empty where decisions choose it."""
        return tuple(self.node_types[v] for v in self.node_type_of or ())

    @property
    def is_pool(self) -> bool:
        """True where this is an unlimited pool of GPUs, given in real-valued shares."""
        return math.isinf(self.node_types[0].gpus)

    @cached_property
    def rack_of(self) -> IntArray:
        """``(N,)`` the rack of each node."""
        return np.arange(self.num_nodes, dtype=np.int64) // (self.nodes_per_rack or self.num_nodes)

    def nodes_of(self, controller: int) -> IntArray:
        """``(N/K,)`` the nodes of one controller, ascending."""
        return np.arange(controller, self.num_nodes, self.num_controllers, dtype=np.int64)

    def rates(self, node_type: int, gpus_used: float) -> Rates:
        """Cost and power of an open node of this type while ``gpus_used`` GPUs work."""
        key = (node_type, int(gpus_used))
        known = self._rates.get(key)
        if known is not None and key[1] == gpus_used:
            return known
        spec = self.node_types[node_type]
        leasing = spec.price_per_hour + spec.price_per_gpu_hour * gpus_used
        power_kw = spec.power_w[key[1]] / 1000 * self.pue if spec.power_w else 0.0
        rates = Rates(leasing, power_kw * self.energy_price_per_kwh, power_kw)
        if key[1] == gpus_used:
            self._rates[key] = rates
        return rates

    @cached_property
    def limited_resources(self) -> tuple[str, ...]:
        """Those of ``cpus`` and ``memory_gb`` of which some node type has a limit."""
        return tuple(
            name
            for name in ("cpus", "memory_gb")
            if any(getattr(t, name) < math.inf for t in self.node_types)
        )

    @cached_property
    def max_gpus_per_node(self) -> int:
        """``G``, the largest finite number of GPUs on one node (1 for a pool)."""
        return int(max((t.gpus for t in self.node_types if math.isfinite(t.gpus)), default=1))

    @property
    def total_gpus(self) -> float:
        """GPUs of all nodes; for VMs, as many as the largest types would bring."""
        if self.node_type_of is None:
            return self.num_nodes * max(t.gpus for t in self.node_types)
        return sum(t.gpus for t in self.type_of)
