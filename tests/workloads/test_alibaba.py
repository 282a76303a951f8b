"""Alibaba's traces of 2020, 2025 and 2026: numbers of jobs, GPUs and seconds by hand."""

from pathlib import Path

import numpy as np
import pytest

from simulator.model.workload import Workload
from simulator.workloads.alibaba_pai import PaiTasks
from simulator.workloads.registry import read_jobs, recognised
from tests.errors import input_error


def read(folder: Path, kind: str, *rows: str) -> Workload:
    path = folder / "jobs.csv"
    path.write_text("\n".join(rows) + "\n")
    assert recognised(path) == kind
    return read_jobs(path)


def seconds(jobs: Workload) -> list[float]:
    assert jobs.performance.fixed_s is not None
    return [float(value) for value in jobs.performance.fixed_s]


def told(jobs: Workload) -> list[str]:
    return [note.partition(": ")[2] for note in jobs.notes]


TASKS = (
    "b,worker,3.0,Failed,5000.0,5060.0,200.0,10.0,50.0,T4",
    "a,tensorflow,1.0,Terminated,4000.0,4030.0,600.0,29.5,200.0,V100",
    "b,ps,2.0,Failed,4990.0,5050.0,100.0,5.0,,",
    "c,ps,2.0,Terminated,4990.0,5050.0,100.0,5.0,,",
    "d,worker,1.0,Running,4995.0,,100.0,5.0,100.0,MISC",
    "d,evaluator,1.0,Terminated,4995.0,4999.0,100.0,5.0,100.0,MISC",
)
HEADER = ",".join(c.name for c in PaiTasks.reads)


@pytest.mark.parametrize("head", [(), (HEADER,)], ids=["as released", "with a header"])
def test_tasks_of_pai(tmp_path: Path, head: tuple[str, ...]) -> None:
    jobs = read(tmp_path, "pai", *head, *TASKS)
    assert jobs.job_id == ("a", "b")
    assert jobs.submit_s.tolist() == [0, 990]
    assert seconds(jobs) == [30, 70]
    assert jobs.num_gpus.tolist() == [2, 2]  # 3 halves are 2 GPUs
    assert jobs.num_cpus.tolist() == [6, 8]
    assert jobs.memory_gb.tolist() == [29.5, 40]
    assert told(jobs) == [
        f"1 jobs hold no GPU, left out (the first in line {4 + len(head)})",
        f"1 jobs have a task without a start or an end, left out (the first in line {5 + len(head)})",
        "2 jobs name the type of GPU on which they ran; here they may run on any type",
        "1 jobs ask for whole GPUs and a part of one; the part counts as a whole GPU",
    ]


def test_a_mistake_in_a_task_is_one_line(tmp_path: Path) -> None:
    with input_error("line 2: end_time is '10.0', expected a time not before start_time"):
        read(tmp_path, "pai", TASKS[0], TASKS[1].replace("4030.0", "10.0"))


def test_jobs_of_the_simulator_of_pai(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        "pai-jobs",
        ",num_gpu,num_cpu,num_inst,status,submit_time,duration,wait_time,user,gpu_type,job_id,group_gpu_dur",
        "0,0.25,6,8,Terminated,100,60,5,u1,T4,7,45.5",
        "1,2,,,Failed,40,20,5,u2,V100,8,",
        "2,0,4,1,Failed,50,20,5,u2,CPU,9,10",
    )
    assert jobs.job_id == ("8", "7")
    assert (jobs.num_gpus.tolist(), seconds(jobs)) == ([2, 2], [20, 60])
    assert jobs.num_cpus.tolist() == [0, 48]
    np.testing.assert_array_equal(jobs.requested_s, [np.nan, 45.5])
    assert told(jobs) == [
        "1 jobs hold no GPU, left out (the first in line 4)",
    ]
    assert jobs.gpu_types == ("V100", "T4")


def test_services_of_2025(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        "alibaba-2025",
        "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,memory_request,creation_time,scheduled_time,deletion_time",
        "i1,HN,app_0,12,12,1,1,25,120.0,,,",
        "i2,CN,app_1,64,64,0,0,1,320.0,1435629.0,1435629.0,1435760.0",
        "i3,HN,app_2,10,10,2,2,25,100.0,50.0,60.0,75.0",
        "i4,HN,app_2,10,10,2,2,25,100.0,NaN,NaN,75.0",
        "i5,HN,app_2,10,10,2,2,25,100.0,70.0,71.0,",
    )
    assert (jobs.job_id, jobs.num_gpus.tolist(), seconds(jobs)) == (("i3",), [2], [15])
    np.testing.assert_allclose(jobs.memory_gb, [107.3741824])
    assert jobs.user == ("app_2",)
    assert told(jobs) == [
        "1 instances hold no GPU, left out (the first in line 3)",
        "2 instances were there before the trace, left out (the first in line 2)",
        "1 instances stay until its end, left out (the first in line 6)",
    ]


def test_spot_jobs_of_2026(tmp_path: Path) -> None:
    jobs = read(
        tmp_path,
        "alibaba-2026-spot",
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type",
        "5,13,A10,20,1,1,30,500,HP",
        "6,57,H800,15,8,3,90,70,Spot",
        "7,57,H800,15,8,3,90,0,Spot",
    )
    assert (jobs.job_id, jobs.num_gpus.tolist(), seconds(jobs)) == (("5", "6"), [1, 24], [500, 70])
    assert (jobs.submit_s.tolist(), jobs.num_cpus.tolist()) == ([0, 60], [20, 45])
    assert (jobs.user, jobs.qos) == (("13", "57"), ("HP", "Spot"))
