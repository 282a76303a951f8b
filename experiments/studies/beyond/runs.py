"""The runs: jobs on failing nodes, spot VMs, and a cluster that is filled with parts of GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.report.contents import Scale
from experiments.report.sweeps import scenario_task
from experiments.sweep.task import Outcome, Scalar, Task
from policies.fractional_gpus.packing_experiment import RULES

HERE = "experiments.studies.beyond.runs"
FILLING_SOURCES = ("simulator", "policies.fractional_gpus")
FAILING_SOURCES = ("simulator", "policies")

WORK_S, COST_S, RESTART_S = 20_000.0, 120.0, 60.0
"""Length of the jobs that save their work, the cost of a checkpoint, and of a restart, s."""

UP_S = (3600.0, 10_800.0, 43_200.0)
"""Mean times between failures, s."""

INTERVALS_S = (300.0, 600.0, 1200.0, 2400.0, 4800.0, 9600.0)
POLICIES = ("fifo-strict", "fifo-backfill", "srtf+proportional", "las+proportional")
POLICY_UP_H = (0.0, 96.0, 24.0, 6.0)
"""Mean hours between failures of a node; 0: none fails."""

SPOT_NODES = (0, 4, 8, 12, 16)
NOTICES_S = (0.0, 120.0)
SPOT_VMS = (0, 2, 5)
"""Spot VMs of the five VMs of the hierarchical paper's scenario."""

SEEDS: dict[Scale, int] = {"quick": 4, "paper": 20}
JOBS: dict[Scale, int] = {"quick": 150, "paper": 1000}
ORDERS: dict[Scale, int] = {"quick": 20, "paper": 100}
QUEUE_LOADS = (0.85, 1.0)
QUEUE_JOBS: dict[Scale, int] = {"quick": 1500, "paper": 5000}
QUEUE_SEEDS: dict[Scale, int] = {"quick": 3, "paper": 10}
AUCTION = "themis"
TENANT_POLICIES = ("fifo-backfill", "fair-share", "capacity", "finish-time-fair", AUCTION)
TENANTS = {"research": 0.6, "product": 0.3, "students": 0.1}
"""Three tenants of equal weight and quota, and how often each submits a job."""

TENANT_SEEDS: dict[Scale, int] = {"quick": 8, "paper": 40}
AUCTION_SEEDS: dict[Scale, int] = {"quick": 6, "paper": 12}
"""Fewer than of the others: auctions take their time."""

TENANT_JOBS: dict[Scale, int] = {"quick": 250, "paper": 1000}
FACTORS = {"ResNet-101": 1.11, "VGG-16": 1.47, "BERT": 2.21}
"""Published times over nodes, one node: 1 (data/network_factors.csv); racks are 1.2 times as bad."""

WAITS_S = (0.0, 300.0, 1200.0, 3600.0, 14_400.0)
PLACE_SEEDS: dict[Scale, int] = {"quick": 12, "paper": 40}
PLACE_JOBS: dict[Scale, int] = {"quick": 150, "paper": 1000}
PAIR_SHARES = ("never", "when-full", "always")
PAIR_LOADS = (0.4, 0.8, 1.2)
"""GPUs that jobs ask for while they come, alone on a GPU each, over all GPUs."""

PAIR_SEEDS: dict[Scale, int] = {"quick": 6, "paper": 40}
PAIR_JOBS: dict[Scale, int] = {"quick": 300, "paper": 1500}
ADMISSION = ("none", "downgrade", "reject")
ADMISSION_LOADS = (0.8, 1.0, 1.2, 1.4)
ADMISSION_SEEDS: dict[Scale, int] = {"quick": 6, "paper": 40}
ADMISSION_JOBS: dict[Scale, int] = {"quick": 250, "paper": 1000}
WIDTHS: dict[str, tuple[str, str | None]] = {
    "edf-shared": ("edf-shared", None),
    "edf-shared, rejecting": ("edf-shared", "reject"),
    "greedy": ("greedy", None),
    "elasticflow": ("elasticflow", "reject"),
}
"""Policies of jobs that may have any number of GPUs, and what admission control does, by label."""

