"""Racks of a scenario: declared once, in the table of the machines; old keys are accepted with a note."""

import pytest

from experiments.scenario.build import build, scene_of
from experiments.scenario.schema import Scenario

FAILURES = {"rack_time_to_failure": "exponential:1e5", "rack_repair": "deterministic:10"}


def scenario(cluster: int | None, failures: int | None, network: int | None) -> Scenario:
    """A scenario whose racks have these sizes by the three keys."""

    def key(size: int | None) -> dict[str, int]:
        return {} if size is None else {"nodes_per_rack": size}

    return Scenario.model_validate({
        "policy": "fifo-backfill",
        "workload": {"kind": "poisson", "num_jobs": 2, "arrival_rate_per_h": 1.0},
        "cluster": {"kind": "nodes", "num_nodes": 4, **key(cluster)},
        "failures": {**FAILURES, **key(failures)},
        "network": {"same_rack": 1.1, "across_racks": 1.4, **key(network)},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "notes"),
    [
        ((2, None, None), []),
        ((2, 2, 2), ["failures", "network"]),
        ((None, 2, None), ["failures"]),
        ((None, None, 2), ["network"]),
        ((None, 2, 2), ["failures", "network"]),
    ],
)
def test_both_features_read_one_size(sizes, notes):
    given = scenario(*sizes)
    workload, cluster = build(given)
    scene = scene_of(given, workload, cluster)
    network = scene.tables["network"].make(scene)
    (racks,) = scene.tables["failures"].make(scene).outages
    assert network.rack_of.tolist() == [0, 0, 1, 1]
    assert [list(group) for group in racks.groups] == [[0, 1], [2, 3]]
    assert list(workload.notes) == [
        f"{table}.nodes_per_rack is called cluster.nodes_per_rack now" for table in notes
    ]


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((None, 4, 2), r"network\.nodes_per_rack\n  Extra inputs"),
        ((4, 2, None), r"failures\.nodes_per_rack\n  Extra inputs"),
        ((None, None, None), r"cluster\.nodes_per_rack: missing, expected beside failures\.rack_time_to_failure"),
    ],
)  # fmt: skip
def test_racks_of_two_sizes_or_none(sizes, told):
    with pytest.raises(ValueError, match=told):
        build(scenario(*sizes))
