"""Our runs of Gavel's random jobs beside the numbers in its notebooks, as a table that is committed.

    python -m experiments.studies.shares.notebooks FOLDER [WORKERS]

``FOLDER`` holds the throughputs and both tables of published numbers (Gavel, OSDI 2020; stanford-futuredata/gavel,
MIT licence). The pages need the table alone. A run costs up to two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policies import make_policy
from simulator import Workload, simulate
from simulator.features.rounds import Rounds
from simulator.workloads.gavel_like import gavel_like
from simulator.workloads.training import RoundWork

TABLE = Path(__file__).parent / "notebooks.csv"
ROUND_S = 360.0
GPUS = {"v100": 36, "p100": 36, "k80": 36}
SPREAD = ("ResNet-18", "Transformer", "LM")
"""Models on several GPUs in the published runs; the released program has ResNet-50 as well."""
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
    "finish_time_fairness_perf": ("finish-time-fairness", {"solution": "centre", "past": "steps"}),
    "allox": ("allox", {}),
    "Gavel": ("min-makespan", {"solution": "centre"}),
}
"""Our policies and options by the published names."""
ONE, SEVERAL, MAKESPAN = "continuous_jobs", "continuous_jobs_multigpu", "makespan"
"""Notebooks: jobs of one GPU, and of one or several; makespans."""
SETTLES = {0.8: 60, 2.8: 300, 4.4: 1500, 0.6: 100, 1.6: 500}
"""Jobs before the first that counts, by jobs/h; more change nothing but the time of a run, since the load is low."""
RUNS = [
    (ONE, "max_min_fairness", 2.8),
    (ONE, "max_min_fairness", 4.4),
    (ONE, "max_min_fairness_perf", 0.8),
    (ONE, "max_min_fairness_perf", 2.8),
    (ONE, "max_min_fairness_perf", 4.4),
    (ONE, "finish_time_fairness_perf", 2.8),
    (ONE, "allox", 0.8),
    (ONE, "allox", 2.8),
    (ONE, "allox", 4.4),
    (SEVERAL, "max_min_fairness", 0.6),
    (SEVERAL, "max_min_fairness", 1.6),
    (SEVERAL, "max_min_fairness_perf", 0.6),
    (SEVERAL, "max_min_fairness_perf", 1.6),
    (MAKESPAN, "Gavel", 100),
    (MAKESPAN, "Gavel", 500),
    (MAKESPAN, "Gavel", 700),
]
SEEDS = {ONE: (0,), SEVERAL: (0,), MAKESPAN: (0, 1, 2)}
"""The mean times by rate are of the published seed 0; that of the makespans is not known."""


@cache
def notebooks() -> pd.DataFrame:
    """Columns notebook, policy, at (jobs/h, or jobs), seed, ours_h, published_h."""
    return pd.read_csv(TABLE)


def measure(folder: Path, workers: int = 1) -> pd.DataFrame:
    """The table, from the published files."""
    known = _published(folder)
    tasks = [(folder, *each, seed) for each in RUNS for seed in SEEDS[each[0]]]
    with ProcessPoolExecutor(workers) as pool:
        ours = list(pool.map(_run, tasks))
    rows = [(*task[1:], hours, known[task[1:4]]) for task, hours in zip(tasks, ours, strict=True)]
    columns = ["notebook", "policy", "at", "seed", "ours_h", "published_h"]
    return pd.DataFrame(rows, columns=columns)


def _published(folder: Path) -> Mapping[tuple[str, str, float], float]:
    times = pd.read_csv(folder / "notebook_jct_or_ftf_by_rate.csv")
    times = times[times["cell"] == 10]
    keys = zip(times["notebook"], times["policy"], times["input_job_rate_per_h"], strict=True)
    found = dict(zip(keys, times["value"], strict=True))
    spans = pd.read_csv(folder / "notebook_makespan_h.csv")
    for policy, count, hours in spans.itertuples(index=False):
        found[MAKESPAN, policy, count] = hours
    return found


def _run(task: tuple[Path, str, str, float, int]) -> float:
    """Hours: the mean completion time of the jobs that count, or the makespan."""
    folder, notebook, name, at, seed = task
    several, continuous = notebook != ONE, notebook != MAKESPAN
    count = LAST + 1 + int(200 * at) if continuous else int(at)
    rate = at if continuous else 0.0
    jobs, cluster = gavel_like(
        count,
        rate,
        folder / "simulation_throughputs.json.gz",
        GPUS,
        seed,
        several,
        SPREAD,
        work=RoundWork(resume_s=0.0),
    )
    first = FIRST - SETTLES[at] if continuous else 0
    policy, options = POLICIES[name]
    rules = make_policy(policy, **ROUNDS, **options)
    result = simulate(_from(jobs, first), cluster, rules, features=[Rounds(ROUND_S)])
    if not continuous:
        return round(float(result.completion_s.max()) / 3600, 4)
    return round(float(result.jct_s[FIRST - first : LAST + 1 - first].mean()) / 3600, 4)


def _from(jobs: Workload, first: int) -> Workload:
    """The workload without its first jobs; time begins with the next one."""
    later = replace(jobs, **jobs.rows(np.arange(first, len(jobs))))
    return replace(later, submit_s=later.submit_s - later.submit_s[0])


if __name__ == "__main__":
    table = measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    table.to_csv(TABLE, index=False, lineterminator="\n")
