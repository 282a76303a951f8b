"""What an answer rests on: a line for each case, and none for the others."""

import pandas as pd
import pytest

from experiments.comparison.premises import premises
from experiments.scenario.schema import Scenario

JOBS = {"kind": "poisson", "num_jobs": 5, "arrival_rate_per_h": 10, "duration_s": "exponential:60"}
FREE = "preemption takes no time here: reconfiguration_s says how long a job needs to go on"
LOST = "a job loses all its work at a failure here: [checkpoints] saves it"
FAILS = {"failures": {"time_to_failure": "exponential:9000", "repair": "deterministic:60"}}
SAVED = {"checkpoints": {"interval_s": 60.0}}
WEIGHTS = {"tenants": {"by": "user", "weight": {"a": 2}, "draw": {"a": 1}}}


def scenario(policy="fifo-backfill", workload=JOBS, **more):
    cluster = {"kind": "nodes", "num_nodes": 1, "gpus_per_node": 4}
    return Scenario.model_validate(
        {"policy": policy, "workload": workload, "cluster": cluster, **more}
    )


def told(runs, *scenarios):
    return premises(scenarios, pd.DataFrame(runs))


@pytest.mark.parametrize(
    ("runs", "others", "lines"),
    [
        ({"preemptions": [0, 3]}, [{}], [FREE]),
        ({"preemptions": [0, 0]}, [{}], []),
        ({"mean_jct_s": [1.0]}, [{}], []),
        ({"preemptions": [3]}, [{"reconfiguration_s": 10}], []),
        ({"preemptions": [3]}, [{}, {"reconfiguration_s": 10}], []),
        ({"preemptions": [3]}, [{"reconfiguration_s": {"resume_s": 5}}], []),
        ({"lost_gpu_h": [0.0, 0.5]}, [FAILS], [LOST]),
        ({"lost_gpu_h": [0.0]}, [FAILS], []),
        ({"lost_gpu_h": [0.5]}, [FAILS | SAVED], []),
        ({"lost_gpu_h": [0.5], "preemptions": [1]}, [FAILS, FAILS], [FREE, LOST]),
    ],
)
def test_preemption_and_failures(runs, others, lines):
    assert told(runs, *(scenario(**more) for more in others)) == lines


@pytest.mark.parametrize(
    ("policy", "options", "says"),
    [
        ("fifo-backfill", {}, True),
        ("fair-share", {}, False),
        ("easy-backfill", {"order": "multifactor"}, True),
        ("easy-backfill", {"order": "multifactor", "weight_fairshare": 10.0}, False),
        ("mine.py:Mine", {}, False),
    ],
)
def test_weights_of_tenants(policy, options, says):
    found = told(
        {"mean_jct_s": [1.0]}, scenario(policy, policy_options=options, **WEIGHTS), scenario(policy)
    )
    line = f"tenants.weight changes nothing under {policy}, which does not share between tenants"
    assert found == ([line] if says else [])


def test_failures_that_the_log_holds_already(tmp_path):
    rows = ["JobID|Submit|Start|End|AllocTRES|State"]
    for j, state in enumerate(["COMPLETED", "NODE_FAIL", "NODE_FAIL", "FAILED"]):
        rows.append(f"{j + 1}|2024-01-0{j + 1}T00:00:00|2024-01-0{j + 1}T01:00:00|2024-01-0{j + 1}T02:00:00|gres/gpu=1|{state}")  # fmt: skip
    (tmp_path / "sacct.txt").write_text("\n".join(rows) + "\n")
    log = {"kind": "slurm", "path": str(tmp_path / "sacct.txt")}
    line = "the log holds failures of nodes already, of 2 jobs: those of the scenario come on top"
    assert told({"lost_gpu_h": [1.0]}, scenario(workload=log, **FAILS, **SAVED)) == [line]
    assert told({"lost_gpu_h": [0.0]}, scenario(workload=log)) == []
    (tmp_path / "jobs.csv").write_text(
        "job_id,submit,start,end,gpus,state\na,0,0,9,1,NODE_FAIL by 0\nb,0,0,9,1,node_fail\nc,0,0,9,1,FAILED\n"
    )
    plain = {"kind": "csv", "path": str(tmp_path / "jobs.csv")}
    assert told({"lost_gpu_h": [1.0]}, scenario(workload=plain, **FAILS, **SAVED)) == [line]
