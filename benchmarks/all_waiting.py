"""Decisions in which all jobs of the random scenario wait."""

import numpy as np

from policies.queues.selection import node_price_per_hour
from policies.solving.instance import DecisionInput
from simulator import Cluster, Workload
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate


def all_wait(workload: Workload, cluster: Cluster, num_jobs: int, num_nodes: int) -> DecisionInput:
    """The first jobs wait, unstarted; now is the submission of the last of them."""
    jobs = np.arange(num_jobs)
    return DecisionInput(
        times_s=workload.performance.table_s(jobs, cluster),
        due_s=workload.due_s[jobs] - workload.submit_s[num_jobs - 1],
        weight_per_s=workload.weight_per_s[jobs],
        price_per_hour=node_price_per_hour(cluster),
        gpus=np.array([int(t.gpus) for t in cluster.node_types]),
        num_nodes=num_nodes,
    )


def scenario(num_nodes: int, seed: int) -> tuple[Workload, Cluster]:
    """The paper's random scenario, 10 jobs a node."""
    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalJobs(num_nodes=num_nodes, seed=seed))
    return workload, Cluster.of_vms(catalog, num_nodes)
