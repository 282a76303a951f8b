"""The runs behind the figures: whole simulations, and the CPU time of single decisions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, cast

from experiments.pages import Experiment, Labels, Outcome, Scalar, Scale, Task, study

FOLDER = Path(__file__).parent
HERE = "experiments.papers.thesis.runs"
SOURCES = (
    "simulator",
    "policies.queues.list_scheduling",
    "policies.queues.selection",
    "policies.greedy",
)
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
MODELS = ("hierarchical-milp", "hierarchical-milp-5")
"""The hierarchical model solved exactly, and stopped at a gap of 5 % of the whole objective.

All of these are policies with options, in the sweep files. The thesis's randomised greedy draws from
a small subset of the configurations (the released 5 %); "randomised-all" is a variant of ours.
Decisions follow events, so H in the worst-case tardiness of a postponed job is a choice: an hour as
in the hierarchical paper, or none ("randomised-no-h").
"""
DUE_LAWS = {
    "min-2max": "due dates U[min, 2 max] (printed in 2020)",
    "min-3min": "due dates U[min, 3 min] (released in 2021)",
}
"""The thesis prints no law of due dates: both of its group's are run, in every figure."""
RELEASED = ("greedy-released", "greedy-released-1")
"""The authors' greedy: the last version of their program, and version 1."""
RELEASED_RG = "randomised-released-1"
"""Their randomised greedy of version 1 at paper scale: one seed, by gap on three traces, by size up to `MILP_UP_TO` nodes."""
BY_GAP_PRINTED = ("edf", "greedy", *RELEASED, "randomised-greedy", *MODELS)
BY_SIZE_PRINTED = (
    "greedy", *RELEASED, "randomised-greedy", "hierarchical-greedy", "hierarchical-randomised",
)  # fmt: skip
"""Methods whose ratio the thesis prints: they run on all traces."""
AGAIN = (*BY_GAP_PRINTED, *BY_SIZE_PRINTED, *FIRST_PRINCIPLES)
"""Methods that also run under the second law."""

GAPS_S: dict[Scale, tuple[int, ...]] = {
    "quick": (1000, 10_000, 30_000),
    "paper": (1000, 5000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000, 40_000),
}
GAP_S = 30_000
FEWER_JOBS: dict[Scale, dict[str, Any]] = {"quick": {"workload.jobs_per_node": 4}, "paper": {}}
"""The thesis has ten jobs a node."""
NODES_FOR_GAPS: dict[Scale, int] = {"quick": 10, "paper": 20}
SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 10, 20, 40, 55, 65, 75)}
MILP_UP_TO = 40
TRACES = (1, 2, 3)
"""As many as in the thesis."""
ALL_TRACES: dict[Scale, tuple[int, ...]] = {"quick": TRACES, "paper": (*TRACES, 4, 5, 6, 7, 8)}
"""Of the methods whose ratio the thesis prints; one seed of the randomised ones on those beyond three,
because traces differ much more than its seeds do."""
WITH_THE_MODEL = ("by_gap_milp", "by_size_hierarchical")
"""Files with runs of the hierarchical model; the others need not run again when it changes."""
RANDOM_SEEDS: dict[Scale, int] = {"quick": 1, "paper": 10}
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
COMPILING_S = 38.0
"""After an installation one run compiles the kernels of the greedy family. It comes before all others,
so that another worker has other things to do meanwhile and need not wait for them."""
PROXY_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (5, 10), "paper": (5, 20, 75)}
"""Setting in which decisions of the randomised greedy are compared with the pure greedy's."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of this thesis."""
    by_gap = [
        task
        for name in ("by_gap", "by_gap_milp")
        for task in _costs("gap", name, scale, {"workload.num_nodes": NODES_FOR_GAPS[scale]})
    ]
    by_size = [
        task
        for name in ("by_size", "by_size_hierarchical")
        for task in _costs("size", name, scale, {})
    ]
    errors = _costs("error", "error", scale, {"workload.num_nodes": NODES_FOR_GAPS[scale]})
    largest = Task(
        f"{HERE}:run_largest", {"num_nodes": LARGEST}, labels={"num_nodes": LARGEST},
        sources=SOURCES,
    )  # fmt: skip
    return [
        *by_gap, *by_size, *_decisions(scale), largest, *_proxies(scale), *errors,
    ]  # fmt: skip


def _decisions(scale: Scale) -> list[Task]:
    """One decision with all jobs waiting, timed by method."""
    first = (DECISION_SIZES[scale][0], False, TRACES[0])
    return [
        Task(
            f"{HERE}:run_decision",
            {"num_nodes": n, "homogeneous": homogeneous, "seed": seed},
            labels={"num_nodes": n, "homogeneous": homogeneous, "seed": seed},
            cost_s=COMPILING_S if (n, homogeneous, seed) == first else 0.003 * n,
            sources=WITH_MILP,
        )
        for n in DECISION_SIZES[scale]
        for homogeneous in (False, True)
        for seed in TRACES
    ]


def _proxies(scale: Scale) -> list[Task]:
    """Decisions of the randomised greedy beside the pure greedy's."""
    return [
        Task(
            f"{HERE}:run_proxies",
            {"num_nodes": n, "trace": trace, "due": due, "method": method},
            labels={"num_nodes": n, "trace": trace, "due": due, "method": method},
            cost_s=0.09 * n,
            sources=SOURCES,
        )
        for n in PROXY_SIZES[scale]
        for due in DUE_LAWS
        for method in ("randomised-greedy", "randomised-all")
        for trace in TRACES[: 1 if scale == "quick" else None]
    ]


