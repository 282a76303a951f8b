"""Our runs of published workloads beside the published results, as a table that is committed.

    python -m experiments.studies.goodput.measured POLLUX ELASTICFLOW

``POLLUX`` holds the workloads and tables of Pollux's simulator and its results by load and by period (petuum/adaptdl, OSDI 2021);
``ELASTICFLOW`` the trace, the throughputs and the rows of Figure 10 (pkusys/ElasticFlow, ASPLOS 2023). The page needs the tables alone.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, Workload, simulate
from simulator.features.reconfiguration import Delays
from simulator.statistics import student
from simulator.workloads.elasticflow import ElasticflowJobs
from simulator.workloads.pollux import PolluxJobs
from simulator.workloads.table import Setting

HERE = Path(__file__).parent
TABLE, PERIODS = HERE / "measured.csv", HERE / "periods.csv"
OF_POLLUX: dict[str, tuple[str, dict[str, Any]]] = {
    "tiresias": ("tiresias", {}),
    "optimus": ("optimus", {}),
    "pollux": ("pollux", {}),
    "pollux (released)": ("pollux", {"released": True}),
}
"""Policies and options."""

SEARCHES = ("pollux", "pollux (released)")
OF_ELASTICFLOW = {"edf-elastic": "edf_job.csv", "tiresias": "dlas-gpu_job.csv"}
WORKLOADS = range(1, 9)
PERIODS_S = {"30s": 30.0, "1m": 60.0, "2m": 120.0, "4m": 240.0, "8m": 480.0}
NODES, GPUS, ROUND_S, RESTART_S, GAP_S = 16, 4, 60.0, 30.0, 240.0


@cache
def periods() -> pd.DataFrame:
    """Pollux by the period of its decisions: columns policy, period_s, published_s, ours_s, low, high, as in `summary`."""
    return pd.read_csv(PERIODS)


@cache
def measured() -> pd.DataFrame:
    """Columns source (``pollux``, ``elasticflow``), workload, policy, job, published_s, ours_s: completion times."""
    return pd.read_csv(TABLE)


def measure(pollux: Path, elasticflow: Path) -> pd.DataFrame:
    """The table, from the published files."""
    parts = [of_pollux(pollux, policy, number) for policy in OF_POLLUX for number in WORKLOADS]
    parts += [of_elasticflow(elasticflow, policy, file) for policy, file in OF_ELASTICFLOW.items()]
    return pd.concat(parts, ignore_index=True)


def of_pollux(
    folder: Path, name: str, number: int, round_s: float = ROUND_S, results: str = ""
) -> pd.DataFrame:
    """One workload at load 1.0; ``results`` is the published file, by default that of the policy."""
    policy, options = OF_POLLUX[name]
    file = results or f"results-jobload__{policy}-1.0__summary.json"
    result = simulate(
        PolluxJobs(path=str(folder / f"workloads__{number}.csv")).make(Setting()),
        Cluster.of_nodes(NodeType("server", "T4", GPUS), NODES),
        make_policy(policy, **options),
        decision_points=DecisionPoints(round_s=round_s),
        features=[Delays(first_s=RESTART_S, resume_s=RESTART_S, move_s=RESTART_S)],
    )
    published = json.loads((folder / file).read_text())["jcts"][f"workload-{number}"]
    return _rows("pollux", number, name, result.workload, published, result.jct_s)


def of_period(folder: Path, name: str, period: str) -> dict[str, float | str]:
    """Means over the workloads at one period; ``low`` and ``high`` are a 95 % interval of the paired ratio of means."""
    file = f"results-period__pollux-{period}__summary.json"
    rows = [of_pollux(folder, name, w, PERIODS_S[period], file) for w in WORKLOADS]
    return summary(pd.concat(rows), name, PERIODS_S[period])


def summary(rows: pd.DataFrame, name: str, period_s: float) -> dict[str, float | str]:
    """A row of the table of periods."""
    means = rows.groupby("workload")[["published_s", "ours_s"]].mean()
    change = student(means["ours_s"] / means["published_s"] - 1)
    return {
        "policy": name,
        "period_s": period_s,
        "published_s": round(float(means["published_s"].mean()), 1),
        "ours_s": round(float(means["ours_s"].mean()), 1),
        "low": round(change.lower, 5),
        "high": round(change.upper, 5),
    }


def of_elasticflow(folder: Path, policy: str, file: str) -> pd.DataFrame:
    """Figure 10 under one policy."""
    elastic = policy == "edf-elastic"
    result = simulate(
        ElasticflowJobs(path=str(folder / "100jobs_1500lam.csv"), elastic=elastic).make(Setting()),
        Cluster.of_nodes(NodeType("server", "A100", 128), 1),
        make_policy(policy),
        decision_points=DecisionPoints(least_gap_s=GAP_S),
        features=[] if elastic else [Delays(first_s=4.0, resume_s=4.0, move_s=4.0, doubling_s=2.0)],
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


def main(pollux: Path, elasticflow: Path) -> None:
    """Write both tables."""
    measure(pollux, elasticflow).to_csv(TABLE, index=False, lineterminator="\n")
    rows = [of_period(pollux, name, period) for name in SEARCHES for period in PERIODS_S]
    pd.DataFrame(rows).to_csv(PERIODS, index=False, lineterminator="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
