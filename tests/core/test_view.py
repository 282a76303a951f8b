"""View of a policy at a decision, computed by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator import Cluster, Decision, NodeType, Placement, TimeTable, View, Workload, simulate
from simulator.features.failures import NodeFaults
from simulator.features.network import network_of
from simulator.features.reconfiguration import Delays
from simulator.model.contract import Changes
from tests.core.jobs import fixed


def test_a_view_by_hand() -> None:
    """``a`` runs from 0 s on one GPU for 100 s, from 20 s on two for 50 s; moving takes 5 s."""
    times = np.array([[[np.inf, 100.0, 50.0, 40.0, 40.0]], [[np.inf, 40.0, 40.0, 40.0, 40.0]]])
    jobs = Workload(
        ["a", "b"], [0.0, 20.0], TimeTable(times), due_s=[70.0, 99.0], weight_per_s=[2.0, 3.0]
    )
    seen: list[dict[str, Any]] = []

    def policy(view: View) -> Decision:
        seen.append(
            {
                "jobs": view.jobs.tolist(),
                "remaining": view.remaining.tolist(),
                "remaining_of": [view.remaining_of(int(j)) for j in view.jobs],
                "attained": view.attained_gpu_s.tolist(),
                "attained_of": [view.attained_gpu_s_of(int(j)) for j in view.jobs],
                "started": view.has_started.tolist(),
                "times": view.times_s[:, 0, 1:3].tolist(),
                "due": view.due_s.tolist(),
                "weight": view.weight_per_s.tolist(),
                "submit": view.submit_s.tolist(),
                "free": [view.free_gpus_total, *view.free_gpus.tolist()],
                "changed": view.changed,
                "waiting": list(view.waiting),
                "number": view.num_active,
            }
        )
        if view.now_s == 0:
            return Decision([Placement(0, 0, 1)], again_s=10)
        if view.now_s == 10:
            return Decision([Placement(0, 0, 1)], again_s=12)
        if view.now_s == 20:
            return Decision([Placement(0, 0, 2)], again_s=2)
        return Decision([Placement(0, 0, 2)] if 0 in view.active else [Placement(1, 1, 2)])

    node = NodeType("n", "GPU", 4)
    result = simulate(jobs, Cluster.of_nodes(node, 2), policy, features=[Delays.of(5.0)])
    at_0, at_10, at_20, at_22 = seen[:4]
    assert at_0["remaining"] == [1]
    assert at_0["started"] == [False]
    assert at_0["free"] == [8, 4, 4]
    assert (at_0["changed"], at_10["changed"], at_20["changed"]) == (True, False, True)
    assert at_10["remaining"] == at_10["remaining_of"] == pytest.approx([0.9])
    assert at_10["attained"] == at_10["attained_of"] == [10]
    assert at_10["times"] == [pytest.approx([90, 45])]
    assert (at_20["jobs"], at_20["waiting"], at_20["number"]) == ([0, 1], [1], 2)
    assert at_20["started"] == [True, False]
    assert at_20["free"] == [7, 3, 4]
    assert (at_20["due"], at_20["weight"]) == ([70, 99], [2, 3])
    assert at_20["submit"] == [0, 20]
    # While the move is under way no work is done, but GPUs are held: 20 + 2 * 2 GPU-seconds.
    assert at_22["remaining"] == at_22["remaining_of"] == pytest.approx([0.8, 1])
    assert at_22["attained"] == at_22["attained_of"] == [24, 0]
    assert at_22["free"] == [6, 2, 4]
    assert result.completion_s.tolist() == pytest.approx([25 + 0.8 * 50, 25 + 0.8 * 50 + 40])


def test_the_time_of_a_job_on_shares_of_nodes() -> None:
    """10 s on two GPUs of the first type, 15 s on two of the second; over nodes half as long again."""
    types = NodeType("a", "A", 2), NodeType("b", "B", 2), NodeType("c", "C", 2)
    times = TimeTable(
        np.array([[[np.inf, 30.0, 10.0], [np.inf, 40.0, 15.0], [np.inf, 50.0, 60.0]]])
    )
    jobs = Workload(["a"], [0.0], times, num_gpus=[2])
    found: list[float] = []

    def policy(view: View) -> Decision:
        either = [Placement(0, 0, 2)], [Placement(0, 1, 1)]
        both = [Placement(0, 0, 1), Placement(0, 1, 1)], [Placement(0, 3, 1), Placement(0, 0, 1)]
        found.extend(view.time_s_of(0, shares) for shares in (*either, *both))
        return Decision([Placement(0, 0, 2)])

    network = network_of(jobs, 4, same_rack=1.5)
    simulate(jobs, Cluster(types, 4, (0, 1, 2, 0)), policy, features=[network])
    assert found == [10, 40, 1.5 * 15, 1.5 * 10]


def test_the_time_of_a_job_on_vms_is_that_of_the_type_asked_for() -> None:
    types = [NodeType("a", "A", 2), NodeType("b", "B", 2)]
    jobs = Workload(
        ["a"], [0.0], TimeTable(np.array([[[np.inf, 30.0, 10.0], [np.inf, 40.0, 15.0]]]))
    )
    found: list[float] = []

    def policy(view: View) -> Decision:
        shares = [Placement(0, 1, 2, node_type=v) for v in (0, 1)]
        found.extend(view.time_s_of(0, [share]) for share in shares)
        return Decision([Placement(0, 0, 2, node_type=0)])

    simulate(jobs, Cluster.of_vms(types, 2), policy)
    assert found == [10, 15]


def test_each_controller_s_policy_has_random_numbers_of_its_own() -> None:
    jobs = fixed([0, 1, 2, 3], [9] * 4, [1] * 4)

    def drawn(seed: int) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {0: [], 1: []}

        def policy(view: View) -> Decision:
            found[view.controller].append(float(view.rng.random()))
            return Decision([Placement(int(j), int(view.nodes[0]), 1) for j in view.jobs])

        simulate(jobs, Cluster.of_nodes(NodeType("n", "GPU", 4), 2, 2), policy, seed=seed)
        return found

    first = drawn(1)
    assert drawn(1) == first
    assert not set(first[0]) & set(first[1])
    assert not set(drawn(2)[0]) & set(first[0])


def test_a_view_is_a_view_with_its_documentation() -> None:
    seen: list[View] = []

    def policy(view: View) -> Decision:
        seen.append(view)
        assert view.num_gpus.tolist() == [1]
        return Decision([Placement(0, 0, 1)])

    simulate(fixed([0], [1], [1]), Cluster.of_nodes(NodeType("n", "GPU", 4), 1), policy)
    kind = type(seen[0])
    assert isinstance(seen[0], View)
    assert (kind.__name__, kind.__module__, kind.__doc__) == (
        "View", "simulator.model.contract", View.__doc__,
    )  # fmt: skip
    assert not hasattr(seen[0], "network")
    assert not hasattr(seen[0], "reconfiguration")


def test_a_reader_of_changes_gets_what_is_new_or_learns_that_some_is_forgotten() -> None:
    changes = Changes(kept=3)
    assert changes.since(0) == ([], 0)
    changes.items += [5, 6]
    assert changes.since(0) == ([5, 6], 2)
    assert changes.since(1) == ([6], 2)
    changes.items += [7, 8, 9, 10]
    changes.trim()  # six are not more than twice three
    assert changes.since(0) == ([5, 6, 7, 8, 9, 10], 6)
    changes.items.append(11)
    changes.trim()
    assert changes.since(2) == (None, 7)
    assert changes.since(3) == ([8, 9, 10, 11], 7)
    changes.items += [12, 13, 14]
    changes.trim()
    assert changes.since(5) == (None, 10)
    assert changes.since(6) == ([11, 12, 13, 14], 10)
    assert changes.since(10) == ([], 10)


def test_health_of_nodes() -> None:
    known: Any = SimpleNamespace(
        num_causes=[0, 1, 2],
        outages=[0, 3, 4],
        failure_rate=[0.0, 0.5, 0.01],
        leaving_s=[math.inf, 7.0, math.inf],
    )
    health = NodeFaults(known)
    assert health.is_up.tolist() == [True, False, False]
    assert health.outages.tolist() == [0, 3, 4]
    assert health.mean_up_s.tolist() == [math.inf, 2.0, 100.0]
    assert health.leaving_s.tolist() == [math.inf, 7.0, math.inf]
