"""What all tests share: every figure that is saved is legible, bytecode is kept, and there is one browser.

What is hard to read in a figure fails the test. Without bytecode every process that a test starts
would compile all of schedlab anew, and every start of the tests all tests.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from experiments.report import contents

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def legible(monkeypatch: pytest.MonkeyPatch) -> None:
    write = contents.write_drawing

    def checked(drawing, png):
        from tests.pictures.legibility import faults

        found = faults(drawing)
        assert not found, f"{png.name}: {'; '.join(found)}"
        drawing.set_layout_engine("none")  # all is in its place: saving need not find it again
        write(drawing, png)

    monkeypatch.setattr(contents, "write_drawing", checked)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real one, for the pages of all tests."""
    from pages import start

    browser = start(tmp_path_factory)
    yield browser
    browser.close()
