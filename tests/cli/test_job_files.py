"""`schedlab show jobs`: a run as SWF, and in the columns of Batsim; numbers by hand."""

import csv
from pathlib import Path

import pytest

from simulator.workloads.registry import read_jobs
from tests.command import done, refused

SCENARIO = """\
policy = "fifo-strict"
[workload]
kind = "csv"
path = "jobs.csv"
[cluster]
kind = "nodes"
num_nodes = 2
gpus_per_node = 2
"""
JOBS = """\
job_id,submit_time_s,duration_s,num_gpus,user,vc
a,0,100,2,ann,x
b,10,50,2,bob,
c,20,30,3,ann,y
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "s.toml").write_text(SCENARIO)
    done("run", tmp_path / "s.toml", "--out", tmp_path / "out")
    return tmp_path / "out"


def test_swf(run: Path) -> None:
    """c waits for the 3 GPUs that are free when a ends."""
    path = run / "jobs.swf"
    done("show", "jobs", run, "--out", path)
    lines = path.read_text().splitlines()
    assert "; MaxProcs: 4" in lines
    assert [line for line in lines if not line.startswith(";")] == [
        "1 0 0 100 2 -1 -1 2 -1 -1 1 1 -1 -1 1 -1 -1 -1",
        "2 10 0 50 2 -1 -1 2 -1 -1 1 2 -1 -1 -1 -1 -1 -1",
        "3 20 80 30 3 -1 -1 3 -1 -1 1 1 -1 -1 2 -1 -1 -1",
    ]
    again = read_jobs(path)
    assert (again.submit_s.tolist(), again.num_gpus.tolist()) == ([0, 10, 20], [2, 2, 3])
    assert again.performance.fixed_s is not None
    assert again.performance.fixed_s.tolist() == [100, 50, 30]


def test_columns_of_batsim(run: Path) -> None:
    path = run / "batsim.csv"
    done("show", "jobs", run, "--out", path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    told = ("job_id", "success", "final_state", "starting_time", "finish_time", "waiting_time",
            "stretch", "allocated_resources")  # fmt: skip
    assert [tuple(row[name] for name in told) for row in rows] == [
        ("a", "1", "COMPLETED_SUCCESSFULLY", "0.0", "100.0", "0.0", "1.0", "0-1"),
        ("b", "1", "COMPLETED_SUCCESSFULLY", "10.0", "60.0", "0.0", "1.0", "2-3"),
        ("c", "1", "COMPLETED_SUCCESSFULLY", "100.0", "130.0", "80.0", str(110 / 30), "0-2"),
    ]
    assert rows[2]["requested_number_of_resources"] == "3"


def test_what_is_refused(run: Path) -> None:
    assert "expected .swf, or .csv" in refused("show", "jobs", run, "--out", run / "jobs.txt")
    before = (run / "jobs.csv").read_bytes()
    assert "jobs.csv" in refused("show", "jobs", run, "--out", run / "jobs.csv")
    assert (run / "jobs.csv").read_bytes() == before


def test_gpus_that_stay_free_keep_their_numbers(tmp_path: Path) -> None:
    """The first node has GPUs 0 and 1, of which one is never used."""
    (tmp_path / "jobs.csv").write_text(f"{JOBS.splitlines()[0]}\na,0,100,1,ann,x\nb,10,50,2,bob,\n")
    (tmp_path / "s.toml").write_text(SCENARIO)
    done("run", tmp_path / "s.toml", "--out", tmp_path / "out")
    done("show", "jobs", tmp_path / "out", "--out", tmp_path / "batsim.csv")
    with (tmp_path / "batsim.csv").open() as file:
        assert [row["allocated_resources"] for row in csv.DictReader(file)] == ["0", "2-3"]
