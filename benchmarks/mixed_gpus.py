"""Sia, Pollux and Gavel on GPUs of three types, on Pollux's published workloads: what Sia saves over each.

    python -m benchmarks.mixed_gpus POLLUX

``POLLUX`` holds the workloads and tables of Pollux's simulator, whose times are of T4 GPUs. The rows of
the page of clusters (experiments/studies/clusters/sia.csv) are written.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from policies import make_policy
from simulator import Cluster, DecisionPoints, Result, Workload, simulate
from simulator.features.reconfiguration import Delays
from simulator.model.goodput import Goodput
from simulator.statistics import student
from simulator.workloads.machines import Mixed, ServerGroup
from simulator.workloads.pollux import PolluxJobs
from simulator.workloads.reshaping import of_demand
from simulator.workloads.table import Setting

ROWS = Path(__file__).parents[1] / "experiments" / "studies" / "clusters" / "sia.csv"
WHY = (
    "other workloads (Pollux's, in place of three traces), and the times on two of the three types are Pollux's "
    "T4 times divided by one speed for each application"
)
WORKLOADS = range(1, 9)
SERVERS = Mixed(
    groups={
        gpu_type: ServerGroup(num_nodes=nodes, gpus_per_node=4, gpu_type=gpu_type)
        for gpu_type, nodes in (("T4", 6), ("RTX 2080 Ti", 6), ("A100", 4))
    }
)
"""Nodes of 8 GPUs in the paper count as two."""
RESTART_S = 30.0
MOST_GPUS = 16
"""Of a job of fixed demand, so that it fits on each type."""
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "sia": ("sia", {}),
    "pollux": ("pollux", {}),
    "max-throughput": ("max-throughput", {}),
    "max-min-fairness": ("max-min-fairness", {}),
}
"""Policies and options; the last two are Gavel's."""
GAVEL = ("max-throughput", "max-min-fairness")
RIVALS = ("pollux", *GAVEL)
ROUND_S, GAVEL_ROUND_S = 60.0, 360.0
"""Length of a round, as in the released program."""
MEASURES = ("mean_jct_s", "p99_jct_s", "makespan_s", "gpu_h")


def run(jobs: Workload, cluster: Cluster, policy: str, options: dict[str, Any]) -> Result:
    """Jobs with tables by type under one policy; those of Gavel have their users' GPUs and batch sizes."""
    round_s = GAVEL_ROUND_S if policy in GAVEL else ROUND_S
    if policy in GAVEL:
        options = {"round_s": round_s, "reset_s": round_s, **options}
        least = np.minimum(jobs.num_gpus, MOST_GPUS)
        most = replace(jobs, performance=replace(cast(Goodput, jobs.performance), num_gpus=least))
        jobs, _ = of_demand(most, cluster, "stated", np.random.default_rng(0))
    return simulate(
        jobs,
        cluster,
        make_policy(policy, **options),
        decision_points=DecisionPoints(round_s=round_s),
        features=[Delays(first_s=RESTART_S, resume_s=RESTART_S, move_s=RESTART_S)],
    )


def measures_of(result: Result) -> dict[str, float]:
    """`MEASURES` of a run."""
    end_s = result.workload.submit_s + result.jct_s
    found = (
        result.jct_s.mean(),
        np.quantile(result.jct_s, 0.99),
        end_s.max() - result.workload.submit_s.min(),
        result.gpu_seconds.sum() / 3600,
    )
    return {name: round(float(value), 3) for name, value in zip(MEASURES, found, strict=True)}


def measure(folder: Path) -> pd.DataFrame:
    """`MEASURES` of each workload and policy, from the published files."""
    cluster, rows = SERVERS.cluster(), []
    for number in WORKLOADS:
        jobs = PolluxJobs(path=str(folder / f"workloads__{number}.csv")).make(Setting(0, SERVERS))
        for name, (policy, options) in RUNS.items():
            found = measures_of(run(jobs, cluster, policy, options))
            rows.append({"workload": number, "policy": name, **found})
            print(rows[-1], file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


def savings(measured: pd.DataFrame) -> pd.DataFrame:
    """Per cent that Sia saves, over the workloads: a row for each rival and measure."""
    by_policy = measured.set_index(["policy", "workload"])[list(MEASURES)]
    rows = []
    for rival in RIVALS:
        saved = 100 * (1 - by_policy.loc["sia"] / by_policy.loc[rival])
        for measure in MEASURES:
            e = student(saved[measure])
            ends = [round(x, 4) for x in (e.mean, e.lower, e.upper)]
            rows.append((f"sia-saves.{measure}", rival, *ends, e.n, WHY))
    return pd.DataFrame(rows, columns=["published", "rival", "mean", "low", "high", "n", "why"])


if __name__ == "__main__":
    found = savings(measure(Path(sys.argv[1])))
    found.to_csv(ROWS, index=False, lineterminator="\n")
