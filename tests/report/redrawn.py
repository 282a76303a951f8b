"""A page drawn again from what is kept of it, beside the page itself: numbers alone, no picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.report import contents
from experiments.report.contents import Claim, Figure
from experiments.report.kept import kept_results, write_results
from experiments.sweep.results import Results
from experiments.sweep.task import Task

CLOSE = 1e-6
"""Of a number; what is kept has nine digits."""
SMALL = 1e-8
"""Of a difference of numbers that are nearly the same, which loses digits."""


def redrawn(
    experiment: Any, folder: Path, tasks: Sequence[Task], scale: str, out: Path
) -> tuple[list[Figure], list[Claim], list[str]]:
    """Figures, rows, and what is not kept."""
    left_out: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "code", "")  # a version takes seconds
        patch.setattr(contents, "write_drawing", lambda drawing, png: None)
        results = kept_results(folder, tasks, scale)
        figures = experiment.figures(results, out, left_out)
        rows = experiment.claims(results, left_out)
        experiment.texts(results, left_out)
    return figures, rows, left_out


def check_drawn_again(
    experiment: Any, results: Results, tmp_path: Path, figures: list[Figure], rows: list[Claim]
) -> None:
    """All of a page that was drawn is drawn again from what is kept, with the same numbers."""
    experiment.texts(results)
    folder, out = tmp_path / "kept", tmp_path / "again"
    folder.mkdir()
    out.mkdir()
    write_results(results, folder)
    again, rows_again, left_out = redrawn(experiment, folder, results.tasks, results.scale, out)
    assert left_out == []
    for one, other in zip(figures, again, strict=True):
        assert same_data(one.csv, other.csv), one.name
        assert one.seeds == other.seeds, one.name
    for row, other_row in zip(rows, rows_again, strict=True):
        assert same_numbers(row, other_row), row.claim


def same_data(one: Path, other: Path) -> bool:
    """Whether the data of two figures are the same."""
    a, b = pd.read_csv(one), pd.read_csv(other)
    return a.shape == b.shape and all(
        x == y and _same(a[x], b[y]) for x, y in zip(a, b, strict=True)
    )


def same_numbers(row: Claim, other: Claim) -> bool:
    """Whether two rows have the same numbers, of what is printed and of ours."""
    found, others = (pd.Series([r.ours, r.ci_low, r.ci_high], dtype=float) for r in (row, other))
    return _same(found, others)


def _same(a: pd.Series, b: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(a) and pd.api.types.is_numeric_dtype(b):
        return np.allclose(a.astype(float), b.astype(float), CLOSE, SMALL, equal_nan=True)
    return a.equals(b)
