"""Configurations of jobs and their costs, in the arrays that the method reads.

Where nodes have their type, all N of them are paid at c a second until the last job ends, used or not:
N c C, with C >= end_j for every job, and N C >= S, the node-seconds of all jobs. In the linear program
that minimises N c C plus tardiness, with mu the price of the second limit and nu_j those of the first,
C gives N mu + sum nu_j = N c. So a node-second of work costs mu = c where the work determines the end
(nu = 0), although it costs nothing at the moment at which it is done; less where single long jobs do. Their
prices nu are the subject of `policies.foresight.lease_end`. For the price of work, two prices follow. A step on a
node that is paid in any case costs nothing: opening it costs what comes on top of the idle node. The work that a step
saves would cost the full price later: configurations pay their share of it. A node of VMs is paid while it is open,
so both are its price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from policies.queues.selection import node_price_per_hour
from simulator.errors import InputError
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Machines:
    """The node types of a cluster, seen by one controller: what configurations cost, and how many nodes there are.

    What is free is no part of it, since a decision packs all jobs anew.

    Attributes
    ----------
    gpus : ``(V,)`` GPUs of a node.
    node_price_per_s : ``(V, G + 1)`` of opening a node for a step, by GPUs in use: all of its price for
        a VM, which is closed while it is empty; what comes on top of the idle node where nodes have
        their type.
    config_type, config_gpus : ``(C,)`` the configurations k = (v, g).
    config_price_per_s : ``(C,)`` p_k, the least share of a node's full price that g GPUs pay, whatever
        runs beside.
    config_share : ``(C,)`` s_k = g / G_v.
    nodes_of_type : ``(V,)`` this controller's nodes, or None where every node can have any type.
    num_nodes : this controller's nodes.
    by_use : whether a node's price depends on the GPUs in use.
    idle_price_per_s : N c, of all this controller's nodes while they are idle; 0 for VMs.
    """

    gpus: IntArray
    node_price_per_s: FloatArray
    config_type: IntArray
    config_gpus: IntArray
    config_price_per_s: FloatArray
    config_share: FloatArray
    nodes_of_type: IntArray | None
    num_nodes: int
    by_use: bool
    idle_price_per_s: float = 0.0

    @classmethod
    def of(cls, cluster: Cluster, nodes: IntArray) -> Machines:
        """The machines of a controller with these nodes.

        Raises InputError: a rental pool, whose GPUs are not limited.
        """
        for spec in cluster.node_types:
            if not math.isfinite(spec.gpus):
                raise InputError(
                    f"foresight: node type {spec.name!r} has unlimited GPUs, expected whole nodes"
                )
        gpus = np.array([int(t.gpus) for t in cluster.node_types], dtype=np.int64)
        price = node_price_per_hour(cluster) / SECONDS_PER_HOUR
        opening, count, idle = price, None, 0.0
        if cluster.node_type_of is not None:
            opening = np.maximum(price - price[:, :1], 0.0)
            mine = np.asarray(cluster.node_type_of)[nodes]
            count = np.bincount(mine, minlength=len(gpus))
            idle = float(count @ price[:, 0])
        exists = np.ones(len(gpus), dtype=bool) if count is None else count > 0
        v, g = np.nonzero((np.arange(price.shape[1]) >= 1) & exists[:, None] & np.isfinite(price))
        return cls(
            gpus=gpus,
            node_price_per_s=opening,
            config_type=v,
            config_gpus=g,
            config_price_per_s=share_price_per_s(price, gpus)[v, g],
            config_share=g / gpus[v],
            nodes_of_type=count,
            num_nodes=len(nodes),
            by_use=any(len(set(price[v, 1 : n + 1])) > 1 for v, n in enumerate(gpus.tolist())),
            idle_price_per_s=idle,
        )

    def up(self, cluster: Cluster, nodes: IntArray) -> Machines:
        """The same configurations on the nodes that are up; itself where all are."""
        if len(nodes) == self.num_nodes:
            return self
        count = self.nodes_of_type
        if count is not None:
            count = np.bincount(np.asarray(cluster.node_type_of)[nodes], minlength=len(count))
        return replace(self, nodes_of_type=count, num_nodes=len(nodes))

    def nodes_by_speed(self, speed: FloatArray) -> float:
        """Nodes, those of each type counted by their speed; ``(C,)`` of each configuration's type."""
        if self.nodes_of_type is None:
            return float(self.num_nodes)
        _, first = np.unique(self.config_type, return_index=True)
        return float(speed[first] @ self.nodes_of_type[self.config_type[first]])

    @property
    def node_limits(self) -> IntArray:
        """``(groups,)`` nodes that patterns share: of each type where types are fixed, else all."""
        if self.nodes_of_type is None:
            return np.array([self.num_nodes])
        return self.nodes_of_type

    @cached_property
    def config_index(self) -> dict[tuple[int, int], int]:
        """Configuration by node type and GPUs."""
        pairs = zip(self.config_type.tolist(), self.config_gpus.tolist(), strict=True)
        return {pair: k for k, pair in enumerate(pairs)}


def share_price_per_s(node_price: FloatArray, gpus: IntArray) -> FloatArray:
    """``(V, G + 1)`` least price of g GPUs of a node: min over u >= g of c(u) g / u.

    An open node costs c(u) with u GPUs in use, and g of them pay at least that share of it.

    Parameters
    ----------
    node_price : ``(V, G + 1)`` by GPUs in use, per second or per hour.
    gpus : ``(V,)`` GPUs of a node.
    """
    share = np.full_like(node_price, np.inf)
    for v, total in enumerate(gpus.tolist()):
        per_gpu = node_price[v, 1 : total + 1] / np.arange(1, total + 1)
        least = np.minimum.accumulate(per_gpu[::-1])[::-1]
        share[v, 1 : total + 1] = np.arange(1, total + 1) * least
    return share
