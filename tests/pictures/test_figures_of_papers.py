"""Each figure of each paper is legible, drawn from the runs of a quick reproduction.

Needs `schedlab reproduce` first; SCHEDLAB_RESULTS names another folder than results/quick.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from experiments.campaign.results import Results
from experiments.campaign.store import Store
from experiments.papers.registry import PAPERS, available, load
from experiments.pictures.legibility import HardToRead

RESULTS = Path(os.environ.get("SCHEDLAB_RESULTS", Path(__file__).parents[2] / "results" / "quick"))


@pytest.mark.slow
@pytest.mark.parametrize("name", available())
def test_figures_are_legible(name: str, tmp_path: Path) -> None:
    if not (RESULTS / "store" / "ledger.sqlite").exists():
        pytest.skip(f"{RESULTS} holds no reproduction")
    experiment = load(PAPERS[name])
    with Store(RESULTS / "store") as store:
        results = Results(store, experiment.tasks("quick"), "quick")
        if results.missing:
            pytest.skip(f"{len(results.missing)} runs of {name} are missing in {RESULTS}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HardToRead)
            experiment.figures(results, tmp_path)
    assert [str(w.message) for w in caught if w.category is HardToRead] == []
