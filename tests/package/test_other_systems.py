"""What Linux has and other systems lack: the commands do without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDES = """
import multiprocessing, os, sys

for name in ("fcntl", "grp", "pwd", "resource"):
    sys.modules[name] = None
for name in ("O_NOFOLLOW", "getuid", "sched_getaffinity"):
    delattr(os, name)
multiprocessing.get_all_start_methods = lambda: ["spawn"]
"""


COMMANDS = """
import sys
from pathlib import Path
from tests.command import done
for line in sys.argv[1:]:
    done(*line.split(), cwd=Path.cwd())
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Commands in a process, and in the workers that it starts, without what Windows lacks."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(HIDES)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])

    def run(*lines):
        env = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, "-c", COMMANDS, *lines], cwd=tmp_path, env=env, capture_output=True, text=True
        )  # fmt: skip

    return run


def done(elsewhere, *lines):
    ran = elsewhere(*lines)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.long
def test_from_a_scenario_to_a_picture(elsewhere, tmp_path):
    """The three commands of docs/classroom.md, in a lab room."""
    done(elsewhere, "new scenario mine.toml", "run mine.toml --out out", "show gantt out")
    assert (tmp_path / "out" / "gantt.png").stat().st_size > 1000


@pytest.mark.slow
def test_worker_processes(elsewhere, tmp_path):
    two = "--policy fifo --policy edf --draws 2"
    done(elsewhere, "new scenario mine.toml", f"compare mine.toml {two} --out both")
    assert (tmp_path / "both" / "runs.sqlite").exists()
    done(elsewhere, "classroom --out classroom.html")
    assert (tmp_path / "classroom.html").stat().st_size > 100_000
