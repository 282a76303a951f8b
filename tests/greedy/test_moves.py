"""A greedy decision given by what it changes is the decision that names everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import make_policy
from policies.greedy import placing
from simulator import (
    Cluster,
    Decision,
    DecisionPoints,
    InfeasibleDecision,
    NodeType,
    Placement,
    ServerSpec,
    TimeTable,
    View,
    Workload,
    simulate,
)
from simulator.features.faults import Checkpoints, Failures, Outages
from simulator.laws import Exponential
from simulator.model.short_answers import Moves
from tests.core.jobs import fixed

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


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 40),
    kind=st.sampled_from(list(CLUSTERS)),
    extra=st.sampled_from(["", "failures", "server", "rounds"]),
    reconfiguration_s=st.sampled_from([0.0, 25.0]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_same_run(
    seed: int, count: int, kind: str, extra: str, reconfiguration_s: float
) -> None:
    cluster = CLUSTERS[kind]
    jobs = jobs_of(seed, count, len(cluster.node_types))
    options: dict = {"seed": seed, "reconfiguration_s": reconfiguration_s}
    if extra == "failures":
        outages = Outages.of_each_node(cluster.num_nodes, Exponential(3000.0), Exponential(300.0))
        options["failures"] = Failures([outages], Checkpoints(200.0, 5.0))
    if extra == "server":
        options["server"] = ServerSpec(Exponential(30.0), 2)
    if extra == "rounds":
        options["decision_points"] = DecisionPoints(period_s=300.0)
    found, many = [], placing.MANY
    try:
        for limit in (0, 4, 10**9):
            placing.MANY = limit
            result = simulate(jobs, cluster, make_policy("greedy"), **options)
            found.append(
                [
                    list(result.schedule or ()), list(result.decisions.time_s),
                    result.decisions.info, result.preemptions.tolist(),
                    result.reconfigurations.tolist(), result.completion_s.tolist(), result.meters,
                ]
            )  # fmt: skip
    finally:
        placing.MANY = many
    assert found[0] == found[1] == found[2]


def moving(moves: Moves):
    """Starts job 0 on the only node, then makes these moves."""

    def decide(view: View) -> Decision:
        return moves if view.running else Decision([Placement(0, 0, 3)])

    return decide


ONE = Cluster.of_nodes(NodeType("server", "GPU", 4), 1)
JOBS = fixed([0, 1], [10, 10], [3, 2])


def test_moves_are_checked_beside_what_goes_on() -> None:
    start = {1: (Placement(1, 0, 2),)}
    whole = [Placement(0, 0, 3), Placement(1, 0, 2)]
    with pytest.raises(InfeasibleDecision, match="node 0: 5 GPUs used of 4"):
        simulate(JOBS, ONE, moving(Moves.of(start, [], lambda: whole, {})))


def test_a_job_that_is_stopped_makes_room() -> None:
    start = {1: (Placement(1, 0, 2),)}
    moves = Moves.of(start, [0], lambda: [Placement(1, 0, 2)], {"number": 1})

    def decide(view: View) -> Decision:
        if not view.running:
            return Decision([Placement(min(view.waiting), 0, view.num_gpus[0])])
        return moves

    result = simulate(JOBS, ONE, decide)
    assert result.preemptions.tolist() == [1, 0]
    assert result.completion_s.tolist() == [20, 11]
    assert result.decisions.info == {1: {"number": 1}}


def test_one_that_is_changed_is_a_plain_decision() -> None:
    whole = [Placement(0, 0, 3)]
    plain = replace(Moves.of({}, [], lambda: whole, {"a": 1}), again_s=5.0)
    assert plain == Decision(whole, info={"a": 1}, again_s=5.0)
