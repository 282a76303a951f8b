"""A policy from a package of its own, found by its entry point."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The documented policy as a package, laid out as an installer leaves it; its environment."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    code = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)[0]
    (tmp_path / "shortest_first.py").write_text(code, encoding="utf-8")
    info = tmp_path / "shortest_first-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shortest-first\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[schedlab.policies]\nshortest-first = shortest_first:ShortestFirst\n"
    )
    return {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}


def run(environment: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments.cli", *words],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_it_is_listed_and_runs(installed: dict[str, str], tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "policies")
    assert re.search(r"shortest-first\s+Shortest remaining time first.*ageing=0.0", listed.stdout)
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = run(
        installed, tmp_path, "run", "scenario.toml", "--policy", "shortest-first",
        "-o", "ageing=0.1", "--out", "out",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "summary.json").exists()


def test_a_package_that_breaks_is_told_and_the_others_are_listed(
    installed: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "shortest_first.py").write_text("import nowhere_to_be_found\n")
    listed = run(installed, tmp_path, "policies")
    assert listed.returncode == 0
    assert "fifo-strict" in listed.stdout
    assert "ModuleNotFoundError" in listed.stdout
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = run(installed, tmp_path, "run", "scenario.toml", "--policy", "shortest-first")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "cannot be loaded (ModuleNotFoundError" in ran.stderr


def test_without_it_the_name_is_unknown(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "hierarchical.toml", tmp_path / "scenario.toml")
    ran = run(dict(os.environ), tmp_path, "run", "scenario.toml", "--policy", "shortest-first")
    assert ran.returncode == 2
    assert "unknown policy 'shortest-first'" in ran.stderr
