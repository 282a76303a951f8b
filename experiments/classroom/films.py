"""The runs that the page plays: packing on a small cluster, and CPUs given by need."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments.replay import Recording, events_of
from policies import make_policy, policy_names
from simulator import Cluster, DecisionPoints, FixedDuration, NodeType, Workload, simulate
from simulator.statistics import Streams
from simulator.workloads.networks import cluster as servers_of
from simulator.workloads.networks import with_sensitivity
from simulator.workloads.registry import kinds
from simulator.workloads.table import Setting

PACKING = {
    "FIFO": "fifo-strict",
    "backfill": "fifo-backfill",
    "SRTF": "srpt",
    "greedy": "greedy",
    "optimum of each decision": "milp",
}
MECHANISMS = ("proportional", "greedy", "tune")


def packing() -> dict[str, Any]:
    """The same 24 jobs on three nodes of four GPUs, under five policies."""
    rng = Streams(3).generator("packing")
    count = 24
    gpus = rng.choice([1, 1, 2, 3, 4], count)
    duration_s = np.round(rng.lognormal(np.log(3600.0), 0.9, count))
    submit_s = np.sort(np.round(rng.uniform(0, 3 * 3600.0, count)))
    workload = Workload(
        job_id=[str(j + 1) for j in range(count)],
        submit_s=submit_s,
        performance=FixedDuration(duration_s, gpus),
        due_s=submit_s + duration_s * rng.uniform(1.2, 3.0, count),
        weight_per_s=np.full(count, 1.0 / 3600.0),
    )
    nodes = Cluster.of_nodes(NodeType("4 GPUs", "GPU", 4), 3)
    return events_of(
        [
            Recording.of(simulate(workload, nodes, make_policy(policy)), name)
            for name, policy in PACKING.items()
            if policy in policy_names()
        ]
    )


def synergy(num_servers: int) -> dict[str, Any]:
    """The same jobs under three ways to give CPUs, shortest remaining first, on equal servers."""
    made: Any = kinds()["synergy"]
    jobs = made(num_jobs=10 * num_servers, split=[50.0, 20.0, 30.0]).make(Setting(seed=5))
    servers = servers_of(num_servers)
    workload = with_sensitivity(jobs, servers)
    return events_of(
        [
            Recording.of(
                simulate(
                    workload,
                    servers,
                    make_policy(f"srtf+{mechanism}"),
                    decision_points=DecisionPoints(round_s=300.0),
                ),
                mechanism,
            )
            for mechanism in MECHANISMS
        ]
    )


FILMS: dict[str, Callable[[], dict[str, Any]]] = {
    "packing": packing,
    "one": partial(synergy, 1),
    "four": partial(synergy, 4),
}
"""By name; the last two have ten jobs on one server, and forty on four."""
