"""Studies of what the papers left open, each as scenarios.

A question is a study; its labels say what is swept. ``schedlab run`` repeats any one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.report.contents import Scale
from experiments.report.sweeps import Labels, study
from experiments.studies.cross import controllers
from experiments.sweep.task import Scalar

SEEDS: dict[Scale, int] = {"quick": 5, "paper": 10}
FEW_SEEDS: dict[Scale, int] = {"quick": 3, "paper": 10}
TRACE_SEEDS: dict[Scale, int] = {"quick": 10, "paper": 20}
"""Seeds of the studies on heavy-tailed traces, whose runs are short."""
NODES: dict[Scale, int] = {"quick": 8, "paper": 20}
MILP_NODES: dict[Scale, int] = {"quick": 4, "paper": 8}
"""Sizes of the studies whose decisions are the MILP's: a run takes some ten times as long on 20 nodes as on 8, and is compared with itself."""
BOUND_NODES: dict[Scale, int] = {"quick": 5, "paper": 10}

DISPATCHERS = (
    "round-robin",
    "random",
    "join-shortest-queue",
    "power-of-two",
    "least-work-left",
    "least-tardiness",
    "size-interval",
)
ERRORS: dict[Scale, tuple[float, ...]] = {
    "quick": (0.0, 0.1, 0.5),
    "paper": (0.0, 0.1, 0.2, 0.3, 0.5),
}
ON_TIMES: dict[str, dict[str, Any]] = {
    "SRTF": {"policy": "srtf+proportional"},
    "SRTF, learned": {"policy": "srtf+proportional", "learned": True},
    "LAS": {"policy": "las+proportional"},
    "Gittins": {"policy": "gittins+proportional"},
    "SJF by history": {"policy": "history+proportional"},
}
BLIND = ("LAS", "SJF by history")
"""Policies that never read a predicted time: errors change nothing."""
ON_TABLES: dict[str, dict[str, Any]] = {
    "EDF": {"policy": "edf"},
    "greedy": {"policy": "greedy"},
    "greedy, learned": {"policy": "greedy", "learned": True},
    "MILP": {"policy": "milp", "policy_options": {"solver": "highs"}},
}
DELAYS_S: dict[Scale, tuple[float, ...]] = {
    "quick": (0.0, 300.0, 900.0, 1800.0),
    "paper": (0.0, 60.0, 300.0, 600.0, 900.0, 1800.0),
}
MOVED: dict[str, dict[str, Any]] = {
    "SRTF, rounds of 5 min": {"policy": "srtf+proportional", "decisions": {"round_s": 300.0}},
    "SRTF, rounds of 1 h": {"policy": "srtf+proportional", "decisions": {"round_s": 3600.0}},
    "LAS, rounds of 5 min": {"policy": "las+proportional", "decisions": {"round_s": 300.0}},
    "LAS, rounds of 1 h": {"policy": "las+proportional", "decisions": {"round_s": 3600.0}},
    "SRTF, hysteresis": {
        "policy": "srtf+proportional@hysteresis", "decisions": {"round_s": 300.0},
    },
    "LAS, hysteresis": {
        "policy": "las+proportional@hysteresis", "decisions": {"round_s": 300.0},
    },
    "FIFO, backfill": {"policy": "fifo-backfill"},
}  # fmt: skip
"""The hysteresis reads remaining times, which LAS alone does not know."""
MOVED_ELASTIC: dict[str, dict[str, Any]] = {
    "greedy, every event": {"policy": "greedy"},
    "greedy, every 4 h": {"policy": "greedy", "decisions": {"round_s": 14400.0}},
    "greedy, hysteresis": {"policy": "greedy@hysteresis"},
    "EDF": {"policy": "edf"},
}
WITH_HYSTERESIS = {
    "SRTF, hysteresis": "SRTF, rounds of 5 min",
    "LAS, hysteresis": "LAS, rounds of 5 min",
    "greedy, hysteresis": "greedy, every event",
}
"""Each method with hysteresis, and the same without."""
PERIODS_S: dict[Scale, tuple[float, ...]] = {
    "quick": (60.0, 900.0, 3600.0, 7200.0),
    "paper": (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0),
}
EVENTS = 0.0
"""The period that stands for decisions at events."""
BOUNDED: dict[str, dict[str, Any]] = {
    "FIFO": {"policy": "fifo"},
    "EDF": {"policy": "edf"},
    "greedy": {"policy": "greedy"},
    "local search": {"policy": "local-search", "policy_options": {"iterations": 100}},
    "MILP": {"policy": "milp", "policy_options": {"solver": "highs"}},
}
BOTH = {"speedup": "calibrated", "sensitivity": "synergy"}
FIXED_OR_ELASTIC: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "fixed, FIFO": ("fifo-backfill", {}, {}),
    "fixed, SRTF": ("srtf+proportional", {"round_s": 300.0}, {}),
    "fixed, SRTF, tune": ("srtf+tune", {"round_s": 300.0}, {"sensitivity": "synergy"}),
    "elastic, FIFO widths": ("rental-on-nodes", {}, {"speedup": "calibrated"}),
    "elastic, greedy": ("greedy", {}, {"speedup": "calibrated"}),
    "elastic, FIFO widths, tune": ("rental-on-nodes@tune", {}, BOTH),
    "elastic, greedy, tune": ("greedy@tune", {}, BOTH),
    "elastic, EDF": ("edf", {}, {"speedup": "calibrated"}),
}
"""By label: policy, decisions, and what is added. Elastic jobs without a sensitivity have the same times as
those with one at their proportional share."""
TRACE_LOADS: dict[Scale, tuple[float, ...]] = {"quick": (0.5, 0.9), "paper": (0.3, 0.5, 0.7, 0.9)}