WIDTH_LOADS = (0.8, 1.2, 1.6, 2.0)
WIDTH_SEEDS: dict[Scale, int] = {"quick": 4, "paper": 10}
WIDTH_JOBS: dict[Scale, int] = {"quick": 150, "paper": 500}
GUESSED_BY: dict[str, tuple[str, dict[str, Any]]] = {
    "SJF": ("sjf", {}),
    "SRTF": ("srtf+proportional", {}),
    "LAS": ("las+proportional", {}),
    "Gittins": ("gittins+proportional", {}),
    "greedy": ("greedy", {}),
    "MILP": ("milp", {"solver": "highs"}),
}
"""Policies that are shown wrong times, by label. The last two choose the GPUs of each job."""

ELASTIC = ("greedy", "MILP")
BLIND = "LAS"
"""It never looks at a predicted time: errors change nothing."""

ERRORS: dict[Scale, tuple[float, ...]] = {
    "quick": (0.0, 0.5, 1.0),
    "paper": (0.0, 0.1, 0.25, 0.5, 1.0),
}
"""Standard deviation of predicted over true time."""

GUESSED_SEEDS: dict[Scale, int] = {"quick": 4, "paper": 20}
GUESSED_JOBS: dict[Scale, int] = {"quick": 100, "paper": 250}
WHOLE = "whole GPUs"
PODS = 8152
"""As many as the trace has."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of this page."""
    seeds = range(1, SEEDS[scale] + 1)
    return [
        *(_filling(rule, scale) for rule in RULES),
        *(_saving(up, i, seed) for up in UP_S for i in INTERVALS_S for seed in seeds),
        *(_failing(p, up, seed, scale) for p in POLICIES for up in POLICY_UP_H for seed in seeds),
        *(
            _queue(rule, load, seed, scale)
            for rule in (*RULES, WHOLE)
            for load in QUEUE_LOADS
            for seed in range(1, QUEUE_SEEDS[scale] + 1)
        ),
        *(
            _run_of_tenants(policy, seed, scale)
            for policy in TENANT_POLICIES
            for seed in range(1, (AUCTION_SEEDS if policy == AUCTION else TENANT_SEEDS)[scale] + 1)
        ),
        *(
            _waiting(model, wait_s, seed, scale)
            for model in FACTORS
            for wait_s in WAITS_S
            for seed in range(1, PLACE_SEEDS[scale] + 1)
        ),
        *(
            _pairs(share, load, seed, scale)
            for share in PAIR_SHARES
            for load in PAIR_LOADS
            for seed in range(1, PAIR_SEEDS[scale] + 1)
        ),
        *(
            _admission(rule, load, seed, scale)
            for rule in ADMISSION
            for load in ADMISSION_LOADS
            for seed in range(1, ADMISSION_SEEDS[scale] + 1)
        ),
        *(
            _widths(name, load, seed, scale)
            for name in WIDTHS
            for load in WIDTH_LOADS
            for seed in range(1, WIDTH_SEEDS[scale] + 1)
        ),
        *(
            _guessed(policy, error, seed, scale)
            for policy in GUESSED_BY
            for error in _errors(policy, scale)
            for seed in range(1, GUESSED_SEEDS[scale] + 1)
        ),
        *(_spot(n, t, seed, scale) for n in SPOT_NODES for t in NOTICES_S for seed in seeds),
        *(_spot_vms(n, t, seed) for n in SPOT_VMS for t in NOTICES_S for seed in seeds),
    ]


def _filling(rule: str, scale: Scale) -> Task:
    config = {"rule": rule, "orders": ORDERS[scale], "pods": PODS, "seed": 0}
    return Task(f"{HERE}:run_filling", config, cost_s=3.0, sources=FILLING_SOURCES)


