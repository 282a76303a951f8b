"""`schedlab bound`, and the Lagrangian bound by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.analysis.bounds import alone, shared
from experiments.analysis.floor import floor, read
from experiments.analysis.lagrangian import lagrangian
from experiments.commands.bound import bound
from simulator import Cluster, FixedDuration, NodeType, Workload
from simulator.errors import InputError
from tests.analysis.test_bounds import one_type

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


def test_jobs_that_must_queue_are_late_one_after_the_other() -> None:
    """Six jobs of 10 s on one node, all due at 10 s, 1 a second: 0 + 10 + .. + 50 late, 60 of lease.

    The bound knows that each ends once; the one that spreads lateness is lower.
    """
    workload, cluster = one_type([[np.inf, 10.0]] * 6, [10.0] * 6, [1.0] * 6)
    exact = 150.0 + 60.0
    fine = lagrangian(workload, cluster, 60, 300)
    assert fine <= exact + 1e-6
    assert fine > 0.85 * exact
    assert fine > 1.05 * shared(workload, cluster, 60)


def test_without_a_shortage_it_is_near_the_job_alone() -> None:
    workload, cluster = one_type(
        [[10.0, 6.0]] * 3, [20.0, 30.0, 40.0], [1.0, 0.1, 10.0], [0.0, 10.0, 20.0], nodes=4
    )
    exact = float(alone(workload, cluster).sum())
    assert 0.9 * exact <= lagrangian(workload, cluster, 60, 20) <= exact + 1e-9


def test_the_command_prints_the_best_of_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    bound(path, None, 20)
    answer = json.loads(capsys.readouterr().out)
    assert set(answer["bounds"]) == {"alone", "shared", "lagrangian"}
    assert answer["best"] == max(b["value"] for b in answer["bounds"].values())
    assert answer["jobs"] == 10
    workload, cluster = read(path, None)
    assert answer["bounds"]["alone"]["value"] == pytest.approx(alone(workload, cluster).sum())


def test_one_of_the_two_is_wanted(tmp_path: Path) -> None:
    for arguments in ((None, None), (tmp_path / "a.toml", tmp_path)):
        with pytest.raises(InputError, match="one of the two"):
            read(*arguments)


def test_no_bound_is_below_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing costs anything, the bound by prices of node-time ends a little below 0, by rounding."""
    cluster = Cluster.of_nodes(NodeType("n", "G", 1), 1)
    jobs = Workload(["a"], [0.0], FixedDuration([10.0], [1]), num_gpus=np.ones(1, dtype=int))
    monkeypatch.setattr("experiments.analysis.lagrangian.lagrangian", lambda *_: -8e-5)
    found = floor(jobs, cluster)
    assert {b["value"] for b in found["bounds"].values()} == {0.0}
    assert str(found["best"]) == "0.0"