@dataclass(frozen=True)
class Run:
    """One simulation of a question."""

    study: str
    labels: dict[str, Scalar]
    scenario: dict[str, Any]


def runs_of_studies(scale: Scale) -> list[Run]:
    """All of them."""
    in_python = [
        Run(q.study, {**q.labels, "seed": seed}, {**q.scenario, "seed": seed})
        for study_of in (_controllers, _predictions, _delays, _elasticity)
        for q in study_of(scale)
        for seed in range(1, _seeds(q, scale) + 1)
    ]
    return [*_dispatching(scale), *in_python, *_periods(scale)]


def _seeds(run: Run, scale: Scale) -> int:
    if run.labels.get("method") == "MILP" or run.study in ("delays", "controllers"):
        return FEW_SEEDS[scale]
    return TRACE_SEEDS[scale] if run.study == "elasticity" else SEEDS[scale]


# -- what they have in common ----------------------------------------------------------------


def hierarchical_vms(scale: Scale, load: float, nodes: int | None = None) -> dict[str, Any]:
    """The hierarchical paper's jobs on its VMs; at load 0.5 they come as often as there."""
    nodes = nodes or NODES[scale]
    return {
        "workload": {
            "kind": "hierarchical",
            "num_nodes": nodes,
            "jobs_per_node": 10,
            "mean_gap_s": 45_000.0 * 0.5 / load,
            "weights": "released",
        },
        "cluster": {"kind": "vms"},
    }


