"""Each figure of each paper is legible: nothing hidden, nothing over another, nothing outside.

tests/conftest.py checks every figure that is saved, so whoever draws a figure in a test tests this too: the tests of each
paper draw its figures, of made-up tables where runs are dear. Here they are once more, from a finished reproduction;
SCHEDLAB_RESULTS names another folder than results/quick.
"""

import os
from pathlib import Path

import pytest

from experiments.papers.registry import load, papers
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from tests.pictures.drawn import headings

RESULTS = Path(os.environ.get("SCHEDLAB_RESULTS", Path(__file__).parents[2] / "results" / "quick"))


@pytest.mark.slow
@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_figures_of_a_reproduction(paper, tmp_path):
    if not (RESULTS / "store" / "runs.sqlite").exists():
        pytest.skip(f"{RESULTS} holds no reproduction")
    experiment = load(paper)
    with Store(RESULTS / "store") as store:
        runs = Results(store, experiment.tasks("quick"), "quick")
        if runs.missing:
            pytest.skip(f"{len(runs.missing)} runs of {paper.name} are missing in {RESULTS}")
        headings(experiment.figures(runs, tmp_path))
