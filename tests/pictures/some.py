"""Figures of which only some are painted and looked at: painting takes longer than all the rest of a page."""

import contextlib
from collections.abc import Iterator

import pytest

from experiments.report import contents


@contextlib.contextmanager
def painted(*names: str) -> Iterator[None]:
    """Paint figures of these names, and make of the others what is painted, no picture."""
    write = contents.write_drawing

    def some(drawing, png):
        if png.stem in names:
            write(drawing, png)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "write_drawing", some)
        yield
