"""The runs behind the figures: whole simulations, and the CPU time of single decisions."""

from __future__ import annotations

from typing import Any, cast

from experiments.campaign.task import Outcome, Task
from experiments.report.contents import Scale

HERE = "experiments.papers.thesis.runs"
SOURCES = ("simulator", "policies.first_principles", "policies.selection", "policies.greedy")
WITH_MILP = (*SOURCES, "policies.milp", "experiments.analysis.bounds")

FIRST_PRINCIPLES = ("fifo", "edf", "ps")
RANDOM = (
    "randomised-greedy",
    "randomised-all",
    "randomised-own",
    "randomised-no-h",
    "local-search",
    "path-relinking",
)
CENTRAL = ("greedy", *RANDOM)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "randomised-all": ("randomised-greedy", {"candidate_share": 1.0}),
    "randomised-own": ("randomised-greedy", {"objective": "own-finish"}),
    "randomised-no-h": ("randomised-greedy", {"horizon_s": 0.0}),
    "hierarchical-greedy": ("greedy", {}),
    "hierarchical-randomised": ("randomised-greedy", {}),
    "hierarchical-milp": ("milp", {"solver": "highs"}),
}
"""Methods that are a policy with options; "hierarchical-": a controller for every five nodes.

The thesis's randomised greedy draws from a small subset of the configurations (the released 5 %);
"randomised-all" is a variant of ours. Decisions follow events, so H in the worst-case tardiness of a
postponed job is a choice: an hour as in the hierarchical paper, or none ("randomised-no-h").
"""
DUE_LAWS = {
    "min-2max": "due dates U[min, 2 max] (printed in 2020)",
    "min-3min": "due dates U[min, 3 min] (released in 2021)",
}
"""The thesis prints no law of due dates: both of its group's are run, in every figure."""
BY_GAP_AGAIN: dict[Scale, tuple[str, ...]] = {
    "quick": (*FIRST_PRINCIPLES, "greedy", "randomised-greedy"),
    "paper": (*FIRST_PRINCIPLES, "greedy", "randomised-greedy", "hierarchical-milp"),
}
BY_SIZE_AGAIN = (
    "edf", "greedy", "randomised-greedy", "hierarchical-greedy", "hierarchical-randomised",
)  # fmt: skip
"""Methods that also run under the second law."""

SD_OF_ERROR = 1.2533
"""Standard deviation of a nearly normal factor over its mean absolute error, sqrt(pi / 2)."""

GAPS_S: dict[Scale, tuple[int, ...]] = {
    "quick": (1000, 10_000, 30_000),
    "paper": (1000, 5000, 10_000, 20_000, 30_000, 40_000),
}
GAP_S = 30_000
NODES_FOR_GAPS: dict[Scale, int] = {"quick": 10, "paper": 20}
SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 10, 20, 40, 55, 65, 75)}
MILP_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 10, 20, 40)}
TRACES: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": (1, 2, 3)}
RANDOM_SEEDS: dict[Scale, int] = {"quick": 2, "paper": 10}
VARIANTS = ("randomised-all", "randomised-own", "randomised-no-h", "path-relinking")
VARIANTS_UP_TO = 20
"""Nodes; above it runs of the variants take hours and say nothing new."""
ALL_SEEDS_UP_TO = 40
"""Nodes; above it only the randomised greedy runs on all seeds."""
FEW_SEEDS: dict[Scale, int] = {"quick": 1, "paper": 3}
"""Of the variants, which the thesis does not have, and of all but the randomised greedy above that."""
DECISION_SIZES: dict[Scale, tuple[int, ...]] = {
    "quick": (5, 20, 100),
    "paper": (5, 20, 50, 100, 200, 400, 600),
}
LARGEST = 600
"""Nodes up to which the thesis calls the randomised greedy promising."""
EXACT_UP_TO = 40
"""Nodes up to which the exact model is timed on the same decisions, central and for a controller."""
PROXY_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 20, 75)}
"""Where decisions of the randomised greedy are compared with the pure greedy's."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of this thesis."""
    by_gap = [
        _cost_task("gap", NODES_FOR_GAPS[scale], gap_s, due, method, trace, seed)
        for gap_s in GAPS_S[scale]
        for due, methods in (
            ("min-2max", (*FIRST_PRINCIPLES, *CENTRAL, "hierarchical-milp")),
            ("min-3min", BY_GAP_AGAIN[scale]),
        )
        for method in methods
        for trace in TRACES[scale]
        for seed in _seeds(method, scale, NODES_FOR_GAPS[scale])
    ]
    by_size = [
        _cost_task("size", n, GAP_S, due, method, trace, seed)
        for n in SIZES[scale]
        for due, methods in (
            ("min-2max", (*dict.fromkeys((*BY_SIZE_AGAIN, *CENTRAL)), "hierarchical-milp")),
            ("min-3min", BY_SIZE_AGAIN),
        )
        for method in methods
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
            sources=WITH_MILP,
        )
        for n in DECISION_SIZES[scale]
        for homogeneous in (False, True)
        for seed in TRACES[scale]
    ]
    largest = Task(
        f"{HERE}:run_largest", {"num_nodes": LARGEST}, labels={"num_nodes": LARGEST},
        sources=SOURCES,
    )  # fmt: skip
    proxies = [
        Task(
            f"{HERE}:run_proxies",
            {"num_nodes": n, "trace": trace, "due": due, "method": method},
            labels={"num_nodes": n, "trace": trace, "due": due, "method": method},
            cost_s=0.05 * n,
            sources=SOURCES,
        )
        for n in PROXY_SIZES[scale]
        for due in DUE_LAWS
        for method in ("randomised-greedy", "randomised-all")
        for trace in TRACES[scale]
    ]
    errors = [
        _cost_task(
            "error", NODES_FOR_GAPS[scale], GAP_S, "min-2max", "randomised-greedy", trace, 1, 0.1
        )
        for trace in TRACES[scale]
    ]
    return [*by_gap, *by_size, *decisions, largest, *proxies, *errors]


