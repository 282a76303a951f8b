"""Runs to be watched."""

from dataclasses import replace

import numpy as np

from simulator import Cluster, Result
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from tests.core.jobs import fixed, nodes, run


def fixed_jobs(count: int, hosts: int, policy: str = "fifo-backfill", seed: int = 1) -> Result:
    """Jobs of one to four GPUs on nodes of four, loaded so that some wait."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 1, 2, 4, 6], count)
    if hosts == 1:
        gpus = np.minimum(gpus, 4)
    duration_s = rng.exponential(3600.0, count)
    submit_s = np.sort(rng.uniform(0, 1.1 * count * 3600 * 2.8 / (4 * hosts), count)) + 500.0
    jobs = replace(fixed(submit_s, duration_s, gpus), job_id=[f"job-{j}" for j in range(count)])
    return run(jobs, nodes(4, hosts, price_per_hour=3.0), policy, seed=seed)


def vms(policy: str, seed: int = 1) -> Result:
    """The hierarchical paper's jobs: due dates, weights, VMs that open and close."""
    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalJobs(num_nodes=3, seed=seed), catalog)
    return run(workload, Cluster.of_vms(catalog, 3), policy, seed=seed)
