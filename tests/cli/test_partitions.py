"""Nodes shared by controllers: by their number, or by the nodes of each."""

import pytest

from experiments.config import KeyedError, validated
from experiments.scenario.build import build
from experiments.scenario.run import run_scenario
from experiments.scenario.schema import Scenario
from simulator.errors import InputError

WORKLOAD = {"kind": "hierarchical", "num_nodes": 10, "jobs_per_node": 1}


def scenario(**cluster: object) -> Scenario:
    config = {"workload": WORKLOAD, "policy": "fifo", "cluster": {"kind": "vms", **cluster}}
    return validated(Scenario, config, "test")


def test_nodes_per_controller_gives_the_number_of_controllers():
    assert build(scenario(nodes_per_controller=5))[1].num_controllers == 2
    assert build(scenario(num_controllers=5))[1].num_controllers == 5
    assert build(scenario())[1].num_controllers == 1


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"nodes_per_controller": 3}, "cluster.nodes_per_controller: 3 nodes for each controller"),
        ({"nodes_per_controller": 5, "num_controllers": 2}, "cluster: both num_controllers and"),
        ({"num_controllers": 3}, "cluster.num_controllers: 3 controllers for 10 nodes"),
    ],
)
def test_uneven_shares_are_one_line(cluster, message):
    with pytest.raises(KeyedError, match=message):
        build(scenario(**cluster))


def test_neither_may_be_zero():
    with pytest.raises(InputError, match="nodes_per_controller: got 0, expected an integer >= 1"):
        scenario(nodes_per_controller=0)


def test_facts_of_decisions_join_the_scalars():
    config = {"workload": WORKLOAD, "policy": "milp", "decision_facts": True}
    config["tables"] = ["decisions"]
    outcome = run_scenario(config)
    decisions = outcome.tables["decisions"]
    solved = decisions[decisions["columns"].notna()]
    assert outcome.scalars["mean_columns"] == pytest.approx(solved["columns"].mean())
    assert outcome.scalars["max_gap"] == pytest.approx(solved["gap"].max())
    assert outcome.scalars["mean_active"] == pytest.approx(solved["active"].mean())
    assert outcome.scalars["not_optimal"] == 0
    assert outcome.scalars["mean_fallback"] == 0
    plain = run_scenario(config | {"decision_facts": False})
    assert "mean_columns" not in plain.scalars
    none = run_scenario(config | {"policy": "fifo"})
    assert "not_optimal" not in none.scalars
    assert none.scalars["max_active"] >= 1
