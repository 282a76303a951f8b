"""Every code block and every command that the documentation shows is run here."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from experiments.cli import main
from experiments.scenario import schema as scenario

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
LONG = (
    "reproduce",
    "make ",
    "sweep",
    "size-server",
    "classroom",
    "notebook",
    "--bootstrap",
    "schedlab new",
    "my_policy.py",
)
"""Commands that other tests run, at a size of their own."""


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


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_order(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder in which a command was run, once for all that read what it left there."""

    @cache
    def folder_of(command: str) -> Path:
        folder = tmp_path_factory.mktemp("command")
        shutil.copytree(ROOT / "examples", folder / "examples")
        for name in command.split()[2:] if command.startswith(READ_RUNS) else []:
            earlier = [
                c for c in COMMANDS if c.startswith(RUNS_READ) and c.endswith(f"--out {name}")
            ]
            if earlier:
                shutil.copytree(folder_of(earlier[0]) / name, folder / name)
        _carry_out(command, folder)
        return folder

    return folder_of


@pytest.mark.parametrize("command", [c for c in COMMANDS if not any(w in c for w in LONG)])
def test_commands_run(command: str, ran: Callable[[str], Path]) -> None:
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


def test_every_key_of_a_scenario_is_documented() -> None:
    """Names of tables, kinds and keys stand in these pages, as code."""
    pages = (ROOT / "docs" / name for name in ("scenarios.md", "clusters.md", "workloads.md"))
    page = "".join(path.read_text("utf-8") for path in pages)
    schema = scenario.Scenario.model_json_schema()
    tables = [table["properties"] for table in (schema, *schema["$defs"].values())]
    keys = {key for table in tables for key in table}
    kinds = [table["kind"] for table in tables if "kind" in table]
    keys |= {name for kind in kinds for name in kind.get("enum", [kind.get("const")])}
    known = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`+[^`]+`+", page))))
    assert keys - known == set()


NAMED = re.compile(
    r"`((?:simulator|policies|experiments|tests|benchmarks|examples|docs|data)/[\w./-]+)`"
)
LINKED = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize(
    "page",
    [*PAGES, *sorted((ROOT / "docs" / "decisions").glob("*.md"))],
    ids=lambda page: page.name,
)
def test_files_that_pages_name_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    named = [ROOT / name for name in NAMED.findall(text)]
    linked = [page.parent / name for name in LINKED.findall(text)]
    assert [str(path) for path in (*named, *linked) if not path.exists()] == []


def test_the_first_policy_is_short() -> None:
    code = blocks(ROOT / "docs" / "extending.md", "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
