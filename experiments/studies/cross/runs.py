"""The runs of the cross experiment: the comparison, then one function for each question."""

from __future__ import annotations

from typing import Any

from experiments.report.contents import Scale
from experiments.report.sweeps import scenario_task
from experiments.studies.cross.comparison import LOADS, WORKLOADS
from experiments.studies.cross.costs import BOUND, CELL, cost_s
from experiments.studies.cross.studies import Run, runs_of_studies
from experiments.sweep.task import Outcome, Scalar, Task

HERE = "experiments.studies.cross.runs"
SOURCES = (
    "simulator",
    "policies",
    "experiments.scenario",
    "experiments.analysis.bounds",
    "experiments.studies.cross.comparison",
)

BOUND_INTERVALS = 20
"""Of time, for the lower bounds of the comparison: 40 were no tighter."""

SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": tuple(range(1, 11))}


def tasks(scale: Scale) -> list[Task]:
    """Every run of this experiment."""
    paper = scale == "paper"
    comparison = [
        Task(
            f"{HERE}:run_cell",
            {"workload": workload, "load": load, "scale": scale, "seed": seed},
            labels={"workload": workload, "load": load, "seed": seed},
            cost_s=CELL[workload][paper],
            sources=SOURCES,
        )
        for workload in WORKLOADS
        for load in LOADS[scale]
        for seed in SEEDS[scale]
    ]
    bounds = [
        Task(
            f"{HERE}:run_bound",
            {"load": load, "seed": seed, "scale": scale},
            labels={"load": load, "seed": seed},
            cost_s=BOUND[paper],
            sources=SOURCES,
        )
        for load in LOADS["paper"]
        for seed in SEEDS[scale]
    ]
    return [*comparison, *(_task(q, scale) for q in runs_of_studies(scale)), *bounds]


def _task(run: Run, scale: Scale) -> Task:
    """One run of a question."""
    labels: dict[str, Scalar] = {"study": run.study, **run.labels}
    what = str(labels.get("method", labels.get("policy", "")))
    cost = cost_s(scale, run.study, what)
    if run.study == "delays":
        return Task(f"{HERE}:run_delayed", run.scenario, labels, cost)
    return scenario_task(run.scenario, labels, cost_s=cost)


def run_cell(config: dict[str, Any]) -> Outcome:
    """All policies on the same jobs: the table ``methods``, one row a policy; and the lower bounds."""
    import pandas as pd

    from experiments.scenario.run import run, summarise
    from experiments.scenario.schema import Scenario
    from experiments.studies.cross.comparison import METHODS, scenario_of
    from simulator.errors import InputError

    rows = []
    # Of elastic jobs: the same for all policies, which have the same jobs and machines.
    bounds: dict[str, Scalar] = {}
    for method in METHODS:
        raw = scenario_of(config["workload"], method, config["load"], config["scale"])
        if raw is None:
            continue
        scenario = Scenario.model_validate({**raw, "seed": config["seed"], "tables": []})
        try:
            result = run(scenario, record_schedule=False)
        except InputError as error:
            raise InputError(f"{config['workload']}, {method.label}: {error}") from None
        summary = summarise(result)
        columns = _columns(summary, result)
        if method.view == "elastic":
            bounds = bounds or _bounds(result)
            columns["over_bound"] = float(summary["total_cost"]) / float(bounds["bound"] or 0.0)
        rows.append({"method": method.label, **columns})
    return Outcome({"methods": len(rows), **bounds}, {"methods": pd.DataFrame(rows)})


def _bounds(result: Any) -> dict[str, Scalar]:
    """The best lower bound on total cost, and that of each job alone.

    `shared` is never below `alone`. `lagrangian` was below both on nine cells, and takes ten times as long.
    """
    from experiments.analysis.bounds import alone, shared

    jobs, machines = result.workload, result.cluster
    return {
        "bound": shared(jobs, machines, BOUND_INTERVALS),
        "bound_alone": float(alone(jobs, machines).sum()),
    }


def _columns(summary: dict[str, Any], result: Any) -> dict[str, Scalar]:
    """Metrics of the comparison; slowdowns are over a job's least time on these machines.

    Finish-time fairness is that of Themis; shares of a pool have none, which is without bound.
    """
    import numpy as np

    performance = result.workload.performance
    ideal_s = performance.fixed_s
    if ideal_s is None:
        ideal_s = performance.times_s.reshape(len(result.workload), -1).min(axis=1)
    slowdown = result.jct_s / ideal_s
    names = ("total_cost", "leasing_cost", "energy_cost", "tardiness_cost", "mean_jct_s",
             "p99_jct_s", "gpu_utilisation", "preemptions", "late_jobs", "decisions",
             "mean_decision_cpu_s", "mean_finish_time_fairness", "max_finish_time_fairness")  # fmt: skip
    return {name: summary[name] for name in names} | {
        "mean_slowdown": float(np.mean(slowdown)),
        "jain": float(slowdown.sum() ** 2 / (len(slowdown) * (slowdown**2).sum())),
        "worst_slowdown": float(slowdown.max()),
    }


def run_delayed(config: dict[str, Any]) -> Outcome:
    """A scenario with reconfiguration delays; ``stuck`` where jobs are moved before they get on."""
    from experiments.scenario.run import run, summarise
    from experiments.scenario.schema import Scenario
    from simulator.errors import InfeasibleDecision

    try:
        result = run(Scenario.model_validate({**config, "tables": []}), record_schedule=False)
    except InfeasibleDecision as error:
        if "got on with its work" not in str(error):
            raise
        return Outcome({"stuck": 1})
    summary = summarise(result)
    names = ("mean_jct_s", "total_cost", "reconfigurations", "preemptions")
    return Outcome({"stuck": 0, **{name: summary[name] for name in names}})


def run_bound(config: dict[str, Any]) -> Outcome:
    """Total cost of several policies over the lower bound, on the hierarchical paper's VMs."""
    import pandas as pd

    from experiments.analysis.bounds import alone, shared
    from experiments.scenario.build import build
    from experiments.scenario.run import run
    from experiments.scenario.schema import Scenario
    from experiments.studies.cross.studies import BOUND_NODES, BOUNDED, hierarchical_vms

    nodes = BOUND_NODES[config["scale"]]
    base = {**hierarchical_vms(config["scale"], config["load"], nodes), "seed": config["seed"]}
    workload, cluster = build(Scenario.model_validate({**base, "policy": "fifo"}))
    bound = max(float(alone(workload, cluster).sum()), float(shared(workload, cluster)))
    rows = []
    for label, policy in BOUNDED.items():
        result = run(Scenario.model_validate({**base, **policy}), record_schedule=False)
        rows.append({"method": label, "ratio": result.total_cost / bound})
    return Outcome({"bound": bound}, {"ratios": pd.DataFrame(rows)})
