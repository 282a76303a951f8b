"""Every code block and every command that the documentation shows is run here."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.scenario import schema as scenario

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
LONG = ("reproduce", "make ", "sweep", "size-server", "classroom", "notebook")
"""Commands that other tests run, at a size of their own."""


READ_RUNS = ("schedlab gantt", "schedlab replay")
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


@pytest.mark.parametrize("command", [c for c in COMMANDS if not any(w in c for w in LONG)])
def test_commands_run(command: str, tmp_path: Path) -> None:
    """In a folder with the examples; files that a command reads stand in examples/."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for folder in command.split()[2:] if command.startswith(READ_RUNS) else []:
        made = (
            c
            for c in COMMANDS
            if c.startswith("schedlab run examples/hi") and c.endswith(f"--out {folder}")
        )
        for earlier in itertools.islice(made, 1):
            _run(earlier, tmp_path)
    _run(command, tmp_path)


def _run(command: str, folder: Path) -> None:
    words = [sys.executable, "-m", "experiments.cli", *shlex.split(command)[1:]]
    run = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr


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


def test_the_documented_policy_is_twenty_lines_or_so() -> None:
    code = blocks(ROOT / "docs" / "extending.md", "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 25
