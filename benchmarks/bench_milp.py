"""Decisions of the MILP in the pattern form: CPU seconds to build and to solve to 1e-6.

python -m benchmarks.bench_milp [--solver highs|gurobi] [FOLDER of the authors' instances ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.all_waiting import all_wait, scenario
from policies.milp import FORMULATIONS, Answer, DecisionInput, MilpPolicy, decide
from policies.milp.policy import instance_of
from simulator import Decision, View, simulate
from simulator.workloads.authors import read_instance

REPETITIONS = 3


def from_scenarios() -> Iterator[tuple[str, list[DecisionInput]]]:
    """Decisions of the paper's sizes, everything waiting."""
    for num_nodes, num_jobs, seeds in ((5, 25, 8), (5, 50, 8), (20, 200, 3), (100, 1000, 3)):
        instances = []
        for seed in range(seeds):
            workload, cluster = scenario(num_nodes, seed)
            instances.append(all_wait(workload, cluster, num_jobs, num_nodes))
        yield f"random scenario, {num_nodes} nodes, {num_jobs} jobs", instances


def from_simulation(num_nodes: int) -> tuple[str, list[DecisionInput]]:
    """The decisions that a simulation with one controller meets."""
    policy, met = MilpPolicy(solver="highs"), []

    def watched(view: View) -> Decision:
        met.append(instance_of(view, policy.rho, policy.mu, policy.horizon_s))
        return policy.decide(view)

    simulate(*scenario(num_nodes, 1), watched)
    return f"simulation, {num_nodes} nodes, event-driven", met


def from_folders(folders: list[Path]) -> Iterator[tuple[str, list[DecisionInput]]]:
    """The authors' instances, a tenth, two tenths, .. of their jobs waiting."""
    for folder in folders:
        read = read_instance(folder)
        num_nodes, jobs = read.cluster.num_nodes, len(read.workload)
        for share in range(1, 11):
            count = jobs * share // 10
            instance = all_wait(read.workload, read.cluster, count, num_nodes)
            yield f"{folder.name[:26]}, {num_nodes} nodes, {count} jobs", [instance]


def measure(instance: DecisionInput, solver: str) -> tuple[float, Answer]:
    """Least CPU seconds of building and solving, and the answer."""
    best, answer = np.inf, None
    for _ in range(REPETITIONS):
        fresh = DecisionInput(
            **{name: getattr(instance, name) for name in DecisionInput.__annotations__}
        )
        answer = decide(fresh, "patterns", "gurobi" if solver == "gurobi" else "highs")
        best = min(best, answer.build_cpu_s + answer.solve_cpu_s)
    assert answer is not None
    return float(best), answer


def report(name: str, instances: list[DecisionInput], solver: str) -> None:
    """One line: mean and largest CPU time of some decisions, their sizes and trees."""
    runs = [measure(instance, solver) for instance in instances if instance.num_jobs]
    cpu_s, answers = np.array([run[0] for run in runs]), [run[1] for run in runs]
    optimal = sum(a.status == "optimal" for a in answers)
    print(
        f"{name:<48} {len(runs):>4} {cpu_s.mean():>8.4f} {cpu_s.max():>8.4f}"
        f" {np.mean([a.columns for a in answers]):>8.0f} {np.mean([a.rows for a in answers]):>6.0f}"
        f" {np.mean([a.nodes for a in answers]):>6.1f} {optimal:>4} {max(a.gap for a in answers):.0e}"
        f" {'+'.join(sorted({a.solver for a in answers}))}",
        flush=True,
    )


def report_sizes() -> None:
    """Size of the models in each formulation (paper: about 5,000 and over 300,000)."""
    print("\ncolumns and rows, everything waiting")
    for num_nodes, num_jobs in ((5, 27), (5, 50), (40, 216), (40, 400)):
        workload, cluster = scenario(num_nodes, 0)
        instance = all_wait(workload, cluster, num_jobs, num_nodes)
        sizes = []
        for name, formulation in FORMULATIONS.items():
            model = formulation(instance).model
            sizes.append(f"{name} {model.columns:,} x {model.rows:,}")
        print(f"  {num_nodes} nodes, {num_jobs} jobs: {'; '.join(sizes)}", flush=True)


def main(arguments: list[str]) -> None:
    """Print a line a group of decisions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--solver", choices=["highs", "gurobi"], default="highs")
    options = parser.parse_args(arguments)
    print(f"{'decisions':<48} {'n':>4} {'mean s':>8} {'max s':>8} {'columns':>8} {'rows':>6}"
          f" {'nodes':>6} {'opt':>4} gap")  # fmt: skip
    for name, instances in from_scenarios():
        report(name, instances, options.solver)
    for num_nodes in (5, 20):
        report(*from_simulation(num_nodes), options.solver)
    for name, instances in from_folders(options.folders):
        report(name, instances, options.solver)
    report_sizes()


if __name__ == "__main__":
    main(sys.argv[1:])
