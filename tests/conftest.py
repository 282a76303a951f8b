"""Fixtures of all tests: every figure that is saved is legible, bytecode is kept, and there is one browser.

What is hard to read in a figure fails the test. The file is the picture as it was drawn for this;
tests/pictures/test_legibility.py has a real one. Without bytecode every process that a test starts
would compile all of schedlab anew, and every start of the tests all tests.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from experiments.report import contents

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True, scope="session")
def legible() -> Iterator[None]:
    """Check of all figures of a run, also those of fixtures that several tests share."""

    def checked(drawing, png):
        from PIL import Image

        from tests.pictures.legibility import faults

        found = faults(drawing)
        assert not found, f"{png.name}: {'; '.join(found)}"
        Image.fromarray(np.asarray(drawing.canvas.buffer_rgba())).save(png)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "write_drawing", checked)
        yield


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real one, for the pages of all tests."""
    from pages import start

    browser = start(tmp_path_factory)
    yield browser
    browser.close()


@pytest.fixture
def gurobi_licence() -> None:
    """Skip where Gurobi, or any licence of it that holds today, is missing."""
    from policies.solving import gurobi
    from simulator.errors import InputError

    try:
        gurobi._environment()
    except InputError as reason:
        pytest.skip(str(reason))
