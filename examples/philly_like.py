"""Writes examples/philly_like.csv: 400 jobs like those of Microsoft's Philly cluster, none of them real.

GPU demands and durations follow the law of the trace (data/README.md); the rate of submission goes up
and down once a day; virtual clusters and users are made up. The same seed gives the same file.

    python examples/philly_like.py
"""

import csv
import math
from pathlib import Path

from simulator.statistics import Streams
from simulator.workloads.philly_like import PhillyLikeJobs
from simulator.workloads.table import Setting

JOBS, PER_HOUR, SWING, DAY_S = 400, 2.5, 0.8, 86400.0
CLUSTERS = {"research": 0.5, "speech": 0.3, "vision": 0.2}


def rows(seed: int = 1) -> list[list[object]]:
    """Job, submission, duration, GPUs, virtual cluster."""
    streams = Streams(seed)
    # Poisson arrivals at the highest rate, thinned: at night fewer of them are kept.
    candidates = PhillyLikeJobs(num_jobs=4 * JOBS, jobs_per_hour=PER_HOUR * (1 + SWING)).make(
        Setting(streams.seed)
    )
    keep, owner = streams.generator("thinning"), streams.generator("owners")
    made: list[list[object]] = []
    for job, at_s in enumerate(candidates.submit_s.tolist()):
        rate = 1 - SWING * math.cos(2 * math.pi * at_s / DAY_S)
        if keep.random() * (1 + SWING) < rate and len(made) < JOBS:
            duration_s = max(1, round(float(candidates.performance.duration_s[job])))
            cluster = owner.choice(list(CLUSTERS), p=list(CLUSTERS.values()))
            gpus = int(candidates.num_gpus[job])
            made.append([f"job_{len(made) + 1:03}", round(at_s), duration_s, gpus, cluster])
    return made


def write(path: Path, seed: int = 1) -> None:
    """The file; its submissions begin at 0."""
    found = rows(seed)
    first = int(str(found[0][1]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["job_id", "submit_time_s", "duration_s", "num_gpus", "virtual_cluster"])
        writer.writerows([name, int(str(at)) - first, *rest] for name, at, *rest in found)


if __name__ == "__main__":
    write(Path(__file__).with_suffix(".csv"))
