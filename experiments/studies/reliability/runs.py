"""The runs: one job of 4,096 servers, with the parameters of AIReSim's reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.pages import Experiment, Outcome, Scalar, Scale, Task
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate
from simulator.features.failures import Checkpoints, Failures, Reliability
from simulator.laws import Exponential
from simulator.model.cluster import SECONDS_PER_DAY as DAY_S
from simulator.model.cluster import SECONDS_PER_HOUR as HOUR_S

HERE = "experiments.studies.reliability.runs"
SOURCES = ("simulator", "policies.queues.list_scheduling")

SIZE, SPARE = 4096, 200
DEFAULTS: dict[str, Any] = {
    "time_to_failure_s": 100 * DAY_S, "bad_fraction": 0.15, "bad_factor": 5.0, "standbys": 16, "spare_nodes": SPARE,
    "host_selection_s": 180.0, "preemption_s": 1200.0, "auto_repair": Exponential(2 * HOUR_S),
    "manual_repair": Exponential(48 * HOUR_S), "to_manual": 0.8, "auto_fails": 0.4, "manual_fails": 0.2,
    "retire_window_s": 7 * DAY_S,
}  # fmt: skip
HOSTILE = DEFAULTS | {
    "time_to_failure_s": 50 * DAY_S, "bad_fraction": 0.08, "bad_factor": 20.0, "auto_fails": 0.6, "manual_fails": 0.75,
}  # fmt: skip
"""The regime in which it pays to retire servers."""
SETTINGS: dict[str, tuple[dict[str, Any], int, float, float]] = {
    "defaults": (DEFAULTS, 4160, 6144.0, 1200.0),
    "hostile": (HOSTILE, 4600, 336.0, 3600.0),
}
"""Servers and their failures, number of them beside the spare ones, hours of work, seconds of a restart."""
RETIRE_AFTER = (2, 3)
FACTORS = (1.0, 2.0, 5.0, 10.0, 15.0, 25.0)
RUNS: dict[Scale, tuple[int, int]] = {"quick": (3, 3), "paper": (30, 8)}
"""Of the defaults, and of each point of the other regime: the published numbers of runs at paper scale."""


def tasks(scale: Scale) -> list[Task]:
    """Every run of the page."""
    points: list[dict[str, Scalar]] = [{}]
    points += [{"retire_after": count} for count in RETIRE_AFTER]
    points += [{"bad_factor": factor} for factor in FACTORS]
    of_defaults, of_point = RUNS[scale]
    cells: list[tuple[str, dict[str, Scalar], int]] = [
        ("defaults", {}, seed) for seed in range(1, of_defaults + 1)
    ]
    cells += [("hostile", point, seed) for point in points for seed in range(1, of_point + 1)]
    return [
        Task(
            f"{HERE}:run_job",
            {"setting": setting, "change": change, "seed": seed},
            labels={
                "setting": setting,
                "retire_after": 0,
                "bad_factor": 0.0,
                **change,
                "seed": seed,
            },
            cost_s=12.0 if setting == "defaults" else 3.0,
            sources=SOURCES,
        )
        for setting, change, seed in cells
    ]


def run_job(config: dict[str, Any]) -> Outcome:
    """Scalars: ``time_h`` of the job, its effective training ratio, and counts of failures, repairs, selections."""
    spec, working, work_h, restart_s = SETTINGS[config["setting"]]
    jobs = Workload(
        ["job"], np.zeros(1), FixedDuration(np.array([work_h * HOUR_S]), np.array([SIZE]))
    )
    failures = Failures(
        reliability=Reliability(**spec | config["change"]),
        checkpoints=Checkpoints(interval_s=0.0, restart_s=restart_s),
    )
    result = simulate(
        jobs,
        Cluster.of_nodes(NodeType("server", "GPU", 1), working + SPARE),
        make_policy("fifo-strict"),
        features=[failures],
        seed=config["seed"],
    )
    summary = result.summary()
    scalars: dict[str, Scalar] = {**result.parts["reliability"].counts}
    scalars["time_h"] = result.makespan_s / HOUR_S
    scalars["effective_training_ratio"] = summary["effective_training_ratio"]
    return Outcome(scalars)


PAGE = Experiment(Path(__file__).parent, tasks)
"""What figures, claims and texts of the page register with."""
