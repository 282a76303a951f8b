"""Racks of a scenario: declared once, in the table of the machines."""

import pytest

from experiments.scenario.build import build
from experiments.scenario.schema import Scenario
from experiments.scenario.steps import FITTED, read, through


def scenario(**cluster: int) -> Scenario:
    return Scenario.model_validate({
        "policy": "fifo-backfill",
        "workload": {"kind": "poisson", "num_jobs": 2, "arrival_rate_per_h": 1.0},
        "cluster": {"kind": "nodes", "num_nodes": 4, **cluster},
        "failures": {"rack_time_to_failure": "exponential:1e5", "rack_repair": "deterministic:10"},
        "network": {"same_rack": 1.1, "across_racks": 1.4},
    })  # fmt: skip


def test_both_features_read_one_size():
    given = scenario(nodes_per_rack=2)
    scene = through(FITTED, read(given)).scene
    network = scene.tables["network"].make(scene)
    (racks,) = scene.tables["failures"].make(scene).outages
    assert network.rack_of.tolist() == [0, 0, 1, 1]
    assert [list(group) for group in racks.groups] == [[0, 1], [2, 3]]


def test_racks_of_no_size():
    told = r"cluster\.nodes_per_rack: missing, expected beside failures\.rack_time_to_failure"
    with pytest.raises(ValueError, match=told):
        build(scenario())
