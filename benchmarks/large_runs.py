"""Jobs and nodes in numbers as real clusters have them, each run to its end.

    python -m benchmarks.large_runs nodes                  # 10,000 jobs on 1,000 nodes
    python -m benchmarks.large_runs philly [TABLE.csv.gz]  # 82,247 jobs on 512 GPUs
    python -m benchmarks.large_runs failing [JOBS [NODES]] # fixed demand, failures on (100,000; 10,000)

The second takes a plain table of the Philly trace (submit_time_s, duration_s, num_gpus), or draws
one that is like it. It adapts the jobs as `[adapt]` does, and streams its records to Parquet. A
minute or more of CPU time each.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.bench_engine import memory_mb
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, TimeTable, Workload, simulate
from simulator.adaptation import Rules, adapt
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Exponential
from simulator.statistics import Streams
from simulator.workloads.philly_like import PhillyLikeJobs
from simulator.workloads.table import Setting


def crowd(count: int = 10_000) -> Workload:
    """Jobs that come one a second, twice as much work as 4,000 GPUs can do meanwhile."""
    rng = np.random.default_rng(1)
    alone_s = rng.lognormal(8.5, 1.0, count)
    exponent = rng.uniform(0.5, 0.95, count)
    times_s = np.full((count, 1, 5), np.inf)
    times_s[:, 0, 1:] = alone_s[:, None] / np.arange(1, 5) ** exponent[:, None]
    submit_s = np.cumsum(rng.exponential(1.0, count))
    return Workload(
        [str(j) for j in range(count)],
        submit_s,
        TimeTable(times_s),
        due_s=submit_s + rng.uniform(1, 4, count) * alone_s,
        weight_per_s=rng.uniform(0.001, 0.01, count),
    )


def philly(path: str | None) -> Workload:
    """Jobs of fixed demand: the table at ``path``, or a trace that is like Philly's."""
    if path is None:
        return PhillyLikeJobs(num_jobs=82_247, jobs_per_hour=22).make(Setting(1))
    import pandas as pd

    table = pd.read_csv(path)
    table = table[table["duration_s"] > 0].sort_values("submit_time_s", kind="stable")
    gpus = table["num_gpus"].to_numpy()
    return Workload(
        [str(i) for i in range(len(table))],
        table["submit_time_s"].to_numpy(dtype=float),
        FixedDuration(table["duration_s"].to_numpy(dtype=float), gpus),
    )


def made_elastic(jobs: Workload, cluster: Cluster) -> Workload:
    """Networks in Synergy's shares, times by their throughput on K80s, due dates and weights."""
    rules = Rules(
        models=[20.0, 70.0, 10.0], speedup="calibrated", gpu_type="K80", due="factor:1.5,4",
        weights="printed",
    )  # fmt: skip
    return adapt(jobs, cluster, rules, Streams(1)).workload


def report(title: str, jobs: Workload, cluster: Cluster) -> None:
    """Run the greedy to its end, and print what it took."""
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        result: Result = simulate(
            jobs, cluster, make_policy("greedy"), stream_to=Path(folder) / "run"
        )
        cpu_s = time.process_time() - begin
        decisions = len(result.decisions)
    print(
        f"{title}: {cpu_s:.0f} CPU s, {decisions:,} decisions, {1e3 * cpu_s / decisions:.2f} ms each, "
        f"{result.reconfigurations.sum():,} reconfigurations; peak memory {memory_mb():.0f} MB"
    )


def failing(count: int, nodes: int) -> None:
    """Jobs of fixed demand at a load of 0.7 on nodes that fail, beside the same without failures."""
    rng = np.random.default_rng(1)
    gpus, duration_s = rng.choice([1, 1, 2, 4], count), rng.lognormal(8.0, 1.0, count)
    gap_s = (gpus * duration_s).mean() / (nodes * 4 * 0.7)
    submit_s = np.cumsum(rng.exponential(gap_s, count))
    names = [str(j) for j in range(count)]
    jobs = Workload(names, submit_s, FixedDuration(duration_s, gpus))
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), nodes)
    mean_up_s = (
        nodes * float(submit_s[-1]) / (0.1 * count)
    )  # an outage for ten jobs while they come
    cause = Outages.of_each_node(nodes, Exponential(mean_up_s), Exponential(600.0))
    plain_s = 0.0
    for failures in (
        None,
        Failures([cause], Checkpoints(interval_s=1800.0, cost_s=30.0, restart_s=10.0)),
    ):
        begin = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            result = simulate(
                jobs, cluster, make_policy("fifo-backfill"), features=[failures], stream_to=folder
            )
        cpu_s = time.process_time() - begin
        text = f"{count:,} jobs, {nodes:,} nodes: {cpu_s:.1f} CPU s, {1e6 * cpu_s / count:.0f} us a job"
        if "failures" in result.parts:
            outages = int(result.parts["failures"].outages.sum())
            text += f", {outages:,} outages, {1e6 * (cpu_s - plain_s) / outages:.0f} us for each"
        plain_s = cpu_s
        print(f"{text}; peak memory {memory_mb():.0f} MB")


def main() -> None:
    """Run what the command line names."""
    match sys.argv[1:]:
        case ["nodes"]:
            server = NodeType("server", "GPU", 4, price_per_hour=2.0)
            report("10,000 elastic jobs, 1,000 nodes", crowd(), Cluster.of_nodes(server, 1_000))
        case ["philly", *path]:
            cluster = Cluster.of_nodes(NodeType("server", "K80", 8), 64)
            jobs = made_elastic(philly(path[0] if path else None), cluster)
            report(f"{len(jobs):,} elastic jobs, 512 GPUs", jobs, cluster)
        case ["failing", *sizes]:
            count, nodes = [*sizes, *("100000", "10000")[len(sizes) :]]
            failing(int(count), int(nodes))
        case _:
            raise SystemExit("expected: nodes, philly [TABLE.csv.gz], or failing [JOBS [NODES]]")


if __name__ == "__main__":
    main()
