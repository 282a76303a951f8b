"""A policy from a package of its own, found by its entry point."""

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

from experiments.sweep import codeversion
from policies import make_policy
from simulator import Cluster, NodeType, Workload, simulate
from tests.command import ROOT, schedlab
from tests.core.jobs import fixed, nodes

Run = Callable[..., subprocess.CompletedProcess[str]]

MODULES = {
    "shortest_first": "class ShortestFirst", "smallest": "def smallest_first",
    "apart": "def small_apart", "days": "class DayAndNight", "accounts": "class Accounting", "capped": "class PowerCap",
}  # fmt: skip
"""Modules of the package, and what each documented block of code begins with."""


def documented(sign: str, language: str = "python") -> str:
    """The one block of the page with this in it."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```", page, re.S | re.M)
    (found,) = [block for block in blocks if sign in block]
    return found


def forget() -> None:
    """The package's modules are imported anew."""
    for name in MODULES:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def install(folder: Path) -> None:
    """The documented policy as a package, laid out as an installer leaves it."""
    for name, sign in MODULES.items():
        (folder / f"{name}.py").write_text(documented(sign))
    info = folder / "shortest_first-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shortest-first\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[schedlab.policies]\nshortest-first = shortest_first:ShortestFirst\n"
        "smallest-first = smallest:smallest_first\n"
        "[schedlab.dispatchers]\nsmall-apart = apart:small_apart\n"
        "[schedlab.workloads]\nday-and-night = days:DayAndNight\naccounting = accounts:Accounting\n"
        "[schedlab.features]\npower_cap = capped:PowerCapKeys\nbroken = capped:PowerCap\n"
    )


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A command with the package, in this process."""
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        forget()
        return schedlab(*words, cwd=tmp_path)

    yield run
    forget()


def test_it_is_listed_and_runs(installed, tmp_path):
    listed = installed("policies")
    assert re.search(r"shortest-first\s+Shortest remaining time first.*ageing=0.0", listed.stdout)
    assert 'Dispatcher of a package, dispatcher = "small-apart": ' in listed.stdout
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    policy = "shortest-first:ageing=0.1"
    ran = installed("run", "scenario.toml", "--policy", policy, "--out", "out")
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
told = [schedlab(*line.split(), cwd=Path(sys.argv[1])) for line in sys.argv[2:]]
print(json.dumps([(ran.returncode, ran.stdout, ran.stderr) for ran in told]))
"""


Told = tuple[int, str, str]


def in_a_process(folder: Path, *lines: str) -> list[Told]:
    """Exit codes, outputs and errors of commands in a process of their own: keys are known from its start on."""
    ran = subprocess.run(
        [sys.executable, "-c", COMMANDS, folder, *lines], cwd=ROOT, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}, capture_output=True, check=True,
    )  # fmt: skip
    return json.loads(ran.stdout)


