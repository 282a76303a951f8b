"""What is copied into a container: what git tracks, and nothing that a host has made."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_what_is_tracked_is_copied_and_nothing_else():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode or not listed.stdout:
        pytest.skip("no checkout of git")
    tracked = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    rules = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [rule for rule in rules if not rule.startswith("#")]
    assert rules[0] == "*"
    copied = {rule[1:] for rule in rules if rule.startswith("!")}
    assert copied == tracked - {".dockerignore", ".gitignore"}
