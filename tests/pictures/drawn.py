"""Figures of a page drawn in a test, some of them painted; tests/conftest.py checks that these are legible."""

import pytest

from experiments.report.contents import Figure
from tests.pictures.some import painted


def headings(figures: list[Figure]) -> None:
    """A figure named after one of the paper has its number in the heading."""
    for figure in figures:
        kind, _, number = figure.name.partition("_")
        if kind == "figure" and number[0].isdigit():
            number = number.replace("_", ".") if number.replace("_", "").isdigit() else number
            assert figure.title.startswith(
                (f"Figure {number.partition('_')[0]}", f"Figures {number.partition('_')[0]} ")
            ), figure.name
        if figure.png is not None and figure.png.exists():
            assert figure.png.stat().st_size > 5000
        assert len(figure.csv.read_text(encoding="utf-8").splitlines()) > 1


ALL = pytest.param(None, marks=pytest.mark.slow, id="all")


def drawn_of(experiment, runs, folder, names):
    """Figures of a page, of which those with these names, or all, are painted."""
    with painted(*(names or [one.name for one in experiment.registered])):
        drawn = experiment.figures(runs, folder)
    headings(drawn)
    pictures = {one.name for one in drawn if one.png is not None and one.png.exists()}
    assert pictures >= {*(names or ())}
    return drawn
