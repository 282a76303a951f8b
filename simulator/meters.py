"""Costs and use of the nodes over a whole simulation.

Leasing is the price of every open node over its open time; energy the power of every open node over time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.core.node import Node
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster


@dataclass(frozen=True)
class NodeMeters:
    """Sums over all nodes: costs in the currency, energy in kWh, uses in seconds."""

    leasing_cost: float
    energy_cost: float
    energy_kwh: float
    gpu_seconds: float
    open_gpu_seconds: float
    cpu_seconds: float
    open_cpu_seconds: float

    @classmethod
    def of(cls, nodes: Sequence[Node | None], cluster: Cluster, span_s: float) -> NodeMeters:
        """Read the meters at the end of a simulation.

        Parameters
        ----------
        nodes : ``(N,)``, None for each that was never used.
        span_s : seconds for which nodes of fixed types were open.
        """
        leasing = energy = kwh = open_gpu_s = open_cpu_s = 0.0
        fixed = cluster.node_type_of
        idle: list[Mapping[tuple[int, int], float]] = [
            {(v, 0): span_s} if span_s > 0 else {} for v in range(len(cluster.node_types))
        ]
        for n, node in enumerate(nodes):
            if node is not None:
                use_s: Mapping[tuple[int, int], float] = node.use_s
            elif fixed is not None:
                use_s = idle[fixed[n]]
            else:
                continue
            factor = cluster.leasing_factor(n)
            for (v, gpus), seconds in use_s.items():
                spec, rates = cluster.node_types[v], cluster.rates(v, gpus)
                hours = seconds / SECONDS_PER_HOUR
                leasing += rates.leasing_per_hour * factor * hours
                energy += rates.energy_per_hour * hours
                kwh += rates.power_kw * hours
                open_gpu_s += spec.gpus * seconds
                open_cpu_s += spec.cpus * seconds if spec.cpus < math.inf else 0.0
        gpu_s = float(sum(n.gpu_seconds for n in nodes if n is not None))
        cpu_s = float(sum(n.cpu_seconds for n in nodes if n is not None))
        if cluster.is_pool:
            leasing = cluster.node_types[0].price_per_gpu_hour * gpu_s / SECONDS_PER_HOUR
        return cls(leasing, energy, kwh, gpu_s, open_gpu_s, cpu_s, open_cpu_s)
