"""Eight workloads and the policies that meet them, each pair as a scenario file would have it.

All policies of a cell have the same jobs, submitted at the same times with the same due dates and
weights, on as many GPUs. What a policy needs is added by ``[adapt]``: to elastic jobs a fixed
demand, to jobs of fixed demand their speed-ups. Nothing is tuned for a workload.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from experiments.report.contents import Scale

View = Literal["elastic", "fixed", "pool"]


@dataclass(frozen=True)
class Method:
    """A policy, and the form of the jobs that it decides on.

    Attributes
    ----------
    label : its name in figures.
    view : elastic jobs, jobs of fixed demand, or shares of a pool of as many GPUs.
    options : of the policy.
    extra : other keys of the scenario (rounds, controllers).
    one_gpu : it begins with one GPU a job, so every job needs a time on one; those of the traces have it.
    """

    label: str
    policy: str
    view: View
    options: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    one_gpu: bool = False


FEW = {"iterations": 100}
ROUNDS = {"decisions": {"round_s": 300.0}}
HOURLY = {"decisions": {"round_s": 3600.0}}
HOURS = {"round_s": 3600.0, "reset_s": 3600.0}
"""Rounds of the policies of shares, whose jobs here take days."""

METHODS = (
    Method("FIFO, a job a node", "fifo", "elastic"),
    Method("EDF, a job a node", "edf", "elastic"),
    Method("PS, a job a node", "ps", "elastic"),
    Method("greedy", "greedy", "elastic"),
    Method("randomised greedy", "randomised-greedy", "elastic", FEW),
    Method("local search", "local-search", "elastic", FEW),
    Method("path relinking", "path-relinking", "elastic", FEW),
    Method("MILP, central", "milp", "elastic", {"solver": "highs"}),
    Method("MILP, two controllers", "milp", "elastic", {"solver": "highs"}, {"controllers": 2}),
    Method("rental widths on nodes", "rental-on-nodes", "elastic"),
    Method("foresight", "foresight", "elastic"),
    Method("Optimus", "optimus", "elastic", one_gpu=True),
    Method("AFS", "afs", "elastic", one_gpu=True),
    Method("Pollux", "pollux", "elastic", extra=HOURLY, one_gpu=True),
    Method("Sia", "sia", "elastic", extra=HOURLY, one_gpu=True),
    Method("EDF, elastic", "edf-elastic", "elastic", one_gpu=True),
    Method("FIFO", "fifo-strict", "fixed"),
    Method("FIFO, backfill", "fifo-backfill", "fixed"),
    Method("EDF, backfill", "edf-backfill", "fixed"),
    Method("SRTF, proportional", "srtf+proportional", "fixed", extra=ROUNDS),
    Method("LAS, proportional", "las+proportional", "fixed", extra=ROUNDS),
    Method("Gittins, proportional", "gittins+proportional", "fixed", extra=ROUNDS),
    Method("FTF, proportional", "ftf+proportional", "fixed", extra=ROUNDS),
    Method("FIFO, tune", "fifo+tune", "fixed", extra=ROUNDS),
    Method("SRTF, greedy CPUs", "srtf+greedy", "fixed", extra=ROUNDS),
    Method("SRTF, tune", "srtf+tune", "fixed", extra=ROUNDS),
    Method("SRTF, opt", "srtf+opt", "fixed", extra=ROUNDS),
    Method("LAS, tune", "las+tune", "fixed", extra=ROUNDS),
    Method("DRF, tune", "drf+tune", "fixed", extra=ROUNDS),
    Method("Tetris, tune", "tetris+tune", "fixed", extra=ROUNDS),
    Method("Tiresias", "tiresias", "fixed"),
    Method("Gandiva-fair", "gandiva-fair", "fixed", HOURS),
    Method("max-min shares", "max-min-fairness", "fixed", HOURS),
    Method("FTF shares", "finish-time-fairness", "fixed", HOURS),
    Method("max-throughput shares", "max-throughput", "fixed", HOURS),
    Method("min-makespan shares", "min-makespan", "fixed", HOURS),
    Method("min-cost shares", "min-cost", "fixed", HOURS),
    Method("hierarchical shares", "hierarchical-fairness", "fixed", HOURS),
    Method("AlloX", "allox", "fixed", {"round_s": 3600.0}),
    Method("Shockwave", "shockwave", "fixed", {"round_s": 3600.0}),
    Method("fixed widths, pool", "rental-fixed-width", "pool"),
    Method("EQUI, pool", "rental-equi", "pool"),
    Method("SRPT, pool", "rental-srpt", "pool"),
    Method("heSRPT, pool", "rental-hesrpt", "pool"),
)
"""In the order of the figures."""

LOADS: dict[Scale, tuple[float, ...]] = {"quick": (0.8,), "paper": (0.5, 0.8, 1.1)}
"""Work that is submitted in an hour over what the GPUs do in an hour, roughly: see `WORKLOADS`."""

NODES: dict[Scale, int] = {"quick": 2, "paper": 4}
JOBS_PER_NODE: dict[Scale, int] = {"quick": 15, "paper": 20}

HIERARCHICAL: dict[str, dict[str, Any]] = {
    "hierarchical": {},
    "2020 family": {"arrivals": "poisson-distributed", "weights": "released"},
    "2021 family": {"due": "min-3min", "weights": "released"},
}
"""The hierarchical paper's random jobs, and the settings of the authors' two public generators.

