"""Decisions that say what was considered: by hand, and the same schedule as without."""

import numpy as np
import pytest

from policies import make_policy, needs_of
from policies.noted import Noted
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    FixedDuration,
    InfeasibleDecision,
    NodeType,
    Placement,
    TimeTable,
    Workload,
    simulate,
)


def jobs_of(duration_s, gpus, **columns):
    gpus, names = np.array(gpus), "abcdefghij"[: len(gpus)]
    submit_s = np.arange(len(gpus), dtype=float)
    return Workload(
        list(names), submit_s, FixedDuration(duration_s, gpus), num_gpus=gpus, **columns
    )


def noted(policy, jobs, cluster, **parts):
    table = simulate(jobs, cluster, make_policy(f"{policy}@noted"), **parts).decisions_table()
    columns = ["time_s", "waiting", "started", "by", "passed", "short"]
    table = table.reindex(columns=columns).astype(object).fillna("")
    return [tuple(row) for row in table.itertuples(index=False)]


def test_by_hand():
    """Four GPUs. a takes three until 100 s; b wants four, d wants two and is due before b; c wants one."""
    one = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    jobs = jobs_of([100.0, 50.0, 10.0, 30.0], [3, 4, 1, 2], due_s=[900.0, 800.0, 700.0, 600.0])
    assert noted("edf-backfill", jobs, one) == [
        (0.0, 1, 1, "due date", "", ""),
        (1.0, 1, 0, "due date", "b", "GPUs: 1 free; needs 4"),
        (2.0, 2, 1, "due date", "b", "GPUs: 0 free; needs 4"),
        (3.0, 2, 0, "due date", "d, b", "GPUs: 0 free; needs 2"),
        (12.0, 2, 0, "due date", "d, b", "GPUs: 1 free; needs 2"),
        (100.0, 2, 1, "due date", "b", "GPUs: 2 free; needs 4"),
        (130.0, 1, 1, "due date", "", ""),
    ]


def test_what_is_short():
    """Two nodes of 4 GPUs and 8 CPUs; shared's jobs stay on one node: 2 GPUs are free, not together, then CPUs lack."""
    two = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=8, memory_gb=100), 2)
    jobs = jobs_of([90.0, 50.0, 9.0], [3, 3, 2], num_cpus=[1.0, 1.0, 1.0])
    rows = noted("shared", jobs, two)
    assert rows[2][5] == "GPUs on one node: 2 free, at most 1 on one; needs 2"
    greedy_of_cpus = jobs_of([90.0, 9.0], [1, 1], num_cpus=[9.0, 9.0])
    wide = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=16), 1)
    assert noted("fifo-backfill", greedy_of_cpus, wide)[1][5] == (
        "CPUs: 7 free at most where the GPUs suffice; needs 9"
    )
    strict = jobs_of([90.0, 9.0, 9.0], [2, 4, 1])
    four = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    assert noted("fifo-strict", strict, four)[2][4:] == ("b, c", "GPUs: 2 free; needs 4")


@pytest.mark.parametrize(
    "name", ["fifo-strict", "edf", "sjf", "srpt", "priority", "capacity", "srtf+tune", "shared"]
)
def test_the_schedule_is_the_same(name):
    rng = np.random.default_rng(3)
    gpus = rng.integers(1, 5, 40)
    submit_s = np.cumsum(rng.exponential(100.0, 40))
    jobs = Workload(
        [f"j{k}" for k in range(40)], submit_s, FixedDuration(rng.uniform(50, 900, 40), gpus),
        num_gpus=gpus, due_s=submit_s + 2000, weight_per_s=rng.uniform(0, 1, 40),
        vc=rng.choice(["x", "y"], 40).tolist(),
    )  # fmt: skip
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 4, cpus=12, memory_gb=100), 3)
    points = DecisionPoints.rounds(60.0) if "+" in name else None
    plain, told = (
        simulate(jobs, cluster, make_policy(n), decision_points=points)
        for n in (name, f"{name}@noted")
    )
    assert list(plain.schedule) == list(told.schedule)
    assert plain.decisions_table()["time_s"].tolist() == told.decisions_table()["time_s"].tolist()
    assert "passed" not in plain.decisions_table()
    assert told.decisions_table()["waiting"].notna().any()
    assert needs_of(f"{name}@noted") == needs_of(name)


def test_a_node_that_does_not_exist_is_reported_by_the_engine():
    """In one line, as without notes."""

    class Wrong:
        name = "wrong"

        def decide(self, view):
            return Decision([Placement(next(iter(view.waiting)), 7, 1)])

    one = Cluster.of_nodes(NodeType("n", "GPU", 4), 1)
    with pytest.raises(InfeasibleDecision, match="node 7, which does not exist"):
        simulate(jobs_of([9.0, 9.0], [1, 1]), one, Noted(Wrong(), "wrong@noted"))


def test_what_is_not_known_is_not_noted():
    """Elastic jobs, and parts of GPUs that suffice in sum: no word on what is short."""
    vms = Cluster.of_vms([NodeType("vm", "GPU", 2, 1.0)], 1)
    jobs = Workload(["a", "b"], [0.0, 1.0], TimeTable(np.array([[[np.inf, 100.0, 60.0]]] * 2)))
    table = simulate(jobs, vms, make_policy("fifo@noted")).decisions_table()
    assert "b" in set(table["passed"])
    assert "short" not in table
