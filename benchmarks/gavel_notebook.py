"""Our runs of Gavel's random jobs beside the numbers that its notebook prints.

python -m benchmarks.gavel_notebook FOLDER [WORKERS]

``FOLDER`` holds the throughputs and the table of printed numbers (Gavel, OSDI 2020; stanford-futuredata/gavel,
MIT licence). A run costs up to two minutes.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policies import make_policy
from simulator import DecisionPoints, Workload, simulate
from simulator.workloads.gavel_like import GavelLikeJobs
from simulator.workloads.table import Setting

ROUND_S = 360.0
GPUS = {"v100": 36, "p100": 36, "k80": 36}
FIRST, LAST = 4000, 5000
"""Jobs whose mean completion time counts."""
ROUNDS = {"round_s": ROUND_S, "reset_s": 1920.0, "fill_idle": True, "type_by_type": True}
"""Rules of the released rounds."""
POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "max_min_fairness": (
        "max-min-fairness",
        {"aware": False, "solution": "centre", "shuffle_types": True},
    ),
    "max_min_fairness_perf": ("max-min-fairness", {"solution": "centre"}),
    "allox": ("allox", {}),
}
"""Our policies and options by the published names."""
NOTEBOOK = "continuous_jobs"
"""Of jobs of one GPU."""
SETTLES = {0.8: 60, 2.8: 300, 4.4: 1500}
"""Jobs before the first that counts, by jobs/h; all that came before have ended by then, but for few."""
RUNS = [
    ("max_min_fairness", 2.8),
    ("max_min_fairness_perf", 0.8),
    ("max_min_fairness_perf", 4.4),
    ("allox", 0.8),
    ("allox", 2.8),
    ("allox", 4.4),
]


def measure(folder: Path, workers: int = 1) -> pd.DataFrame:
    """The table, from the published files."""
    known = printed(folder)
    with ProcessPoolExecutor(workers) as pool:
        ours = list(pool.map(mean_h, [(folder, *each) for each in RUNS]))
    rows = [(*each, hours, known[each]) for each, hours in zip(RUNS, ours, strict=True)]
    return pd.DataFrame(rows, columns=["policy", "jobs_per_h", "ours_h", "published_h"])


def printed(folder: Path) -> dict[tuple[str, float], float]:
    """Mean completion times that the notebook prints, h, by policy and jobs/h."""
    times = pd.read_csv(folder / "notebook_jct_or_ftf_by_rate.csv")
    times = times[
        (times["notebook"] == NOTEBOOK) & (times["cell"] == 10)
    ]  # completion times; the next cell has ratios
    keys = zip(times["policy"], times["input_job_rate_per_h"], strict=True)
    return dict(zip(keys, times["value"].tolist(), strict=True))


def mean_h(task: tuple[Path, str, float]) -> float:
    """Mean completion time of the jobs that count, h; the published runs behind the numbers have seed 0."""
    folder, name, rate = task
    jobs, cluster = GavelLikeJobs(
        num_jobs=LAST + 1 + int(200 * rate),
        jobs_per_h=rate,
        throughputs=str(folder / "simulation_throughputs.json.gz"),
        gpus=GPUS,
        resume_s=0.0,
    ).make(Setting(0))
    first = FIRST - SETTLES[rate]
    policy, options = POLICIES[name]
    rules = make_policy(policy, **ROUNDS, **options)
    result = simulate(
        _from(jobs, first),
        cluster,
        rules,
        decision_points=DecisionPoints(round_s=ROUND_S, round_ends="last-finisher"),
    )
    return round(float(result.jct_s[FIRST - first : LAST + 1 - first].mean()) / 3600, 4)


def _from(jobs: Workload, first: int) -> Workload:
    """The workload without its first jobs; time begins with the next one."""
    later = replace(jobs, **jobs.rows(np.arange(first, len(jobs))))
    return replace(later, submit_s=later.submit_s - later.submit_s[0])


if __name__ == "__main__":
    print(measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1).to_string())
