"""Facts of a run that its tables do not say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator import Cluster, Workload


def machines_of(workload: Workload, cluster: Cluster) -> dict[str, Any]:
    """Facts of a run beside its tables: machines, prices, due dates, weights; as JSON holds it.

    Prices are per hour, weights per second; ``None`` in place of an infinite number, and of the due
    dates and weights where no job has a due date.
    """
    due = bool((workload.due_s < math.inf).any())
    types = []
    for index, spec in enumerate(cluster.node_types):
        entry: dict[str, Any] = {
            "name": spec.name,
            "gpus": None if math.isinf(spec.gpus) else int(spec.gpus),
            "per_hour": spec.price_per_hour,
            "per_gpu_hour": spec.price_per_gpu_hour,
        }
        if spec.power_w and cluster.energy_price_per_kwh:
            counts = range(len(spec.power_w))
            entry["energy_per_hour"] = [cluster.rates(index, g).energy_per_hour for g in counts]
        types.append(entry)
    fixed, factor = cluster.node_type_of, cluster.price_factor
    return {
        "currency": cluster.currency,
        "num_nodes": cluster.num_nodes,
        "num_controllers": cluster.num_controllers,
        "node_types": types,
        "type_of": None if fixed is None else list(fixed),
        "due_s": [None if math.isinf(t) else t for t in workload.due_s.tolist()] if due else None,
        "weight_per_s": workload.weight_per_s.tolist() if due else None,
        **({} if factor is None else {"price_factor": list(factor)}),
    }


def demands_of(workload: Workload, cluster: Cluster) -> dict[str, Any]:
    """Facts on machines and jobs for `schedlab show explain`.

    ``limits`` are CPUs and GB of each node type, 0 where they are not modelled; ``elastic`` says whether
    policies choose the GPUs of all jobs.
    """
    limits = [
        [0.0 if math.isinf(amount) else amount for amount in (spec.cpus, spec.memory_gb)]
        for spec in cluster.node_types
    ]
    return {"limits": limits, "elastic": workload.is_elastic}
