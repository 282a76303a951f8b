"""The runs: jobs on failing nodes, spot VMs, and a cluster that is filled with parts of GPUs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.report.contents import Scale
from experiments.report.sweeps import scenario_task
from experiments.sweep.task import Outcome, Scalar, Task
from policies.fractional_gpus.state import RULES
from policies.naming import PolicyName

HERE = "experiments.studies.beyond.runs"
FILLING_SOURCES = ("simulator", "policies.fractional_gpus")
Keys = dict[str, Any]
"""Of a scenario."""
Axes = Mapping[str, Sequence[Scalar]]
"""Values by name; the names are the labels of a run."""

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

QUEUE_LOADS = (0.85, 1.0)
AUCTION = "themis"
TENANT_POLICIES = ("fifo-backfill", "fair-share", "capacity", "finish-time-fair", AUCTION)
TENANTS = {"research": 0.6, "product": 0.3, "students": 0.1}
"""Three tenants of equal weight and quota, and how often each submits a job."""

FACTORS = {"ResNet-101": 1.11, "VGG-16": 1.47, "BERT": 2.21}
"""Published times over nodes, one node: 1 (data/network_factors.csv); racks are 1.2 times as bad."""

WAITS_S = (0.0, 300.0, 1200.0, 3600.0, 14_400.0)
PAIR_SHARES = ("never", "when-full", "always")
PAIR_LOADS = (0.4, 0.8, 1.2)
"""GPUs that jobs ask for while they come, alone on a GPU each, over all GPUs."""

ADMISSION = ("none", "downgrade", "reject")
ADMISSION_LOADS = (0.8, 1.0, 1.2, 1.4)
WIDTHS: dict[str, tuple[str, str]] = {
    "edf-shared": ("edf-shared", "none"),
    "edf-shared, rejecting": ("edf-shared", "reject"),
    "greedy": ("greedy", "none"),
    "elasticflow": ("elasticflow", "reject"),
}
"""Policies of jobs that may have any number of GPUs, and what admission control does, by label."""

WIDTH_LOADS = (0.8, 1.2, 1.6, 2.0)
GUESSED_BY: dict[str, tuple[str, Keys]] = {
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

WHOLE = "whole GPUs"
PODS = 8152
"""As many as the trace has."""


@dataclass(frozen=True)
class Study:
    """Runs of one scenario over some axes.

    Attributes
    ----------
    scenario : from a number of jobs and a value of each axis to a scenario without its seed.
    seeds, jobs : how many, at the quick and at the paper's scale.
    """

    name: str
    scenario: Callable[..., Keys]
    axes: Axes
    seeds: tuple[int, int]
    jobs: tuple[int, int]
    cost_s: float = 0.3

    def tasks(self, scale: Scale) -> list[Task]:
        """Every setting with every seed."""
        paper = scale == "paper"
        return [
            scenario_task(
                {**self.scenario(self.jobs[paper], **setting), "seed": seed},
                {"study": self.name, **setting, "seed": seed},
                cost_s=self.cost_s,
            )
            for values in itertools.product(*self.axes.values())
            for setting in [dict(zip(self.axes, values, strict=True))]
            for seed in range(1, self.seeds[paper] + 1)
        ]


def tasks(scale: Scale) -> list[Task]:
    """Every run of this page."""
    orders = 100 if scale == "paper" else 20
    filled = [
        Task(
            f"{HERE}:run_filling",
            {"rule": rule, "orders": orders, "pods": PODS, "seed": 0},
            cost_s=3.0,
            sources=FILLING_SOURCES,
        )
        for rule in RULES
    ]
    return [*filled, *(task for study in studies(scale) for task in study.tasks(scale))]


def studies(scale: Scale) -> list[Study]:
    """All of them; of an auction fewer seeds than of others, since auctions take their time."""
    spot: Axes = {"nodes": SPOT_NODES, "notice_s": NOTICES_S}
    failing: Axes = {"policy": POLICIES, "up_h": POLICY_UP_H}
    queue: Axes = {"rule": (*RULES, WHOLE), "load": QUEUE_LOADS}
    place: Axes = {"model": tuple(FACTORS), "wait_s": WAITS_S}
    pairs: Axes = {"share": PAIR_SHARES, "load": PAIR_LOADS}
    admission: Axes = {"rule": ADMISSION, "load": ADMISSION_LOADS}
    widths: Axes = {"policy": tuple(WIDTHS), "load": WIDTH_LOADS}
    return [
        Study("saving", _saving, {"up_s": UP_S, "interval_s": INTERVALS_S}, (4, 20), (60, 60), 0.2),
        Study("failing", _failing, failing, (4, 20), (150, 1000), 0.8),
        Study("queue", _queue, queue, (3, 10), (1500, 5000), 0.5),
        Study("tenants", _tenants, {"policy": TENANT_POLICIES[:-1]}, (8, 40), (250, 1000), 0.6),
        Study("tenants", _tenants, {"policy": (AUCTION,)}, (6, 12), (250, 1000), 0.6),
        Study("place", _place, place, (12, 40), (150, 1000)),
        Study("pairs", _pairs, pairs, (6, 40), (300, 1500)),
        Study("admission", _admission, admission, (6, 40), (250, 1000), 0.2),
        Study("widths", _widths, widths, (4, 10), (150, 500), 0.2),
        *(_guessed_by(name, scale) for name in GUESSED_BY),
        Study("spot", _spot, spot, (4, 20), (150, 1000), 0.4),
        Study("spot VMs", _spot_vms, {**spot, "nodes": SPOT_VMS}, (4, 20), (50, 50), 0.2),
    ]


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


# -- scenarios -------------------------------------------------------------------------------


def _poisson(jobs: int, rate_per_h: float, duration_s: str, *gpus: int) -> Keys:
    """Jobs of these numbers of GPUs; of one where none is given."""
    kind = {"kind": "poisson", "num_jobs": jobs, "arrival_rate_per_h": rate_per_h}
    return {**kind, "duration_s": duration_s, **({"num_gpus": [*gpus]} if gpus else {})}


def _checkpoints(interval_s: float | str) -> Keys:
    return {"interval_s": interval_s, "cost_s": COST_S, "restart_s": RESTART_S}


def _saving(jobs: int, up_s: float, interval_s: float) -> Keys:
    """Jobs one after the other on one node."""
    return {
        "workload": _poisson(jobs, 1e6, f"deterministic:{WORK_S:g}"),
        "cluster": {"kind": "nodes", "num_nodes": 1, "gpus_per_node": 1},
        "policy": "fifo-strict",
        "failures": {"time_to_failure": f"exponential:{up_s:g}", "repair": "deterministic:300"},
        "checkpoints": _checkpoints(interval_s),
    }


def _cluster_run(jobs: int, policy: str) -> Keys:
    """Jobs of 1 to 16 GPUs on 16 nodes of 8 GPUs, about 70 % loaded."""
    return {
        "workload": _poisson(jobs, 9.6, "lognormal:14400,cv=1.5", 1, 1, 1, 2, 2, 4, 8, 16),
        "cluster": {"kind": "nodes", "num_nodes": 16, "price_per_hour": 10.0},
        "policy": policy,
        "checkpoints": _checkpoints("daly"),
    }


def _failing(jobs: int, policy: str, up_h: float) -> Keys:
    scenario = _cluster_run(jobs, policy)
    if up_h:
        up = f"exponential:{3600 * up_h:g}"
        scenario["failures"] = {"time_to_failure": up, "repair": "exponential:1800"}
    if PolicyName.parse(policy).mechanism:
        scenario["decisions"] = {"round_s": 300.0}
    return scenario


def _spot(jobs: int, nodes: int, notice_s: float) -> Keys:
    return _cluster_run(jobs, "fifo-backfill") | _on_spot(nodes, notice_s)


def _spot_vms(jobs: int, nodes: int, notice_s: float) -> Keys:
    """Ten jobs for each of five VMs (hierarchical paper, Section V-A), the greedy method."""
    return {
        "workload": {"kind": "hierarchical", "num_nodes": jobs // 10},
        "cluster": {"kind": "vms"},
        "policy": "greedy",
        "checkpoints": _checkpoints(3600.0),
        **_on_spot(nodes, notice_s),
    }


def _on_spot(nodes: int, notice_s: float) -> Keys:
    """The first nodes on spot."""
    times = {"time_to_reclaim": "exponential:14400", "down": "exponential:3600"}
    spot = {"nodes": nodes, **times, "notice_s": notice_s, "price": 0.3}
    return {"spot": spot} if nodes else {}


def _queue(jobs: int, rule: str, load: float) -> Keys:
    """Pods that come and go; the first fifth of them is warm-up."""
    pods = {"kind": "openb-like", "num_jobs": jobs, "num_nodes": 20, "load": load}
    return {
        "workload": {**pods, "duration_s": "exponential:3600"},
        "policy": "fifo-backfill" if rule == WHOLE else "shared",
        "policy_options": {} if rule == WHOLE else {"rule": rule},
        "window": [jobs // 5, jobs],
    }


def _tenants(jobs: int, policy: str) -> Keys:
    """Jobs of three tenants on 64 GPUs; while they come, they ask for 110 %."""
    return {
        "workload": _poisson(jobs, 17.6, "lognormal:7200,cv=1.5", 1, 1, 2, 4),
        "cluster": {"kind": "nodes", "num_nodes": 8},
        "policy": policy,
        "tenants": {"draw": TENANTS, "quota": dict.fromkeys(TENANTS, 20), "borrowing": True},
        "tables": ["jobs"],
    }


def _place(jobs: int, model: str, wait_s: float) -> Keys:
    """Jobs of 1 to 8 GPUs on four racks of four nodes of four GPUs, about 75 % loaded on one node."""
    factor = FACTORS[model]
    return {
        "workload": _poisson(jobs, 7.2, "lognormal:7200,cv=1.5", 1, 1, 2, 4, 4, 8),
        "cluster": {"kind": "nodes", "num_nodes": 16, "gpus_per_node": 4, "nodes_per_rack": 4},
        "policy": "consolidating",
        "policy_options": {"wait_node_s": wait_s, "wait_rack_s": wait_s},
        "network": {"same_rack": factor, "across_racks": 1.2 * factor},
    }


def _pairs(jobs: int, share: str, load: float) -> Keys:
    """Jobs of one GPU on four nodes of four V100; pairs are as fast as Gavel measured them."""
    models = ("resnet50", "resnet18", "transformer", "recommendation", "cyclegan")
    draw = dict.fromkeys(models, 1.0)
    return {
        "workload": _poisson(jobs, 16 * load, "lognormal:3600,cv=1.5"),
        "cluster": {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4, "gpu_type": "V100"},
        "adapt": {"power": "andreas"},
        "policy": "complementary",
        "policy_options": {"share": share, "least_speed": 0.5},
        "colocation": {"part": 0.5, "interference": "published", "draw": draw},
    }


def _due(jobs: int, policy: str, rule: str, load: float, adapt: Keys) -> Keys:
    """Jobs with due dates on 16 GPUs, all admitted or by a rule."""
    return {
        "workload": _poisson(jobs, 8 * load, "lognormal:3600,cv=1.5", 1, 1, 2, 4),
        "cluster": {"kind": "nodes", "num_nodes": 4, "gpus_per_node": 4},
        "adapt": {"weights": "printed", **adapt},
        "policy": policy,
        **({} if rule == "none" else {"admission": {"rule": rule}}),
    }


def _admission(jobs: int, rule: str, load: float) -> Keys:
    """Jobs with due dates once to twice their time after they come."""
    return _due(jobs, "deadline-first", rule, load, {"due": "min-2max"})


def _widths(jobs: int, policy: str, load: float) -> Keys:
    """Jobs that may have any number of GPUs, due once to three times their least time after they come.

    The load is that of the numbers of GPUs that the jobs come with, before they may choose.
    """
    elastic = {"models": "uniform", "speedup": "calibrated", "due": "min-3min"}
    return _due(jobs, *WIDTHS[policy], load, elastic)


def _guessed_by(policy: str, scale: Scale) -> Study:
    """A policy with the errors that change something for it; the MILP takes most of the time."""
    errors, milp = ERRORS[scale], policy == "MILP"
    if policy == BLIND:
        errors = errors[:1]
    elif milp and scale == "quick":
        errors = errors[::2]
    axes: Axes = {"policy": (policy,), "error": errors}
    return Study("guessed", _guessed, axes, (4, 20), (100, 250), 1.0 if milp else 0.1)


def _guessed(jobs: int, policy: str, error: float) -> Keys:
    """Jobs of 1 to 8 GPUs on 16 GPUs; while they come, they ask for 110 %. Everyone decides every half an hour.

    Two factors of error, one by job and one by configuration, each with the deviation ``error``. On fixed
    demands they multiply on the same number: twice 10 % is 14 %.
    """
    name, options = GUESSED_BY[policy]
    elastic = {"speedup": "calibrated"} if policy in ELASTIC else {}
    return {
        "workload": _poisson(jobs, 1.375, "lognormal:14400,cv=1.5", 1, 1, 2, 4, 8),
        "cluster": {"kind": "nodes", "num_nodes": 2, "price_per_hour": 8.0},
        "adapt": {"models": "uniform", "due": "factor:1.5,4", "weights": "printed", **elastic},
        "policy": name,
        "policy_options": options,
        "decisions": {"round_s": 1800.0},
        "predictions": {"noise": error, "configuration_noise": error},
    }