def run_filling(config: dict[str, Any]) -> Outcome:
    """GPUs allocated over GPUs asked for, one row an order of the pods and a whole percent."""
    import pandas as pd

    from policies.fractional_gpus.packing_experiment import pack
    from simulator.workloads.openb import like_openb, openb_machines

    pods = like_openb(config["pods"], np.random.default_rng(config["seed"]))
    machines = openb_machines()
    rows = []
    for order in range(config["orders"]):
        run = pack(pods, machines, config["rule"], seed=order)
        rows += [(order, load, run.allocated_at(load)) for load in range(50, 131, 2)]
    table = pd.DataFrame(rows, columns=["order", "arrived_percent", "allocated_percent"])
    return Outcome({}, {"allocated": table})


def _saving(up_s: float, interval_s: float, seed: int) -> Task:
    """Jobs one after the other on one node."""
    scenario = {
        "workload": {
            "kind": "poisson", "num_jobs": 60, "arrival_rate_per_h": 1e6,
            "duration_s": f"deterministic:{WORK_S:g}",
        },
        "cluster": {"kind": "nodes", "num_nodes": 1, "gpus_per_node": 1},
        "policy": "fifo-strict",
        "seed": seed,
        "failures": {"time_to_failure": f"exponential:{up_s:g}", "repair": "deterministic:300"},
        "checkpoints": {"interval_s": interval_s, "cost_s": COST_S, "restart_s": RESTART_S},
    }  # fmt: skip
    labels: dict[str, Scalar] = {
        "study": "saving",
        "up_s": up_s,
        "interval_s": interval_s,
        "seed": seed,
    }
    return scenario_task(scenario, labels, cost_s=0.2, sources=FAILING_SOURCES)


def _cluster_run(seed: int, scale: Scale, policy: str) -> dict[str, Any]:
    """Jobs of 1 to 16 GPUs on 16 nodes of 8 GPUs, about 70 % loaded."""
    return {
        "workload": {
            "kind": "poisson", "num_jobs": JOBS[scale], "arrival_rate_per_h": 9.6,
            "duration_s": "lognormal:14400,cv=1.5", "num_gpus": [1, 1, 1, 2, 2, 4, 8, 16],
        },
        "cluster": {"kind": "nodes", "num_nodes": 16, "price_per_hour": 10.0},
        "policy": policy,
        "seed": seed,
        "checkpoints": {"interval_s": "daly", "cost_s": COST_S, "restart_s": RESTART_S},
    }  # fmt: skip


def _failing(policy: str, up_h: float, seed: int, scale: Scale) -> Task:
    scenario = _cluster_run(seed, scale, policy)
    if up_h:
        scenario["failures"] = {
            "time_to_failure": f"exponential:{3600 * up_h:g}", "repair": "exponential:1800",
        }  # fmt: skip
    if "+" in policy:
        scenario["decisions"] = {"round_s": 300.0}
    labels: dict[str, Scalar] = {"study": "failing", "policy": policy, "up_h": up_h, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.8, sources=FAILING_SOURCES)


def _spot(nodes: int, notice_s: float, seed: int, scale: Scale) -> Task:
    scenario = _cluster_run(seed, scale, "fifo-backfill")
    return _on_spot("spot", scenario, nodes, notice_s, cost_s=0.4)


def _spot_vms(nodes: int, notice_s: float, seed: int) -> Task:
    """50 jobs on five VMs (hierarchical paper, Section V-A), the greedy method."""
    scenario: dict[str, Any] = {
        "workload": {"kind": "hierarchical", "num_nodes": 5},
        "cluster": {"kind": "vms"},
        "policy": "greedy",
        "seed": seed,
        "checkpoints": {"interval_s": 3600.0, "cost_s": COST_S, "restart_s": RESTART_S},
    }
    return _on_spot("spot VMs", scenario, nodes, notice_s, cost_s=0.2)


