"""The runs: random training jobs on V100 and K80 GPUs under each policy of shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.report.contents import Scale
from experiments.sweep.task import Outcome, Task
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate
from simulator.statistics import Streams

HERE = "experiments.studies.shares.runs"
SOURCES = (
    "simulator",
    "policies.shares",
    "policies.list_scheduling",
    "policies.milp",
    "policies.synergy",
    "policies.foresight",
    "policies.selection",
)
POLICIES = (
    "gandiva-fair",
    "max-min-fairness",
    "min-makespan",
    "max-throughput",
    "finish-time-fairness",
    "allox",
    "shockwave",
    "fifo-strict",
    "fifo-backfill",
    "srtf+proportional",
    "foresight",
)
SEEDS: dict[Scale, range] = {"quick": range(2), "paper": range(10)}
JOBS, NODES, GPUS, LOAD = 60, 4, 4, 1.2


def tasks(scale: Scale) -> list[Task]:
    """Every run of the page."""
    return [
        Task(
            f"{HERE}:run_shares",
            {"policy": policy, "seed": seed},
            labels={"policy": policy, "seed": seed},
            cost_s=2.0,
            sources=SOURCES,
        )
        for policy in POLICIES
        for seed in SEEDS[scale]
    ]


def run_shares(config: dict[str, Any]) -> Outcome:
    """Scalars: mean completion time, makespan, and the worst finish time over that on an n-th of the cluster."""
    rng = Streams(config["seed"]).generator("jobs")
    gpus = rng.choice([1, 2, 4], JOBS, p=[0.7, 0.15, 0.15])
    duration_s = 10 ** rng.uniform(2.5, 4.5, JOBS)
    gap_s = float((gpus * duration_s).mean()) / (NODES * GPUS * LOAD)
    submit_s = np.cumsum(rng.exponential(gap_s, JOBS))
    jobs = Workload([str(j) for j in range(JOBS)], submit_s, FixedDuration(duration_s, gpus))
    cluster = Cluster.of_nodes(NodeType("server", "V100", GPUS), NODES)
    result = simulate(jobs, cluster, make_policy(config["policy"]), seed=config["seed"])
    slowdown = result.jct_s / duration_s
    return Outcome(
        {
            "mean_jct_s": float(result.jct_s.mean()),
            "makespan_s": float(result.completion_s.max()),
            "worst_slowdown": float(slowdown.max()),
        }
    )
