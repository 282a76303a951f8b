"""Which tests of a copy without a family are skipped: those that name what was taken out, and no others."""

import json
import os
import subprocess
import sys

from tests.command import ROOT

GONE = {
    "files": ["policies/milp/policy.py", "examples/milp.toml"], "modules": ["policies.milp.policy"],
    "names": ["milp"], "naming": ["examples/vms.toml"], "parameters": ["vms", "thesis"], "staying": ["vms"],
    "tasks": ["cost-v1"],
}  # fmt: skip
"""Policy milp went with its example; the example vms names it, as do the runs of the page thesis. `vms` is also a kind that stays."""
TESTS = """
import pytest

HERE = {"milp", "fifo"}

@pytest.mark.parametrize("policy", ["milp", "fifo"])
def test_policy(policy): pass

def test_of_what_it_uses(): assert HERE

def test_task(): assert "cost-v1"

@pytest.mark.parametrize("kind", ["vms", "thesis"])
def test_kind(kind): pass

@pytest.mark.parametrize("name", ["vms", "other"])
def test_example(name): assert f"examples/{name}.toml"
"""
IMPORTING = "import policies.milp.policy\ndef test_absent(): pass\n"
PAGES = """
import pytest

@pytest.mark.parametrize("page", ["vms", "other"])
def test_page(page): pass

def test_reads(): from experiments.papers import registry
"""


def test_a_word_that_is_a_kind_means_a_file_where_files_are_read(tmp_path):
    told = tmp_path / "build" / "left_out.json"
    told.parent.mkdir()
    told.write_text(json.dumps(GONE))
    for name, text in (("words", TESTS), ("importing", IMPORTING), ("pages", PAGES)):
        (tmp_path / f"test_{name}.py").write_text(text)
    plugins = ("-p", "benchmarks.left_out", "-p", "no:cacheprovider")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-vv", "--rootdir", ".", "."],
        env=os.environ | {"PYTHONPATH": str(ROOT), "SCHEDLAB_LEFT_OUT": str(told)},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line.split()[:2] for line in ran.stdout.splitlines() if "::" in line]
    found = {name.partition("::")[2]: verdict for name, verdict in lines}
    passed = {name for name, verdict in found.items() if verdict == "PASSED"}
    assert passed == {
        "test_policy[fifo]", "test_kind[vms]", "test_example[other]", "test_page[other]", "test_reads",
    }  # fmt: skip
    assert {name for name, verdict in found.items() if verdict == "SKIPPED"} == {
        "test_policy[milp]", "test_of_what_it_uses", "test_task", "test_kind[thesis]", "test_example[vms]", "test_page[vms]",
    }  # fmt: skip