def _seeds(method: str, scale: Scale, num_nodes: int) -> range:
    """Ten seeds of the randomised methods, as in the thesis; one of the others."""
    if method not in RANDOM and method != "hierarchical-randomised":
        return range(1, 2)
    every = range(1, RANDOM_SEEDS[scale] + 1)
    is_large = num_nodes > ALL_SEEDS_UP_TO and method != "randomised-greedy"
    is_few = method in VARIANTS or is_large
    return every[: FEW_SEEDS[scale]] if is_few else every


def _cost_task(
    study: str, num_nodes: int, gap_s: int, due: str, method: str, trace: int, seed: int,
    error: float = 0.0,
) -> Task:  # fmt: skip
    config: dict[str, int | float | str] = {
        "num_nodes": num_nodes,
        "mean_gap_s": float(gap_s),
        "due": due,
        "method": method,
        "trace": trace,
        "seed": seed,
    }
    if error:
        config["error"] = error
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
    """Total cost of one method on one trace of jobs.

    ``error``: mean absolute error of the predicted times that the method is shown, relative.
    """
    from policies import make_policy
    from simulator import Cluster, simulate
    from simulator.predictions import Predictions, Shown, predicted
    from simulator.statistics import Streams

    method, num_nodes = config["method"], config["num_nodes"]
    workload, catalog = _jobs(num_nodes, config["mean_gap_s"], config["due"], config["trace"])
    controllers = num_nodes // 5 if method.startswith("hierarchical") else 1
    name, options = METHODS.get(method, (method, {}))
    shown = None
    if config.get("error"):
        predictions = Predictions(configuration_noise=SD_OF_ERROR * config["error"])
        shown = Shown(predicted(workload, predictions, Streams(config["trace"])))
    result = simulate(
        workload,
        Cluster.of_vms(catalog, num_nodes, controllers),
        make_policy(name, **options),
        seed=config["seed"],
        record_schedule=False,
        measure_decisions=True,
        policy_name=method,
        shown=shown,
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
    workload, catalog = _jobs(num_nodes, GAP_S, "min-2max", config["seed"])
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
    methods: list[tuple[GreedyPolicy, int]] = [(GreedyPolicy(), 20), (RandomisedGreedyPolicy(), 1)]
    if "fast" not in config:
        methods += [(LocalSearchPolicy(), 1), (PathRelinkingPolicy(), 1)]
    if num_nodes <= EXACT_UP_TO and "fast" not in config:
        scalars["exact cpu_s"] = _exact_cpu_s(jobs, profile, machines)
    for policy, repeats in methods:
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


def _exact_cpu_s(jobs: Any, profile: Any, machines: Any) -> float:
    """CPU seconds of the exact central optimum of the same decision."""
    from experiments.analysis.gap import milp_instance
    from policies.greedy import GreedyPolicy
    from policies.milp.decision import decide

    answer = decide(milp_instance(jobs, profile, machines, GreedyPolicy().settings), solver="highs")
    return answer.build_cpu_s + answer.solve_cpu_s


def run_largest(config: dict[str, Any]) -> Outcome:
    """CPU seconds of a decision of the two fastest methods at the largest size, equal nodes."""
    found = run_decision(
        {"num_nodes": config["num_nodes"], "homogeneous": True, "seed": 1, "fast": True}
    )
    return found


def run_proxies(config: dict[str, Any]) -> Outcome:
    """How often the randomised greedy's plan is better than the pure greedy's, by their proxy.

    Both are asked at every decision of a run of the randomised greedy.
    """
    from policies.greedy import GreedyPolicy, RandomisedGreedyPolicy
    from simulator import Cluster, simulate

    workload, catalog = _jobs(config["num_nodes"], GAP_S, config["due"], config["trace"])
    share = 1.0 if config["method"] == "randomised-all" else 0.05
    pure, policy = GreedyPolicy(), RandomisedGreedyPolicy(candidate_share=share)
    better, waiting = [], []

    def decide(view: Any) -> Any:
        decision = policy.decide(view)
        plain, _ = pure.solve(*pure.arrays(view), 0)
        found = float(decision.info["proxy"])
        better.append(found < plain.objective - 1e-9 * abs(plain.objective))
        waiting.append(view.num_active - int(plain.num_jobs.sum()))
        return decision

    cluster = Cluster.of_vms(catalog, config["num_nodes"])
    simulate(workload, cluster, decide, seed=config["trace"], record_schedule=False)
    return Outcome(
        {
            "better_share": sum(better) / len(better),
            "waiting": sum(waiting) / len(waiting),
            "queue_share": sum(w > 0 for w in waiting) / len(waiting),
        }
    )


def _jobs(num_nodes: int, mean_gap_s: float, due: str, seed: int) -> Any:
    """The thesis's jobs: its catalogue, weights as released (it prints none)."""
    from simulator.workloads.catalogs import read_catalog
    from simulator.workloads.hierarchical import Due, HierarchicalScenario, generate

    catalog = read_catalog("thesis")
    scenario = HierarchicalScenario(
        num_nodes=num_nodes,
        mean_gap_s=mean_gap_s,
        weights="released",
        due=cast(Due, due),
        catalog=catalog,
        seed=seed,
    )
    return generate(scenario), catalog
