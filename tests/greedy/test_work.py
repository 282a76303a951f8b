"""How much the greedy does at a decision, counted: many nodes and jobs must not make all of it longer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from policies import make_policy
from policies.greedy import placing
from policies.greedy.policy import GreedyPolicy, _pool
from policies.greedy.problem import Jobs, machines_of, profile_of
from policies.greedy.queue import ON_TIME, UNKNOWN
from simulator import Cluster, NodeType, TimeTable, Workload, simulate
from simulator.core.partition import Partition
from simulator.model import feasibility

SERVER = NodeType("server", "A", 4, price_per_hour=1.0)


@pytest.mark.parametrize("waiting", [60, 200, 2000])
def test_a_long_queue_is_left_where_the_last_gpu_is_taken(waiting: int) -> None:
    """Ten nodes of four GPUs, jobs of one GPU: the candidates of 40 jobs are worked out, never more."""
    times_s = np.full((waiting, 1, 5), np.inf)
    times_s[:, 0, 1] = 100.0
    cluster = Cluster.of_nodes(SERVER, 10)
    machines, price = machines_of(cluster, range(10), "share", times_s)
    profile = profile_of(times_s, machines, price, None)
    jobs = Jobs(
        np.arange(waiting), np.ones(waiting), np.linspace(-500, 500, waiting), np.ones(waiting)
    )
    queue, opens, *_ = _pool(jobs, profile, machines, GreedyPolicy().settings, 1, 1, 0)
    visited = np.flatnonzero(queue.known[:, ON_TIME] != UNKNOWN)
    assert visited.tolist() == list(range(40))
    assert opens.tolist() == [10]


def test_what_goes_on_is_neither_named_nor_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """All nodes are planned anew at each event. What the decision names is what it starts, and the check looks at
    the nodes of these alone."""
    count = {"planned": 0, "named": 0, "started": 0, "looked at": 0}
    decision_of, shares = placing.decision_of, placing._shares
    start, add = Partition.start, feasibility._add

    def planning(solution: Any, *rest: Any) -> Any:
        count["planned"] += int(solution.num_jobs.sum())
        return decision_of(solution, *rest)

    def naming(rows: Any, cluster: Cluster) -> Any:
        count["named"] += len(rows)
        return shares(rows, cluster)

    def starting(self: Any, job: int, of: Any) -> None:
        count["started"] += len(of)
        start(self, job, of)

    def looking(*arguments: Any) -> None:
        count["looked at"] += 1
        add(*arguments)

    monkeypatch.setattr("policies.greedy.policy.decision_of", planning)
    monkeypatch.setattr(placing, "_shares", naming)
    monkeypatch.setattr(placing, "MANY", 0)
    monkeypatch.setattr(Partition, "start", starting)
    monkeypatch.setattr(feasibility, "_add", looking)
    rng = np.random.default_rng(7)
    num_jobs, num_nodes = 400, 100
    submit_s = np.cumsum(rng.exponential(10.0, num_jobs))
    times_s = rng.uniform(500, 3000, (num_jobs, 1, 1)) / np.arange(5).clip(1) ** 0.7
    jobs = Workload(
        [str(j) for j in range(num_jobs)], submit_s, TimeTable(times_s),
        due_s=submit_s + rng.uniform(500, 6000, num_jobs), weight_per_s=np.full(num_jobs, 0.01),
    )  # fmt: skip
    result = simulate(jobs, Cluster.of_vms([SERVER], num_nodes), make_policy("greedy"))
    assert np.isfinite(result.completion_s).all()
    assert count["named"] == count["started"]
    assert 0 < count["looked at"] <= 4 * count["named"]
    assert count["planned"] > 4 * count["named"]
