"""A node: the jobs on it, the GPUs and CPUs in use, and the meters that costs are computed from.

Leasing is the price of every open node over its open time; energy the power of every open node over time.
A node adds up seconds by type and GPUs in use. Prices are applied once, at the end: a sum of few terms, exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.model import tolerances
from simulator.model.cluster import SECONDS_PER_HOUR, Cluster
from simulator.model.contract import Placement


class Node:
    """A machine that jobs run on. It takes and gives back shares at once.

    Parameters
    ----------
    node_type, gpus : the type of a node of fixed type, and its GPUs; None: a VM, which opens as the type
        of the first placement on it, and closes when the last one has gone.
    begin_s : from when a node of fixed type is open.

    Attributes
    ----------
    shares : placements on this node, by job.
    gpus_used, cpus_used : in use now.
    free_gpus : GPUs not in use; 0 of a VM and of a node that is down.
    gpu_seconds, cpu_seconds : GPUs and CPUs in use, integrated over time.
    use_s : seconds that the node was open as each type with so many GPUs in use. A GPU that several jobs
        share counts once.
    named_use : start, end (s) and GPUs in use of each stretch in which jobs on this node have GPUs by number.
    """

    def __init__(self, node_type: int | None, gpus: float, begin_s: float) -> None:
        self.shares: dict[int, Placement] = {}
        self.gpus_used: float = 0
        self.cpus_used = 0.0
        self.gpu_seconds = self.cpu_seconds = 0.0
        self.use_s: dict[tuple[int, int], float] = {}
        self.named_use: list[tuple[float, float, int]] = []
        self._fixed_type = self._type = node_type
        self._gpus = self.free_gpus = gpus
        self._settled_s = begin_s
        self._unused: list[tuple[float, float]] = []
        """Stretches of time for which it was up, since its last share: they count if another share comes."""
        self._jobs_on_gpu: dict[int, int] = {}
        self._named_shares: float = 0

    def add(self, share: Placement, named: Sequence[int], now_s: float) -> None:
        """Start a share, on the GPUs of these numbers where the decision named some."""
        self.settle(now_s)
        if self._type is None:
            self._type = share.node_type
        self.shares[share.job] = share
        self.gpus_used += share.gpus
        self.cpus_used += share.cpus
        if self._fixed_type is not None:
            self.free_gpus = self._gpus - self.gpus_used
        if named:
            self._named_shares += share.gpus
            for g in named:
                self._jobs_on_gpu[g] = self._jobs_on_gpu.get(g, 0) + 1

    def remove(self, job: int, named: Sequence[int], now_s: float) -> None:
        """End a share; a VM without any closes."""
        self.settle(now_s)
        share = self.shares.pop(job)
        self.gpus_used -= share.gpus
        self.cpus_used -= share.cpus
        if named:
            self._named_shares -= share.gpus
            for g in named:
                self._jobs_on_gpu[g] -= 1
                if not self._jobs_on_gpu[g]:
                    del self._jobs_on_gpu[g]
        if not self.shares:  # no rounding errors stay behind
            self.gpus_used = self._named_shares = 0
            self.cpus_used = 0.0
        if self._fixed_type is not None:
            self.free_gpus = self._gpus - self.gpus_used
        elif not self.shares:
            self._type = None

    def go_down(self, now_s: float) -> None:
        """Stop, empty: it costs nothing and offers nothing until it is up again."""
        if self._type is not None:
            self._unused.append((self._settled_s, now_s))
        self._settled_s, self._type, self.free_gpus = now_s, None, 0.0

    def come_up(self, now_s: float) -> None:
        """Offer the GPUs again; a VM opens with its next share."""
        self._settled_s, self._type, self.free_gpus = now_s, self._fixed_type, self._gpus

    def settle(self, until_s: float) -> None:
        """Bring the meters up to a time: now, or the last completion at the end of the run."""
        if self._unused:
            for up_s, down_s in self._unused:
                self._count_use(self._fixed_type, 0, min(down_s, until_s) - up_s)
            self._unused.clear()
        elapsed_s = until_s - self._settled_s
        if elapsed_s <= 0:
            return
        self._settled_s = until_s
        used = self.gpus_used
        if used:
            self.gpu_seconds += used * elapsed_s
            self.cpu_seconds += self.cpus_used * elapsed_s
        if self._jobs_on_gpu:
            unnamed = int(used - self._named_shares + tolerances.PART_OF_A_GPU)
            used = len(self._jobs_on_gpu) + unnamed
            self.named_use.append((until_s - elapsed_s, until_s, int(used)))
        self._count_use(self._type, int(used), elapsed_s)

    def _count_use(self, node_type: int | None, gpus: int, elapsed_s: float) -> None:
        """Seconds as a type with so many GPUs in use; nothing of a node that is closed."""
        if node_type is not None and elapsed_s > 0:
            key = (node_type, gpus)
            self.use_s[key] = self.use_s.get(key, 0.0) + elapsed_s


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