def trace(scale: Scale, load: float, adapt: dict[str, Any] | None = None) -> dict[str, Any]:
    """Synergy's derived jobs of several GPUs on servers of eight, at an offered load."""
    nodes = max(2, NODES[scale] // 4)
    return {
        "workload": {
            "kind": "synergy",
            "multi_gpu": True,
            "num_jobs": 50 * nodes,
            "jobs_per_hour": 1.0,
        },
        "cluster": {
            "kind": "nodes",
            "num_nodes": nodes,
            "gpus_per_node": 8,
            "cpus_per_node": 24.0,
            "memory_gb_per_node": 500.0,
            "price_per_hour": 8.0,
        },
        "adapt": {"due": "factor:1.5,4", "weights": "printed", "load": load, **(adapt or {})},
    }


# -- the studies -----------------------------------------------------------------------------


def _dispatching(scale: Scale) -> Iterator[Run]:
    """Seven rules by load, controllers and policy."""

    def labels(swept: Labels) -> dict[str, Scalar]:
        return {
            "rule": swept["dispatcher"],
            "controllers": swept["cluster.num_controllers"],
            "load": 0.5 * 45_000.0 / float(swept["workload.mean_gap_s"] or 0),
            "policy": swept["policy"],
            "seed": swept["seed"],
        }

    solvers = ("greedy",) if scale == "quick" else ("greedy", "milp")
    changes = {"workload.num_nodes": NODES[scale]}
    for run in _of_file("dispatching", "dispatching", labels, changes, scale):
        if run.labels["policy"] not in solvers:
            continue
        if run.labels["policy"] == "milp":
            few = {**run.scenario["workload"], "num_nodes": MILP_NODES[scale]}
            run = replace(run, scenario={**run.scenario, "workload": few})
        yield run


def _of_file(
    name: str,
    file: str,
    labels: Callable[[Labels], dict[str, Scalar]],
    changes: dict[str, Any],
    scale: Scale,
) -> Iterator[Run]:
    """The runs of a sweep file of this folder, seeds included."""
    path = Path(__file__).with_name(f"{file}.toml")
    for task in study(path, labels, changes=changes):
        if int(task.columns()["seed"] or 0) <= SEEDS[scale]:
            yield Run(name, task.columns(), dict(task.config))


def _controllers(scale: Scale) -> Iterator[Run]:
    """From one controller to one a node, by load, by what a decision takes, and by servers."""
    for load in controllers.LOADS:
        for labels, count, server in controllers.settings(scale, NODES[scale], load):
            base = hierarchical_vms(scale, load)
            base["cluster"] = {"kind": "vms", "num_controllers": count}
            if server is not None:
                base["server"] = server
            yield Run("controllers", labels, {**base, "policy": "greedy"})


def _predictions(scale: Scale) -> Iterator[Run]:
    """Errors of predicted execution times: noise by job and configuration, and bias."""
    for error in ERRORS[scale]:
        for kind in ("noise", "bias"):
            for label, method in {**ON_TIMES, **ON_TABLES}.items():
                spec = dict(method)
                learned = spec.pop("learned", False)
                if label in BLIND and (error or kind == "bias"):
                    continue
                if label in ON_TIMES:
                    base = trace(scale, 0.9)
                    base["decisions"] = {"round_s": 300.0}
                elif label == "MILP":
                    base = hierarchical_vms(scale, 0.5, MILP_NODES[scale])
                    base["workload"]["jobs_per_node"] = 8 if scale == "quick" else 10
                else:
                    base = hierarchical_vms(scale, 0.5)
                wrong: dict[str, Any] = {"learned": learned} if error else {}
                if error:
                    wrong[kind] = error
                if error and kind == "noise":
                    wrong["configuration_noise"] = error
                labels: dict[str, Scalar] = {"method": label, "error": error, "kind": kind}
                yield Run("predictions", labels, {**base, **spec, "predictions": wrong})


def _delays(scale: Scale) -> Iterator[Run]:
    """Cost of a reconfiguration delay by policy."""
    for delay_s in DELAYS_S[scale]:
        for label, method in {**MOVED, **MOVED_ELASTIC}.items():
            base = trace(scale, 0.9) if label in MOVED else hierarchical_vms(scale, 0.5)
            labels: dict[str, Scalar] = {"method": label, "delay_s": delay_s}
            yield Run("delays", labels, {**base, **method, "reconfiguration_s": delay_s})


def _periods(scale: Scale) -> Iterator[Run]:
    """Decisions at events, or every so often."""
    names = {"greedy": "greedy", "edf": "EDF"}

    def labels(swept: Labels) -> dict[str, Scalar]:
        return {
            "method": names.get(str(swept.get("policy")), "SRTF"),
            "period_s": float(swept.get("decisions.round_s") or EVENTS),
            "seed": swept["seed"],
        }

    machines = max(2, NODES[scale] // 4)
    servers = {"cluster.num_nodes": machines, "workload.num_jobs": 50 * machines}
    for file, changes in (
        ("periods_elastic", {"workload.num_nodes": NODES[scale]}),
        ("periods_trace", servers),
    ):
        for run in _of_file("periods", file, labels, changes, scale):
            if run.labels["period_s"] in (EVENTS, *PERIODS_S[scale]):
                yield run


def _elasticity(scale: Scale) -> Iterator[Run]:
    """The same trace with its own demands, and with speed-ups."""
    for load in TRACE_LOADS[scale]:
        for label, (policy, decisions, adapt) in FIXED_OR_ELASTIC.items():
            plain = {"sensitivity": "none"} if not adapt else {}
            # The load is that of the trace's own demands: submissions are the same for all.
            base = trace(scale, load, {**plain, **adapt})
            base["workload"]["jobs_per_hour"] = load * JOBS_PER_HOUR_AND_NODE * _nodes(base)
            del base["adapt"]["load"]
            labels: dict[str, Scalar] = {"method": label, "load": load}
            more: dict[str, Any] = {"policy": policy}
            if decisions:
                more["decisions"] = decisions
            yield Run("elasticity", labels, {**base, **more})


JOBS_PER_HOUR_AND_NODE = 8 / 24.1
"""Jobs of several GPUs that make a load of 1 on a node of eight: 24.1 GPU-hours each on average."""


def _nodes(base: dict[str, Any]) -> int:
    return int(base["cluster"]["num_nodes"])
