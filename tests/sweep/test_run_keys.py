"""A run's key: what changes it and what does not."""

import sys

import numpy as np
import pytest

from experiments.sweep import codeversion
from experiments.sweep.task import Outcome, Task, canonical_json, flatten, plain_scalar, resolve
from simulator.errors import InputError
from tests.sweep.runs import install

MODULE = '''
import math
from simulator.errors import InputError
from {package}.helpers import scale

LIMIT = 3

def run_cell(config):
    """What it does."""
    return inner(config) * LIMIT + scale(config)

def inner(config):
    return math.pi

def draw(results):
    return "a plot"
'''
HELPERS = """
def scale(config):
    return factor()

def factor():
    return 2

def unrelated():
    return 3
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "key_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "cells.py").write_text(MODULE.format(package="key_package"))
    (folder / "helpers.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def version() -> set[str]:
    """Version of the code, as a process sees it that starts now."""
    for name in [name for name in sys.modules if name.startswith("key_package")]:
        del sys.modules[name]
    codeversion._origin.cache_clear()
    codeversion._parsed.cache_clear()
    codeversion._bindings.cache_clear()
    lines, _ = codeversion._reachable("key_package.cells", "run_cell")
    return lines


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("cells.py", "math.pi", "math.e", True),
        ("cells.py", "LIMIT = 3", "LIMIT = 4", True),
        ("cells.py", "import math", "import cmath as math", True),
        ("helpers.py", "return 2", "return 5", True),
        ("cells.py", "a plot", "a better plot", False),
        ("cells.py", "What it does.", "What it does, told better.", False),
        ("cells.py", "return math.pi", "return  math.pi  # the ratio", False),
        ("helpers.py", "return 3", "return 4", False),
    ],
)
def test_only_code_that_a_run_can_reach_counts(package, file, old, new, changes):
    before = version()
    text = (package / file).read_text()
    assert old in text
    (package / file).write_text(text.replace(old, new))
    assert (version() != before) is changes


def test_key_depends_on_function_configuration_code_and_files(tmp_path, monkeypatch):
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("1\n")
    task = Task("sweep_functions:draw", {"seed": 1, "mean": 0.5}, files=(str(jobs),))
    keys = {
        task.key,
        Task("sweep_functions:logged", task.config, files=task.files).key,
        Task(task.function, {"seed": 2, "mean": 0.5}, files=task.files).key,
        Task(task.function, task.config).key,
    }
    jobs.write_text("12\n")
    keys.add(Task(task.function, task.config, files=task.files).key)
    monkeypatch.setattr(codeversion, "code_version", lambda *_: "newer")
    keys.add(Task(task.function, task.config, files=task.files).key)
    assert len(keys) == 6


def test_key_does_not_depend_on_order_labels_or_cost():
    task = Task("sweep_functions:draw", {"seed": 1, "mean": 0.5})
    same = Task("sweep_functions:draw", {"mean": 0.5, "seed": 1}, {"a": 1}, cost_s=9.0)
    assert task.key == same.key


def test_the_simulator_and_the_policies_count_by_default():
    whole = codeversion.code_version("sweep_functions:draw", ("policies", "simulator"))
    less = codeversion.code_version("sweep_functions:draw", ("simulator",))
    assert whole != less


def test_what_a_declared_module_imports_counts_too():
    found = codeversion._with_imports({"policies.queues.list_scheduling"})
    assert "simulator.model.contract" in found
    assert "policies.queues.list_scheduling" in found
    assert not {m for m in found if m.startswith(("policies.milp", "policies.synergy"))}


def test_simulator_modules_that_a_function_imports_count_undeclared(package):
    text = (package / "cells.py").read_text()
    (package / "cells.py").write_text(text.replace("return inner(config)", "raise InputError()"))
    version()
    _, modules = codeversion._reachable("key_package.cells", "run_cell")
    assert modules == {"simulator.errors"}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), {"a": float("inf")}])
def test_configuration_that_json_cannot_hold_is_refused(value):
    with pytest.raises(InputError, match="JSON cannot hold"):
        _ = Task("m:f", {"x": value}).config_json


def test_canonical_json_is_one_spelling():
    assert canonical_json({"b": [1, 2.5], "a": "é"}) == '{"a":"é","b":[1,2.5]}'


def test_flatten_and_default_labels():
    config = {"a": {"b": 1, "c": {"d": "x"}}, "e": [1, 2], "f": None}
    assert flatten(config) == {"a.b": 1, "a.c.d": "x", "e": [1, 2], "f": None}
    assert Task("m:f", config).columns() == {"a.b": 1, "a.c.d": "x", "f": None}
    assert Task("m:f", config, {"g": 2}).columns() == {"g": 2}


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("sweep_functions", "expected 'package.module:name'"),
        ("no_such_module:f", "No module named"),
        ("sweep_functions:nothing", "has no 'nothing'"),
        ("sweep_functions:__doc__", "cannot be called"),
    ],
)
def test_a_function_that_is_not_there_is_told_in_one_line(function, told):
    with pytest.raises(InputError, match=told):
        resolve(function)


def test_scalars_of_numpy_are_plain_and_lists_are_refused():
    assert type(plain_scalar(np.float64(2.0), "x")) is float
    assert type(plain_scalar(np.int64(2), "x")) is int
    assert plain_scalar(float("nan"), "x") is None
    with pytest.raises(TypeError, match="'x'"):
        plain_scalar(np.arange(2), "x")
    assert Outcome({"a": 1}).tables == {}


def test_a_broken_plug_in_blocks_nobody_and_counts_by_its_version(tmp_path, monkeypatch):
    """Neither one whose package is gone nor one that is no Python."""
    (tmp_path / "unparsable").mkdir()
    (tmp_path / "unparsable" / "__init__.py").write_text("def (")
    (tmp_path / "whole.py").write_text("limit = 3")
    points = ("gone = no_such_package:F", "odd = unparsable:F", "good = whole:F")
    install(tmp_path, monkeypatch, "policies", *points)
    parts = codeversion._plugins()
    assert parts["no_such_package:F"] == "cannot be read, version 1.0"
    assert "cannot" not in parts["unparsable:F"]
    assert "cannot" not in parts["whole.py"]


def test_an_edit_of_a_namespace_package_counts(tmp_path, monkeypatch):
    (tmp_path / "spacious").mkdir()
    (tmp_path / "spacious" / "inner.py").write_text("limit = 3")
    install(tmp_path, monkeypatch, "policies", "space = spacious.inner:F")
    before = codeversion._plugins()
    (tmp_path / "spacious" / "inner.py").write_text("limit = 4")
    assert codeversion._plugins() != before
