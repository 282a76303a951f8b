"""Kinds that read jobs that are not of fixed demand: filters, rows left out, jobs that are too large."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.model.workload import Workload
from simulator.workloads.authors import InstanceJobs
from simulator.workloads.openb_trace import OpenbJobs
from simulator.workloads.registry import kinds
from simulator.workloads.selection import Selected
from simulator.workloads.table import Setting
from tests.errors import input_error
from tests.families import module

pollux = module("simulator.workloads.pollux")
gavel = module("simulator.workloads.gavel")
elasticflow = module("simulator.workloads.elasticflow")

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


def made(folder: Path, kind: str, damage: tuple[str, str] = ("", ""), **keys: Any) -> Workload:
    """Three jobs (or more), at 0, 100 and 250 s unless the kind's example has other times.

    Parameters
    ----------
    damage : a text of the list of jobs, and what stands there instead.
    """
    path = folder / FILES[kind]
    for name, text in INSTANCE.items() if kind == "instance" else ():
        (folder / name).write_text(text)
    text = {"openb": PODS, "elasticflow": ELASTIC, "instance": INSTANCE[FILES["instance"]]}.get(
        kind
    )
    text = text or (EXAMPLES / FILES[kind]).read_text()
    assert damage[0] in text
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace(*damage) if damage[0] else text)
    if kind == "training":
        rates, gpus = EXAMPLES / "training_throughputs.json", {"v100": 8}
        return gavel.TrainingJobs(path=path, throughputs=rates, gpus=gpus, **keys).make(Setting())[
            0
        ]
    if kind == "pollux":
        return pollux.PolluxJobs(path=path, tables=EXAMPLES / "goodput", **keys).make(Setting())
    if kind == "openb":
        return OpenbJobs(path=path, **keys).make(Setting())[0]
    if kind == "elasticflow":
        return elasticflow.ElasticflowJobs(path=path, elastic=False, **keys).make(Setting())
    return InstanceJobs(path=folder, **keys).make(Setting())[0]


FILES = {
    "elasticflow": "trace.csv",
    "instance": "Lof_selectjobs.csv",
    "openb": "pods.csv",
    "pollux": "goodput/workload.csv",
    "training": "training_trace.tsv",
}
KEPT = [*FILES]


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


@pytest.mark.parametrize(
    ("kind", "damage", "reason"),
    [
        ("elasticflow", ("b,2,100", "b,2,soon"), "submit_time: expected a number >= 0"),
        ("instance", ("b,x,100", "b,x,"), "SubmissionTime: expected a number >= 0"),
        ("openb", ("b,1,1,1,1000", "b,1,1,1,1200"), "gpu_milli: expected 1 to 1000 thousandths"),
        (
            "pollux",
            ("vision-1,139,vision", "vision-1,139,visions"),
            "application: expected one with",
        ),
        ("training", ("\t1080\t300\n", "\t1080\tsoon\n"), "arrival: expected a number >= 0"),
    ],
)
def test_rows_that_cannot_be_read(
    tmp_path: Path, kind: str, damage: tuple[str, str], reason: str
) -> None:
    whole = made(tmp_path, kind)
    field = reason.partition(":")[0]
    with input_error(f"{FILES[kind]}, line "):
        made(tmp_path, kind, damage)
    with input_error(f"{field} is "):
        made(tmp_path, kind, damage)
    jobs = made(tmp_path, kind, damage, skip=True)
    lost = {"elasticflow": "b", "pollux": "vision-1", "training": "1"}.get(kind, "b")
    assert jobs.job_id == tuple(name for name in whole.job_id if name != lost)
    note = next(note for note in jobs.notes if "left out" in note)
    assert f": 1 rows left out, {reason}" in note
    assert "(the first is line " in note


def test_every_row_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with input_error("pods.csv, line 2: num_gpu is 'x'") as caught:
        made(tmp_path, "openb", (",1,1,1,", ",1,1,x,"))
    lines = [note.partition("pods.csv, ")[2] for note in caught.value.__notes__]
    assert lines[:2] == [f"line {k}: num_gpu is 'x', expected a whole number >= 0" for k in (3, 4)]
    assert (
        "3 rows cannot be read; workload.skip = true leaves them out" in caught.value.__notes__[2]
    )


def test_a_job_that_fits_nowhere_is_left_out(tmp_path: Path) -> None:
    """The trace's first job asks for four GPUs; then there are servers of two."""
    made(tmp_path, "training")
    rates = EXAMPLES / "training_throughputs.json"
    table = {"path": tmp_path / FILES["training"], "throughputs": rates, "gpus_per_node": 2}
    with input_error("training_trace.tsv, line 1: 4 GPUs, expected a type of GPU with as many"):
        gavel.TrainingJobs(**table, gpus={"v100": 2}).make(Setting())
    jobs, _ = gavel.TrainingJobs(**table, gpus={"v100": 2}, oversized="leave-out").make(Setting())
    assert jobs.num_gpus.max() == 2
    assert any("jobs do not fit on the machines, left out" in note for note in jobs.notes)
