"""The command line, and runs of a sweep, in this process: to start another takes longer than most commands.

What a process decides (its exit, its environment, plug-ins on its path, closed outputs, hash seeds) is tested in
processes of their own.
"""

import contextlib
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.sweep.store import Store
from experiments.sweep.sweepfile import read_sweep
from experiments.sweep.task import Task
from experiments.sweep.worker import WorkerCall, execute

ROOT = Path(__file__).parents[1]


def schedlab(*words: str | Path | int, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A command's exit code and what it prints, as `subprocess.run` gives them."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    command = ["schedlab", *map(str, words)]
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.chdir(cwd)
        patch.setenv("COLUMNS", "120")
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
    told = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(command, ended.value.code, *told)


def done(*words: str | Path | int, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A command that does its work."""
    ran = schedlab(*words, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return ran


def refused(*words: str | Path | int, cwd: Path = ROOT) -> str:
    """The one line of a command that exits with code 2."""
    ran = schedlab(*words, cwd=cwd)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    return ran.stderr


def swept(file: Path, out: Path) -> Path:
    """The folder of a sweep file's runs."""
    with Store(out, create=True) as store:
        compute(read_sweep(file)[1], store)
    return out


def compute(tasks: Sequence[Task], store: Store) -> None:
    """Runs of tasks, kept as a sweep keeps them."""
    store.plan(tasks)
    store.record(execute([WorkerCall(task.key, task.function, task.config_json) for task in tasks]))
