"""The runs behind the figures: whole simulations, and the CPU time of single decisions."""

from __future__ import annotations

from typing import Any

from experiments.campaign.task import Outcome, Task
from experiments.report.contents import Scale

HERE = "experiments.papers.thesis.runs"
SOURCES = ("simulator", "policies.first_principles", "policies.selection", "policies.greedy")
WITH_MILP = (*SOURCES, "policies.milp", "experiments.analysis.bounds")

FIRST_PRINCIPLES = ("fifo", "edf", "ps")
RANDOM = (
    "randomised-greedy",
    "randomised-few",
    "randomised-own",
    "local-search",
    "path-relinking",
)
CENTRAL = ("greedy", *RANDOM)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "randomised-few": ("randomised-greedy", {"candidate_share": 0.05}),
    "randomised-own": ("randomised-greedy", {"objective": "own-finish"}),
    "hierarchical-greedy": ("greedy", {}),
    "hierarchical-randomised": ("randomised-greedy", {}),
    "hierarchical-milp": ("milp", {"solver": "highs"}),
}
"""Methods that are a policy with options; "hierarchical-": a controller for every five nodes."""

GAPS_S: dict[Scale, tuple[int, ...]] = {
    "quick": (1000, 10_000, 40_000),
    "paper": (1000, 5000, 10_000, 20_000, 30_000, 40_000),
}
GAP_S = 30_000
NODES_FOR_GAPS: dict[Scale, int] = {"quick": 10, "paper": 20}
SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 10, 20, 40, 55, 65, 75)}
MILP_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 10, 20, 40)}
TRACES: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": (1, 2, 3)}
RANDOM_SEEDS: dict[Scale, int] = {"quick": 2, "paper": 10}
VARIANTS = ("randomised-few", "randomised-own", "path-relinking")
VARIANTS_UP_TO = 20
"""Nodes; above it runs of the variants take hours and say nothing new."""
ALL_SEEDS_UP_TO = 40
"""Nodes; above it only the randomised greedy runs on all seeds."""
FEW_SEEDS = 3
"""Of the variants, which the thesis does not have, and of all but the randomised greedy above that."""
DECISION_SIZES: dict[Scale, tuple[int, ...]] = {
    "quick": (5, 20, 100),
    "paper": (5, 20, 50, 100, 200, 400, 600),
}


def tasks(scale: Scale) -> list[Task]:
    """Every run of this thesis."""
    by_gap = [
        _cost_task("gap", NODES_FOR_GAPS[scale], gap_s, method, trace, seed)
        for gap_s in GAPS_S[scale]
        for method in (*FIRST_PRINCIPLES, *CENTRAL, "hierarchical-milp")
        for trace in TRACES[scale]
        for seed in _seeds(method, scale, NODES_FOR_GAPS[scale])
    ]
    by_size = [
        _cost_task("size", n, GAP_S, method, trace, seed)
        for n in SIZES[scale]
        for method in (
            "edf",
            *CENTRAL,
            "hierarchical-greedy",
            "hierarchical-randomised",
            "hierarchical-milp",
        )
        if method != "hierarchical-milp" or n in MILP_SIZES[scale]
        if method not in VARIANTS or n <= VARIANTS_UP_TO
        for trace in TRACES[scale]
        for seed in _seeds(method, scale, n)
    ]
    decisions = [
        Task(
            f"{HERE}:run_decision",
            {"num_nodes": n, "homogeneous": homogeneous, "seed": seed},
            labels={"num_nodes": n, "homogeneous": homogeneous, "seed": seed},
            cost_s=0.02 * n,
            sources=SOURCES,
        )
        for n in DECISION_SIZES[scale]
        for homogeneous in (False, True)
        for seed in TRACES[scale]
    ]
    return [*by_gap, *by_size, *decisions]


def _seeds(method: str, scale: Scale, num_nodes: int) -> range:
    """Ten seeds of the randomised methods, as in the thesis; one of the others."""
    if method not in RANDOM and method != "hierarchical-randomised":
        return range(1, 2)
    every = range(1, RANDOM_SEEDS[scale] + 1)
    is_large = num_nodes > ALL_SEEDS_UP_TO and method != "randomised-greedy"
    is_few = method in VARIANTS or is_large
    return every[:FEW_SEEDS] if is_few else every


