"""Completion times of every job, as published with Pollux (OSDI 2021).

Reads ``SCHEDLAB_FACTS/peers/pollux``: tables, workloads and results of its simulator (16 nodes of 4 GPUs).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from policies.goodput import optimus, pollux, sia, tiresias
from simulator import DecisionPoints, simulate
from simulator.features.reconfiguration import Delays
from simulator.model.cluster import Cluster, NodeType
from simulator.workloads.pollux import read_pollux
from tests.goodput.stepping import Stepping

POLICIES = {"tiresias": tiresias, "optimus": optimus}
WORKLOADS = {"0.5": "workloads-0.5__{}.csv", "1.0": "workloads__{}.csv"}
FAST = {("0.5", 5), ("1.0", 3), ("1.0", 7)}


def folder() -> Path:
    facts = Path(os.environ.get("SCHEDLAB_FACTS", "")) / "peers" / "pollux"
    if "SCHEDLAB_FACTS" not in os.environ or not facts.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with peers/pollux")
    return facts


CASES = [
    pytest.param(
        policy, load, number, marks=[] if (load, number) in FAST else [pytest.mark.slow],
        id=f"{policy}-{load}-{number}",
    )
    for policy in POLICIES for load in WORKLOADS for number in range(1, 9)
]  # fmt: skip


@pytest.mark.parametrize(("policy", "load", "number"), CASES)
def test_every_job_ends_when_it_was_published_to_end(policy: str, load: str, number: int) -> None:
    published = json.loads(
        (folder() / f"results-jobload__{policy}-{load}__summary.json").read_text()
    )
    expected = published["jcts"][f"workload-{number}"]
    workload = read_pollux(folder() / WORKLOADS[load].format(number))
    cluster = Cluster.of_nodes(NodeType("server", "T4", 4), 16)
    found = Stepping(workload, cluster, POLICIES[policy]()).run()
    assert {workload.job_id[job]: jct_s for job, jct_s in found.items()} == expected


@pytest.mark.parametrize("policy", [pollux, pytest.param(sia, marks=pytest.mark.slow)])
def test_policies_that_choose_batch_sizes_come_near_the_published_mean(policy: Any) -> None:
    """Pollux's search is another here, so single jobs differ: the mean is within 10 % of the published one."""
    published = json.loads((folder() / "results-jobload__pollux-0.5__summary.json").read_text())
    workload = read_pollux(folder() / WORKLOADS["0.5"].format(5))
    found = Stepping(workload, Cluster.of_nodes(NodeType("server", "T4", 4), 16), policy()).run()
    mean_s = sum(found.values()) / len(found)
    assert mean_s == pytest.approx(published["avgs"]["workload-5"], rel=0.1)


@pytest.mark.parametrize("policy", [tiresias, optimus, pollux])
def test_the_engine_gives_the_times_of_the_stepping_cluster(policy: Any) -> None:
    """And so the published ones: rounds of 60 s, 30 s for every start."""
    workload = read_pollux(folder() / WORKLOADS["0.5"].format(5))
    cluster = Cluster.of_nodes(NodeType("server", "T4", 4), 16)
    result = simulate(
        workload,
        cluster,
        policy(),
        decision_points=DecisionPoints.rounds(60),
        reconfiguration_s=Delays(30, 30, 30),
    )
    expected = Stepping(workload, cluster, policy()).run()
    assert result.jct_s.tolist() == [expected[job] for job in range(len(expected))]
