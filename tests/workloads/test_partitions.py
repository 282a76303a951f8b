"""Partitions: groups of nodes that jobs name; which nodes each job may use, by hand and in runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.scenario import steps
from experiments.scenario.build import policy_of
from experiments.scenario.schema import Scenario
from simulator import Cluster, NodeType, simulate
from simulator.model.places import Places
from simulator.workloads.partitions import in_partitions
from tests.core.jobs import fixed

TYPES = (NodeType("old", "V100", 4), NodeType("new", "A100", 4), NodeType("both", "A100", 4))
OF = [frozenset({"v"}), frozenset({"a"}), frozenset({"a", "v"})]


@pytest.mark.parametrize(
    ("vc", "asked", "names", "note"),
    [
        ("v", "", "old both", ""),
        ("a", "", "new both", ""),
        ("a,v", "", "old new both", ""),
        ("a, debug", "", "new both", ""),
        ("v", "A100", "both", ""),
        ("a", "V100|A100", "new both", ""),
        ("a", "@new", "new", ""),
        ("", "", "old new both", "1 jobs name no partition of the cluster, here they may use any node (the first is j0: none)"),
        ("cpu", "A100", "new both", "1 jobs name no partition of the cluster, here they may use any node (the first is j0: cpu)"),
        ("a", "V100", "new both", "1 jobs ask for a type of GPU that their partition lacks, here they take any of it (the first is j0: V100 in a)"),
    ],
)  # fmt: skip
def test_nodes_that_a_job_may_use(vc, asked, names, note):
    jobs = fixed([0.0], [60.0], [1], vc=[vc], gpu_types=[asked])
    cluster = Cluster(TYPES, 3, (0, 1, 2))
    made = in_partitions(jobs, cluster, OF)
    allowed = Places(made, cluster).table()[:, 0]
    assert [t.name for t, is_one in zip(TYPES, allowed, strict=True) if is_one] == names.split()
    assert list(made.notes) == ([f"workload: {note}"] if note else [])


def test_nodes_of_no_partition_are_for_all():
    jobs = fixed([0.0, 0.0], [60.0, 60.0], [1, 1], vc=["a", "b"])
    cluster = Cluster(TYPES, 3, (0, 1, 2))
    made = in_partitions(jobs, cluster, [None, frozenset({"a"}), frozenset({"b"})])
    table = Places(made, cluster).table()
    assert table.T.tolist() == [[True, True, False], [True, False, True]]


GROUPS = {
    "old": {"num_nodes": 2, "gpus_per_node": 4, "gpu_type": "V100", "partitions": ["v"]},
    "new": {"num_nodes": 2, "gpus_per_node": 4, "gpu_type": "A100", "partitions": ["a"]},
    "both": {"num_nodes": 1, "gpus_per_node": 4, "gpu_type": "A100", "partitions": ["a", "v"]},
}


def scenario(folder: Path, policy: str, groups: Any = GROUPS, **keys: Any) -> steps.Setup:
    rng = np.random.default_rng(5)
    lines = [
        f"{j},{10 * j},{rng.integers(50, 500)},{2 ** rng.integers(0, 3)},{'av'[rng.integers(2)]}"
        for j in range(60)
    ]
    path = folder / "jobs.csv"
    path.write_text(
        "job_id,submit_time_s,duration_s,num_gpus,partition\n" + "\n".join(lines) + "\n"
    )
    made = Scenario.model_validate(
        {
            "workload": {"kind": "csv", "path": str(path), **keys},
            "cluster": {"kind": "mixed", "groups": groups},
            "policy": policy,
        }
    )
    return steps.through(steps.FITTED, steps.read(made))


@pytest.mark.parametrize("policy", ["fifo", "easy-backfill", "conservative-backfill", "sjf"])
def test_in_a_run_each_job_lies_on_nodes_of_its_partition(tmp_path, policy):
    """Nodes 0 and 1 are v's, 2 and 3 a's, 4 is both's."""
    setup = scenario(tmp_path, policy)
    result = simulate(
        setup.workload, setup.cluster, policy_of(setup.scenario), record_schedule=True
    )
    vc = dict(zip(setup.workload.job_id, setup.workload.vc, strict=True))
    used = {(vc[str(row.job_id)], row.node) for row in result.schedule_table().itertuples()}
    assert used == {("v", 0), ("v", 1), ("v", 4), ("a", 2), ("a", 3), ("a", 4)}


def test_partitions_do_not_count_where_jobs_may_lie_anywhere(tmp_path):
    setup = scenario(tmp_path, "fifo", places="any")
    assert not any(setup.workload.gpu_types)


def test_a_job_that_is_larger_than_its_partition_is_refused(tmp_path):
    from simulator import InputError

    small = {**GROUPS, "new": {**GROUPS["new"], "partitions": ["x"]}, "both": {**GROUPS["both"], "partitions": ["x"]},
             "one": {"num_nodes": 1, "gpus_per_node": 2, "partitions": ["a"]}}  # fmt: skip
    with pytest.raises(InputError, match="4 GPUs do not fit on the nodes"):
        scenario(tmp_path, "fifo", small)
