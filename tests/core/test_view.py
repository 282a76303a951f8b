"""View of a policy at a decision, computed by hand."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simulator import Cluster, Decision, NodeType, Placement, TimeTable, View, Workload
from simulator.features.failures import NodeFaults
from simulator.features.network import network_of
from simulator.features.reconfiguration import Delays
from simulator.model.contract import Changes
from tests.core.jobs import fixed, nodes, run


def test_a_view_by_hand():
    """``a`` runs from 0 s on one GPU for 100 s, from 20 s on two for 50 s; moving takes 5 s."""
    times = np.array([[[np.inf, 100.0, 50.0, 40.0, 40.0]], [[np.inf, 40.0, 40.0, 40.0, 40.0]]])
    columns = {"due_s": [70.0, 99.0], "weight_per_s": [2.0, 3.0]}
    jobs = Workload(["a", "b"], [0.0, 20.0], TimeTable(times), **columns)
    seen: list[Any] = []

    def policy(view: View) -> Decision:
        columns = (
            "jobs", "remaining", "attained_gpu_s", "has_started", "due_s", "weight_per_s", "submit_s",
        )  # fmt: skip
        of = {name: getattr(view, name).tolist() for name in columns}
        of["free"] = [view.free_gpus_total, *view.free_gpus.tolist()]
        of["times"] = view.times_s[:, 0, 1:3].tolist()
        of |= {"changed": view.changed, "waiting": list(view.waiting), "number": view.num_active}
        jobs = view.jobs.tolist()
        assert of["remaining"] == [view.remaining_of(j) for j in jobs]
        assert of["attained_gpu_s"] == [view.attained_gpu_s_of(j) for j in jobs]
        seen.append(SimpleNamespace(**of))
        if view.now_s <= 10:
            return Decision([Placement(0, 0, 1)], again_s=10 if view.now_s == 0 else 12)
        if view.now_s == 20:
            return Decision([Placement(0, 0, 2)], again_s=2)
        return Decision([Placement(0, 0, 2)] if 0 in view.active else [Placement(1, 1, 2)])

    result = run(jobs, nodes(4, 2), policy, Delays.of(5.0))
    at_0, at_10, at_20, at_22 = seen[:4]
    assert (at_0.remaining, at_0.has_started, at_0.free) == ([1], [False], [8, 4, 4])
    assert (at_0.changed, at_10.changed, at_20.changed) == (True, False, True)
    assert at_10.remaining == pytest.approx([0.9])
    assert at_10.attained_gpu_s == [10]
    assert at_10.times == [pytest.approx([90, 45])]
    assert (at_20.jobs, at_20.waiting, at_20.number) == ([0, 1], [1], 2)
    assert (at_20.has_started, at_20.free) == ([True, False], [7, 3, 4])
    assert (at_20.due_s, at_20.weight_per_s, at_20.submit_s) == ([70, 99], [2, 3], [0, 20])
    # While the move is under way no work is done, but GPUs are held: 20 + 2 * 2 GPU-seconds.
    assert at_22.remaining == pytest.approx([0.8, 1])
    assert at_22.attained_gpu_s == [24, 0]
    assert at_22.free == [6, 2, 4]
    assert result.completion_s.tolist() == pytest.approx([25 + 0.8 * 50, 25 + 0.8 * 50 + 40])


def test_the_time_of_a_job_on_shares_of_nodes():
    """10 s on two GPUs of the first type, 15 s on two of the second; over nodes half as long again."""
    types = NodeType("a", "A", 2), NodeType("b", "B", 2), NodeType("c", "C", 2)
    times = np.array([[[np.inf, 30.0, 10.0], [np.inf, 40.0, 15.0], [np.inf, 50.0, 60.0]]])
    jobs = Workload(["a"], [0.0], TimeTable(times))
    found: list[float] = []

    def policy(view: View) -> Decision:
        either = [Placement(0, 0, 2)], [Placement(0, 1, 1)]
        both = [Placement(0, 0, 1), Placement(0, 1, 1)], [Placement(0, 3, 1), Placement(0, 0, 1)]
        found.extend(view.time_s_of(0, shares) for shares in (*either, *both))
        return Decision([Placement(0, 0, 2)])

    run(jobs, Cluster(types, 4, (0, 1, 2, 0)), policy, network_of(jobs, 4, same_rack=1.5))
    assert found == [10, 40, 1.5 * 15, 1.5 * 10]


def test_the_time_of_a_job_on_vms_is_that_of_the_type_asked_for():
    types = [NodeType("a", "A", 2), NodeType("b", "B", 2)]
    times = TimeTable(np.array([[[np.inf, 30.0, 10.0], [np.inf, 40.0, 15.0]]]))
    found: list[float] = []

    def policy(view: View) -> Decision:
        found.extend(view.time_s_of(0, [Placement(0, 1, 2, node_type=v)]) for v in (0, 1))
        return Decision([Placement(0, 0, 2, node_type=0)])

    run(Workload(["a"], [0.0], times), Cluster.of_vms(types, 2), policy)
    assert found == [10, 15]


def test_each_controller_s_policy_has_random_numbers_of_its_own():
    def drawn(seed: int) -> dict[int, list[float]]:
        found: dict[int, list[float]] = {0: [], 1: []}

        def policy(view: View) -> Decision:
            found[view.controller].append(float(view.rng.random()))
            return Decision([Placement(int(j), int(view.nodes[0]), 1) for j in view.jobs])

        run(fixed([0, 1, 2, 3], [9] * 4), nodes(4, 2, 2), policy, seed=seed)
        return found

    first = drawn(1)
    assert drawn(1) == first
    assert not set(first[0]) & set(first[1])
    assert not set(drawn(2)[0]) & set(first[0])


def test_a_view_is_a_view_with_its_documentation():
    seen: list[View] = []

    def policy(view: View) -> Decision:
        seen.append(view)
        assert view.num_gpus.tolist() == [1]
        return Decision([Placement(0, 0, 1)])

    run(fixed([0], [1]), nodes(), policy)
    kind = type(seen[0])
    assert isinstance(seen[0], View)
    assert (kind.__name__, kind.__module__) == ("View", "simulator.model.contract")
    assert kind.__doc__ == View.__doc__
    assert not hasattr(seen[0], "network")
    assert not hasattr(seen[0], "reconfiguration")


def test_a_reader_of_changes_gets_what_is_new_or_learns_that_some_is_forgotten():
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


def test_health_of_nodes():
    inf = math.inf
    known: Any = SimpleNamespace(
        num_causes=[0, 1, 2],
        outages=[0, 3, 4],
        failure_rate=[0, 0.5, 0.01],
        leaving_s=[inf, 7, inf],
    )
    health = NodeFaults(known)
    assert health.is_up.tolist() == [True, False, False]
    assert health.outages.tolist() == [0, 3, 4]
    assert health.mean_up_s.tolist() == [inf, 2.0, 100.0]
    assert health.leaving_s.tolist() == [inf, 7.0, inf]
