"""Every figure that a test saves is legible: what is hard to read in one fails the test."""

from __future__ import annotations

import pytest

from experiments.report import contents


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
