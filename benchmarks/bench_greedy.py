"""Decisions of the greedy family: CPU seconds, one thread, code already compiled.

python -m benchmarks.bench_greedy

Each decision has all of ten jobs a node in the queue, on VMs of the hierarchical paper's catalogue
(32 configurations); in a run they arrive, and the rest of a decision counts, too. `loose` due dates are as drawn; `overdue` ones lie before now for most jobs.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from policies.greedy import (
    GreedyPolicy,
    LocalSearchPolicy,
    PathRelinkingPolicy,
    RandomisedGreedyPolicy,
)
from policies.greedy.problem import Jobs, NodeChoices, TimeProfile, machines_of, profile_of
from simulator import Cluster, simulate
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate

REPETITIONS = 5
TARGETS_S = {
    ("greedy", 5): 0.05e-3,
    ("greedy", 100): 0.05e-3,
    ("randomised-greedy", 5): 0.0015,
    ("randomised-greedy", 100): 0.02,
}


def decision(num_nodes: int, overdue: bool, seed: int) -> tuple[Jobs, TimeProfile, NodeChoices]:
    """All jobs of a random scenario wait, partly done."""
    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalJobs(num_nodes=num_nodes, seed=seed))
    cluster = Cluster.of_vms(catalog, num_nodes)
    machines, price = machines_of(cluster, range(num_nodes))
    everyone = np.arange(len(workload), dtype=np.int64)
    profile = profile_of(workload.performance.table_s(everyone, cluster), machines, price)
    rng = np.random.default_rng(seed)
    slack = workload.due_s - workload.submit_s
    if overdue:
        slack = slack * rng.uniform(-0.5, 0.2, len(slack))
    jobs = Jobs(everyone, rng.uniform(0.1, 1.0, len(slack)), slack, workload.weight_per_s)
    return jobs, profile, machines


def cpu_s(
    policy: GreedyPolicy, instance: tuple[Jobs, TimeProfile, NodeChoices], repeats: int
) -> float:
    """Least mean of some repetitions."""
    policy.solve(*instance, 0)
    best = np.inf
    for trial in range(REPETITIONS):
        begin = time.process_time()
        for _ in range(repeats):
            policy.solve(*instance, trial)
        best = min(best, (time.process_time() - begin) / repeats)
    return float(best)


def decision_s(num_nodes: int) -> float:
    """CPU seconds of a decision in a run: the policy, the check, and the jobs that it starts and moves."""
    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalJobs(num_nodes=num_nodes, seed=1))
    cluster = Cluster.of_vms(catalog, num_nodes)
    begin_s = time.process_time()
    result = simulate(workload, cluster, GreedyPolicy())
    return (time.process_time() - begin_s) / len(result.decisions)


def first_call_s() -> float:
    """CPU seconds of the first decision in a fresh process, the cache warm, without imports."""
    code = (
        "import time; from benchmarks.bench_greedy import decision, RandomisedGreedyPolicy as P; "
        "d = decision(5, False, 1); t = time.process_time(); P().solve(*d, 0); "
        "print(time.process_time() - t)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print a table."""
    print(f"{'decision':34} {'method':18} {'CPU s':>10} {'target':>9} {'jobs placed':>12}")
    for num_nodes in (5, 100):
        for overdue in (False, True):
            instance = decision(num_nodes, overdue, 1)
            what = f"{num_nodes} nodes, {10 * num_nodes} jobs, {'overdue' if overdue else 'loose'}"
            for policy in (
                GreedyPolicy(),
                RandomisedGreedyPolicy(candidate_share=1.0),
                LocalSearchPolicy(candidate_share=1.0),
                PathRelinkingPolicy(candidate_share=1.0),
            ):
                spent = cpu_s(policy, instance, 100 if policy.name == "greedy" else 2)
                if policy.name == "randomised-greedy":
                    randomised = spent
                target = TARGETS_S.get((policy.name, num_nodes))
                if policy.name == "local-search":
                    target = 1.5 * randomised
                placed = policy.solve(*instance, 0)[0].num_jobs.sum()
                said = f"{target:9.5f}" if target else f"{'':9}"
                print(f"{what:34} {policy.name:18} {spent:10.6f} {said} {placed:12d}")
    for num_nodes in (100, 300):
        print(f"a decision in a run, {num_nodes} nodes: {1e3 * decision_s(num_nodes):.2f} ms")
    print(f"first call in a fresh process, cache warm: {first_call_s():.2f} s")


if __name__ == "__main__":
    main()
