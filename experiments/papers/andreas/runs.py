"""The runs behind the figures: whole scenarios, the ARMIDA replay, gaps and floors."""

from __future__ import annotations

from typing import Any

from experiments.campaign.task import Outcome, Task
from experiments.report.contents import Scale

HERE = "experiments.papers.andreas.runs"
SOURCES = ("simulator", "policies.first_principles", "policies.selection", "policies.greedy")
EXACT = (*SOURCES, "policies.milp", "experiments.analysis.bounds")

FIRST_PRINCIPLES = ("fifo-shared", "edf-shared", "ps-shared")
ONE_JOB_A_NODE = ("fifo", "edf", "ps")
FAMILY = ("greedy", "randomised-greedy", "local-search", "path-relinking")
PAPER_METHODS = (*FIRST_PRINCIPLES, "randomised-greedy")
OTHERS = (
    *ONE_JOB_A_NODE,
    "greedy",
    "randomised-few",
    "randomised-own",
    "local-search",
    "path-relinking",
)
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "randomised-few": ("randomised-greedy", {"candidate_share": 0.05}),
    "randomised-own": ("randomised-greedy", {"objective": "own-finish"}),
    "exact": ("milp", {"mu": 0.0, "horizon_s": 0.0, "solver": "highs"}),
}
"""Methods that are a policy with options. "randomised-few": the released share of candidates."""

