"""Jobs that follow others: when they are submitted, from when they wait, and who never comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate
from simulator.features.tenants.tenants import Tenants
from simulator.model.workload import Dependency
from simulator.workloads.following import following
from simulator.workloads.registry import read_jobs
from simulator.workloads.trace import killed_at_limit
from tests.errors import input_error

SERVER = NodeType("server", "GPU", 8)


def run(jobs: Workload, policy: str = "fifo", gpus: int = 8, **more: Any) -> Result:
    cluster = Cluster.of_nodes(NodeType("server", "GPU", gpus), 1)
    return simulate(jobs, cluster, make_policy(policy), **more)


def chain(
    *after: list[Dependency], submit_s: list[float], duration_s: list[float], **columns: Any
) -> Workload:
    count = len(submit_s)
    times = FixedDuration(np.array(duration_s), np.ones(count, np.int64))
    names = [chr(ord("a") + k) for k in range(count)]
    return Workload(names, np.array(submit_s), times, after=after, **columns)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "jobs.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_fields_17_and_18_of_swf(tmp_path: Path) -> None:
    """2 thinks for 30 s after 1, 3 comes at 500 s, long after 2 has ended, 4 follows a job that is not there."""
    row = "{} {} 0 {} 4 -1 -1 4 -1 -1 1 1 1 1 1 1 {} {}".format
    path = written(
        tmp_path, row(1, 40, 100, -1, -1), row(2, 45, 60, 1, 30), row(3, 540, 7, 2, 5), row(4, 541, 7, 99, 5)
    )  # fmt: skip
    jobs = read_jobs(path)
    assert jobs.notes == (
        f"{path}: 1 dependencies on jobs that are not in the file count as fulfilled",
    )
    result = run(jobs)
    assert result.first_start_s.tolist() == [0, 130, 500, 501]
    assert result.wait_s.tolist() == [0, 0, 0, 0]
    assert result.jct_s.tolist() == [100, 60, 7, 7]
    assert result.jobs_table()["arrival_s"].tolist() == [0, 130, 500, 501]


def test_think_times_count_to_the_second() -> None:
    """a ends at 10 s; b comes 2 s later, c a quarter of a second after b's end. A job that
    comes a second after a's end waits for the other one, too."""
    after: list[list[Dependency]] = [
        [],
        [Dependency("a", 2.0, False)],
        [Dependency("b", 0.25, False)],
    ]
    jobs = chain(*after, submit_s=[0.0, 1.0, 2.0], duration_s=[10.0, 5.0, 1.0])
    assert run(jobs).first_start_s.tolist() == [0.0, 12.0, 17.25]
    late = chain([], [Dependency("a", 2.0, False)], submit_s=[0.0, 11.0], duration_s=[10.0, 5.0])
    assert run(late).first_start_s.tolist() == [0.0, 12.0]


def test_a_table_names_those_before(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "id,submit,run,gpus,after,think time (min)",
        "x_1,0,10,1,,", "x_2,0,25,1,,", "y,1,5,1,afterok:x,", "z,2,5,1,x_1;y,1", "w,3,5,1,singleton,",
    )  # fmt: skip
    jobs = read_jobs(path)
    assert jobs.after[2] == (Dependency("x_1", 0, True), Dependency("x_2", 0, True))
    assert "1 jobs have dependencies of a kind that is not supported" in jobs.notes[0]
    assert run(jobs).first_start_s.tolist() == [0, 0, 25, 90, 3]


def test_slurm_says_what_a_job_follows(tmp_path: Path) -> None:
    at = "2026-03-01T10:0"
    row = ("{}|" + f"{at}0:0" + "{}" + f"|{at}1:00|{at}2:00|gres/gpu=1|" + "{}").format
    path = written(
        tmp_path,
        "JobID|Submit|Start|End|AllocTRES|Dependency",
        row(7, 0, ""), row(8, 1, "afterok:7(unfulfilled),afterany:9"), row(9, 2, "(null)"),
    )  # fmt: skip
    jobs = read_jobs(path)
    assert jobs.after == ((), (Dependency("7", 0, True), Dependency("9")), ())
    assert run(jobs).first_start_s.tolist() == [0, 62, 2]


@pytest.mark.parametrize(
    ("text", "found", "others"),
    [
        ("", [], 0),
        ("a b", [("a", False), ("b", False)], 0),
        ("afterok:20:21,afterany:22", [("20", True), ("21", True), ("22", False)], 0),
        ("afterok:20?afternotok:21", [("20", True)], 1),
        ("singleton", [], 1),
        ("after:20+5", [], 1),
    ],
)
def test_texts(text: str, found: list[tuple[str, bool]], others: int) -> None:
    assert following(text, 3.0) == ([Dependency(name, 3.0, ok) for name, ok in found], others)


def test_a_job_queues_from_when_it_is_submitted() -> None:
    """b follows a and is submitted at 10 s, behind c, which came at 5 s: one GPU, first come, first served."""
    after = ([], [Dependency("a")], [])
    jobs = chain(*after, submit_s=[0, 1, 5], duration_s=[10, 4, 6])
    result = run(jobs, gpus=1)
    assert result.first_start_s.tolist() == [0, 16, 10]
    assert result.wait_s.tolist() == [0, 6, 5]
    assert jobs.submit_s.tolist() == [0, 1, 5]


def test_success_is_needed_or_not() -> None:
    """a is killed at its limit: b, which needs its success, leaves, and so does d behind it; c does not mind."""
    after = ([], [Dependency("a", 0, True)], [Dependency("a")], [Dependency("b", 0, True)])
    jobs = chain(*after, submit_s=[0, 0, 0, 50], duration_s=[10, 1, 1, 1], requested_s=[5, 9, 9, 9])
    result = run(killed_at_limit(jobs))
    assert result.left is not None
    assert result.left.tolist() == [False, True, False, True]
    assert result.completion_s.tolist() == [5, 5, 6, 50]


def test_patience_and_quotas_count_from_the_submission() -> None:
    """On one GPU c waits behind b from 10 s on, and leaves at 13 s; its quota of 1 GPU holds b's other job."""
    after = ([], [Dependency("a")], [Dependency("a")])
    jobs = chain(*after, submit_s=[0, 1, 2], duration_s=[10, 8, 1], patience_s=[99, 99, 3])
    result = run(jobs, gpus=1)
    assert result.completion_s.tolist() == [10, 18, 13]
    one = Tenants(("t",), np.zeros(3, np.int64), np.ones(1), np.ones(1))
    held = run(chain(*after, submit_s=[0, 1, 2], duration_s=[10, 8, 1]), features=[one])
    assert held.first_start_s.tolist() == [0, 10, 18]
    assert held.parts["tenants"].held_s.tolist() == [0, 0, 8]


def test_jobs_that_wait_for_each_other_are_refused() -> None:
    after = ([Dependency("b")], [Dependency("a")])
    with input_error("job 'a' follows itself by way of others"):
        run(chain(*after, submit_s=[0, 0], duration_s=[1, 1]))


def test_a_part_of_the_jobs_waits_for_no_other() -> None:
    jobs = chain([], [Dependency("a")], submit_s=[0, 1], duration_s=[10, 1])
    assert run(jobs.head(1)).completion_s.tolist() == [10]
