"""The simulation loop: jobs per CPU second under strict FIFO, and the memory that it takes.

python -m benchmarks.bench_engine
"""

from __future__ import annotations

import resource
import time

import numpy as np

from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate

LOAD = 0.9


def workload(num_jobs: int, gpus: int = 128) -> Workload:
    """Poisson arrivals of jobs of 1, 2, 4, 8 or 16 GPUs for an hour on average."""
    rng = np.random.default_rng(1)
    demand = 2 ** rng.integers(0, 5, num_jobs)
    duration_s = rng.exponential(3600.0, num_jobs)
    gap_s = 3600 * demand.mean() / (LOAD * gpus)
    return Workload(
        [str(j) for j in range(num_jobs)],
        np.cumsum(rng.exponential(gap_s, num_jobs)),
        FixedDuration(duration_s, demand),
        num_gpus=demand,
    )


def measure(num_jobs: int, repetitions: int = 5) -> float:
    """Least CPU seconds of a whole simulation."""
    jobs = workload(num_jobs)
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), 32)
    best = np.inf
    for _ in range(repetitions):
        begin = time.process_time()
        simulate(jobs, cluster, make_policy("fifo-strict"))
        best = min(best, time.process_time() - begin)
    return float(best)


def main() -> None:
    """Print CPU seconds, jobs per CPU second and peak memory."""
    for num_jobs, repetitions in ((8_000, 5), (100_000, 1)):
        cpu_s = measure(num_jobs, repetitions)
        memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"strict FIFO, 128 GPUs, load {LOAD}: {num_jobs:,} jobs in {cpu_s:.3f} CPU s = "
            f"{num_jobs / cpu_s:,.0f} jobs/s, peak memory {memory_mb:.0f} MB"
        )


if __name__ == "__main__":
    main()
