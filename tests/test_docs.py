"""Every code block and every command that the documentation shows is run here, by `make documented`."""

import csv
import json
import math
import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter

from experiments.bench import task as bench_tasks
from experiments.classroom import runs as classroom_runs
from experiments.cli import main
from experiments.report.published import read_numbers
from experiments.scenario import keys_page
from experiments.scenario import schema as scenario
from experiments.scenario.template import template
from experiments.sweep.sweepfile import SweepFile
from policies.registry import page as policies_page
from simulator.files.keys import meanings
from simulator.workloads.job_types import TypesConfig
from tests.families import is_absent

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
LONG = (
    "reproduce", "make ", "bench run", "bench check", "sweep", "size-server", "classroom", "notebook", "--bootstrap",
    "--precision", "schedlab new", "my_policy.py",
)  # fmt: skip
"""Commands that other tests run, at a size of their own; `pytest -m documented` (`make documented`) runs them as they are."""
NOT_HERE = {
    "make ": "targets of the Makefile: .ci/run runs those that take no hours",
    "reproduce": "takes minutes a paper, or hours; tests/papers reproduces each at a toy size",
    "--scale paper": "takes hours",
    "experiments/": "a study at its own size, takes hours",
    "SWEEP.toml": "a name to fill in; tests/sweep runs sweeps on Dask",
    "slurm_cluster": "needs a Slurm cluster",
    "kubectl": "needs a Kubernetes cluster",
}
"""Commands that no test runs as they are, and why: by a part of their text."""
STAYS_OPEN = "schedlab notebook"
"""A command that runs until it is stopped."""
ONCE = {"schedlab classroom": "classroom.md"}
"""Commands that stand on several pages and take long: with the page on which they are run."""
SHELL = re.compile(r"[|<>$;&]")
"""What a command of the shell has, and one of ours alone does not."""


RUNS_READ = ("schedlab run examples/hi", "schedlab run examples/backfill")
"""Runs that other commands read."""
READ_RUNS = ("schedlab show gantt", "schedlab show replay", "schedlab show explain")
"""Commands that read folders which `schedlab run` wrote."""


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


PYTHON_PAGES = [page for page in PAGES if blocks(page, "python")]
COMMANDS = sorted(
    {
        line.partition("  #")[0].strip()
        for page in PAGES
        for block in [*blocks(page, "bash"), *blocks(page, "sh")]
        for line in block.replace("\\\n", " ").splitlines()
        if line.startswith("schedlab ")
    }
)


ALONE = [c for c in COMMANDS if not any(w in c for w in LONG)]
"""Commands that are run one by one, in this process."""

SMALLER = {
    "mmc.toml": ("num_jobs = 12000", "num_jobs = 1200"),
    "sweep_small.toml": ("seeds = 10 ", "seeds = 2 "),
    "hierarchical.toml": ("num_nodes = 10", "num_nodes = 10\njobs_per_node = 3"),
}
"""Examples that run for seconds, with fewer jobs; `pytest -m slow tests/cli` runs them as they are."""


def with_examples(folder: Path, jobs_of_log: int = 200) -> Path:
    """The folder, in which examples/ is as in the checkout, but for the number of jobs."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, (old, new) in SMALLER.items():
        file = folder / "examples" / name
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")
    jobs = folder / "examples" / "philly_like.csv"
    jobs.write_text("".join(jobs.read_text("utf-8").splitlines(keepends=True)[:121]), "utf-8")
    write = runpy.run_path(str(ROOT / "examples" / "sacct_like.py"))["write"]
    write(folder / "sacct.txt", jobs_of_log)  # 5,000 in docs/your_cluster.md
    return folder


PROGRAM = """
import json, sys, traceback
failed = {}
for page, code in json.load(sys.stdin).items():
    try:
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
    except BaseException:
        failed[page] = traceback.format_exc()
print("failed:", json.dumps(failed))
"""
"""All pages in one process: the libraries are imported once."""


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The traceback of each page whose blocks do not run in order."""
    code = {page.name: "\n".join(blocks(page, "python")) for page in PYTHON_PAGES}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(code), cwd=with_examples(tmp_path_factory.mktemp("pages")),
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout.rpartition("failed:")[2]))