def _on_spot(
    study: str, scenario: dict[str, Any], nodes: int, notice_s: float, cost_s: float
) -> Task:
    """A scenario with its first nodes on spot."""
    if nodes:
        scenario["spot"] = {
            "nodes": nodes, "time_to_reclaim": "exponential:14400", "away": "exponential:3600",
            "notice_s": notice_s, "price": 0.3,
        }  # fmt: skip
    labels: dict[str, Scalar] = {
        "study": study,
        "nodes": nodes,
        "notice_s": notice_s,
        "seed": scenario["seed"],
    }
    return scenario_task(scenario, labels, cost_s=cost_s, sources=FAILING_SOURCES)


def _queue(rule: str, load: float, seed: int, scale: Scale) -> Task:
    """Pods that come and go; the first fifth of them is warm-up."""
    jobs = QUEUE_JOBS[scale]
    scenario = {
        "workload": {
            "kind": "openb-like", "num_jobs": jobs, "num_nodes": 20, "load": load,
            "duration_s": "exponential:3600",
        },
        "policy": "fifo-backfill" if rule == WHOLE else "shared",
        "policy_options": {} if rule == WHOLE else {"rule": rule},
        "seed": seed,
        "window": [jobs // 5, jobs],
    }  # fmt: skip
    labels: dict[str, Scalar] = {"study": "queue", "rule": rule, "load": load, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.5, sources=FAILING_SOURCES)


def _run_of_tenants(policy: str, seed: int, scale: Scale) -> Task:
    """Jobs of three tenants on 64 GPUs; while they come, they ask for 110 %."""
    scenario = {
        "workload": {
            "kind": "poisson", "num_jobs": TENANT_JOBS[scale], "arrival_rate_per_h": 17.6,
            "duration_s": "lognormal:7200,cv=1.5", "num_gpus": [1, 1, 2, 4],
        },
        "cluster": {"kind": "nodes", "num_nodes": 8},
        "policy": policy,
        "seed": seed,
        "tenants": {
            "draw": TENANTS, "quota": dict.fromkeys(TENANTS, 20), "borrowing": True,
        },
        "tables": ["jobs"],
    }  # fmt: skip
    labels: dict[str, Scalar] = {"study": "tenants", "policy": policy, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.6, sources=FAILING_SOURCES)


def _waiting(model: str, wait_s: float, seed: int, scale: Scale) -> Task:
    """Jobs of 1 to 8 GPUs on four racks of four nodes of four GPUs, about 75 % loaded on one node."""
    scenario = {
        "workload": {
            "kind": "poisson", "num_jobs": PLACE_JOBS[scale], "arrival_rate_per_h": 7.2,
            "duration_s": "lognormal:7200,cv=1.5", "num_gpus": [1, 1, 2, 4, 4, 8],
        },
        "cluster": {"kind": "nodes", "num_nodes": 16, "gpus_per_node": 4},
        "policy": "consolidating",
        "policy_options": {"wait_node_s": wait_s, "wait_rack_s": wait_s},
        "seed": seed,
        "network": {
            "nodes_per_rack": 4, "same_rack": FACTORS[model], "across_racks": 1.2 * FACTORS[model],
        },
    }  # fmt: skip
    labels: dict[str, Scalar] = {"study": "place", "model": model, "wait_s": wait_s, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.3, sources=FAILING_SOURCES)


def _pairs(share: str, load: float, seed: int, scale: Scale) -> Task:
    """Jobs of one GPU on four nodes of four V100; pairs are as fast as Gavel measured them."""
    models = ("resnet50", "resnet18", "transformer", "recommendation", "cyclegan")
    scenario = {
        "workload": {
            "kind": "poisson", "num_jobs": PAIR_JOBS[scale], "arrival_rate_per_h": 16 * load,
            "duration_s": "lognormal:3600,cv=1.5",
        },
        "cluster": {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4, "gpu_type": "V100"},
        "adapt": {"power": "andreas"},
        "policy": "complementary",
        "policy_options": {"share": share, "least_speed": 0.5},
        "seed": seed,
        "sharing": {
            "part": 0.5, "interference": "published", "draw": dict.fromkeys(models, 1.0),
        },
    }  # fmt: skip
    labels: dict[str, Scalar] = {"study": "pairs", "share": share, "load": load, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.3, sources=FAILING_SOURCES)


def _admission(rule: str, load: float, seed: int, scale: Scale) -> Task:
    """Jobs with due dates once to twice their time after they come, on 16 GPUs."""
    scenario: dict[str, Any] = {
        "workload": {
            "kind": "poisson", "num_jobs": ADMISSION_JOBS[scale], "arrival_rate_per_h": 8 * load,
            "duration_s": "lognormal:3600,cv=1.5", "num_gpus": [1, 1, 2, 4],
        },
        "cluster": {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4},
        "adapt": {"due": "min-2max", "weights": "printed"},
        "policy": "deadline-first",
        "seed": seed,
    }  # fmt: skip
    if rule != "none":
        scenario["admission"] = {"rule": rule}
    labels: dict[str, Scalar] = {"study": "admission", "rule": rule, "load": load, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.2, sources=FAILING_SOURCES)


def _widths(name: str, load: float, seed: int, scale: Scale) -> Task:
    """Jobs that may have any number of GPUs, due once to three times their least time after they come, on 16 GPUs.

    The load is that of the numbers of GPUs that the jobs come with, before they may choose.
    """
    policy, rule = WIDTHS[name]
    scenario: dict[str, Any] = {
        "workload": {
            "kind": "poisson", "num_jobs": WIDTH_JOBS[scale], "arrival_rate_per_h": 8 * load,
            "duration_s": "lognormal:3600,cv=1.5", "num_gpus": [1, 1, 2, 4],
        },
        "cluster": {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4},
        "adapt": {
            "models": "uniform", "speedup": "calibrated", "due": "min-3min", "weights": "printed",
        },
        "policy": policy,
        "seed": seed,
    }  # fmt: skip
    if rule is not None:
        scenario["admission"] = {"rule": rule}
    labels: dict[str, Scalar] = {"study": "widths", "policy": name, "load": load, "seed": seed}
    return scenario_task(scenario, labels, cost_s=0.2, sources=FAILING_SOURCES)


def _errors(policy: str, scale: Scale) -> tuple[float, ...]:
    """Those with which a policy is run; the MILP takes most of the time."""
    if policy == BLIND:
        return ERRORS[scale][:1]
    return ERRORS[scale][::2] if scale == "quick" and policy == "MILP" else ERRORS[scale]


def _guessed(name: str, error: float, seed: int, scale: Scale) -> Task:
    """Jobs of 1 to 8 GPUs on 16 GPUs; while they come, they ask for 110 %. Everyone decides every half an hour.

    Two factors of error, one by job and one by configuration, each with the deviation ``error``. On fixed
    demands they multiply on the same number: twice 10 % is 14 %.
    """
    policy, options = GUESSED_BY[name]
    elastic = {"speedup": "calibrated"} if name in ELASTIC else {}
    scenario: dict[str, Any] = {
        "workload": {
            "kind": "poisson", "num_jobs": GUESSED_JOBS[scale], "arrival_rate_per_h": 1.375,
            "duration_s": "lognormal:14400,cv=1.5", "num_gpus": [1, 1, 2, 4, 8],
        },
        "cluster": {"kind": "nodes", "num_nodes": 2, "price_per_hour": 8.0},
        "adapt": {"models": "uniform", "due": "factor:1.5,4", "weights": "printed", **elastic},
        "policy": policy,
        "policy_options": options,
        "decisions": {"round_s": 1800.0},
        "predictions": {"noise": error, "configuration_noise": error},
        "seed": seed,
    }  # fmt: skip
    labels: dict[str, Scalar] = {"study": "guessed", "policy": name, "error": error, "seed": seed}
    return scenario_task(scenario, labels, cost_s=1.0 if name == "MILP" else 0.1)
