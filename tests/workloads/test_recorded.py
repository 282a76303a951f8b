"""The record of a log: recorded starts and ends of each format, through filters and machines, never seen in a run."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.scenario import steps
from experiments.scenario.schema import Scenario
from simulator import FIXED, NO_CHANGE, Cluster, Decision, NodeType, Placement, simulate
from simulator.features.predictions import PredictedWorkload, Predictions, predicted
from simulator.model.recorded import Recorded
from simulator.statistics import Streams
from simulator.workloads.recorded import recorded
from simulator.workloads.registry import read_jobs, table_for
from simulator.workloads.table import Setting
from tests.core.jobs import fixed
from tests.errors import input_error

FILES = {
    "swf": """\
; three jobs: the second was cancelled while it waited, the wait of the last is not known
1 100 5 60 4 -1 -1 4 60 -1 1 7 1 -1 2 -1 -1 -1
2 110 -1 -1 -1 -1 -1 4 60 -1 5 7 1 -1 2 -1 -1 -1
3 130 40 50 8 -1 -1 8 60 -1 0 8 1 -1 3 -1 -1 -1
4 160 -1 50 8 -1 -1 8 60 -1 1 8 1 -1 3 -1 -1 -1
""",
    "slurm": """\
JobID|Submit|Start|End|State|AllocTRES|User|Partition
1|2026-01-05T08:00:00|2026-01-05T08:00:05|2026-01-05T08:01:05|COMPLETED|gres/gpu=4|7|2
3|2026-01-05T08:00:30|2026-01-05T08:01:10|2026-01-05T08:02:00|CANCELLED by 12|gres/gpu=8|8|3
""",
    "helios": """\
job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue
1,7,2,4,32,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:01:05,60,5
3,8,3,8,32,FAILED,2020-04-01 00:00:30,2020-04-01 00:01:10,2020-04-01 00:02:00,50,40
""",
    "philly": """\
[{"jobid": "1", "submitted_time": "2017-10-01 10:00:00", "status": "Pass", "vc": "2", "user": "7",
  "attempts": [{"start_time": "2017-10-01 10:00:05", "end_time": "2017-10-01 10:00:25",
                "detail": [{"ip": "m", "gpus": ["a", "b", "c", "d"]}]},
               {"start_time": "2017-10-01 10:00:45", "end_time": "2017-10-01 10:01:05",
                "detail": [{"ip": "m", "gpus": ["a", "b", "c", "d"]}]}]},
 {"jobid": "3", "submitted_time": "2017-10-01 10:00:30", "status": "Failed", "vc": "3", "user": "8",
  "attempts": [{"start_time": "2017-10-01 10:01:10", "end_time": "2017-10-01 10:02:00",
                "detail": [{"ip": "m", "gpus": ["a","b","c","d","e","f","g","h"]}]}]}]
""",
    "alibaba": """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
1,8000,1000,4,1000,,LS,Succeeded,300,365,305
3,8000,1000,8,1000,,LS,Succeeded,330,420,370
""",
    "alibaba-2025": """\
instance_sn,role,app_name,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,deletion_time
1,HN,7,12,4,120.0,100.0,105.0,165.0
3,HN,8,12,8,120.0,130.0,170.0,220.0
""",
    "pai-jobs": """\
