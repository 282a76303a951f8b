"""Completion times of every job, as published with Pollux (OSDI 2021).

Reads ``SCHEDLAB_FACTS/peers/pollux``: tables, workloads and results of its simulator (16 nodes of 4 GPUs).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from experiments.config import validated
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario

WORKLOADS = {"0.5": "workloads-0.5__{}.csv", "1.0": "workloads__{}.csv"}
FAST = {("tiresias", "1.0", 7), ("optimus", "0.5", 5)}


def folder() -> Path:
    facts = Path(os.environ.get("SCHEDLAB_FACTS", "")) / "peers" / "pollux"
    if "SCHEDLAB_FACTS" not in os.environ or not facts.is_dir():
        pytest.skip("SCHEDLAB_FACTS names no folder with peers/pollux")
    return facts


CASES = [
    pytest.param(
        policy, load, number, marks=[] if (policy, load, number) in FAST else [pytest.mark.slow],
        id=f"{policy}-{load}-{number}",
    )
    for policy in ("tiresias", "optimus") for load in WORKLOADS for number in range(1, 9)
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("policy", "load", "number"), CASES)
def test_every_job_ends_when_it_was_published_to_end(policy: str, load: str, number: int) -> None:
    published = json.loads(
        (folder() / f"results-jobload__{policy}-{load}__summary.json").read_text()
    )
    expected = published["jcts"][f"workload-{number}"]
    assert jcts(policy, WORKLOADS[load].format(number)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "options", "within"),
    [("pollux", {}, 0.1), ("pollux", {"released": True}, 0.05), ("sia", {}, 0.1)],
)
def test_policies_that_choose_batch_sizes_come_near_the_published_mean(
    policy: str, options: dict[str, bool], within: float
) -> None:
    """Pollux's search is another here, so single jobs differ."""
    published = json.loads((folder() / "results-jobload__pollux-0.5__summary.json").read_text())
    found = jcts(policy, WORKLOADS["0.5"].format(5), options)
    assert sum(found.values()) / len(found) == pytest.approx(
        published["avgs"]["workload-5"], rel=within
    )


def jcts(policy: str, workload: str, options: dict[str, bool] | None = None) -> dict[str, float]:
    """Completion times by job: rounds of 60 s, 30 s for every start."""
    config = {
        "workload": {"kind": "pollux", "path": str(folder() / workload)},
        "cluster": {"kind": "nodes", "num_nodes": 16, "gpus_per_node": 4},
        "decisions": {"round_s": 60.0},
        "reconfiguration_s": {"first_s": 30.0, "resume_s": 30.0, "move_s": 30.0},
        "policy": policy,
        "policy_options": options or {},
    }
    result = run(validated(Scenario, config, "test"))
    return dict(zip(result.workload.job_id, result.jct_s.tolist(), strict=True))
