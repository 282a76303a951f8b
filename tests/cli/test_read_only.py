"""Folders that cannot be written: one line, exit code 2, and what can be read is read."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import pytest

from experiments.sweep.store import DATABASE, Report, Store
from experiments.sweep.task import Task
from simulator.errors import InputError
from tests.command import ROOT, done, refused, schedlab

JOBS = "job_id,submit_time_s,duration_s,num_gpus\na,0,100,4\nb,10,50,8\n"
SWEEP = """
policies = ["fifo"]
scenario.workload = { kind = "hierarchical", num_nodes = 2 }
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """A file system of its own, and a function after which nothing can be written there."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount") or "mount"
    made = [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here (needs Linux and root)")
    frozen = [mount, "-o", "remount,ro", str(folder)]
    try:
        yield folder, lambda: subprocess.run(frozen, check=True)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def contents(folder: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def finished_sweep(folder: Path) -> Task:
    """A folder with one run that is done."""
    task = Task("sweep_functions:draw", {"seed": 1}, {"seed": 1})
    with Store(folder, create=True) as store:
        store.plan([task])
        store.record([Report(task.key, "done", {"x": 1.5})])
    return task


@pytest.mark.long
def test_results_that_cannot_be_written(disk, tmp_path):
    """Each command that writes, into a folder that is there and into one that is not."""
    folder, freeze = disk
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    run = ("run", tmp_path / "jobs.csv", "--set", "cluster.num_nodes=2", "--policy", "fifo")
    done(*run, "--out", tmp_path / "out")
    finished_sweep(tmp_path / "swept")
    (folder / "there").mkdir()
    freeze()
    for out in (folder / "there", folder / "new"):
        for words in (
            (*run, "--out", out),
            (*run, "--stream", "--out", out),
            ("sweep", "run", tmp_path / "sweep.toml", "--workers", 1, "--out", out),
            ("sweep", "export", tmp_path / "swept", "--out", out / "runs.csv"),
            ("show", "gantt", tmp_path / "out", "--out", out / "chart.svg"),
            ("show", "replay", tmp_path / "out", "--out", out / "page.html"),
            ("show", "trace", tmp_path / "jobs.csv", "--out", out / "trace.svg"),
            ("theory", "packing", "--out", out / "table.csv"),
            ("classroom", "--out", out / "page.html"),
            ("reproduce", "rental", "--out", out),
        ):
            ran = schedlab(*words)
            lines = ran.stderr.splitlines()
            told = [line for line in lines if not line.startswith("schedlab: note:")]
            assert (words[0], ran.returncode, len(told)) == (words[0], 2, 1), ran.stderr
            assert "cannot be written" in told[0], words
    assert contents(folder) == {}


def test_a_sweep_that_cannot_be_written_can_be_read(disk, tmp_path):
    folder, freeze = disk
    finished_sweep(folder / "swept")
    freeze()
    before = contents(folder)
    assert "1 runs, 1 done" in done("sweep", "status", folder / "swept").stdout
    done("sweep", "export", folder / "swept", "--out", tmp_path / "runs.csv")
    assert (tmp_path / "runs.csv").read_text() == "seed,status,error,x\n1,done,,1.5\n"
    for words in (["export", folder / "swept"], ["retry", folder / "swept", "--allow-code"]):
        assert "cannot be written" in refused("sweep", *words)
    assert contents(folder) == before


def test_runs_beside_the_database_are_not_lost_in_silence(disk, tmp_path):
    """The last runs of a killed sweep lie in a second file, which SQLite cannot read there."""
    folder, freeze = disk
    task = finished_sweep(tmp_path / "swept")
    with Store(tmp_path / "swept", create=True) as store:
        store.record([Report("0" * 64, "done")])
        for name in (DATABASE, f"{DATABASE}-wal"):
            shutil.copy(tmp_path / "swept" / name, folder)
    freeze()
    with pytest.raises(InputError, match=f"{DATABASE}-wal: holds runs that cannot be read"):
        Store(folder)
    shutil.copytree(folder, tmp_path / "copy")
    with Store(tmp_path / "copy") as store:
        assert set(store.states()) == {task.key, "0" * 64}


def test_a_disk_that_cannot_be_written_any_more_stops_a_sweep(tmp_path):
    """A disk with faults is made read-only by the system, while runs are under way."""
    task = finished_sweep(tmp_path / "swept")
    with Store(tmp_path / "swept", create=True) as store:
        store._db.execute("PRAGMA query_only = ON")
        with pytest.raises(InputError, match=r"swept: cannot be written .*what is in it is kept"):
            store.record([Report("0" * 64, "done")])
        assert store.states() == {task.key: "done"}


@pytest.mark.long
@pytest.mark.skipif(
    not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"),
    reason="this Numba looks for a folder of its own",
)
def test_compiled_kernels_that_cannot_be_kept(disk, tmp_path):
    """A package in a folder of somebody else, and a home that cannot be written."""
    folder, freeze = disk
    freeze()
    jobs = 'policy = "greedy"\n[workload]\nkind = "hierarchical"\nnum_nodes = 2\n'
    (tmp_path / "some.toml").write_text(jobs)
    words = ["run", "some.toml", "--out", "out"]
    places = {
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "PYTHONPATH": str(ROOT),
    }
    ran = subprocess.run(
        [sys.executable, "-m", "experiments.cli", *words], cwd=tmp_path, env=os.environ | places,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert "the compiled kernels cannot be kept" in ran.stderr
    assert "set NUMBA_CACHE_DIR" in ran.stderr
    assert not (tmp_path / "out").exists()
