"""Timers that were overtaken are forgotten, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, NodeType, TimeTable, Workload, simulate
from simulator.core import partition
from simulator.core.clock import Clock

BIG = NodeType("big", "A", 4, price_per_hour=3.0)
SMALL = NodeType("small", "A", 2, price_per_hour=1.6)
OTHER = NodeType("other", "B", 3, price_per_hour=1.1)
CLUSTERS = {
    "VMs": Cluster.of_vms([BIG, SMALL, OTHER], 6, 2),
    "nodes": Cluster((BIG, SMALL, OTHER), 7, (0, 1, 2, 0, 0, 2, 1)),
    "CPUs": Cluster.of_nodes(NodeType("full", "A", 4, cpus=16, memory_gb=64), 6),
}


def jobs_of(seed: int, count: int, types: int) -> Workload:
    rng = np.random.default_rng(seed)
    times_s = rng.uniform(50, 2000, (count, types, 1)) / np.arange(5).clip(1) ** rng.uniform(0, 1.1)
    submit_s = np.cumsum(rng.exponential(40.0, count))
    return Workload(
        [str(j) for j in range(count)],
        submit_s,
        TimeTable(times_s),
        due_s=submit_s + rng.uniform(0, 4000, count),
        weight_per_s=rng.uniform(0, 0.01, count),
    )


def test_the_same_run_with_fewer_calls_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """A greedy that moves jobs all the time leaves timers; here they are looked for at each chance."""
    cluster = CLUSTERS["nodes"]
    jobs = jobs_of(1, 900, 3)
    dropped = [0]
    drop = Clock.drop

    def counted(clock: Clock, is_void) -> None:
        before = clock.num_pending
        drop(clock, is_void)
        dropped[0] += before - clock.num_pending

    monkeypatch.setattr(Clock, "drop", counted)
    runs = []
    for most in (10**9, 0):
        monkeypatch.setattr(partition, "MOST_PENDING", most)
        result = simulate(jobs, cluster, make_policy("greedy"))
        runs.append((list(result.schedule or ()), list(result.decisions.time_s), result.meters))
    assert dropped[0] > 10
    assert runs[0] == runs[1]
