"""`schedlab theory decision`: one decision of the MILP on the first jobs of an instance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policies.milp import DecisionInput, SolverOptions, solve_instance
from policies.queues.selection import node_price_per_hour
from policies.solving.solvers import SolverName
from simulator.errors import InputError
from simulator.model.cluster import Cluster
from simulator.workloads.authors import read_instance


def solve(
    folder: Path,
    *,
    num_nodes: int,
    num_jobs: int | None,
    formulation: str,
    solver: SolverName,
    rho: float,
    mu: float,
    horizon_s: float,
    mip_gap: float,
    time_limit_s: float | None,
) -> dict[str, Any]:
    """One decision as a dictionary for JSON; see `policies.milp.solve_instance`.

    The first ``num_jobs`` jobs (all where None) wait, unstarted; now is the submission of the last
    of them.

    Raises
    ------
    InputError
        A folder that cannot be read, more jobs or nodes than it has, an unknown solver.
    """
    read = read_instance(folder)
    workload, cluster = read.workload, read.cluster
    if num_jobs is not None and num_jobs > len(workload):
        raise InputError(f"--jobs {num_jobs}: expected at most {len(workload)}, what {folder} has")
    jobs = np.arange(num_jobs or len(workload))
    now_s = float(workload.submit_s[jobs[-1]])
    return solve_instance(
        DecisionInput(
            times_s=workload.performance.table_s(jobs, cluster),
            due_s=workload.due_s[jobs] - now_s,
            weight_per_s=workload.weight_per_s[jobs],
            price_per_hour=node_price_per_hour(cluster),
            gpus=np.array([int(t.gpus) for t in cluster.node_types]),
            num_nodes=num_nodes,
            nodes_of_type=_nodes_of_type(cluster, num_nodes, folder),
            rho=rho,
            mu=mu,
            horizon_s=horizon_s,
        ),
        formulation,
        solver,
        SolverOptions(mip_gap=mip_gap, time_limit_s=time_limit_s),
        job_ids=list(workload.job_id[: len(jobs)]),
        node_types=[t.name for t in cluster.node_types],
    )


def _nodes_of_type(cluster: Cluster, num_nodes: int, folder: Path) -> np.ndarray | None:
    """Number of nodes of each type among the first ``num_nodes``, where types are fixed."""
    if cluster.node_type_of is None:
        return None
    if num_nodes > cluster.num_nodes:
        raise InputError(
            f"--nodes {num_nodes}: expected at most {cluster.num_nodes}, what {folder} has"
        )
    return np.bincount(cluster.node_type_of[:num_nodes], minlength=len(cluster.node_types))
