"""A policy from a package of its own, found by its entry point."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.scenario.run import run_scenario
from experiments.sweep import codeversion
from experiments.sweep.sweepfile import read_sweep
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate
from tests.command import ROOT, schedlab

Run = Callable[..., subprocess.CompletedProcess[str]]

OTHERS = {
    "smallest": "def smallest_first", "apart": "def small_apart", "days": "def day_and_night",
    "capped": "class PowerCap",
}  # fmt: skip
"""Modules of the package, and what each documented block of code begins with."""


def forget() -> None:
    """The package's modules are imported anew."""
    for name in ("shortest_first", *OTHERS):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A command with the documented policy as a package, laid out as an installer leaves it, in this process."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    (code,) = [block for block in blocks if "class ShortestFirst" in block]
    (tmp_path / "shortest_first.py").write_text(code, encoding="utf-8")
    for name, sign in OTHERS.items():
        (block,) = [b for b in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M) if sign in b]
        (tmp_path / f"{name}.py").write_text(block, encoding="utf-8")
    info = tmp_path / "shortest_first-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shortest-first\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[schedlab.policies]\nshortest-first = shortest_first:ShortestFirst\n"
        "smallest-first = smallest:smallest_first\n"
        "[schedlab.dispatchers]\nsmall-apart = apart:small_apart\n"
        "[schedlab.workloads]\nday-and-night = days:day_and_night\n"
        "[schedlab.features]\npower_cap = capped:PowerCapKeys\nbroken = capped:PowerCap\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        forget()
        return schedlab(*words, cwd=tmp_path)

    yield run
    forget()


def test_it_is_listed_and_runs(installed: Run, tmp_path: Path) -> None:
    listed = installed("policies")
    assert re.search(r"shortest-first\s+Shortest remaining time first.*ageing=0.0", listed.stdout)
    assert 'Dispatcher of a package, dispatcher = "small-apart": ' in listed.stdout
    assert re.search(
        r'Workload of a package, kind = "day-and-night": .*num_jobs.*night=', listed.stdout, re.S
    )
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = installed(
        "run", "scenario.toml", "--policy", "shortest-first:ageing=0.1",
        "--out", "out",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "summary.json").exists()


CAPPED = """policy = "fifo-backfill"
[workload]
kind = "poisson"
num_jobs = 2
arrival_rate_per_h = 1e6
duration_s = "deterministic:100"
[cluster]
kind = "nodes"
num_nodes = 1
gpus_per_node = 2
[power_cap]
gpus = 1
"""


COMMANDS = """
import json, sys
from pathlib import Path
from tests.command import schedlab
folder = Path(sys.argv[1])
told = [schedlab("run", name, "--out", name[:-5], cwd=folder) for name in sys.argv[2:]]
print(json.dumps([(ran.returncode, ran.stderr) for ran in told]))
"""


@pytest.mark.usefixtures("installed")
def test_a_feature_of_a_package(tmp_path: Path) -> None:
    """Two jobs of 100 s, nearly at once: above one GPU all run at half their speed, so they end at 200 s.

    In a process of its own: the keys of a scenario are known from its start on.
    """
    files = {
        "good.toml": CAPPED,
        "text.toml": f'{CAPPED}rate = "x"',
        "rat.toml": f"{CAPPED}rat = 1",
        "broken.toml": CAPPED.replace("[power_cap]", "[broken]"),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, "-c", COMMANDS, tmp_path, *files], cwd=ROOT, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, check=True,
    )  # fmt: skip
    good, text, rat, broken = json.loads(ran.stdout)
    assert good[0] == 0, good[1]
    done = pd.read_csv(tmp_path / "good" / "jobs.csv")["completion_s"]
    assert done.max() == pytest.approx(200, abs=1)
    for (code, told), expected in (
        (text, "power_cap.rate: got"),
        (rat, "power_cap.rat: unknown key"),
        (broken, "capped:PowerCap is no FeatureTable"),
    ):
        assert code == 2
        assert expected in told


