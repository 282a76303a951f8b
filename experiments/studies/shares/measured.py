"""Our runs of the published trace of 120 jobs beside the published results, as a table that is committed.

    python -m experiments.studies.shares.measured FOLDER

``FOLDER`` holds the trace, the throughputs and ``jobs.csv`` with the published times (Shockwave, NSDI 2023;
uw-mad-dash/shockwave, MIT licence). The pages need the table alone.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policies import make_policy
from simulator import DecisionPoints, simulate
from simulator.workloads.gavel import TrainingJobs
from simulator.workloads.table import Setting

TABLE = Path(__file__).parent / "measured.csv"
OURS = {
    "gandiva_fair": "gandiva-fair",
    "max_min_fairness": "max-min-fairness",
    "min_total_duration": "min-makespan",
    "finish_time_fairness": "finish-time-fairness",
    "allox": "allox",
    "shockwave": "shockwave",
}
"""Our policies by the published names."""
RELEASED: dict[str, dict[str, Any]] = {
    "max_min_fairness": {"solution": "centre"},
    "min_total_duration": {"solution": "centre"},
    "finish_time_fairness": {"solution": "centre", "past": "steps"},
    "allox": {"queue": "submission", "reset_s": 1000.0, "fill_idle": True},
    "shockwave": {
        "limit": 1.0,
        "relative": False,
        "contention": "mean",
        "times": "first",
        "order": "plan",
        "replan_rounds": 8,
        "gap": 1e-4,
    },
}
"""Options that follow the released program, but for the gap of ``shockwave``: its own leaves too many plans (docs/schedulers.md)."""
ROUND_S = 120.0


@cache
def measured() -> pd.DataFrame:
    """Columns set (``trace`` or ``comparison``), kind, policy, job, submit_s, jct_s.

    Kinds are ``ours`` (with `RELEASED` rules), ``plain`` (with our own), ``simulation`` and ``physical`` (published).
    """
    return pd.read_csv(TABLE)


def measure(folder: Path) -> pd.DataFrame:
    """The table, from the published files."""
    workload, cluster = TrainingJobs(
        path=str(folder / "trace_120.tsv"),
        gpus={"v100": 32},
        throughputs=str(folder / "tacc_throughputs.json.gz"),
    ).make(Setting())
    published = pd.read_csv(folder / "jobs.csv")
    parts = []
    for name, own in OURS.items():
        for kind, options in (("ours", RELEASED.get(name, {})), ("plain", {})):
            rules = make_policy(own, **options)
            result = simulate(
                workload,
                cluster,
                rules,
                decision_points=DecisionPoints(round_s=ROUND_S, round_ends="last-finisher"),
            )
            parts.append(_rows("trace", kind, name, workload.submit_s, result.jct_s))
    names = {"tacc_32gpus": "trace", "tacc_32gpus_comparison": "comparison"}
    for key, rows in published.groupby(["set", "kind", "policy"], sort=True):
        which, kind, policy = (str(part) for part in key)
        if policy in OURS and len(rows) == len(workload):
            jct_s = rows.sort_values("index")["jct_s"].to_numpy()
            parts.append(_rows(names[which], kind, policy, workload.submit_s, jct_s))
    return pd.concat(parts, ignore_index=True)


def _rows(which: str, kind: str, policy: str, submit_s: object, jct_s: object) -> pd.DataFrame:
    jct_s = np.round(np.asarray(jct_s), 6)
    columns = {"set": which, "kind": kind, "policy": policy, "job": np.arange(len(jct_s))}
    return pd.DataFrame({**columns, "submit_s": submit_s, "jct_s": jct_s})


if __name__ == "__main__":
    measure(Path(sys.argv[1])).to_csv(TABLE, index=False, lineterminator="\n")