job_id,user,num_inst,num_gpu,num_cpu,gpu_type,submit_time,duration,wait_time,group_gpu_dur
1,7,2,2,6,T4,100,60,5,3000
3,8,8,1,6,T4,130,50,40,3000
""",
    "kubernetes": """\
{"kind": "List", "apiVersion": "v1", "items": [
 {"kind": "Job", "metadata": {"name": "1", "namespace": "7", "creationTimestamp": "2026-01-05T08:00:00Z"},
  "spec": {"queue": "2", "template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}}}]}}},
  "status": {"startTime": "2026-01-05T08:00:05Z", "completionTime": "2026-01-05T08:01:05Z"}},
 {"kind": "Job", "metadata": {"name": "3", "namespace": "8", "creationTimestamp": "2026-01-05T08:00:30Z"},
  "spec": {"queue": "3", "template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}},
  "status": {"startTime": "2026-01-05T08:01:10Z", "completionTime": "2026-01-05T08:02:00Z"}}]}
""",
    "csv": """\
job_id,submit_time_s,recorded_start_s,duration_s,num_gpus,user,partition,state
1,0,5,60,4,7,2,COMPLETED
3,30,70,50,8,8,3,FAILED
4,60,,50,8,8,3,COMPLETED
""",
}
"""By format: two jobs whose starts are known, the same in all; job 4 has no start in some."""


def log_of(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.log"
    path.write_text(FILES[kind])
    return path


@pytest.mark.parametrize("kind", FILES)
def test_each_format_tells_when_its_jobs_ran(tmp_path, kind):
    """Job 1 waits 5 s and ends at 65 s, job 3 waits 40 s and ends at 120 s; between attempts, Philly's job 1 stands."""
    jobs = read_jobs(log_of(tmp_path, kind), kind)
    record = recorded(jobs)
    assert len(record) == len(jobs)
    assert record.submit_s[:2].tolist() == [0, 30]
    assert record.recorded_start_s[:2].tolist() == [5, 70]
    assert record.wait_s[:2].tolist() == [5, 40]
    assert record.end_s[:2].tolist() == [65, 120]
    assert record.num_gpus[:2].tolist() == [4, 8]
    assert np.isnan(record.recorded_start_s[2:]).all()
    if kind in ("swf", "slurm", "philly", "kubernetes", "csv"):
        assert [*record.partition[:2], *record.user[:2]] == ["2", "3", "7", "8"]


STATES = {
    "swf": ["COMPLETED", "FAILED", "COMPLETED"],
    "slurm": ["COMPLETED", "CANCELLED"],
    "helios": ["COMPLETED", "FAILED"],
    "philly": ["Pass", "Failed"],
    "csv": ["COMPLETED", "FAILED", "COMPLETED"],
    "pai-jobs": ["", ""],
}


@pytest.mark.parametrize("kind", STATES)
def test_states_are_in_the_words_of_the_log(tmp_path, kind):
    assert list(recorded(read_jobs(log_of(tmp_path, kind), kind)).state) == STATES[kind]


def test_pods_of_openb_have_a_record_and_drawn_times_none(tmp_path):
    path = log_of(tmp_path, "alibaba")
    jobs, _ = table_for(path, "alibaba").make(Setting()), None
    assert recorded(jobs).wait_s.tolist() == [5, 40]
    from simulator.workloads.openb_trace import OpenbJobs

    pods, _ = OpenbJobs(path=str(path)).make(Setting())
    assert recorded(pods).wait_s.tolist() == [5, 40]
    assert recorded(pods).end_s.tolist() == [65, 120]
    drawn, _ = OpenbJobs(path=str(path), load=0.5, duration_s="exponential:60").make(Setting())
    assert drawn.record is None


def test_a_log_without_starts_has_no_record(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_time_s,duration_s,num_gpus\na,0,60,2\n")
    jobs = read_jobs(path)
    assert jobs.record is None
    with input_error("no job has a recorded start"):
        recorded(jobs)
    path.write_text("job_id,submit_time,duration_s,num_gpus\na,2026-01-05 08:00,60,2\n")
    jobs = read_jobs(path)
    assert jobs.record is not None
    assert jobs.record.origin_s == 1767600000
    with input_error(
        "workload: no job has a recorded start, expected a log that tells when jobs started"
    ):
        recorded(jobs)


def test_a_start_before_the_submission_is_not_known_but_for_the_rounding_of_clocks(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,submit,start,end,gpus\na,100,99.5,160,2\nb,100,50,110,2\nc,100,101,110,2\n"
    )
    assert recorded(read_jobs(path, "csv")).wait_s.tolist()[::2] == [0, 1]
    assert np.isnan(recorded(read_jobs(path, "csv")).wait_s[1])


def scenario(path: Path, nodes: int = 1, **keys: Any) -> Scenario:
    workload = {"kind": "csv", "path": str(path), **keys}
    return Scenario.model_validate(
        {
            "workload": workload,
            "cluster": {"kind": "nodes", "num_nodes": nodes, "gpus_per_node": 4},
            "policy": "fifo",
        }
    )


@pytest.mark.parametrize(
    ("keys", "kept", "gpus"),
    [
        ({"from": 10, "oversized": "clip"}, ["3", "4"], [8, 8]),
        ({"until": 60, "oversized": "clip"}, ["1", "3"], [4, 8]),
        ({"user": "7"}, ["1"], [4]),
        ({"oversized": "leave-out"}, ["1"], [4]),
        ({"max_jobs": 1}, ["1"], [4]),
    ],
)
def test_the_record_keeps_to_its_jobs(tmp_path, keys, kept, gpus):
    """A job that is cut to the machines has its own GPUs in the record."""
    made = steps.through(steps.FITTED, steps.read(scenario(log_of(tmp_path, "csv"), **keys)))
    record = recorded(made.workload)
    assert list(made.workload.job_id) == kept
    starts = {"1": 5, "3": 70, "4": np.nan}
    np.testing.assert_equal(record.recorded_start_s, [starts[name] for name in kept])
    assert record.num_gpus.tolist() == gpus
    assert list(record.user) == [{"1": "7"}.get(name, "8") for name in kept]


@pytest.mark.parametrize(
    ("nodes", "types", "told"),
    [
        (1, "", ["workload: 6 GPUs were in use at once in the log, first 0.01389 h after its first submission, and the cluster has 4"]),
        (2, "", []),
        (2, "A100 V100 A100", ["workload: the jobs of the log ran on 2 types of GPU (A100 2, V100 1), the cluster has one: "
                               "durations count as they are (key cluster.groups)"]),
        (2, "A100 A100 A100", []),
    ],
)  # fmt: skip
def test_a_cluster_smaller_than_the_log_is_told(tmp_path, nodes, types, told):
    """Two jobs of 3 GPUs run together from 50 s on."""
    kinds = types.split() or [""] * 3
    rows = [f"a,0,0,100,3,{kinds[0]}", f"b,10,50,120,3,{kinds[1]}", f"c,130,130,150,4,{kinds[2]}"]
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit,start,end,gpus,gpu_type\n" + "\n".join(rows) + "\n")
    setup = steps.read(scenario(path, nodes=nodes, places="any"))
    notes = steps.through(steps.FITTED, setup).workload.notes
    assert [note for note in notes if "the log" in note] == told


def test_jobs_drawn_again_have_no_record(tmp_path):
    made = steps.read(scenario(log_of(tmp_path, "csv"), block_bootstrap=1))
    assert made.workload.record is None


# -- a run never has it --------------------------------------------------------------------


def logged() -> Any:
    """Three jobs that waited 11 s, 22 s and 33 s."""
    jobs = fixed([0.0, 10.0, 20.0], [60.0, 60.0, 60.0], [1, 1, 1])
    start_s = jobs.submit_s + np.array([11.0, 22.0, 33.0])
    record = Recorded(
        jobs.submit_s, start_s, start_s + 60, np.ones(3), ("",) * 3, jobs.vc, jobs.user
    )
    return replace(jobs, record=record)


def reachable(thing: Any) -> set[int]:
    """Ids of all that can be reached from a thing, modules and classes left out."""
    seen: set[int] = set()
    rest = [thing]
    while rest:
        each = rest.pop()
        if (
            id(each) in seen
            or isinstance(each, type)
            or type(each).__name__ in ("module", "function")
        ):
            continue
        seen.add(id(each))
        rest.extend(gc.get_referents(each))
    return seen


@pytest.mark.parametrize("predict", [False, True])
def test_no_path_from_a_view_leads_to_the_record(predict):
    """Neither by attributes, nor by what policies do not use: nothing that a view holds refers to the record."""
    jobs = logged()
    features = []
    if predict:
        features = [PredictedWorkload(predicted(jobs, Predictions(noise=0.3), Streams(1)))]
    hidden = {id(jobs.record), id(jobs.record.recorded_start_s)}
    found = []

    def curious(view: Any) -> Decision:
        found.append((view.workload.record, hidden & reachable(view)))
        starts = [Placement(j, 0, 1, FIXED) for j in view.waiting]
        return Decision(starts, keep_running=True) if starts else NO_CHANGE

    cluster = Cluster.of_nodes(NodeType("server", "GPU", 4), 1)
    result = simulate(jobs, cluster, curious, features=features)
    assert found
    assert all(each == (None, set()) for each in found)
    assert result.workload.record is None
    bare = simulate(replace(jobs, record=None), cluster, curious, features=features)
    assert result.completion_s.tolist() == bare.completion_s.tolist()
