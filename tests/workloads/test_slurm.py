"""Slurm's accounting: numbers of jobs, GPUs and seconds by hand."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.workloads.registry import read_jobs, recognised
from simulator.workloads.slurm import SlurmJobs
from simulator.workloads.slurm_text import seconds_of
from simulator.workloads.table import Setting

HEAD = "JobID|JobName|User|Submit|Start|End|State|AllocTRES|Partition"
ROWS = (
    '20|a "b|u1|2026-03-01T10:00:00|2026-03-01T10:10:00|2026-03-01T10:30:00|COMPLETED|cpu=4,gres/gpu:h100=6,gres/gpu=6|p1',
    "20.batch|batch||2026-03-01T10:10:00|2026-03-01T10:10:00|2026-03-01T10:30:00|COMPLETED|gres/gpu=6|",
    "21_4|b|u2|2026-03-01T09:59:00|2026-03-01T10:00:00|2026-03-01T10:00:45|FAILED|gres/gpu:v100=3|p2",
    "22|c|u2|2026-03-01T11:00:00|None|2026-03-01T11:20:00|CANCELLED by 7||p2",
    "23|d|u2|2026-03-01T11:00:00|2026-03-01T11:00:00|Unknown|RUNNING|gres/gpu=1|p2",
    "24|e|u2|2026-03-01T11:00:00|2026-03-01T11:00:00|2026-03-01T11:50:00|COMPLETED|cpu=1|p2",
    "20|a|u1|2026-03-01T10:40:00|2026-03-01T10:41:00|2026-03-01T10:42:00|COMPLETED|gres/gpu=6|p1",
)


def written(tmp_path: Path, *rows: str, head: str = HEAD) -> Path:
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join((head, *rows)) + "\n")
    return path


@pytest.mark.parametrize("end", ["", "|"], ids=["-P", "--parsable"])
def test_jobs_run_from_start_to_end_on_what_they_held(tmp_path: Path, end: str) -> None:
    path = written(tmp_path, *(row + end for row in ROWS), head=HEAD + end)
    assert recognised(path) == "slurm"
    jobs = read_jobs(path)
    assert jobs.job_id == ("21_4", "20", "20.again1")
    assert jobs.submit_s.tolist() == [0, 60, 2460]
    assert jobs.performance.duration_s.tolist() == [45, 1200, 60]  # type: ignore[attr-defined]
    assert np.array_equal(jobs.num_gpus, [3, 6, 6])
    assert jobs.vc == ("p2", "p1", "p1")
    assert [note.partition(": ")[2] for note in jobs.notes] == [
        "1 rows of steps, which are no jobs",
        "1 jobs never started, left out (the first in line 5)",
        "1 jobs still run, or their end is unknown, left out (the first in line 6)",
        "1 jobs hold no GPU, left out (the first in line 7)",
        "1 rows repeat the name of a job; they become separate jobs, NAME.again1, ..",
    ]


def test_a_running_job_can_be_kept_until_the_last_time(tmp_path: Path) -> None:
    path = str(written(tmp_path, *ROWS))
    jobs = SlurmJobs(path=path, running="until-now").make(Setting())
    assert jobs.job_id[-1] == "23"
    assert jobs.performance.duration_s[-1] == 50 * 60  # type: ignore[attr-defined]
    assert "1 jobs still run, counted until the last time in the file" in jobs.notes[-1]


def test_a_file_that_does_not_tell_gpus_is_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:01",
        head="JobID|Submit|Start|End",
    )
    with pytest.raises(InputError, match="'AllocTRES' is missing"):
        read_jobs(path)


FULL = "JobID|Submit|Eligible|Start|End|State|Timelimit|AllocTRES|ReqTRES|QOS"


def test_limits_requests_and_service(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "1|2026-03-01T10:00:00|2026-03-01T10:05:00|2026-03-01T10:10:00|2026-03-01T10:11:00|COMPLETED|1-02:00:00|gres/gpu:a100=2,gres/gpu:v100=1,cpu=8,mem=2.50G|gres/gpu=9|high",
        "2|2026-03-01T10:01:00|Unknown|2026-03-01T10:10:00|2026-03-01T10:12:00|COMPLETED|UNLIMITED||cpu=4,gres/gpu=5,mem=512M|low",
        "3|2026-03-01T10:02:00|2026-03-01T10:02:00|2026-03-01T10:10:00|2026-03-01T10:13:00|TIMEOUT|Partition_Limit|gres/gpu=1||",
        "4|2026-03-01T10:03:00|2026-03-01T10:03:00|2026-03-01T10:10:00|2026-03-01T10:14:00|TIMEOUT|90|gres/gpu=1||",
        head=FULL,
    )
    jobs = read_jobs(path)
    assert jobs.num_gpus.tolist() == [3, 5, 1, 1]
    np.testing.assert_array_equal(jobs.requested_s, [93_600, np.nan, np.nan, 5400])
    np.testing.assert_array_equal(jobs.num_cpus, [8, 4, np.nan, np.nan])
    np.testing.assert_allclose(jobs.memory_gb[:2], [2.684354560, 0.536870912])
    assert jobs.qos == ("high", "low", "", "")
    assert jobs.submit_s.tolist() == [0, 60, 120, 180]
    eligible = SlurmJobs(path=str(path), waits_from="eligible").make(Setting())
    assert eligible.job_id == ("2", "3", "4", "1")
    assert eligible.submit_s.tolist() == [0, 60, 120, 240]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("9|soon|||2026-03-01T10:00:00|CANCELLED|x|||", "never started"),
        ("9|2026-03-01T10:00:00|x|2026-03-01T10:00:00|2026-02-01T10:00:00|FAILED|x|cpu=1||", "hold no GPU"),
        ("9|2026-03-01T10:00:00||2026-03-01T10:00:00|Unknown|RUNNING|-3|gres/gpu=1||", "still run"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_row_that_is_left_out_refuses_nothing(
    tmp_path: Path, row: str, reason: str
) -> None:
    good = "1|2026-03-01T10:00:00||2026-03-01T10:10:00|2026-03-01T10:11:00|COMPLETED||gres/gpu=2||"
    jobs = read_jobs(written(tmp_path, good, row, head=FULL))
    assert jobs.job_id == ("1",)
    assert reason in jobs.notes[0]
    bad = good.replace("COMPLETED||", "COMPLETED|x|")
    with pytest.raises(InputError, match="Timelimit is 'x', expected a time like"):
        read_jobs(written(tmp_path, bad, head=FULL))


@pytest.mark.parametrize("state", ["COMPLETING", "SUSPENDED", "RUNNING"])
def test_states_that_run(tmp_path: Path, state: str) -> None:
    rows = (
        f"1|2026-03-01T10:00:00||2026-03-01T10:10:00|Unknown|{state}||gres/gpu=2||",
        "2|2026-03-01T10:00:00||2026-03-01T10:10:00|Unknown|NODE_FAIL||gres/gpu=2||",
        "3|2026-03-01T10:00:00||2026-03-01T10:10:00|2026-03-01T10:30:00|COMPLETED||gres/gpu=2||",
    )
    path = str(written(tmp_path, *rows, head=FULL))
    jobs = SlurmJobs(path=path, running="until-now").make(Setting())
    assert jobs.job_id == ("1", "3")
    assert jobs.performance.duration_s.tolist() == [1200, 1200]  # type: ignore[attr-defined]


def job(number: int, start: int, end: int, gpus: int, **more: Any) -> dict[str, Any]:
    """A job as ``sacct --json`` writes it (Slurm 23.11)."""
    time = {"submission": 1_772_359_200 + number, "eligible": 1_772_359_200 + number, "start": start,
            "end": end, "limit": {"set": True, "infinite": False, "number": 90}}  # fmt: skip
    return {
        "job_id": number, "user": "u1", "partition": "gpu", "qos": "normal",
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
        "state": {"current": ["COMPLETED"], "reason": "None"}, "time": time,
        "tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 8},
                               {"type": "mem", "name": "", "id": 2, "count": 1000},
                               {"type": "gres", "name": "gpu", "id": 1001, "count": gpus}],
                 "requested": []},
        "steps": [{"step": {"id": f"{number}.batch"}}],
    } | more  # fmt: skip


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    jobs = [
        job(7, 1_772_359_300, 1_772_359_400, 4),
        job(8, 1_772_359_300, 1_772_359_350, 2, array={"job_id": 6, "task_id": {"set": True, "number": 3}}),
        job(9, 1_772_359_300, 0, 2, state={"current": ["RUNNING"]}),
        job(10, 0, 1_772_359_350, 0),
        job(11, 1_772_359_300, 1_772_359_310, 1, array={}, time={
            "submission": 1_772_359_260, "start": 1_772_359_300, "end": 1_772_359_310, "limit": 60}),
    ]  # fmt: skip
    path.write_text(json.dumps({"meta": {"plugin": {}}, "errors": [], "jobs": jobs}))
    assert recognised(path) == "slurm"
    read = read_jobs(path)
    assert read.job_id == ("7", "6_3", "11")
    assert read.submit_s.tolist() == [0, 1, 53]
    assert read.performance.duration_s.tolist() == [100, 50, 10]  # type: ignore[attr-defined]
    assert read.num_gpus.tolist() == [4, 2, 1]
    assert read.requested_s.tolist() == [5400, 5400, 3600]
    assert (read.user[0], read.vc[0], read.qos[0]) == ("u1", "gpu", "normal")
    assert read.num_cpus[0] == 8
    assert [note.partition(": ")[2] for note in read.notes] == [
        "1 jobs never started, left out (the first in entry 4)",
        "1 jobs still run, or their end is unknown, left out (the first in entry 3)",
    ]
    path.write_text('{"jobs": []}')
    with pytest.raises(InputError, match="no list 'jobs'"):
        read_jobs(path, "slurm")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400), ("90:30", 5430), ("1:02:03", 3723), ("7-0", 604_800), ("1-12", 129_600),
        ("1-12:30", 131_400), ("1-02:03:04", 93_784), ("x", math.nan),
    ],
)  # fmt: skip
def test_times_of_slurm(text: str, seconds: float) -> None:
    """Minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds."""
    assert seconds_of(text) == pytest.approx(seconds, nan_ok=True)