SIZES: dict[Scale, tuple[int, ...]] = {
    "quick": (10, 20),
    "paper": (10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
}
OTHER_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (10,), "paper": (10, 30, 60, 100)}
EXACT_SIZES: dict[Scale, tuple[int, ...]] = {"quick": (10,), "paper": (10, 20)}
SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": (1, 2, 3)}
ARRIVALS = ("mixed", "high", "low")
PERIOD_S = 300.0


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper."""
    seeds = SEEDS[scale]
    grid = [
        (n, method)
        for sizes, methods in ((SIZES, PAPER_METHODS), (OTHER_SIZES, OTHERS), (EXACT_SIZES, ("exact",)))
        for n in sizes[scale]
        for method in methods
    ]  # fmt: skip
    runs = [
        _scenario_task(num_nodes, scenario, arrivals, method, seed)
        for scenario in (1, 2)
        for arrivals in ARRIVALS
        for num_nodes, method in grid
        for seed in seeds
        if arrivals == "mixed" or num_nodes in OTHER_SIZES[scale]
    ]
    replay = [
        Task(
            f"{HERE}:run_armida",
            {"method": method, "seed": seed},
            labels={"method": method, "seed": seed},
            sources=EXACT,
        )
        for method in (*FIRST_PRINCIPLES, *FAMILY, "randomised-few", "exact")
        for seed in (range(1, 11) if method in (*FAMILY[1:], "randomised-few") else (1,))
    ]
    gaps = [
        Task(
            f"{HERE}:run_gaps",
            {"num_nodes": n, "scenario": s, "arrivals": arrivals, "seed": seed, "samples": 12},
            labels={"num_nodes": n, "scenario": s, "arrivals": arrivals, "seed": seed},
            cost_s=0.4 * n,
            sources=EXACT,
        )
        for n in EXACT_SIZES[scale]
        for s in (1, 2)
        for arrivals in ("mixed", "high")
        for seed in seeds
    ]
    return [*runs, *replay, *gaps]


def _scenario_task(num_nodes: int, scenario: int, arrivals: str, method: str, seed: int) -> Task:
    config: dict[str, int | str] = {
        "num_nodes": num_nodes,
        "scenario": scenario,
        "arrivals": arrivals,
        "method": method,
        "seed": seed,
    }
    slow = {"exact": 0.6, "greedy": 0.02}.get(method, 0.004 if "-" not in method else 0.05)
    return Task(
        f"{HERE}:run_scenario",
        config,
        labels=dict(config),
        cost_s=slow * num_nodes**1.3,
        sources=EXACT if method == "exact" else SOURCES,
    )


# -- task functions --------------------------------------------------------------------------


def run_scenario(config: dict[str, Any]) -> Outcome:
    """Cost, time to finish and time a call of one method on one random scenario."""
    from simulator import simulate

    workload, cluster = _generate(config)
    result = simulate(
        workload,
        cluster,
        policy_of(config["method"]),
        seed=config["seed"],
        record_schedule=False,
        measure_decisions=True,
        policy_name=config["method"],
    )
    summary = result.summary()
    names = (
        "energy_cost",
        "tardiness_cost",
        "total_cost",
        "makespan_s",
        "mean_jct_s",
        "late_jobs",
        "energy_kwh",
        "decisions",
        "gpu_utilisation",
        "preemptions",
        "reconfigurations",
    )
    scalars = {name: summary[name] for name in names}
    scalars["decision_cpu_s"] = summary["mean_decision_cpu_s"]
    if config["method"] == "fifo-shared":
        from experiments.analysis.bounds import alone

        scalars["floor_alone"] = float(alone(workload, cluster).sum())
    return Outcome(scalars)


def run_armida(config: dict[str, Any]) -> Outcome:
    """The validation run: Table V, three nodes, a decision every five minutes."""
    from simulator import DecisionPoints, simulate
    from simulator.workloads.andreas import armida

    workload, cluster = armida()
    points = DecisionPoints.rounds(PERIOD_S)
    policy = policy_of(config["method"])
    result = simulate(workload, cluster, policy, seed=config["seed"], decision_points=points)
    summary = result.summary()
    names = ("energy_cost", "energy_kwh", "late_jobs", "makespan_s", "preemptions")
    return Outcome(
        {name: summary[name] for name in names},
        {"jobs": result.jobs_table(), "schedule": result.schedule_table()},
    )


def run_gaps(config: dict[str, Any]) -> Outcome:
    """At decisions of a run of the randomised greedy: each heuristic against the exact optimum."""
    import pandas as pd

    from experiments.analysis.gap import gaps_at
    from policies.greedy import (
        GreedyPolicy,
        LocalSearchPolicy,
        PathRelinkingPolicy,
        RandomisedGreedyPolicy,
    )
    from simulator import simulate

    options: dict[str, Any] = {"mu": 0.0, "horizon_s": 0.0}
    methods = {
        "greedy": GreedyPolicy(**options),
        "randomised-few": RandomisedGreedyPolicy(**options, candidate_share=0.05),
        "randomised-greedy": RandomisedGreedyPolicy(**options),
        "local-search": LocalSearchPolicy(**options),
        "path-relinking": PathRelinkingPolicy(**options),
    }
    workload, cluster = _generate(config)
    every = max(1, 2 * len(workload) // config["samples"])
    rows: list[dict[str, Any]] = []
    driver = RandomisedGreedyPolicy(**options)
    count = 0

    def decide(view: Any) -> Any:
        nonlocal count
        count += 1
        if count % every == 0 and view.num_active > 1:
            for name, gap in gaps_at(view, methods, config["seed"]).items():
                rows.append({"method": name, "active": view.num_active, **gap._asdict()})
        return driver.decide(view)

    simulate(workload, cluster, decide, seed=config["seed"], record_schedule=False)
    table = pd.DataFrame(rows)
    scalars: dict[str, float | int | str | bool | None] = {"decisions": len(table) // len(methods)}
    for name in methods:
        gap = table.loc[table["method"] == name, "same_nodes_gap"]
        scalars[f"{name} median_gap"] = float(gap.median())
        scalars[f"{name} optimal_share"] = float((gap <= 1e-6).mean())
    return Outcome(scalars, {"gaps": table})


def policy_of(method: str) -> Any:
    """The policy of a method of this paper: no idle GPUs are handed out after the assignment,
    which Algorithm 1 does not do."""
    from policies import make_policy

    name, options = OPTIONS.get(method, (method, {}))
    if name in FAMILY:
        options = {"expand": False, "horizon_s": 0.0, **options}
    return make_policy(name, **options)


def _generate(config: dict[str, Any]) -> Any:
    from simulator.workloads.andreas import AndreasScenario, generate

    return generate(
        AndreasScenario(
            config["num_nodes"], config["scenario"], config["arrivals"], seed=config["seed"]
        )
    )
