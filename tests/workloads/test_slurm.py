"""Slurm's accounting: numbers of jobs, GPUs and seconds by hand."""

from pathlib import Path

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.workloads.registry import read_jobs, recognised
from simulator.workloads.slurm import SlurmJobs
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
        "1 jobs held no GPU, left out (the first in line 7)",
    ]


def test_a_running_job_can_be_kept_until_the_last_time(tmp_path: Path) -> None:
    path = str(written(tmp_path, *ROWS))
    jobs = SlurmJobs(path=path, running="until-now").make(Setting())
    assert jobs.job_id[-1] == "23"
    assert jobs.performance.duration_s[-1] == 50 * 60  # type: ignore[union-attr]
    assert "1 jobs still run, counted until the last time in the file" in jobs.notes[-1]


def test_a_file_that_does_not_tell_gpus_is_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:01",
        head="JobID|Submit|Start|End",
    )
    with pytest.raises(InputError, match="'AllocTRES' is missing"):
        read_jobs(path)
