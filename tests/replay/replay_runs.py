"""Runs to be watched."""

from __future__ import annotations

import numpy as np

from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalScenario, generate


def fixed_jobs(
    count: int, nodes: int, policy: str = "fifo-backfill", seed: int = 1, **names: object
) -> Result:
    """Jobs of one to four GPUs on nodes of four, loaded so that some wait."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 1, 2, 4, 6], count)
    if nodes == 1:
        gpus = np.minimum(gpus, 4)
    duration_s = rng.exponential(3600.0, count)
    workload = Workload(
        job_id=[f"job-{j}" for j in range(count)],
        submit_s=np.sort(rng.uniform(0, 1.1 * count * 3600 * 2.8 / (4 * nodes), count)) + 500.0,
        performance=FixedDuration(duration_s, gpus),
        num_gpus=gpus,
    )
    cluster = Cluster.of_nodes(NodeType("small", "GPU", 4, price_per_hour=3.0), nodes)
    return simulate(workload, cluster, make_policy(policy), seed=seed)


def vms(policy: str, seed: int = 1) -> Result:
    """The hierarchical paper's jobs: due dates, weights, VMs that open and close."""
    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalScenario(num_nodes=3, catalog=catalog, seed=seed))
    return simulate(workload, Cluster.of_vms(catalog, 3), make_policy(policy), seed=seed)