On nodes of eight GTX 1080Ti. At load 0.5 jobs come as often as in the paper.
"""

ANDREAS = {"ANDREAS 1": 1, "ANDREAS 2": 2}
"""Scenarios of the paper; low, mixed and high arrivals stand for the three loads."""

TRACES: dict[str, tuple[dict[str, Any], float]] = {
    "Synergy, 1 GPU": ({"kind": "synergy"}, 0.480),
    "Synergy, multi-GPU": ({"kind": "synergy", "multi_gpu": True}, 0.332),
    "Philly-like": ({"kind": "philly-like"}, 0.337),
}
"""Jobs per hour and node of eight V100 that make a load of 1, from the mean GPU-hours of a job.

Measured over 200,000 jobs: 16.7 h on one GPU, 24.1 GPU-h with several; Philly-like ones 23.7 GPU-h.
"""

WORKLOADS = (*HIERARCHICAL, *ANDREAS, *TRACES)

PRICE_PER_GPU_HOUR = 1.0
"""Of the nodes of traces, which have no price of their own."""


def scenario_of(workload: str, method: Method, load: float, scale: Scale) -> dict[str, Any] | None:
    """One pair as a scenario, without seed; None where it makes no sense."""
    if workload in ANDREAS and not _on_two_types(method):
        return None
    if method.one_gpu and workload not in TRACES:
        return None
    raw, fixed_here = _jobs(workload, load, scale)
    adapt = dict(raw.pop("adapt"))
    if method.view == "fixed" and not fixed_here:
        adapt |= {"demand": "cheapest", "models": [20.0, 70.0, 10.0], "sensitivity": "synergy"}
    if method.view == "elastic" and fixed_here:
        adapt |= {"speedup": "calibrated"}
    options = dict(method.options)
    if method.view == "pool":
        machines = raw["cluster"]
        gpus = machines["num_nodes"] * machines["gpus_per_node"]
        price = machines["price_per_hour"] / machines["gpus_per_node"]
        raw["cluster"] = {"kind": "pool", "price_per_gpu_hour": price}
        adapt |= {"speedup_curve": "calibrated"}
        if method.policy != "rental-fixed-width":
            options["gpus"] = float(gpus)
    extra = dict(method.extra)
    controllers = extra.pop("controllers", None)
    if controllers is not None:
        raw["cluster"] = {**raw["cluster"], "num_controllers": controllers}
    return {**raw, **extra, "adapt": adapt, "policy": method.policy, "policy_options": options}


def _on_two_types(method: Method) -> bool:
    """True where a method makes sense on ANDREAS's V100 and T4 nodes: one controller, elastic jobs."""
    return (
        method.view == "elastic"
        and method.policy != "rental-on-nodes"
        and "controllers" not in method.extra
    )


def _jobs(workload: str, load: float, scale: Scale) -> tuple[dict[str, Any], bool]:
    """Workload, machines and additions that all policies share; whether demands are fixed."""
    nodes, jobs = NODES[scale], JOBS_PER_NODE[scale]
    if workload in HIERARCHICAL:
        return {
            "workload": {
                "kind": "hierarchical",
                "num_nodes": nodes,
                "jobs_per_node": jobs,
                "mean_gap_s": 45_000.0 * 0.5 / load,
                **HIERARCHICAL[workload],
            },
            "cluster": {**_servers(nodes), "gpu_type": "GTX 1080Ti", "price_per_hour": 1.13},
            "adapt": {},
        }, False
    if workload in ANDREAS:
        arrivals = {0.5: "low", 0.8: "mixed", 1.1: "high"}[load]
        return {
            "workload": {
                "kind": "andreas",
                "num_nodes": 2 * nodes,
                "jobs_per_node": jobs // 2,
                "scenario": ANDREAS[workload],
                "arrivals": arrivals,
            },
            "cluster": {"kind": "instance"},
            "adapt": {},
        }, False
    kind, rate = TRACES[workload]
    return {
        "workload": {**kind, "num_jobs": 2 * nodes * jobs, "jobs_per_hour": load * rate * nodes},
        "cluster": {**_servers(nodes), "price_per_hour": 8 * PRICE_PER_GPU_HOUR},
        "adapt": {"due": "factor:1.5,4", "weights": "printed"},
    }, True


def _servers(nodes: int) -> dict[str, Any]:
    return {
        "kind": "nodes",
        "num_nodes": nodes,
        "gpus_per_node": 8,
        "cpus_per_node": 24.0,
        "memory_gb_per_node": 500.0,
    }