def _seeds(method: str, scale: Scale, num_nodes: int) -> range:
    """Ten seeds of the randomised methods, as in the thesis; one of the others."""
    if method not in RANDOM and method != "hierarchical-randomised":
        return range(1, 2)
    every = range(1, RANDOM_SEEDS[scale] + 1)
    is_large = num_nodes > ALL_SEEDS_UP_TO and method != "randomised-greedy"
    is_few = method in VARIANTS or is_large or (scale == "quick" and method == "local-search")
    return every[: FEW_SEEDS[scale]] if is_few else every


def _costs(study_name: str, file: str, scale: Scale, changes: dict[str, Any]) -> list[Task]:
    """The runs of a sweep file that this scale asks for; ``trace`` numbers the draws of the jobs."""

    def labels(swept: Labels) -> dict[str, Scalar]:
        return {
            "study": study_name,
            "num_nodes": swept.get("workload.num_nodes", NODES_FOR_GAPS[scale]),
            "mean_gap_s": float(swept.get("workload.mean_gap_s", GAP_S) or 0),
            "due": swept.get("workload.due", "min-2max"),
            "method": swept.get("policy", "randomised-greedy"),
            "trace": swept.get("workload.seed", swept["seed"]),
            "seed": swept["seed"],
        }

    return study(
        FOLDER / f"{file}.toml",
        labels,
        keep=lambda columns: _wanted(columns, scale),
        cost_s=partial(_cost_s, scale=scale),
        sources=WITH_MILP if file in WITH_THE_MODEL else SOURCES,
        changes={**changes, **FEWER_JOBS[scale]},
    )


def _wanted(columns: Labels, scale: Scale) -> bool:
    """True where a run is part of a scale: fewer methods under the second law and at large sizes."""
    if columns["study"] == "error":
        return columns["trace"] in TRACES
    method, num_nodes = str(columns["method"]), int(columns["num_nodes"] or 0)
    if method == RELEASED_RG:
        traces = TRACES if columns["study"] == "gap" else ALL_TRACES[scale]
        of_scale = scale == "paper" and num_nodes <= MILP_UP_TO
        return of_scale and columns["seed"] == 1 and columns["trace"] in traces
    if columns["due"] != "min-2max" and method not in AGAIN:
        return False
    if columns["study"] == "gap":
        all_traces = method in BY_GAP_PRINTED
        known = columns["mean_gap_s"] in GAPS_S[scale]
        if scale == "quick":  # what no row rests on runs where other figures need it anyway
            known &= method not in MODELS or columns["due"] == "min-2max"
            slow = (*MODELS, *VARIANTS, "local-search")
            known &= method not in slow or columns["mean_gap_s"] == GAP_S
    else:
        all_traces, known = method in BY_SIZE_PRINTED, num_nodes in SIZES[scale]
        small_model = num_nodes <= MILP_UP_TO and columns["due"] == "min-2max"
        known &= method != "hierarchical-milp" or small_model
        known &= method not in VARIANTS or num_nodes <= VARIANTS_UP_TO
    if columns["trace"] not in TRACES:
        known &= all_traces and columns["trace"] in ALL_TRACES[scale]
        return known and columns["seed"] == 1
    return known and columns["seed"] in _seeds(method, scale, num_nodes)


def _cost_s(columns: Labels, scale: Scale) -> float:
    fewer = 0.65 if scale == "quick" else 1.0
    slow = {
        **dict.fromkeys(MODELS, 0.037), "hierarchical-randomised": 0.005, **dict.fromkeys(("fifo", "edf", "ps"), 0.0005),
        **dict.fromkeys(("greedy", *RELEASED, "hierarchical-greedy"), 0.002),
    }  # fmt: skip
    cost_s = slow.get(str(columns["method"]), 0.01)
    return float(fewer * cost_s * float(columns["num_nodes"] or 0) ** 1.6)


# -- task functions --------------------------------------------------------------------------


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
    from policies.solving.compiling import first_call
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
        workload.weight_per_s.copy(),  # kernels for arrays that may be written are compiled already
    )
    scalars: dict[str, Any] = {"jobs": len(everyone)}
    methods: list[tuple[GreedyPolicy, int]] = [(GreedyPolicy(), 20), (RandomisedGreedyPolicy(), 1)]
    if "fast" not in config:
        methods += [(LocalSearchPolicy(), 1), (PathRelinkingPolicy(), 1)]
    if num_nodes <= EXACT_UP_TO and "fast" not in config:
        scalars["exact cpu_s"] = _exact_cpu_s(jobs, profile, machines)
    for policy, repeats in methods:
        with first_call(policy.name):
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
    from policies.solving.decision import solve_decision

    instance = milp_instance(jobs, profile, machines, GreedyPolicy().settings)
    answer = solve_decision(instance, solver="highs")
    return answer.build_cpu_s + answer.solve_cpu_s


def run_largest(config: dict[str, Any]) -> Outcome:
    """CPU seconds of a decision of the two fastest methods at the largest size, equal nodes."""
    found = run_decision(
        {"num_nodes": config["num_nodes"], "homogeneous": True, "seed": 1, "fast": True}
    )
    return found


def run_proxies(config: dict[str, Any]) -> Outcome:
    """Share of decisions where the randomised greedy's plan is better than the pure greedy's, by their proxy.

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
    from simulator.workloads.hierarchical import Due, HierarchicalJobs, generate

    catalog = read_catalog("thesis")
    scenario = HierarchicalJobs(
        num_nodes=num_nodes,
        mean_gap_s=mean_gap_s,
        weights="released",
        due=cast(Due, due),
        times="pool",
        seed=seed,
    )
    return generate(scenario, catalog), catalog


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