def test_a_package_that_breaks_is_told_and_the_others_are_listed(
    installed: Run, tmp_path: Path
) -> None:
    (tmp_path / "shortest_first.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "apart.py").write_text("raise SystemExit(0)\n")
    listed = installed("policies")
    assert listed.returncode == 0
    assert "fifo-strict" in listed.stdout
    assert listed.stdout.count("ModuleNotFoundError") == 1
    assert listed.stdout.count("(SystemExit") == 1
    assert 'kind = "day-and-night"' in listed.stdout
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = installed("run", "scenario.toml", "--policy", "shortest-first")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "cannot be loaded (ModuleNotFoundError" in ran.stderr


def test_without_it_the_name_is_unknown(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = schedlab("run", "scenario.toml", "--policy", "shortest-first", cwd=tmp_path)
    assert ran.returncode == 2
    assert "unknown policy 'shortest-first'" in ran.stderr


def refused(installed: Run) -> str:
    """Message of the command for a scenario that it does not run."""
    ran = installed("run", "scenario.toml", "--out", "out")
    assert ran.returncode == 2
    return ran.stderr


def documented_scenario(folder: Path, **changes: str) -> None:
    """The scenario of the page, with keys replaced."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    (text,) = [b for b in re.findall(r"^```toml\n(.*?)^```", page, re.S | re.M) if "[cluster]" in b]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "scenario.toml").write_text(text)


def test_workload_dispatcher_and_policy_of_a_package(installed: Run, tmp_path: Path) -> None:
    documented_scenario(tmp_path)
    ran = installed("run", "scenario.toml", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    jobs = pd.read_csv(tmp_path / "out" / "jobs.csv")
    assert len(jobs) == 200
    by_day = (jobs["arrival_s"] % 86400 < 43200).mean()
    assert by_day > 0.8  # of ten jobs by day one comes at night
    # All jobs have one GPU, so all of them are at the first controller, which owns every other node.
    schedule = pd.read_csv(tmp_path / "out" / "schedule.csv")
    assert set(schedule["node"]) <= {0, 2}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"night = ": "nights = "}, "workload.nights: unknown key, expected one of num_jobs, jobs_per_hour, night"),
        ({"day-and-night": "day"}, 'workload.kind: got "day", expected one of'),
        ({"small-apart": "apart"}, "dispatcher: unknown dispatcher 'apart', expected one of round-robin"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    installed: Run, tmp_path: Path, changes: dict[str, str], told: str
) -> None:
    documented_scenario(tmp_path, **changes)
    complaint = refused(installed)
    assert complaint.count("\n") == 1
    assert told in complaint


def test_a_package_that_answers_with_something_else_is_told(installed: Run, tmp_path: Path) -> None:
    documented_scenario(tmp_path)
    (tmp_path / "apart.py").write_text(
        "def small_apart(controllers, rng):\n    return lambda job: 0\n"
    )
    complaint = refused(installed)
    assert "dispatcher: answered with int for job 0, expected one of the controllers" in complaint
    (tmp_path / "days.py").write_text(
        "def day_and_night(streams, num_jobs, night):\n    return 3\n"
    )
    complaint = refused(installed)
    assert "workload.kind: 'day-and-night' answered with int, expected a Workload" in complaint


def test_its_options_can_be_swept(installed: Run, tmp_path: Path) -> None:
    """Another value is another run, and the package's code is part of the version of the code."""
    forget()
    documented_scenario(tmp_path)
    (tmp_path / "sweep.toml").write_text(
        'scenario = "scenario.toml"\nseeds = 1\n[grid]\nworkload.night = [0.0, 1.0]\n'
    )
    _, tasks = read_sweep(tmp_path / "sweep.toml")
    labels = [dict(task.labels or {})["workload.night"] for task in tasks]
    assert labels == [0.0, 1.0]
    found = {run_scenario(dict(task.config)).scalars["makespan_s"] for task in tasks}
    assert len(found) == 2
    before = codeversion._plugins()
    assert "days.py" in before
    days = tmp_path / "days.py"
    days.write_text(days.read_text().replace("43200", "40000"))
    for name in vars(codeversion).values():
        getattr(name, "cache_clear", lambda: None)()
    assert codeversion._plugins() != before


def test_fixed_demand_with_cpus_is_placed_within_them() -> None:
    """The documented policy by hand: CPUs bind before GPUs do."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    (block,) = [
        b
        for b in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
        if "def smallest_first" in b
    ]
    names: dict[str, object] = {}
    exec(block, names)
    jobs = Workload(
        ["large", "small", "hungry"], submit_s=np.zeros(3),
        performance=FixedDuration([100.0] * 3, [3, 1, 2]), num_gpus=np.array([3, 1, 2]),
        num_cpus=np.array([3.0, 1.0, 8.0]),
    )  # fmt: skip
    node = NodeType("n", "GPU", 6, cpus=8.0)
    result = simulate(jobs, Cluster.of_nodes(node, 1), names["smallest_first"])
    # The small one first; 7 CPUs are left, too few for the hungry one; the large one fits.
    assert result.completion_s.tolist() == [100.0, 100.0, 200.0]
