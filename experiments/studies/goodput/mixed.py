"""Sia, Pollux and Gavel on GPUs of three types, on Pollux's published workloads, as a table that is committed.

    python -m experiments.studies.goodput.mixed POLLUX

``POLLUX`` holds the workloads and tables of Pollux's simulator, whose times are of T4 GPUs. ``gpu_times.csv`` has times of a step on 4 GPUs
of 2 nodes on three types, from Pollux's tables and those of Sia's released program; the speed of a type is their ratio. The page needs the
table of results alone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from policies import make_policy
from simulator import Cluster, DecisionPoints, NodeType, Result, Workload, simulate
from simulator.features.reconfiguration import Delays
from simulator.model.goodput import Goodput
from simulator.statistics import Estimate, student
from simulator.workloads.pollux import PolluxJobs
from simulator.workloads.reshaping import of_demand
from simulator.workloads.table import Setting

HERE = Path(__file__).parent
TABLE, TIMES = HERE / "mixed.csv", HERE / "gpu_times.csv"
WORKLOADS = range(1, 9)
TYPES = {"T4": 6, "RTX2080Ti": 6, "A100": 4}
"""Nodes of 4 GPUs of each type; those of 8 GPUs in the paper count as two."""
GPUS, RESTART_S = 4, 30.0
MOST_GPUS = 16
"""Of a job of fixed demand, so that it fits on each type."""
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "sia": ("sia", {}),
    "sia (released)": ("sia", {"released": True}),
    "pollux": ("pollux", {}),
    "max-throughput": ("max-throughput", {}),
    "max-min-fairness": ("max-min-fairness", {}),
}
"""Policies and options; the last two are Gavel's."""
GAVEL = ("max-throughput", "max-min-fairness")
RIVALS = ("pollux", *GAVEL)
ROUND_S, GAVEL_ROUND_S = 60.0, 360.0
"""Length of a round, as in the released program."""
MEASURES = ("mean_jct_s", "p99_jct_s", "makespan_s", "gpu_h")


@cache
def measured() -> pd.DataFrame:
    """Columns workload, policy, and `MEASURES`."""
    return pd.read_csv(TABLE)


def savings(which: str) -> Iterator[tuple[str, str, Estimate]]:
    """Per cent that Sia saves, over the workloads: rival, measure, and mean with its interval."""
    by_policy = measured().set_index(["policy", "workload"])[list(MEASURES)]
    for rival in RIVALS:
        saved = 100 * (1 - by_policy.loc[which] / by_policy.loc[rival])
        for measure in MEASURES:
            yield rival, measure, student(saved[measure])


def speeds() -> dict[str, dict[str, tuple[float, float]]]:
    """Speeds of gradients and of synchronisation over those on the first type, by application and type."""
    times = pd.read_csv(TIMES)
    times["gradient_s"] = times["step_s"] - times["sync_s"]
    log = times.set_index(["gpu_type", "application"])[["gradient_s", "sync_s"]].map(math.log)
    mean = log.groupby(level=[0, 1]).mean()
    first = next(iter(TYPES))
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for gpu_type in TYPES:
        faster = (mean.loc[first] - mean.loc[gpu_type]).map(math.exp)
        for name, (gradient, sync) in faster.iterrows():
            found.setdefault(str(name), {})[gpu_type] = (float(gradient), float(sync))
    return found


def mixed_cluster(nodes: dict[str, int]) -> Cluster:
    """Nodes of 4 GPUs, by type."""
    types = tuple(NodeType(name, name, GPUS) for name in nodes)
    type_of = [v for v, count in enumerate(nodes.values()) for _ in range(count)]
    return Cluster(types, len(type_of), tuple(type_of))


def on_types(
    jobs: Workload, cluster: Cluster, faster: dict[str, dict[str, tuple[float, float]]]
) -> Workload:
    """The jobs with tables for each node type, by speeds by application and type; the first has the tables' own."""
    model = cast(Goodput, jobs.performance)
    others = [
        [app.on_gpus(*faster[app.name][node_type.gpu_type]) for app in model.applications]
        for node_type in cluster.node_types[1:]
    ]
    assert cluster.node_type_of is not None
    by_type = replace(model, on_other_types=others, node_type_of=cluster.node_type_of)
    return replace(jobs, performance=by_type)


def run(jobs: Workload, cluster: Cluster, policy: str, options: dict[str, Any]) -> Result:
    """Jobs with tables by type under one policy; those of Gavel have their users' GPUs and batch sizes."""
    round_s = GAVEL_ROUND_S if policy in GAVEL else ROUND_S
    if policy in GAVEL:
        options = {"round_s": round_s, "reset_s": round_s, **options}
        least = np.minimum(jobs.num_gpus, MOST_GPUS)
        most = replace(jobs, performance=replace(cast(Goodput, jobs.performance), num_gpus=least))
        jobs, _ = of_demand(most, cluster, "stated", np.random.default_rng(0))
    return simulate(
        jobs,
        cluster,
        make_policy(policy, **options),
        decision_points=DecisionPoints(round_s=round_s),
        features=[Delays(first_s=RESTART_S, resume_s=RESTART_S, move_s=RESTART_S)],
    )


def measures_of(result: Result) -> dict[str, float]:
    """`MEASURES` of a run."""
    end_s = result.workload.submit_s + result.jct_s
    found = (
        result.jct_s.mean(),
        np.quantile(result.jct_s, 0.99),
        end_s.max() - result.workload.submit_s.min(),
        result.gpu_seconds.sum() / 3600,
    )
    return {name: round(float(value), 3) for name, value in zip(MEASURES, found, strict=True)}


def measure(folder: Path) -> pd.DataFrame:
    """The table, from the published files."""
    cluster, rows = mixed_cluster(TYPES), []
    for number in WORKLOADS:
        jobs = on_types(
            PolluxJobs(path=str(folder / f"workloads__{number}.csv")).make(Setting()),
            cluster,
            speeds(),
        )
        for name, (policy, options) in RUNS.items():
            found = measures_of(run(jobs, cluster, policy, options))
            rows.append({"workload": number, "policy": name, **found})
            print(rows[-1], file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    measure(Path(sys.argv[1])).to_csv(TABLE, index=False, lineterminator="\n")
