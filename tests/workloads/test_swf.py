"""Standard Workload Format and Helios."""

import pytest

from simulator import InputError
from simulator.workloads.helios import HeliosJobs
from simulator.workloads.swf import SwfJobs

SWF = """; Computer: somewhere
; UnixStartTime: 0
1 100 5 60 4 -1 -1 4 60 -1 1 7 1 -1 2 -1 -1 -1
2 90 -1 30 -1 -1 -1 2 30 -1 1 8 1 -1 -1 -1 -1 -1
3 120 0 -1 1 -1 -1 1 30 -1 0 7 1 -1 2 -1 -1 -1
"""


@pytest.mark.parametrize("held", ["-1", "0"])
def test_swf_by_hand(tmp_path, held):
    path = tmp_path / "log.swf"
    path.write_text(SWF.replace("30 -1 -1 -1 2", f"30 {held} -1 -1 2"))
    work = SwfJobs(path=path).read()
    assert work.job_id == ("2", "1")
    assert work.submit_s.tolist() == [0, 10]
    assert work.performance.duration_s.tolist() == [30, 60]
    assert work.num_gpus.tolist() == [2, 4]
    assert (work.user, work.vc) == (("8", "7"), ("", "2"))
    assert work.notes == (f"{path}: 1 jobs have no duration, left out (the first in line 5)",)


@pytest.mark.parametrize(
    ("held", "asked", "gpus"), [(4, 8, 4), (8, 4, 8), (4, -1, 4), (-1, 8, 8), (0, 8, 8)]
)
def test_processors_that_were_held_before_those_that_were_asked_for(tmp_path, held, asked, gpus):
    path = tmp_path / "log.swf"
    path.write_text(f"1 0 0 60 {held} -1 -1 {asked} 60 -1 1 7 1 -1 2 -1 -1 -1\n")
    assert SwfJobs(path=path).read().num_gpus.tolist() == [gpus]


def test_a_checkpointed_job_counts_once(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(
        "5 0 0 90 3 -1 -1 3 -1 -1 1 1 1 1 1 1 -1 -1\n"
        "5 0 0 50 3 -1 -1 3 -1 -1 2 1 1 1 1 1 -1 -1\n"
        "5 70 0 40 3 -1 -1 3 -1 -1 3 1 1 1 1 1 -1 -1\n"
        "6\t80\t0\t7\t2\t-1\t-1\t2\t-1\t-1\t1\t1\t1\t1\t1\t1\t5\t10\n"
        "7 90 0 11 1 -1 -1 1 -1 -1 4 1 1 1 1 1 -1 -1\n"
    )
    work = SwfJobs(path=path).read()
    assert work.job_id == ("5", "6", "7")
    assert work.performance.duration_s.tolist() == [90, 7, 11]
    assert work.notes == (f"{path}: 2 rows of parts of checkpointed jobs, which count once",)


HELIOS = "job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration,queue\n"


def test_helios_by_hand(tmp_path):
    path = tmp_path / "cluster_log.csv"
    path.write_text(
        HELIOS
        + "a,u1,vc1,8,32,COMPLETED,2020-04-01 00:10:00,None,None,3600,5\n"
        + "b,u2,vc2,0,4,COMPLETED,2020-04-01 00:00:00,None,None,60,5\n"
        + "c,u2,vc2,1,4,FAILED,2020-04-01 00:09:00,None,None,60,5\n"
    )
    work = HeliosJobs(path=path).read()
    assert work.job_id == ("c", "a")
    assert work.submit_s.tolist() == [0, 60]
    assert work.vc == ("vc2", "vc1")


def test_start_and_end_count_where_the_duration_differs(tmp_path):
    path = tmp_path / "kalos.csv"
    path.write_text(
        "job_id,user,gpu_num,submit_time,start_time,end_time,duration\n"
        "a,u,4,2023-05-17 11:00:00+00:00,2023-05-17 11:00:20+00:00,2023-05-17 11:00:50+00:00,50\n"
        "b,u,4,2023-05-17 13:01:00+02:00,2023-05-17 11:01:00+00:00,2023-05-17 11:01:09+00:00,9\n"
    )
    work = HeliosJobs(path=path).read()
    assert work.submit_s.tolist() == [0, 60]
    assert work.performance.duration_s.tolist() == [30, 9]
    assert work.notes == (
        f"{path}: 1 jobs whose duration is not end_time - start_time, which counts (the first in line 2)",
    )


@pytest.mark.parametrize(
    ("read", "text", "told"),
    [
        (SwfJobs, "1 2 3\n", "line 1: 3 fields, expected 18 numbers"),
        (SwfJobs, "; nothing\n", "no job, expected lines of 18 numbers"),
        (SwfJobs, SWF.replace(" 60 4 ", " x 4 "), "line 3: run is 'x', expected a number"),
        (HeliosJobs, HELIOS + "a,u,v,1,1,C,soon,None,None,9,1\n", "submit_time is 'soon', expected a date"),
        (HeliosJobs, HELIOS + "a,u,v,1,1,C,3600,None,None,9,1\n", "submit_time is '3600', expected a date"),
        (HeliosJobs, HELIOS + "a,u,v,1,1,C,3600-01-01,None,None,9,1\n", "submit_time is '3600-01-01'"),
        (HeliosJobs, HELIOS + "a,u,v,1,1,C,now,None,None,9,1\n", "submit_time is 'now', expected a date"),
        (HeliosJobs, HELIOS + "a,u,v,-1,1,C,2020-04-01,None,None,9,1\n", "gpu_num is '-1'"),
        (HeliosJobs, HELIOS + "a,u,v,0,1,C,2020-04-01,None,None,9,1\n", "no job that ran on a GPU, .*: 1 jobs hold no GPU"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path, read, text, told):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read(path=path).read()


def test_the_same_preceding_job_in_all_lines_is_a_constant(tmp_path):
    """Some logs have 1 in fields 17 and 18 of each line, also in that of job 1."""
    path = tmp_path / "log.swf"
    line = "{0} {0} 0 60 1 -1 -1 1 60 -1 1 7 1 -1 2 -1 {1} 1\n"
    path.write_text("".join(line.format(job, 1) for job in range(3)))
    assert not SwfJobs(path=path).read().after
    path.write_text("".join(line.format(job, before) for job, before in ((0, -1), (1, -1), (2, 1))))
    assert SwfJobs(path=path).read().after
