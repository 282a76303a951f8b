"""`schedlab bound`, and the Lagrangian bound by hand."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.analysis.bounds import alone, shared
from experiments.analysis.lagrangian import lagrangian
from experiments.analysis.lower_bound import lower_bounds, read
from experiments.commands.compare import bound
from simulator import Cluster, NodeType
from simulator.errors import InputError
from tests.analysis.test_bounds import one_type
from tests.core.jobs import elastic, fixed, nodes
from tests.workloads.test_authors import vm_folder

SCENARIO = """
policy = "edf"
seed = 3
[workload]
kind = "hierarchical"
num_nodes = 5
jobs_per_node = 2
[cluster]
kind = "vms"
"""


def test_jobs_that_must_queue_are_late_one_after_the_other():
    """Six jobs of 10 s on one node, all due at 10 s, 1 a second: 0 + 10 + .. + 50 late, 60 of lease.

    The bound knows that each ends once; the one that spreads lateness is lower.
    """
    workload, cluster = one_type([[np.inf, 10.0]] * 6, [10.0] * 6, [1.0] * 6)
    exact = 150.0 + 60.0
    fine = lagrangian(workload, cluster, 60, 300)
    assert fine <= exact + 1e-6
    assert fine > 0.85 * exact
    assert fine > 1.05 * shared(workload, cluster, 60)
    assert fine > 3.0 * float(alone(workload, cluster).sum())


whole_node_jobs = st.tuples(st.integers(1, 9), st.integers(0, 30), st.floats(0.0, 5.0))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(whole_node_jobs, min_size=1, max_size=5))
def test_it_is_below_the_best_schedule_of_one_vm(jobs):
    """Whole-node jobs that are all there at once: some order of them is the optimum, preemption or
    not. All orders are tried; lease 1 a second."""
    times, due, weight = (list(column) for column in zip(*jobs, strict=True))
    workload, cluster = one_type(
        [[np.inf, float(t)] for t in times], [float(d) for d in due], weight
    )
    exact = min(
        sum(times)
        + sum(
            weight[j] * max(0.0, sum(times[i] for i in order[: place + 1]) - due[j])
            for place, j in enumerate(order)
        )
        for order in itertools.permutations(range(len(jobs)))
    )
    assert lagrangian(workload, cluster, 20, 60) <= exact + 1e-6
    assert shared(workload, cluster, 20) <= exact + 1e-6


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 2))
def test_it_is_below_every_schedule_without_preemption(seed, count, nodes):
    """Two VM types, jobs that come over time: every order, VM and configuration, one job a VM."""
    rng = np.random.default_rng(seed)
    times = rng.integers(2, 12, (count, 3)).astype(float)
    table = np.full((count, 2, 3), np.inf)
    table[:, 0, 1], table[:, 1, 1:] = times[:, 0], times[:, 1:]
    types = (NodeType("a", "A", 1, 1800.0), NodeType("b", "B", 2, 7200.0))
    submit = np.sort(rng.integers(0, 8, count)).astype(float)
    due, weight = submit + rng.integers(1, 15, count), rng.uniform(0.0, 5.0, count)
    workload = elastic(table, submit, due_s=due, weight_per_s=weight)
    best = np.inf
    for order in itertools.permutations(range(count)):
        for hosts in itertools.product(range(nodes), repeat=count):
            for configs in itertools.product(range(3), repeat=count):
                free, cost = [0.0] * nodes, 0.0
                for j in order:
                    time_s = times[j, configs[j]]
                    free[hosts[j]] = max(free[hosts[j]], submit[j]) + time_s
                    cost += (0.5, 2.0, 2.0)[configs[j]] * time_s
                    cost += weight[j] * max(0.0, free[hosts[j]] - due[j])
                best = min(best, cost)
    assert lagrangian(workload, Cluster.of_vms(types, nodes), 15, 40) <= best + 1e-6


def test_without_a_shortage_it_is_near_the_job_alone():
    workload, cluster = one_type(
        [[10.0, 6.0]] * 3, [20.0, 30.0, 40.0], [1.0, 0.1, 10.0], [0.0, 10.0, 20.0], nodes=4
    )
    exact = float(alone(workload, cluster).sum())
    assert 0.9 * exact <= lagrangian(workload, cluster, 60, 20) <= exact + 1e-9


def test_the_command_prints_the_best_of_three(tmp_path, capsys):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    bound(path, None, 20)
    answer = json.loads(capsys.readouterr().out)
    assert set(answer["bounds"]) == {"alone", "shared", "lagrangian"}
    assert answer["best"] == max(b["value"] for b in answer["bounds"].values())
    assert answer["jobs"] == 10
    workload, cluster = read(path, None)
    assert answer["bounds"]["alone"]["value"] == pytest.approx(alone(workload, cluster).sum())


def test_the_command_reads_the_authors_folders(tmp_path, capsys):
    """Two jobs on four nodes, with due dates far away: each takes what is cheapest."""
    bound(None, vm_folder(tmp_path), 20)
    answer = json.loads(capsys.readouterr().out)
    assert (answer["jobs"], answer["nodes"]) == (2, 4)
    cheapest = 0.56 * 400 + min(0.56 * 900, 1.13 * 500)  # one of two GPUs pays half: 0.565 x 400
    assert answer["best"] == pytest.approx(cheapest / 3600)
    assert all(found["cpu_s"] >= 0.0 for found in answer["bounds"].values())


def test_one_of_the_two_is_wanted(tmp_path):
    for arguments in ((None, None), (tmp_path / "a.toml", tmp_path)):
        with pytest.raises(InputError, match="one of the two"):
            read(*arguments)


def test_no_bound_is_below_zero(monkeypatch):
    """Bounds of runs without any cost: the bound by prices of node-time ends a little below 0, by rounding."""
    monkeypatch.setattr("experiments.analysis.lagrangian.lagrangian", lambda *_: -8e-5)
    found = lower_bounds(fixed([0], [10]), nodes())
    assert {b["value"] for b in found["bounds"].values()} == {0.0}
    assert str(found["best"]) == "0.0"