def _cost_task(study: str, num_nodes: int, gap_s: int, method: str, trace: int, seed: int) -> Task:
    config: dict[str, int | float | str] = {
        "num_nodes": num_nodes,
        "mean_gap_s": float(gap_s),
        "method": method,
        "trace": trace,
        "seed": seed,
    }
    cost_s = {"hierarchical-milp": 0.4, "greedy": 0.002}.get(method, 0.01)
    return Task(
        f"{HERE}:run_cost",
        config,
        labels={"study": study, **config},
        cost_s=cost_s * num_nodes**1.6,
        sources=WITH_MILP if method == "hierarchical-milp" else SOURCES,
    )


# -- task functions --------------------------------------------------------------------------


def run_cost(config: dict[str, Any]) -> Outcome:
    """Total cost of one method on one trace of jobs."""
    from policies import make_policy
    from simulator import Cluster, simulate

    method, num_nodes = config["method"], config["num_nodes"]
    workload, catalog = _jobs(config["num_nodes"], config["mean_gap_s"], config["trace"])
    controllers = num_nodes // 5 if method.startswith("hierarchical") else 1
    name, options = METHODS.get(method, (method, {}))
    result = simulate(
        workload,
        Cluster.of_vms(catalog, num_nodes, controllers),
        make_policy(name, **options),
        seed=config["seed"],
        record_schedule=False,
        measure_decisions=True,
        policy_name=method,
    )
    summary = result.summary()
    names = ("total_cost", "leasing_cost", "tardiness_cost", "makespan_s", "late_jobs", "decisions")
    scalars = {name: summary[name] for name in names}
    scalars["decision_cpu_s"] = summary["mean_decision_cpu_s"]
    return Outcome(scalars)


def run_decision(config: dict[str, Any]) -> Outcome:
    """CPU seconds of one decision with all of ten jobs a node in the queue, by method.

    ``homogeneous``: a data centre of equal nodes, not VMs of a catalogue.
    """
    import time

    import numpy as np

    from policies.greedy import (
        GreedyPolicy,
        LocalSearchPolicy,
        PathRelinkingPolicy,
        RandomisedGreedyPolicy,
    )
    from policies.greedy.problem import Jobs, machines_of, profile_of
    from simulator import Cluster

    num_nodes = config["num_nodes"]
    workload, catalog = _jobs(num_nodes, GAP_S, config["seed"])
    cluster = Cluster.of_vms(catalog, num_nodes)
    if config["homogeneous"]:
        biggest = max(catalog, key=lambda t: (t.gpu_type == "GTX1080Ti", t.gpus, t.name))
        cluster = Cluster.of_nodes(biggest, num_nodes)
    machines, price = machines_of(cluster, range(num_nodes))
    everyone = np.arange(len(workload), dtype=np.int64)
    columns = [catalog.index(t) for t in cluster.node_types]
    times_s = workload.performance.table_s(everyone, Cluster.of_vms(catalog, num_nodes))
    times_s = times_s[:, columns, : cluster.max_gpus_per_node + 1]
    profile = profile_of(times_s, machines, price)
    jobs = Jobs(
        everyone,
        np.ones(len(everyone)),
        workload.due_s - workload.submit_s,
        workload.weight_per_s,
    )
    scalars: dict[str, Any] = {"jobs": len(everyone)}
    for policy, repeats in (
        (GreedyPolicy(), 20),
        (RandomisedGreedyPolicy(), 1),
        (LocalSearchPolicy(), 1),
        (PathRelinkingPolicy(), 1),
    ):
        policy.solve(jobs, profile, machines, 0)
        best = float("inf")
        for trial in range(3):
            begin = time.process_time()
            for _ in range(repeats):
                solution, _ = policy.solve(jobs, profile, machines, trial)
            best = min(best, (time.process_time() - begin) / repeats)
        scalars[f"{policy.name} cpu_s"] = best
        scalars[f"{policy.name} proxy"] = solution.objective
        scalars[f"{policy.name} placed"] = int(solution.num_jobs.sum())
    return Outcome(scalars)


def _jobs(num_nodes: int, mean_gap_s: float, seed: int) -> Any:
    """The thesis's jobs: its catalogue, weights as released (it prints none)."""
    from simulator.workloads.catalogs import read_catalog
    from simulator.workloads.hierarchical import HierarchicalScenario, generate

    catalog = read_catalog("thesis")
    scenario = HierarchicalScenario(
        num_nodes=num_nodes,
        mean_gap_s=mean_gap_s,
        weights="released",
        catalog=catalog,
        seed=seed,
    )
    return generate(scenario), catalog
