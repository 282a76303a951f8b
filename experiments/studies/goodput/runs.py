"""The runs: random jobs of three invented applications under each policy, and under each of Sia's rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.report.contents import Scale
from experiments.studies.goodput.mixed import RUNS, measures_of, mixed_cluster, on_types, run
from experiments.sweep.task import Outcome, Task
from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, Workload, simulate
from simulator.features.reconfiguration import Delays
from simulator.model.goodput import Application, Goodput, packed
from simulator.statistics import Streams

HERE = "experiments.studies.goodput.runs"
SOURCES = (
    "simulator",
    "policies.goodput",
    "policies.milp",
    "policies.list_scheduling",
    "policies.shares",
    "policies.foresight",
    "policies.selection",
)
POLICIES = ("tiresias", "optimus", "afs", "pollux", "sia", "foresight")
RULES: dict[str, dict[str, Any]] = {
    "p = -0.5": {"p": -0.5},
    "p = 1": {"p": 1.0},
    "p = -0.5, rounded (released)": {"released": True},
    "no penalty without GPUs": {"lambda_n": 0.0},
    "no penalty of moves": {"lambda_a": 0.0},
}
"""Options of Sia beside the paper's."""
SEEDS: dict[Scale, range] = {"quick": range(3), "paper": range(10)}
JOBS, NODES, GPUS, GAP_S = 24, 4, 4, 90.0
BATCH_SIZES = np.array([32, 128, 512])
EPOCHS = 10
NETWORKS = {
    "vision": (0.1, 4e-3, 0.04),
    "language": (0.05, 8e-3, 0.10),
    "speech": (0.2, 2e-3, 0.02),
}
"""Seconds of a step: fixed, for each sample of a GPU, and for each doubling of the GPUs (twice as much over nodes)."""

FASTER = {"vision": (4.0, 8.0), "language": (2.0, 8.0), "speech": (1.2, 8.0)}
"""Speeds of gradients and of synchronisation on A100, over T4."""
MIXED = {"T4": 2, "A100": 2}


def tasks(scale: Scale) -> list[Task]:
    """Every run of the page."""
    mixed = [
        Task(
            f"{HERE}:run_mixed",
            {"policy": policy, "options": options, "seed": seed},
            labels={"policy": policy, "rule": name, "seed": seed},
            cost_s=1.0,
            sources=SOURCES,
        )
        for name, (policy, options) in RUNS.items()
        for seed in SEEDS[scale]
    ]
    cells: list[tuple[str, str, dict[str, Any]]] = [(policy, policy, {}) for policy in POLICIES]
    cells += [("sia", rule, options) for rule, options in RULES.items()]
    return mixed + [
        Task(
            f"{HERE}:run_goodput",
            {"policy": policy, "options": options, "seed": seed},
            labels={"policy": policy, "rule": rule, "seed": seed},
            cost_s=1.0,
            sources=SOURCES,
        )
        for policy, rule, options in cells
        for seed in SEEDS[scale]
    ]


def run_goodput(config: dict[str, Any]) -> Outcome:
    """Scalars: mean and longest completion time, moves a job, and GPU-hours."""
    streams = Streams(config["seed"])
    policy = make_policy(config["policy"], **config["options"])
    mine = jobs(streams.generator("jobs"))
    # Due at submission without prices: foresight minimises the sum of completion times. No other policy reads this.
    mine = replace(mine, due_s=mine.submit_s, weight_per_s=np.ones(JOBS))
    result = simulate(
        mine,
        Cluster.of_nodes(NodeType("server", "T4", GPUS), NODES),
        policy,
        seed=config["seed"],
        decision_points=DecisionPoints(round_s=60.0),
        features=[Delays(first_s=30.0, resume_s=30.0, move_s=30.0)],
    )
    return Outcome(
        {
            "mean_jct_s": float(result.jct_s.mean()),
            "longest_s": float(result.jct_s.max()),
            "moves": float(result.reconfigurations.mean()),
            "gpu_h": float(result.gpu_seconds.sum()) / 3600.0,
        }
    )


def run_mixed(config: dict[str, Any]) -> Outcome:
    """Scalars: `MEASURES` of random jobs on GPUs of two types."""
    cluster = mixed_cluster(MIXED)
    mine = on_types(jobs(Streams(config["seed"]).generator("jobs")), cluster, _speeds())
    return Outcome({**measures_of(run(mine, cluster, config["policy"], config["options"]))})


def _speeds() -> dict[str, dict[str, tuple[float, float]]]:
    return {name: {"A100": speed} for name, speed in FASTER.items()}


def jobs(rng: np.random.Generator) -> Workload:
    """Random jobs, whose users ask for 1 to 8 GPUs."""
    applications = [application(name, *times) for name, times in NETWORKS.items()]
    gpus = 2 ** rng.integers(0, 4, JOBS)
    return Workload(
        [str(j) for j in range(JOBS)],
        np.cumsum(rng.exponential(GAP_S, JOBS)),
        Goodput(
            applications,
            rng.integers(0, len(applications), JOBS),
            rng.choice(BATCH_SIZES, JOBS),
            num_gpus=gpus,
        ),
        model=[""] * JOBS,
    )


def application(name: str, fixed_s: float, sample_s: float, doubling_s: float) -> Application:
    """Tables of an invented application, whose gradients become noisier from epoch to epoch."""
    local = np.array([4.0, 16.0, 64.0, 128.0])
    noise = np.tile(np.geomspace(50.0, 5000.0, EPOCHS) / BATCH_SIZES[0], (len(BATCH_SIZES), 1))
    steps = np.tile(np.linspace(500.0, 5000.0, EPOCHS), (len(BATCH_SIZES), 1))

    def times(gpus: int, nodes: int) -> np.ndarray:
        sync_s = doubling_s * np.log2(gpus) * (2.0 if nodes > 1 else 1.0)
        return np.column_stack([fixed_s + sample_s * local + sync_s, np.full(len(local), sync_s)])

    sizes = range(1, NODES * GPUS + 1)
    return Application(
        name=name,
        batch_sizes=BATCH_SIZES,
        progress=steps,
        iterations=steps / np.sqrt(BATCH_SIZES / BATCH_SIZES[0])[:, None],
        grad_sqr=np.ones_like(noise),
        grad_var=noise,
        by_ring={packed(g, GPUS): (local, times(g, len(packed(g, GPUS)))) for g in sizes},
        spread=np.array(
            [
                (n, g, b, *row)
                for n in range(2, NODES + 1)
                for g in (n, n * GPUS)
                for b, row in zip(local, times(g, n), strict=True)
            ]
        ),
    )
