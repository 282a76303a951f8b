"""Fixed widths on the hierarchical paper's jobs and prices, against its own policies.

The rental paper promises the least mean response time within a budget, on GPUs without limit that
are paid by the piece. The hierarchical paper's machines are whole VMs, N of them, and its jobs have
due dates. Each rule is therefore run three ways: GPUs paid by the piece, whole VMs without limit,
and N VMs; always within the leasing cost of the hierarchical policy on the same jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.pages import Outcome, Scale, Task
from policies.rental.configurations import OwnConfiguration, cheapest, costs_by_the_gpu
from simulator import Cluster, DecisionPoints, NodeType, simulate
from simulator.model.cluster import SECONDS_PER_HOUR, FloatArray
from simulator.workloads.catalogs import read_catalog
from simulator.workloads.hierarchical import HierarchicalJobs, generate

if TYPE_CHECKING:
    from simulator import Result, Workload

HERE = "experiments.papers.rental.bridge"
SOURCES = (
    "simulator",
    "policies.rental",
    "policies.queues.list_scheduling",
    "policies.queues.selection",
    "policies.milp",
)

OWN = ("hierarchical", "fifo", "edf", "ps")
"""The hierarchical paper's methods."""

RENTAL = ("by the GPU", "whole VMs", "N VMs")
"""Ways to run fixed configurations."""

RULES = ("response time", "total cost")
"""Objective of a fixed configuration within the budget: mean response time, as the rental
paper has it; or leasing and tardiness cost of the job alone, the due date known."""

GAPS: dict[Scale, tuple[float, ...]] = {
    "quick": (1.0, 2.0, 4.0),
    "paper": (0.5, 1.0, 2.0, 4.0, 8.0),
}
"""Mean gap between submissions, in the paper's (45,000 s / N)."""

DUES: dict[Scale, tuple[str, ...]] = {
    "quick": ("min-2max",),
    "paper": ("min-max", "min-3min", "min-2max"),
}
SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1,), "paper": tuple(range(1, 11))}
NODES: dict[Scale, int] = {"quick": 5, "paper": 10}
JOBS_PER_NODE: dict[Scale, int] = {"quick": 4, "paper": 10}


def tasks(scale: Scale) -> list[Task]:
    """One run of all methods a load, law of due dates and seed."""
    return [
        Task(
            f"{HERE}:run_bridge",
            {
                "num_nodes": NODES[scale],
                "jobs_per_node": JOBS_PER_NODE[scale],
                "gap": gap,
                "due": due,
                "seed": seed,
            },
            cost_s=0.2 * NODES[scale] ** 1.5,
            sources=SOURCES,
        )
        for gap in GAPS[scale]
        for due in DUES[scale]
        for seed in SEEDS[scale]
    ]


def run_bridge(config: dict[str, Any]) -> Outcome:
    """All methods on the same jobs.

    The table ``methods`` has one row a method: its leasing and tardiness cost, mean response time,
    late jobs, and whether it kept to the hierarchical policy's leasing cost.
    """
    import pandas as pd

    catalog = read_catalog("hierarchical")
    num_nodes = config["num_nodes"]
    workload = generate(
        HierarchicalJobs(
            num_nodes=num_nodes,
            jobs_per_node=config["jobs_per_node"],
            mean_gap_s=45_000.0 * config["gap"],
            due=config["due"],
            seed=config["seed"],
        )
    )
    results = {name: _own(workload, catalog, num_nodes, name) for name in OWN}
    budget = results["hierarchical"].meters.leasing_cost
    for way in RENTAL:
        for rule in RULES:
            run = _rental(workload, catalog, num_nodes, way, rule)
            least = 1e-3 if rule == "response time" else 1.0
            results[f"{way}, {rule}"] = _within_budget(run, budget, least)
    rows = [
        {
            "method": name,
            "leasing_cost": r.meters.leasing_cost,
            "tardiness_cost": r.tardiness_cost,
            "total_cost": r.total_cost,
            "mean_response_time_h": float(r.jct_s.mean()) / SECONDS_PER_HOUR,
            "late_jobs": int((r.tardiness_s > 0).sum()),
            "within_budget": bool(r.meters.leasing_cost <= budget * (1 + 1e-9)),
        }
        for name, r in results.items()
    ]
    return Outcome({"budget": budget, "jobs": len(workload)}, {"methods": pd.DataFrame(rows)})


def _own(workload: Workload, catalog: tuple[NodeType, ...], num_nodes: int, name: str) -> Result:
    """One of the hierarchical paper's methods, in its setting."""
    from policies import make_policy

    exact = name == "hierarchical"
    return simulate(
        workload,
        Cluster.of_vms(catalog, num_nodes, num_nodes // 5 if exact else 1),
        make_policy("milp" if exact else name),
        decision_points=DecisionPoints(period_s=3600.0 if exact else None),
        record_schedule=False,
    )


def _rental(
    workload: Workload, catalog: tuple[NodeType, ...], num_nodes: int, way: str, rule: str
) -> Callable[[float], Result]:
    """Runs fixed configurations at a price of money, in seconds per unit of it or without unit."""
    enough = sum(t.gpus for t in catalog) * len(workload)
    pools = tuple(
        NodeType(t.name, t.gpu_type, enough, price_per_gpu_hour=t.price_per_hour / t.gpus)
        for t in catalog
    )
    cluster = {
        "by the GPU": Cluster(pools, len(pools), tuple(range(len(pools)))),
        "whole VMs": Cluster.of_vms(catalog, len(workload)),
        "N VMs": Cluster.of_vms(catalog, num_nodes),
    }[way]
    times_s = workload.performance.table_s(
        np.arange(len(workload)), Cluster.of_vms(catalog, num_nodes)
    )
    cost = costs_by_the_gpu(times_s, Cluster.of_vms(catalog, num_nodes))
    gain = times_s if rule == "response time" else _tardiness_cost(workload, times_s)

    known: dict[bytes, Result] = {}

    def run(price: float) -> Result:
        with np.errstate(invalid="ignore"):
            value = np.where(np.isfinite(times_s), gain + price * cost, np.inf)
        chosen = cheapest(value)
        # Most prices of a bisection change no job's choice: the same run again.
        key = chosen.tobytes()
        if key not in known:
            known[key] = simulate(
                workload,
                cluster,
                OwnConfiguration(chosen),
                # Pools hold more GPUs than there are times for, on purpose: nothing to check there.
                check=way != "by the GPU",
                record_schedule=False,
            )
        return known[key]

    return run


def _tardiness_cost(workload: Workload, times_s: FloatArray) -> FloatArray:
    """Of each job started on arrival, by configuration."""
    slack_s = (workload.due_s - workload.submit_s)[:, None, None]
    return np.asarray(np.maximum(0.0, times_s - slack_s) * workload.weight_per_s[:, None, None])


def _within_budget(run: Callable[[float], Result], budget: float, low: float) -> Result:
    """The run at the least price from ``low`` on whose leasing cost is within the budget.

    By bisection; the one that cares for cost alone where none is within it.
    """
    best = run(low)
    if best.meters.leasing_cost <= budget:
        return best
    high = 1e9
    best = run(high)
    if best.meters.leasing_cost > budget:
        return best
    for _ in range(40):
        price = math.sqrt(low * high)
        result = run(price)
        if result.meters.leasing_cost <= budget:
            best, high = result, price
        else:
            low = price
    return best
