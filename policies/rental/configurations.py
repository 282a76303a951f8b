"""Fixed configurations: the fixed-width policy where a job chooses among priced machines.

The rental paper's GPUs are all equal and the budget counts them. Where GPU types have prices, the
same argument holds with money for GPU-hours: of all ways to run within a budget, the least mean
response time has every job, from its arrival to its end, on the configuration (GPU type, number of
GPUs) that minimises time plus ``price`` times cost, with one price for all jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.model.cluster import SECONDS_PER_HOUR, Cluster, FloatArray, IntArray
from simulator.model.contract import NO_CHANGE, Decision, Placement, View


def costs_by_the_gpu(times_s: FloatArray, cluster: Cluster) -> FloatArray:
    """``(J, V, G + 1)`` cost of a job that pays its part of the GPUs of a node alone.

    Parameters
    ----------
    times_s : ``(J, V, G + 1)``; infinite where a job cannot run.
    """
    a_gpu = np.array(
        [t.price_per_gpu_hour or t.price_per_hour / t.gpus for t in cluster.node_types]
    )
    gpus = np.arange(times_s.shape[2])
    hours = np.where(np.isfinite(times_s), times_s, np.inf) / SECONDS_PER_HOUR
    cost = hours * np.maximum(gpus, 1) * a_gpu[:, None]
    return np.where(np.isfinite(hours), cost, np.inf)


def cheapest(value: FloatArray) -> IntArray:
    """``(J, 2)`` node type and GPUs of each job where ``value (J, V, G + 1)`` is least."""
    flat = value.reshape(len(value), -1).argmin(axis=1)
    return np.stack(np.divmod(flat, value.shape[2]), axis=1).astype(np.int64)


@dataclass
class OwnConfiguration:
    """Each job from start to end on a configuration of its own.

    On a cluster of pools the node of its type takes it at once. On VMs it goes where an open VM of
    its type has room for it, else a closed one is opened; where all are open it waits, and those
    behind it may pass.

    Attributes
    ----------
    configuration : ``(J, 2)`` node type and GPUs of each job.
    """

    configuration: IntArray
    name: str = "own-configuration"

    def decide(self, view: View) -> Decision:
        """Start what has arrived, as far as there is room."""
        if not view.waiting:
            return NO_CHANGE
        if view.cluster.is_configurable:
            return Decision(self._on_vms(view), keep_running=True)
        node_of = {v: n for n, v in enumerate(view.cluster.node_type_of or ())}
        started = []
        for job in view.waiting:
            v, gpus = self.configuration[job].tolist()
            started.append(Placement(job, node_of[v], gpus))
        return Decision(started, keep_running=True)

    def _on_vms(self, view: View) -> list[Placement]:
        types = view.cluster.node_types
        room: dict[int, tuple[int, float]] = {}
        closed = []
        for node in view.nodes.tolist():
            shares = view.shares[node].values()
            if shares:
                v = next(iter(shares)).node_type
                room[node] = v, types[v].gpus - sum(p.gpus for p in shares)
            else:
                closed.append(node)
        closed.reverse()
        started = []
        for job in view.waiting:
            v, gpus = self.configuration[job].tolist()
            fits = [n for n, (kind, free) in room.items() if kind == v and free >= gpus]
            if not fits and not closed:
                continue
            # Best fit leaves the emptier ones to close.
            node = min(fits, key=lambda n: room[n][1]) if fits else closed.pop()
            room[node] = v, room.get(node, (v, types[v].gpus))[1] - gpus
            started.append(Placement(job, node, gpus, node_type=v))
        return started
