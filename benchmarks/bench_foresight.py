"""Decisions of foresight: CPU seconds, one thread, code already compiled.

python -m benchmarks.bench_foresight [--large]

A decision has all of ten jobs a node waiting, on VMs of the hierarchical paper's catalogue (32
configurations), on fixed nodes of ANDREAS's first scenario, or on leased servers of eight GPUs, with and without
the end of the lease. Jobs have come at such a rate that
all are there; the decisions that follow have most of the nodes in use. `gap` is the largest distance
of a packing's value to its bound, relative to the bound. --large adds 1,000 nodes and 10,000 jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.scenario.build import build
from experiments.scenario.schema import Scenario
from policies.foresight import Foresight
from simulator import Cluster, Decision, View, Workload, simulate
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate
from simulator.workloads.registry import kinds
from simulator.workloads.table import Setting

DECISIONS = 6


class Enough(Exception):
    """So many decisions were measured."""


class Measured:
    """foresight, asked only when all jobs have come; each decision's CPU time and outcome."""

    def __init__(self, num_jobs: int, count: int, **options: float) -> None:
        self.policy, self.num_jobs, self.count = Foresight(**options), num_jobs, count  # type: ignore[arg-type]
        self.cpu_s: list[float] = []
        self.gap: list[float] = []
        self.methods: set[str] = set()
        self.begun = False

    def decide(self, view: View) -> Decision:
        """Waits until all jobs are there."""
        self.begun = self.begun or len(view.jobs) >= self.num_jobs
        if not self.begun:
            return Decision([])
        begin = time.process_time()
        decision = self.policy.decide(view)
        self.cpu_s.append(time.process_time() - begin)
        info = decision.info
        value, bound = float(info["gain"]), float(info["bound"])
        self.gap.append((bound - value) / bound if bound > 0.0 else 0.0)
        self.methods.add(str(info["method"]))
        if len(self.cpu_s) >= self.count:
            raise Enough
        return decision


def vms(num_nodes: int, seed: int) -> tuple[Workload, Cluster]:
    """The paper's random scenario; all jobs come within a hundredth of the time."""
    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalJobs(num_nodes=num_nodes, seed=seed))
    return at_once(workload), Cluster.of_vms(catalog, num_nodes)


def servers(num_nodes: int, seed: int) -> tuple[Workload, Cluster]:
    """ANDREAS's first scenario."""
    jobs: Any = kinds()["andreas"]
    workload, cluster = jobs(num_nodes=num_nodes).make(Setting(seed))
    return at_once(workload), cluster


def leased(num_nodes: int, seed: int) -> tuple[Workload, Cluster]:
    """The paper's random scenario on leased servers."""
    scenario: dict[str, Any] = {
        "policy": "foresight",
        "seed": seed,
        "workload": {"kind": "hierarchical", "num_nodes": num_nodes},
        "cluster": {"kind": "nodes", "num_nodes": num_nodes, "price_per_hour": 1.13},
        "adapt": {},
    }
    scenario["cluster"] |= {"gpus_per_node": 8, "gpu_type": "GTX 1080Ti"}
    workload, cluster = build(Scenario.model_validate(scenario))
    return at_once(workload), cluster


def at_once(workload: Workload) -> Workload:
    """The same jobs with the same slack, a hundred times as fast."""
    submit = workload.submit_s / 100.0
    return replace(workload, submit_s=submit, due_s=workload.due_s - workload.submit_s + submit)


def report(
    name: str, instances: list[tuple[Workload, Cluster]], count: int, **options: bool
) -> None:
    """One line: mean and largest CPU time, and the largest gap."""
    cpu_s: list[float] = []
    gaps: list[float] = []
    methods: set[str] = set()
    for workload, cluster in instances:
        measured = Measured(len(workload), count, **options)

        def asked(view: View, measured: Measured = measured) -> Decision:
            return measured.decide(view)

        # A function: of an object, each controller would have its own copy.
        with contextlib.suppress(Enough):
            simulate(workload, cluster, asked, record_schedule=False)
        cpu_s += measured.cpu_s
        gaps += measured.gap
        methods |= measured.methods
    print(
        f"{name:<28} {len(cpu_s):>4} {np.mean(cpu_s):>8.4f} {max(cpu_s):>8.4f} {max(gaps):>9.1e}"
        f" {'+'.join(sorted(methods))}",
        flush=True,
    )


def main() -> None:
    """Print a line a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="1,000 nodes too")
    large = parser.parse_args().large
    print(f"{'':<28} {'n':>4} {'mean s':>8} {'max s':>8} {'gap':>9}")
    report("(first use)", [vms(5, 9)], 1)
    for num_nodes, seeds in ((5, 4), (20, 2), (100, 2)):
        for kind, draw in (("VMs", vms), ("fixed nodes", servers)):
            instances = [draw(num_nodes, seed) for seed in range(seeds)]
            report(f"{kind}, {num_nodes}/{10 * num_nodes}", instances, DECISIONS)
        instances = [leased(num_nodes, seed) for seed in range(seeds)]
        for text, end in (("leased", True), ("leased, no end", False)):
            report(f"{text}, {num_nodes}/{10 * num_nodes}", instances, DECISIONS, end=end)
    if large:
        for kind, draw in (("VMs", vms), ("fixed nodes", servers)):
            report(f"{kind}, 1,000/10,000", [draw(1000, 0)], 2)


if __name__ == "__main__":
    main()
