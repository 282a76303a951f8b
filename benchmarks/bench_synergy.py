"""Rounds per CPU second of Synergy's policies, and a trace as long as Philly's.

The released simulator on a machine like this: 100 to 220 rounds a CPU second with 32 GPUs and 100
jobs, 36 with 128 GPUs and a long queue. A path to a plain Philly table (submit_time_s, duration_s,
num_gpus) as argument replaces the trace that is like it.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np

from benchmarks.large_runs import philly
from policies.synergy import synergy
from simulator import Cluster, Decision, DecisionPoints, Policy, View, Workload, simulate
from simulator.statistics import Streams
from simulator.workloads.networks import cluster, models_of_split, with_sensitivity
from simulator.workloads.synergy import deployment_trace, derived_trace

ROUNDS = DecisionPoints(round_s=300)


def main() -> None:
    small, large = cluster(4), cluster(16)
    cases = [
        ("100 jobs, 32 GPUs", deployment_trace("static"), small),
        ("5000 jobs at 9/h, 128 GPUs", derived_trace(5000, Streams(1), jobs_per_hour=9), large),
    ]
    for title, trace, servers in cases:
        workload = with_sensitivity(trace, servers)
        for name in ("fifo+proportional", "fifo+tune", "srtf+proportional", "srtf+tune"):
            run(title, workload, servers, name)
    run("100 jobs, 32 GPUs", with_sensitivity(cases[0][1], small), small, "fifo+opt")
    queues()
    optimum()
    servers = cluster(64)
    run("82,247 jobs, 512 GPUs", with_sensitivity(long_trace(), servers), servers, "srtf+tune")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def run(title: str, workload: Workload, servers: Cluster, name: str) -> None:
    ordering, mechanism = name.split("+")
    begin = time.process_time()
    result = simulate(
        workload,
        servers,
        synergy(ordering, mechanism),
        decision_points=ROUNDS,
        record_schedule=False,
    )
    cpu_s = time.process_time() - begin
    rounds = len(result.decisions)
    print(f"{title:28} {name:18} {rounds:6} rounds {cpu_s:8.2f} s {rounds / cpu_s:8.0f} rounds/s")


def queues() -> None:
    """Cost of a round in which jobs came and went, over the number that wait (LAS, tune)."""
    servers = cluster(16)
    for waiting in (500, 2000, 8000):
        workload = with_sensitivity(derived_trace(waiting, Streams(1)), servers)
        policy = synergy("las", "tune")
        spent: list[float] = []

        def decide(view: View, policy: Policy = policy, spent: list[float] = spent) -> Decision:
            begin = time.process_time()
            decision = policy.decide(view)
            spent.append(time.process_time() - begin)
            if len(spent) == 40:
                raise Enough
            return decision

        try:
            simulate(workload, servers, decide, decision_points=ROUNDS)
        except Enough:
            print(f"{waiting:6} active jobs: {1000 * np.mean(spent[1:]):6.2f} ms a decision of LAS")


class Enough(Exception):
    """Seen what was wanted."""


def optimum() -> None:
    """CPU seconds of opt in rounds at 128 GPUs that are all different."""
    servers = cluster(16)
    workload = with_sensitivity(derived_trace(300, Streams(1), jobs_per_hour=30), servers)
    begin = time.process_time()
    result = simulate(
        workload,
        servers,
        synergy("fifo", "opt", solver="highs"),
        decision_points=ROUNDS,
        measure_decisions=True,
    )
    cpu_s = np.array(result.decisions.cpu_s)
    solved = cpu_s[cpu_s > 1e-3]
    print(
        f"opt, 128 GPUs: {len(solved)} rounds solved, {1000 * solved.mean():.1f} ms on average, "
        f"{1000 * solved.max():.0f} ms at most ({time.process_time() - begin:.1f} s in all)"
    )


def long_trace() -> Workload:
    path = sys.argv[1] if len(sys.argv) > 1 else None
    jobs = philly(path)
    return jobs if path is None else replace(jobs, model=models_of_split(len(jobs), (20, 70, 10)))


if __name__ == "__main__":
    main()
