"""Large training jobs beside the published values of AIReSim: `python -m benchmarks.large_jobs [--runs N]`.

Source: AIReSim, arXiv 2603.07041, the report of its repository (karthikp-ubc/airesim @7b139c7). Writes
benchmarks/large_jobs.csv: one row a quantity, with the mean and its 95 % interval over runs with seeds 1, 2, ..
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate
from simulator.features.failures import Checkpoints, Failures, Reliability
from simulator.laws import Exponential
from simulator.statistics import student

HOUR_S, DAY_S = 3600.0, 86_400.0
FILE = Path(__file__).with_suffix(".csv")
SIZE, SPARE = 4096, 200
DEFAULTS = Reliability(
    time_to_failure_s=100 * DAY_S, bad_fraction=0.15, bad_factor=5.0, standbys=16, spare_nodes=SPARE,
    host_selection_s=180.0, preemption_s=1200.0, auto_repair=Exponential(2 * HOUR_S),
    manual_repair=Exponential(48 * HOUR_S), to_manual=0.8, auto_fails=0.4, manual_fails=0.2,
)  # fmt: skip
RETIREMENT = Reliability(
    time_to_failure_s=50 * DAY_S, bad_fraction=0.08, bad_factor=20.0, standbys=16, spare_nodes=SPARE,
    host_selection_s=180.0, preemption_s=1200.0, auto_repair=Exponential(2 * HOUR_S),
    manual_repair=Exponential(48 * HOUR_S), to_manual=0.8, auto_fails=0.6, manual_fails=0.75,
)  # fmt: skip
PUBLISHED: Mapping[str, tuple[float, float]] = {
    "time_h": (9865.97, 33.60),
    "goodput": (0.6228, 0.0021),
    "server_failures": (11145.6, 100.3),
    "systematic_failures": (688.6, 15.4),
    "manual_repairs": (8922.9, 91.4),
    "good_repairs": (8469.4, 74.8),
    "bad_repairs": (2676.2, 54.9),
    "host_selections": (42.9, 3.4),
    "preempted_spares": (13.9, 4.5),
}
"""Mean and standard deviation of 30 runs of the defaults."""
RETIRED: Mapping[int | None, tuple[float, float | None]] = {
    None: (2215.4, 35.4),
    2: (2140.0, None),
    3: (2225.0, None),
}
"""Training time (h) of 8 runs by the failures within 7 days at which a server is retired."""
MULTIPLIERS: Mapping[float, tuple[float, float]] = {
    1.0: (1571.9, 27.3), 2.0: (1636.5, 40.1), 5.0: (1799.2, 23.5), 10.0: (1975.7, 40.4), 15.0: (2086.7, 72.1),
    25.0: (2285.2, 65.2),
}  # fmt: skip
"""Training time (h) by `bad_factor`, with no retirement."""

Row = tuple[str, str, float, float | None, float, float, float, int]


def one_run(
    seed: int, spec: Reliability, working: int, work_h: float, restart_s: float
) -> dict[str, float]:
    """Scalars of one run: training time (h), counts of the servers, CPU seconds a failure."""
    jobs = Workload(["job"], [0.0], FixedDuration(np.array([work_h * HOUR_S]), np.array([SIZE])))
    machines = Cluster.of_nodes(NodeType("server", "GPU", 1), working + SPARE)
    failures = Failures(reliability=spec, checkpoints=Checkpoints(0.0, restart_s=restart_s))
    begin_s = time.process_time()
    result = simulate(jobs, machines, make_policy("fifo-strict"), features=[failures], seed=seed)
    cpu_s, counts = time.process_time() - begin_s, result.parts["reliability"].counts
    found = {
        **counts,
        "time_h": result.makespan_s / HOUR_S,
        "cpu_s": cpu_s / counts["server_failures"],
    }
    return {**found, "goodput": float(result.summary()["goodput"] or 0.0)}


def scenarios() -> Iterator[tuple[str, Reliability, Mapping[str, tuple[float, float | None]]]]:
    """Name, specification, and published values by quantity of each."""
    from dataclasses import replace

    yield "defaults", DEFAULTS, PUBLISHED
    for count, value in RETIRED.items():
        spec = replace(RETIREMENT, retire_after=count, retire_window_s=7 * DAY_S)
        yield f"retire after {count or 'none'}", spec, {"time_h": value}
    for factor, of_factor in MULTIPLIERS.items():
        yield (
            f"bad_factor {factor:g}",
            replace(RETIREMENT, bad_factor=factor),
            {"time_h": of_factor},
        )


def rows(runs: int, workers: int) -> Iterator[Row]:
    """Scenario, quantity, published mean and deviation, mean, ends of its interval, and number of the runs."""
    with ProcessPoolExecutor(workers) as pool:
        for name, spec, published in scenarios():
            is_default = spec is DEFAULTS
            count = runs if is_default else min(runs, 8)
            setting = (4160, 6144.0, 1200.0) if is_default else (4600, 336.0, 3600.0)
            working, work_h, restart_s = setting
            run = partial(one_run, spec=spec, working=working, work_h=work_h, restart_s=restart_s)
            found = list(pool.map(run, range(1, count + 1)))
            for quantity, (mean, deviation) in published.items():
                ours = student(np.array([f[quantity] for f in found]), 0.95)
                yield name, quantity, mean, deviation, ours.mean, ours.lower, ours.upper, count
            cpu_ms = 1000 * float(np.median([f["cpu_s"] for f in found]))
            print(f"{name}: {cpu_ms:.2f} CPU ms a failure", flush=True)


def main() -> None:
    """Run all, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    found = list(rows(asked.runs, asked.workers))
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["scenario", "quantity", "published", "published_sd", "mean", "lower", "upper", "runs"]
        )
        for row in found:
            writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])


if __name__ == "__main__":
    main()
