"""Jobs, machines, a law of times, and runs that several tests build."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from policies import make_policy
from simulator import (
    Cluster,
    DecisionPoints,
    FixedDuration,
    NodeType,
    Result,
    ServerSpec,
    TimeTable,
    Workload,
    simulate,
)
from simulator.laws import Deterministic
from simulator.model.fractional import SharedDuration


def fixed(
    submit_s: Sequence[float],
    duration_s: Sequence[float],
    gpus: Sequence[float] | None = None,
    **columns: Any,
) -> Workload:
    """Jobs of fixed demand, named j0, j1, ..; of one GPU unless it is said."""
    gpus = [1] * len(submit_s) if gpus is None else gpus
    times = FixedDuration(np.array(duration_s, dtype=float), np.array(gpus))
    return Workload([f"j{j}" for j in range(len(submit_s))], submit_s, times, **columns)


def elastic(times_s: Any, submit_s: Any = None, **columns: Any) -> Workload:
    """Jobs with a time for each type of node and number of GPUs, named j0, j1, ..; all at 0 s unless it is said."""
    times = TimeTable(np.asarray(times_s, dtype=float))
    count = len(times.times_s)
    submit_s = np.zeros(count) if submit_s is None else submit_s
    return Workload([f"j{j}" for j in range(count)], submit_s, times, **columns)


def sharing(
    submit_s: Sequence[float],
    duration_s: Any,
    part: Any = 0.5,
    gpus: Sequence[int] | None = None,
    **columns: Any,
) -> Workload:
    """Jobs that want a part of one GPU each, half of it unless it is said; those of several GPUs want them whole."""
    count = len(submit_s)
    num_gpus = np.ones(count, dtype=np.int64) if gpus is None else np.asarray(gpus)
    part = np.where(num_gpus == 1, part, 1.0)
    times = SharedDuration(
        np.broadcast_to(np.asarray(duration_s, float), count), num_gpus, part=part
    )
    return Workload([f"j{j}" for j in range(count)], submit_s, times, **columns)


def nodes(gpus: int = 1, count: int = 1, controllers: int = 1, **spec: Any) -> Cluster:
    """Equal nodes of the type n."""
    return Cluster.of_nodes(NodeType("n", "GPU", gpus, **spec), count, controllers)


def run(
    jobs: Workload,
    cluster: Cluster,
    policy: Any = "fifo-strict",
    *features: object,
    server_s: float | None = None,
    servers: int = 1,
    period_s: float | None = None,
    round_s: float | None = None,
    **options: Any,
) -> Result:
    """A simulation; a decision takes ``server_s`` on one of ``servers``, and is made at periods or in rounds."""
    if server_s is not None:
        options["server"] = ServerSpec(service=Deterministic(server_s), servers=servers)
    if period_s is not None:
        options["decision_points"] = DecisionPoints(period_s=period_s)
    if round_s is not None:
        options["decision_points"] = DecisionPoints(round_s=round_s)
    policy = make_policy(policy) if isinstance(policy, str) else policy
    return simulate(jobs, cluster, policy, features=features, **options)


class Once:
    """The first time, then hardly ever."""

    def __init__(self, first_s: float) -> None:
        self.mean = first_s
        self._next_s = first_s

    def __call__(self, rng: object) -> float:
        found, self._next_s = self._next_s, 1e9
        return found