@pytest.mark.documented
@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_order(page, failed):
    assert page.name not in failed, failed[page.name]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder in which a command was run, once for all that read what it left there."""

    @cache
    def folder_of(command: str) -> Path:
        jobs_of_log = 1_600 if command.startswith("schedlab when") else 200
        folder = with_examples(tmp_path_factory.mktemp("command"), jobs_of_log)
        for name in command.split()[2:] if command.startswith(READ_RUNS) else []:
            written = [c for c in COMMANDS if c.endswith(f"--out {name}")]
            if earlier := [c for c in written if c.startswith(RUNS_READ)]:
                shutil.copytree(folder_of(earlier[0]) / name, folder / name)
        _carry_out(command, folder)
        return folder

    return folder_of


@pytest.mark.documented
@pytest.mark.parametrize("command", ALONE)
def test_commands_run(command, ran):
    """In a folder with the examples; files that a command reads stand in examples/."""
    folder = ran(command)
    if " --out " in command:
        assert (folder / command.partition(" --out ")[2].split()[0]).exists()


def _carry_out(command: str, folder: Path) -> None:
    """In this process: to start another takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0


def shell_lines(page: Path) -> Iterator[str]:
    """The commands of a page in order, whatever program they call, with those of one pipe in one line."""
    for block in re.findall(r"^```(?:bash|sh)\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
        for line in re.sub(r"\\\n|(?<=\|)\n", " ", block).splitlines():
            if command := line.partition("  #")[0].strip():
                yield command


def is_here(command: str) -> bool:
    return not any(part in command for part in NOT_HERE)


DOCUMENTED = [
    page
    for page in PAGES
    if any(is_here(c) and any(w in c for w in LONG) for c in shell_lines(page))
]


@pytest.fixture
def fewer_runs(monkeypatch):
    """A task of the benchmark and a page for a class, of fewer and shorter runs."""
    own = bench_tasks.task_of("philly-v1")
    size = own.sizes["s"].model_copy(update={"set": ["workload.num_jobs=40"], "seeds": 2})
    fewer = own.model_copy(update={"sizes": {"s": size}})
    monkeypatch.setattr(bench_tasks, "tasks", lambda: {"philly-v1": fewer})
    monkeypatch.setattr(bench_tasks, "locked", dict)
    for name, less in (("JOBS", 200), ("SEEDS", (1, 2)), ("RELAXATIONS", 0)):
        monkeypatch.setattr(classroom_runs, name, {"quick": less, "paper": less})


@pytest.mark.documented
@pytest.mark.usefixtures("fewer_runs")
@pytest.mark.parametrize("page", DOCUMENTED, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_in_order(page, tmp_path):
    """As a reader would type them, in a folder with the examples, but for those that are run one by one."""
    folder = with_examples(tmp_path)
    (folder / "results").mkdir()
    (folder / "results" / "paper").symlink_to(ROOT / "results" / "paper")
    for name, text in re.findall(
        r"`([\w.]+\.toml)` has \w+ lines.*?```toml\n(.*?)```", page.read_text("utf-8"), re.S
    ):
        (folder / name).write_text(text)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "BROWSER": "true"}
    here = (c for c in shell_lines(page) if is_here(c) and ONCE.get(c, page.name) == page.name)
    for command in here:
        if command.startswith(STAYS_OPEN):
            _opens(command, folder, environment)
        elif command.startswith("schedlab ") and not SHELL.search(command):
            if command not in ALONE:
                _carry_out(command, folder)
        elif command not in ALONE:
            ran = subprocess.run(
                ["timeout", "1800", "bash", "-c", command], cwd=folder, env=environment,
                capture_output=True, text=True,
            )  # fmt: skip
            assert ran.returncode == 0, f"{command}\n{ran.stderr}"


def _opens(command: str, folder: Path, environment: dict[str, str]) -> None:
    """A command that tells its address and goes on; it is ended then, with what it has started."""
    with subprocess.Popen(
        ["timeout", "60", "bash", "-c", command], cwd=folder, env={**environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        told = ""
        for line in process.stdout:
            told += line
            if "http://" in line:
                break
        running = process.poll() is None
        if running:
            os.killpg(process.pid, signal.SIGTERM)
    assert running, f"{command}\n{told}"
    assert "http://" in told, f"{command}\n{told}"


def test_every_command_is_run_by_some_test_or_has_a_reason():
    """A page of whose commands one is long runs them all; the others are here, one by one."""
    for page in set(PAGES) - set(DOCUMENTED):
        others = [c for c in shell_lines(page) if is_here(c) and c not in COMMANDS]
        assert all(
            c.startswith(("sed ", "python examples/", "printf ", "cat ", "source ", "pip "))
            for c in others
        ), others


def test_keys_are_those_of_the_schemas():
    assert (ROOT / "docs" / "keys.md").read_text("utf-8") == keys_page.page()


def test_policies_are_those_of_the_registry():
    """Every option has a meaning, else the page cannot be made."""
    assert (ROOT / "docs" / "policies.md").read_text("utf-8") == policies_page.page()


def models() -> list[type[BaseModel]]:
    """Tables of scenarios, sweeps and files of job types."""
    found: dict[type[BaseModel], None] = {}
    todo: list[Any] = [scenario.Scenario, SweepFile, TypesConfig]
    while todo:
        kind = todo.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind not in found:
                todo += [field.annotation for field in kind.model_fields.values()]
            found[kind] = None
        else:
            todo += get_args(kind)
    return list(found)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_key_has_a_meaning_and_examples_that_hold(model):
    texts = meanings(model)
    for key, field in model.model_fields.items():
        assert texts.get(key) or key == "kind"
        for example in field.examples or ():
            TypeAdapter(Annotated[field.annotation, field]).validate_python(example, strict=True)


def test_a_new_scenario_runs_with_each_of_its_keys(tmp_path):
    """Each commented key is right, too: the file is read with one key after the other."""
    lines = template().splitlines()
    for number, line in enumerate(lines):
        key = re.fullmatch(r"# ((\w+) = .*)", line)
        if key and not key[1].startswith(
            ("gaps_of", "load")
        ):  # which go with, or instead of, another
            file = tmp_path / "scenario.toml"
            file.write_text("\n".join([*lines[:number], key[1], *lines[number + 1 :]]))
            scenario.read_scenario(file)


NAMED = re.compile(
    r"`((?:simulator|policies|experiments|tests|benchmarks|examples|docs|data)/[\w./-]+)`"
)
LINKED = re.compile(r"\]\((?!https?:)([^)#]+)")


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=lambda page: page.name)
def test_files_that_pages_name_exist(page):
    text = page.read_text("utf-8")
    named = [ROOT / name for name in NAMED.findall(text)]
    linked = [page.parent / name for name in LINKED.findall(text)]
    missing = [str(path) for path in (*named, *linked) if not path.exists()]
    assert [path for path in missing if not is_absent(path)] == []


def test_claims_of_the_artifact_page_are_rows_of_the_results():
    """Beside what the paper prints, and the numbers that the rule for verdicts takes for it."""
    with open(ROOT / "results" / "paper" / "readings.csv", newline="", encoding="utf-8") as lines:
        rows = {(r["paper"], r["place"], r["claim"]): r for r in csv.DictReader(lines)}
    text = (ROOT / "docs" / "artifact.md").read_text("utf-8")
    table = re.findall(r"^\| `reproduce (\w+)` \| \d+ " + r"\| (.+) " * 4 + r"\|$", text, re.M)
    assert len(table) > 10
    for page, place, claim, printed, accepted in table:
        row = rows[page, place, claim]
        unit = f" {row['unit']}" if row["unit"] not in ("", "x", "servers") else ""
        assert printed == row["paper_value"].replace("-70", " to 70").removesuffix(".0") + unit
        folder = ROOT / "experiments" / "papers" / page
        if folder.exists():
            low, high = read_numbers(folder)[row["published"]].accepted
            bounds = f"at most {high:.4g}" if low == -math.inf else f"{low:.4g} to {high:.4g}"
            assert accepted == bounds + unit


def test_the_first_policy_is_short():
    code = blocks(ROOT / "docs" / "extending.md", "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
