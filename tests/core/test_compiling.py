"""Kernels that are kept on disk: what was compiled from other source is not read."""

import importlib
import sys

import pytest

from policies.solving import compiling

KERNEL = """
from typing import NamedTuple
import numpy as np
from policies.solving.compiling import entry

class {name}(NamedTuple):
    values: np.ndarray

@entry
def total(table):
    return table.values[0] {sign} table.values[1]
"""


@pytest.mark.long
def test_a_class_that_is_renamed_compiles_its_kernels_again(tmp_path, monkeypatch):
    """What is kept names the classes of its arguments: it is left alone where the source is another."""
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for name, sign in (("Former", "+"), ("New", "-")):
        (tmp_path / "some_kernels.py").write_text(KERNEL.format(name=name, sign=sign))
        sys.modules.pop("some_kernels", None)
        importlib.invalidate_caches()
        compiling._stamp.cache_clear()  # as in a new process
        module = importlib.import_module("some_kernels")
        found.append(module.total(getattr(module, name)(module.np.array([5.0, 3.0]))))
    assert found == [8.0, 2.0]
    assert list((tmp_path / "__pycache__").glob("some_kernels.total*.nbi"))
