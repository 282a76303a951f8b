"""The simulation loop: jobs per CPU second, beside bare loops in the same process, and memory.

python -m benchmarks.bench_engine [--million]

Ratios to the bare loops depend on the machine less than jobs per CPU second do.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.bare_loops import heapq_fifo, simpy_resource
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate
from simulator.features.failures import Checkpoints, Failures, Outages
from simulator.laws import Deterministic, Exponential

LOAD = 0.9


def workload(num_jobs: int, gpus: int = 128, single: bool = False) -> Workload:
    """Poisson arrivals of jobs of 1, 2, 4, 8 or 16 GPUs, or of ``single`` GPUs, for an hour on average."""
    rng = np.random.default_rng(1)
    demand = np.ones(num_jobs, np.int64) if single else 2 ** rng.integers(0, 5, num_jobs)
    duration_s = rng.exponential(3600.0, num_jobs)
    gap_s = 3600 * demand.mean() / (LOAD * gpus)
    return Workload(
        [str(j) for j in range(num_jobs)],
        np.cumsum(rng.exponential(gap_s, num_jobs)),
        FixedDuration(duration_s, demand),
    )


def cpu_s(call: Callable[[], object], repetitions: int = 5) -> float:
    """Least CPU seconds of a call."""
    best = np.inf
    for _ in range(repetitions):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return float(best)


def loops(num_jobs: int, repetitions: int = 5) -> tuple[float, float, float]:
    """CPU seconds of the engine, of bare SimPy and of a bare heap, on the same jobs of one GPU.

    They run in turn, so that other work on the machine meets all of them.
    """
    jobs = workload(num_jobs, single=True)
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), 32)
    assert isinstance(jobs.performance, FixedDuration)
    columns = (jobs.submit_s, jobs.performance.duration_s)
    calls: tuple[Callable[[], object], ...] = (
        lambda: simulate(jobs, cluster, make_policy("fifo-strict")),
        lambda: simpy_resource(*columns, 128),
        lambda: heapq_fifo(*columns, jobs.num_gpus, 128),
    )
    rounds = [[cpu_s(call, 1) for call in calls] for _ in range(repetitions)]
    engine, simpy, heap = (min(column) for column in zip(*rounds, strict=True))
    return engine, simpy, heap


def print_unit(num_jobs: int = 8_000) -> None:
    """Print jobs a CPU second of the bare SimPy loop, beside which times of other parts can be compared between machines."""
    jobs = workload(num_jobs, single=True)
    assert isinstance(jobs.performance, FixedDuration)
    columns = (jobs.submit_s, jobs.performance.duration_s)
    spent = cpu_s(lambda: simpy_resource(*columns, 128), 3)
    print(f"{'bare SimPy':26} {num_jobs / spent:8.0f} jobs a CPU second", flush=True)


def by_nodes() -> None:
    """Cost of a job as nodes grow, the number of jobs a node and the load being the same."""
    for nodes in (32, 1_000, 10_000):
        jobs = workload(20_000, 4 * nodes)
        cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), nodes)
        spent = cpu_s(lambda jobs=jobs, c=cluster: simulate(jobs, c, make_policy("fifo-strict")), 2)  # type: ignore[misc]
        print(f"{nodes:7,} nodes: {1e6 * spent / len(jobs):6.1f} us a job")
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), 1_000_000)
    jobs = workload(100)
    spent = cpu_s(lambda: simulate(jobs, cluster, make_policy("fifo-strict")), 1)
    print(f"a million nodes, 100 jobs: {spent:.2f} CPU s")


def outage_s(nodes: int, count: int = 3_000) -> float:
    """CPU seconds of an outage and its repair, on nodes of which twenty fail; hardly a job runs."""
    jobs = Workload(
        ["a", "b"],
        np.array([0.0, 1.0]),
        FixedDuration(np.full(2, 10.0 * count), np.ones(2, dtype=int)),
    )
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), nodes)
    cause = Outages(Deterministic(100.0), Deterministic(100.0), [(n,) for n in range(20, 40)])
    spent = []
    for causes in ([], [cause]):
        run = partial(
            simulate, jobs, cluster, make_policy("fifo-strict"), features=[Failures(causes)]
        )
        spent.append(cpu_s(run, 3))
    return (spent[1] - spent[0]) / count


def with_failures(count: int = 4_000) -> None:
    """Cost of an outage, its repair and what follows, as nodes grow."""
    for nodes in (100, 1_000, 10_000):
        jobs = workload(count, 4 * nodes)
        cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), nodes)
        up_s = Exponential(nodes * float(jobs.submit_s[-1]) / (count / 2))
        outages = Outages.of_each_node(nodes, up_s, Exponential(600.0))
        failures = Failures([outages], Checkpoints(interval_s=600.0, cost_s=10.0))
        results: list[Result] = []
        policy = make_policy("fifo-strict")
        plain = cpu_s(partial(simulate, jobs, cluster, policy), 1)
        run = partial(simulate, jobs, cluster, policy, features=[failures])
        spent = cpu_s(lambda r=run, out=results: out.append(r()), 1)  # type: ignore[misc]
        damage = results[0].parts["failures"]
        count_of = int(damage.outages.sum())
        print(
            f"{nodes:7,} nodes, {count_of:,} outages: {1e6 * (spent - plain) / count_of:.0f} us each"
        )


def long_queue(count: int = 30_000) -> None:
    """All jobs come in the first hour: the queue holds nearly all of them."""
    jobs = workload(count)
    late = Workload(
        jobs.job_id,
        jobs.submit_s / jobs.submit_s[-1] * 3600,
        jobs.performance,
        due_s=jobs.submit_s + 7200,
    )
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), 32)
    for name in ("fifo-strict", "fifo-backfill", "edf-backfill"):
        spent = cpu_s(lambda name=name: simulate(late, cluster, make_policy(name)), 1)  # type: ignore[misc]
        print(f"queue of {count:,}, {name}: {spent:.2f} CPU s")


def million() -> None:
    """A million jobs on 10,000 GPUs, their records streamed to Parquet."""
    jobs = workload(1_000_000, 10_000)
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 8), 1_250)
    with tempfile.TemporaryDirectory() as folder:
        spent = cpu_s(
            lambda: simulate(jobs, cluster, make_policy("fifo-strict"), stream_to=f"{folder}/run"),
            1,
        )
    print(
        f"1,000,000 jobs on 10,000 GPUs, streamed: {spent:.1f} CPU s, peak memory {memory_mb():.0f} MB"
    )


def memory_mb() -> float:
    """Peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print CPU seconds, jobs per CPU second, ratios and peak memory."""
    if "--million" in sys.argv[1:]:
        million()
        return
    for num_jobs, repetitions in ((8_000, 5), (100_000, 1)):
        engine, simpy, heap = loops(num_jobs, repetitions)
        print(
            f"strict FIFO, 128 GPUs, load {LOAD}, {num_jobs:,} jobs of one GPU: engine {num_jobs / engine:,.0f} "
            f"jobs/s, bare SimPy {num_jobs / simpy:,.0f}, bare heapq {num_jobs / heap:,.0f}; the "
            f"engine costs {engine / simpy:.1f} times bare SimPy; peak memory {memory_mb():.0f} MB"
        )
    by_nodes()
    with_failures()
    long_queue()


if __name__ == "__main__":
    main()
