"""The same sweeps on a Dask cluster of separate worker processes."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from experiments.sweep import executors, runner
from experiments.sweep.task import Task
from simulator.errors import InputError
from tests.sweep import runs
from tests.sweep.runs import draws, exported, only_failure

distributed = pytest.importorskip("distributed", reason="Dask is an optional extra")


@pytest.fixture(scope="module")
def cluster():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        with distributed.LocalCluster(n_workers=2, **options) as cluster:
            yield cluster


@pytest.fixture(autouse=True)
def same_code(monkeypatch, request):
    """Somebody may be editing the sources while the tests run."""
    if "versions" not in request.node.name:
        monkeypatch.setattr(runner, "_versions", lambda tasks: ())


def run(tasks: list[Task], folder: Path, cluster, **options: object) -> runner.RunSummary:
    return runs.run(tasks, folder, dask=cluster and cluster.scheduler_address, **options)


@pytest.mark.long
def test_same_bytes_as_on_this_machine_alone(tmp_path, cluster):
    assert run(draws(10), tmp_path / "dask", cluster).done == 10
    run(draws(10), tmp_path / "local", None)
    assert exported(tmp_path / "dask") == exported(tmp_path / "local")


@pytest.mark.slow
def test_a_lost_worker_loses_nothing(tmp_path, cluster):
    def kill_one() -> None:
        time.sleep(0.5)
        os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    summary = run(draws(60, sleep_s=0.03), tmp_path / "dask", cluster)
    killer.join()
    assert (summary.done, summary.failed) == (60, 0)
    run(draws(60, sleep_s=0.03), tmp_path / "local", None)
    assert exported(tmp_path / "dask") == exported(tmp_path / "local")


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("raise", "ValueError: seed 3 is <not> wanted"),
        pytest.param("hang", "the run was ended at its time limit of 3 s", marks=pytest.mark.slow),
        pytest.param("die", "the run's worker process ended several times", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_run_that_fails_fails_alone(tmp_path, cluster, does, told):
    tasks = draws(6, "trouble", does=does, at=[3])
    summary = run(tasks, tmp_path, cluster, time_limit_s=3.0)
    assert (summary.done, summary.failed) == (5, 1)
    assert only_failure(tmp_path).splitlines()[-1] == told


@pytest.mark.long
def test_workers_of_other_code_versions_are_refused(tmp_path, cluster, monkeypatch):
    other = (("sweep_functions:draw", ("simulator",), "another version"),)
    monkeypatch.setattr(runner, "_versions", lambda tasks: other)
    with pytest.raises(InputError, match="its code, data or libraries differ"):
        run(draws(4), tmp_path, cluster)


@pytest.mark.long
def test_no_scheduler_at_the_address(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "CONNECT_S", 1)
    with pytest.raises(InputError, match=r"--dask tcp://127\.0\.0\.1:1: no scheduler answers"):
        runs.run(draws(1), tmp_path, dask="tcp://127.0.0.1:1")


@pytest.mark.long
def test_dask_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="Dask is not installed"):
        runs.run(draws(1), tmp_path, dask="local")


@pytest.mark.slow
def test_a_cluster_of_its_own_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    assert runs.run(draws(6), tmp_path, dask="local").done == 6