FILES = {
    "good.toml": CAPPED,
    "text.toml": f'{CAPPED}rate = "x"',
    "rat.toml": f"{CAPPED}rat = 1",
    "broken.toml": CAPPED.replace("[power_cap]", "[broken]"),
    "days.txt": "# id|owner|submitted|ms|GPUs\n"
    "b|bob|2026-01-01 10:00:30|60000|1\na|ann|2026-01-01 10:00:00|90000|2\nc||2026-01-01 10:01:00|0|1\n",
    "sweep.toml": 'scenario = "scenario.toml"\nseeds = 1\n[grid]\nworkload.night = [0.0, 1.0]\n',
}
WRONG = {
    "nights": ({"night = ": "nights = "}, "workload.nights: unknown key, did you mean 'night'?"),
    "day": ({"day-and-night": "day"}, 'workload.kind: got "day", expected one of'),
    "apart": ({"small-apart": "apart"}, "dispatcher: unknown dispatcher 'apart', expected one of round-robin"),
}  # fmt: skip
"""Changes of the documented scenario, and what is told."""
LINES = (
    *(f"run {name}.toml --out {name}" for name in ("good", "text", "rat", "broken", *WRONG)),
    "run scenario.toml --out out",
    "policies",
    "run days.txt --policy fifo-strict --set cluster.kind=nodes --set cluster.num_nodes=1 --set cluster.gpus_per_node=2 "
    "--out of-file",
    "sweep run sweep.toml --out swept --workers 1",
    "sweep export swept --out runs.csv",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with scenarios, and what commands made of them."""
    folder = tmp_path_factory.mktemp("plugin")
    install(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name, (changes, _) in WRONG.items():
        documented_scenario(folder, **changes)
        (folder / "scenario.toml").rename(folder / f"{name}.toml")
    documented_scenario(folder)
    return folder


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Told]:
    """What each of `LINES` came to, by its second word."""
    return {
        line.split()[min(1, line.count(" "))]: each
        for line, each in zip(LINES, in_a_process(folder, *LINES), strict=True)
    }


@pytest.mark.long
def test_a_feature_of_a_package(told, folder):
    """Two jobs of 100 s, nearly at once: above one GPU all run at half their speed, so they end at 200 s."""
    code, _, errors = told["good.toml"]
    assert code == 0, errors
    done = pd.read_csv(folder / "good" / "jobs.csv")["completion_s"]
    assert done.max() == pytest.approx(200, abs=1)
    for name, expected in (
        ("text", "power_cap.rate: got"),
        ("rat", "power_cap.rat: unknown key"),
        ("broken", "capped:PowerCap is no FeatureTable"),
    ):
        code, _, complaint = told[f"{name}.toml"]
        assert code == 2
        assert expected in complaint


def test_a_package_that_breaks_is_told_and_the_others_are_listed(installed, tmp_path):
    (tmp_path / "shortest_first.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "apart.py").write_text("raise SystemExit(0)\n")
    listed = installed("policies")
    assert listed.returncode == 0
    assert "fifo-strict" in listed.stdout
    assert listed.stdout.count("ModuleNotFoundError") == 1
    assert listed.stdout.count("(SystemExit") == 1
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = installed("run", "scenario.toml", "--policy", "shortest-first")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "cannot be loaded (ModuleNotFoundError" in ran.stderr


def test_without_it_the_name_is_unknown(tmp_path):
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = schedlab("run", "scenario.toml", "--policy", "shortest-first", cwd=tmp_path)
    assert ran.returncode == 2
    assert "unknown policy 'shortest-first'" in ran.stderr


def documented_scenario(folder: Path, **changes: str) -> None:
    """The scenario of the page, with keys replaced."""
    text = documented("[cluster]", "toml")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "scenario.toml").write_text(text)


@pytest.mark.long
def test_workload_dispatcher_and_policy_of_a_package(told, folder):
    ran, listed, accounts = told["scenario.toml"], told["policies"], told["days.txt"]
    assert ran[0] == 0, ran[2]
    jobs = pd.read_csv(folder / "out" / "jobs.csv")
    assert len(jobs) == 200
    by_day = (jobs["arrival_s"] % 86400 < 43200).mean()
    assert by_day > 0.8  # of ten jobs by day one comes at night
    # All jobs have one GPU, so all of them are at the first controller, which owns every other node.
    schedule = pd.read_csv(folder / "out" / "schedule.csv")
    assert set(schedule["node"]) <= {0, 2}
    of_jobs = r'Workload of a package, kind = "day-and-night": .*num_jobs.*night='
    assert re.search(of_jobs, listed[1], re.S)
    # A format of the package: recognised; 2 GPUs for 90 s, then 1 for 60 s; what did not run is counted.
    assert accounts[0] == 0, accounts[2]
    assert "days.txt is read as 'accounting'" in accounts[1]
    assert "1 jobs ended as they started, left out (the first in line 4)" in accounts[2]
    ends = pd.read_csv(folder / "of-file" / "jobs.csv").set_index("job_id")["completion_s"]
    assert ends.to_dict() == {"a": 90.0, "b": 150.0}


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_one_line(told, name):
    code, _, complaint = told[f"{name}.toml"]
    assert (code, complaint.count("\n")) == (2, 1)
    assert WRONG[name][1] in complaint


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_a_package_that_answers_with_something_else_is_told(tmp_path):
    documented_scenario(tmp_path)
    (tmp_path / "apart.py").write_text(
        "def small_apart(controllers, rng):\n    return lambda job: 0\n"
    )
    ((code, _, told),) = in_a_process(tmp_path, "run scenario.toml --out out")
    assert code == 2
    assert "dispatcher: answered with int for job 0, expected one of the controllers" in told
    (tmp_path / "days.py").write_text("def DayAndNight(streams):\n    return 3\n")
    ((code, _, told),) = in_a_process(tmp_path, "run scenario.toml --out out")
    assert code == 2
    assert "workload: days:DayAndNight is no WorkloadTable" in told


@pytest.mark.long
def test_its_options_can_be_swept(told, folder):
    """Another value is another run."""
    code, _, errors = told["run"]
    assert code == 0, errors
    runs = pd.read_csv(folder / "runs.csv")
    assert runs["workload.night"].tolist() == [0.0, 1.0]
    assert runs["makespan_s"].nunique() == 2


@pytest.mark.usefixtures("installed")
def test_its_code_is_part_of_the_version_of_the_code(tmp_path):
    forget()
    before = codeversion._plugins()
    assert "days.py" in before
    days = tmp_path / "days.py"
    days.write_text(days.read_text().replace("43200", "40000"))
    for name in vars(codeversion).values():
        getattr(name, "cache_clear", lambda: None)()
    assert codeversion._plugins() != before


def test_fixed_demand_with_cpus_is_placed_within_them():
    """The documented policy by hand: CPUs bind before GPUs do."""
    names: dict[str, object] = {}
    exec(documented("def smallest_first"), names)
    jobs = fixed([0, 0, 0], [100, 100, 100], [3, 1, 2], num_cpus=[3.0, 1.0, 8.0])
    result = simulate(jobs, nodes(6, cpus=8.0), names["smallest_first"])
    # Large, small, hungry. The small one first; 7 CPUs are left: the large one fits, the hungry not.
    assert result.completion_s.tolist() == [100.0, 100.0, 200.0]


def test_the_documented_performance_model():
    """100 s on one GPU, 0.9 of it in parallel: 10 + 90 / 4 s on all GPUs of a node, the fastest; 10 + 90 s alone."""
    found = {}
    exec(documented("class Amdahl"), found)
    times = found["Amdahl"]([100.0, 200.0], 0.9)
    jobs = Workload(["a", "b"], [0.0, 0.0], times, due_s=[1.0, 1.0])
    cluster = Cluster.of_nodes(NodeType("n", "GPU", 4, price_per_hour=1.0), 1)
    assert times.table_s(np.array([0]), cluster)[0, 0].tolist() == pytest.approx(
        [np.inf, 100.0, 55.0, 40.0, 32.5]
    )
    result = simulate(jobs, cluster, make_policy("fifo"))
    assert result.completion_s.tolist() == pytest.approx([32.5, 32.5 + 65.0])
