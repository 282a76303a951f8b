"""Filters of the kinds that read jobs that are not of fixed demand: the same keys, the same times."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.model.workload import Workload
from simulator.workloads.authors import InstanceJobs
from simulator.workloads.elasticflow import ElasticflowJobs
from simulator.workloads.gavel import TrainingJobs
from simulator.workloads.openb_trace import OpenbJobs
from simulator.workloads.pollux import PolluxJobs
from simulator.workloads.registry import kinds
from simulator.workloads.selection import Selected
from simulator.workloads.table import Setting
from tests.errors import input_error

EXAMPLES = Path(__file__).parents[2] / "examples"

INSTANCE = {
    "Lof_selectjobs.csv": "UniqueJobsID,Application,SubmissionTime,Deadline,Tardinessweight\n"
    "a,x,0,900,0.1\nb,x,100,900,0.1\nc,y,250,900,0.1\n",
    "SelectJobs_times.csv": "Application,UniqueJobsID,VMtype,GpuType,GpuNumber,maxGpuNumber,cost,ExecutionTime\n"
    "x,a,v,K80,1,1,1,50\nx,b,v,K80,1,1,1,60\ny,c,v,K80,1,1,1,70\n",
    "tNodes.csv": "Nodes\nn1\n",
}
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,scheduled_time,deletion_time\n"
    "a,1,1,1,500,,40,50,90\nb,1,1,1,1000,,140,150,190\nc,1,1,1,250,,290,300,310\n"
)
ELASTIC = (
    "job_id,num_gpu,submit_time,iteration,model_name,duration,interval,batch_size,ddl\n"
    "a,1,0,100,toy,50,0,4,900\nb,2,100,100,toy,60,0,4,900\nc,1,250,100,toy,70,0,4,900\n"
)


def made(folder: Path, kind: str, **keys: Any) -> Workload:
    """Three jobs (or more), at 0, 100 and 250 s unless the kind's example has other times."""
    if kind == "training":
        path = EXAMPLES / "training_trace.tsv"
        rates = EXAMPLES / "training_throughputs.json"
        return TrainingJobs(path=path, throughputs=rates, gpus={"v100": 8}, **keys).make(Setting())[
            0
        ]
    if kind == "pollux":
        return PolluxJobs(path=EXAMPLES / "goodput" / "workload.csv", **keys).make(Setting())
    if kind == "openb":
        (folder / "pods.csv").write_text(PODS)
        return OpenbJobs(path=folder / "pods.csv", **keys).make(Setting())[0]
    if kind == "elasticflow":
        (folder / "trace.csv").write_text(ELASTIC)
        return ElasticflowJobs(path=folder / "trace.csv", elastic=False, **keys).make(Setting())
    for name, text in INSTANCE.items():
        (folder / name).write_text(text)
    return InstanceJobs(path=folder, **keys).make(Setting())[0]


KEPT = ["elasticflow", "instance", "openb", "pollux", "training"]


def test_every_kind_that_reads_jobs_has_the_filters():
    """Kinds with a file of jobs; those of jobs that are drawn have files of another sort."""
    drawn = {name for name, kind in kinds().items() if kind.model_fields.get("num_jobs")}
    read = {name for name, kind in kinds().items() if "path" in kind.model_fields} - drawn
    assert {name for name in read if issubclass(kinds()[name], Selected)} == read
    assert read.issuperset(KEPT)


@pytest.mark.parametrize("kind", KEPT)
def test_the_first_and_those_of_a_time(tmp_path: Path, kind: str) -> None:
    whole = made(tmp_path, kind)
    submit_s = whole.submit_s
    assert made(tmp_path, kind, max_jobs=2).job_id == whole.job_id[:2]
    start_s = float(submit_s[1] - submit_s[0])
    later = made(tmp_path, kind, **{"from": start_s})
    chosen = submit_s >= submit_s[0] + start_s
    assert 0 < len(later) < len(whole)
    assert later.job_id == tuple(np.array(whole.job_id)[chosen])
    assert later.submit_s.tolist() == submit_s[chosen].tolist()
    earlier = made(tmp_path, kind, until=start_s)
    assert earlier.job_id == tuple(np.array(whole.job_id)[~chosen])
    both = made(tmp_path, kind, **{"from": start_s, "max_jobs": 1})
    assert both.job_id == later.job_id[:1]


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"user": "ann"}, "workload.user: got 'ann', the file names none"),
        ({"partition": "gpu"}, "workload.partition: got 'gpu', the file names none"),
        ({"from": "2026-03-01"}, "the file has no dates"),
        ({"from": 1e9}, "workload.from: no job is submitted then"),
    ],
)
def test_what_the_file_does_not_have(
    tmp_path: Path, kind: str, keys: dict[str, Any], message: str
) -> None:
    with input_error(message):
        made(tmp_path, kind, **keys)


def test_drawn_times_have_no_first_day(tmp_path: Path) -> None:
    with input_error("from: times are drawn with load, expected one of the two"):
        made(tmp_path, "openb", load=0.5, duration_s="exponential:60", **{"from": 10})
    jobs = made(tmp_path, "openb", load=0.5, duration_s="exponential:60", max_jobs=2)
    assert jobs.job_id == ("a", "b")
