"""Sweeps that are refused, plans that were edited, a server of workers that is killed."""

import os
import signal
import sqlite3
from multiprocessing import forkserver

import pytest
from runs import draws, run

from experiments.sweep.executors import LocalPool
from experiments.sweep.runner import run_tasks
from experiments.sweep.store import Store
from experiments.sweep.worker import MOST_LIMIT_S
from tests.command import refused
from tests.errors import input_error

SWEEP = """policies = ["fifo"]
seeds = 2
{}
[scenario]
workload = {{ kind = "poisson", num_jobs = 5, arrival_rate_per_h = 1 }}
cluster = {{ kind = "nodes", num_nodes = 1 }}
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("time_limit_s = 1e10", "time_limit_s: got 10000000000.0, expected a number > 0 and <="),
        ('grid = { "workload.num_jobs" = [1979-05-27] }', "got 1979-05-27 (a date or a time)"),
    ],
)
def test_keys(tmp_path, line, told):
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP.format(line))
    complaint = refused("sweep", "run", file, "--out", tmp_path / "new" / "out")
    assert str(file) in complaint
    assert told in complaint
    assert not (tmp_path / "new").exists()


def test_arguments_leave_nothing(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP.format(""))
    from experiments.sweep.sweep import sweep

    with input_error("workers: got 0"):
        sweep(file, tmp_path / "new" / "out", workers=0)
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()
    with input_error("workers: got 0"):
        sweep(file, tmp_path / "mine", workers=0)
    assert list((tmp_path / "mine").iterdir()) == []  # the user's own folder stays


def test_limits_of_time(tmp_path):
    with Store(tmp_path / "out", create=True) as store:
        for limit in (MOST_LIMIT_S * 1.01, float("inf"), float("nan"), 0.0):
            with input_error("time_limit_s: got"):
                run_tasks(draws(1), store, time_limit_s=limit, progress=False)
        assert (
            run_tasks(draws(1), store, workers=1, time_limit_s=MOST_LIMIT_S, progress=False).done
            == 1
        )


def test_labels_that_were_exchanged(tmp_path):
    """They belong to no hash of a run: each row of the plan has its own."""
    run(draws(3), tmp_path, workers=1)
    database = sqlite3.connect(tmp_path / "runs.sqlite")
    with database:
        rows = dict(database.execute("SELECT position, labels FROM tasks"))
        database.executemany(
            "UPDATE tasks SET labels = ? WHERE position = ?", [(rows[1], 0), (rows[0], 1)]
        )
    database.close()
    for command in (["--summary", "--metric", "mean_value"], []):
        assert "does not match its hash" in refused("sweep", "export", tmp_path, *command)
    assert run(draws(3), tmp_path).computed == 0  # the plan is written anew, the runs are kept
    with Store(tmp_path) as store:
        assert [labels["seed"] for labels in store.rows().labels] == [0, 1, 2]


def test_a_database_that_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "runs.sqlite")
    with input_error(f"{tmp_path / 'runs.sqlite'}: is no regular file"):
        Store(tmp_path, create=True)


def wait_s(seconds: float) -> int:
    import time

    time.sleep(seconds)
    return os.getpid()


@pytest.mark.long
def test_the_server_that_forks_workers_is_killed():
    """All workers go with it; their calls are made again, in workers of a new server."""
    with LocalPool(2) as pool:
        pool.submit(wait_s, 0.0).result()
        calls = [pool.submit(wait_s, 0.3) for _ in range(4)]
        before = forkserver._forkserver._forkserver_pid
        os.kill(before, signal.SIGKILL)
        assert all(call.result() for call in calls)
        assert forkserver._forkserver._forkserver_pid != before
