"""Our runs of published workloads beside the published results, as a table that is committed.

    python -m experiments.studies.goodput.measured POLLUX ELASTICFLOW

``POLLUX`` holds the workloads and tables of Pollux's simulator and its results by load (petuum/adaptdl, OSDI 2021);
``ELASTICFLOW`` the trace, the throughputs and the rows of Figure 10 (pkusys/ElasticFlow, ASPLOS 2023). The page needs the table alone.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import pandas as pd

from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, Workload, simulate
from simulator.features.reconfiguration import Delays
from simulator.workloads.elasticflow import read_elasticflow
from simulator.workloads.pollux import read_pollux

TABLE = Path(__file__).parent / "measured.csv"
OF_POLLUX = ("tiresias", "optimus", "pollux")
OF_ELASTICFLOW = {"edf-elastic": "edf_job.csv", "tiresias": "dlas-gpu_job.csv"}
WORKLOADS = range(1, 9)
NODES, GPUS, ROUND_S, RESTART_S, GAP_S = 16, 4, 60.0, 30.0, 240.0


@cache
def measured() -> pd.DataFrame:
    """Columns source (``pollux``, ``elasticflow``), workload, policy, job, published_s, ours_s: completion times."""
    return pd.read_csv(TABLE)


def measure(pollux: Path, elasticflow: Path) -> pd.DataFrame:
    """The table, from the published files."""
    parts = [of_pollux(pollux, policy, number) for policy in OF_POLLUX for number in WORKLOADS]
    parts += [of_elasticflow(elasticflow, policy, file) for policy, file in OF_ELASTICFLOW.items()]
    return pd.concat(parts, ignore_index=True)


def of_pollux(folder: Path, policy: str, number: int) -> pd.DataFrame:
    """One workload at load 1.0."""
    results = json.loads((folder / f"results-jobload__{policy}-1.0__summary.json").read_text())
    result = simulate(
        read_pollux(folder / f"workloads__{number}.csv"),
        Cluster.of_nodes(NodeType("server", "T4", GPUS), NODES),
        make_policy(policy),
        decision_points=DecisionPoints.rounds(ROUND_S),
        features=[Delays(RESTART_S, RESTART_S, RESTART_S)],
    )
    published = results["jcts"][f"workload-{number}"]
    return _rows("pollux", number, policy, result.workload, published, result.jct_s)


def of_elasticflow(folder: Path, policy: str, file: str) -> pd.DataFrame:
    """Figure 10 under one policy."""
    elastic = policy == "edf-elastic"
    result = simulate(
        read_elasticflow(folder / "100jobs_1500lam.csv", elastic=elastic),
        Cluster.of_nodes(NodeType("server", "A100", 128), 1),
        make_policy(policy),
        decision_points=DecisionPoints(least_gap_s=GAP_S),
        features=[] if elastic else [Delays(4.0, 4.0, 4.0, 2.0)],
    )
    rows = pd.read_csv(folder / "fig10" / file, dtype={"job_id": str})
    published = dict(zip(rows["job_id"], rows["JCT"], strict=True))
    return _rows("elasticflow", 10, policy, result.workload, published, result.jct_s)


def _rows(
    source: str, number: int, policy: str, jobs: Workload, published: dict[str, float], ours: object
) -> pd.DataFrame:
    columns = {"source": source, "workload": number, "policy": policy, "job": jobs.job_id}
    times_s = {"published_s": [published[job] for job in jobs.job_id], "ours_s": ours}
    return pd.DataFrame({**columns, **times_s}).round(3)


if __name__ == "__main__":
    measure(*map(Path, sys.argv[1:3])).to_csv(TABLE, index=False, lineterminator="\n")
