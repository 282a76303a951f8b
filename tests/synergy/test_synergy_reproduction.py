"""The Synergy experiment as a whole, at a toy scale; and what its pieces work out by themselves."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from experiments.papers.synergy import claims, draw, figures, runs, tasks
from experiments.papers.synergy.claims_mechanisms import _settled
from experiments.papers.synergy.draw import draw_claims, draws, run_draw
from experiments.papers.synergy.estimates import gain, geometric
from experiments.papers.synergy.figures import _philly_speedups
from experiments.papers.synergy.lengths import MORE_SEEDS
from experiments.papers.synergy.profiles import predicted
from experiments.pictures.plots import canvas
from experiments.sweep.results import Results
from experiments.sweep.runner import run_tasks
from experiments.sweep.store import Store
from simulator.workloads.synergy import sensitivity_matrices
from tests.papers.published import missing


def test_ratios_are_averaged_on_their_logarithm():
    both = geometric([2.0, 0.5])
    assert both.mean == pytest.approx(1)
    assert both.lower == pytest.approx(1 / both.upper)
    assert math.isinf(geometric([3.0]).upper)
    rows = [(1, "proportional", 6.0), (1, "tune", 3.0), (2, "proportional", 8.0), (3, "tune", 1.0)]
    table = pd.DataFrame(rows, columns=["seed", "mechanism", "mean_jct_h"])
    assert gain(table).mean == pytest.approx(2)
    assert gain(table).n == 1


def test_use_over_time_has_an_interval_or_none_that_flatters():
    rng = np.random.default_rng(1)
    settled = _settled(pd.Series([0.0, 10.0, 30.0, *rng.normal(50, 5, 600)]))
    assert settled.contains(50)
    assert settled.half_width < 2
    for values in ([50.0], np.arange(600.0)):  # too short, and a queue that grows
        assert math.isinf(_settled(pd.Series(values)).upper)


def test_half_of_the_published_points_predicts_the_other_half():
    table = pd.DataFrame(predicted(sensitivity_matrices()["gnmt"]))
    assert set(table["half"]) == {"memory", "cpus"}
    assert table["error"].isna().equals(table["given"])
    assert (~table["given"]).sum() > 10
    assert table["error"].abs().max() < 0.01


def test_a_draw_is_the_same_under_both_mechanisms(monkeypatch, tmp_path):
    config = {"seed": 42, "nodes": 2, "jobs": [60, 20, 60]}
    found = {m: run_draw(config | {"mechanism": m}).scalars for m in draw.PAIR}
    assert found["tune"]["load_percent"] == found["proportional"]["load_percent"]
    assert found["tune"]["mean_jct_h"] <= found["proportional"]["mean_jct_h"]


def test_each_seed_of_the_paper_scale_has_a_line_of_its_own():
    seeds = MORE_SEEDS["paper"]
    rows = [(seed, speedup) for seed in seeds for speedup in (1.0, 2.0, 3.0)]
    _, (ax,) = canvas()
    _philly_speedups(ax, pd.DataFrame(rows, columns=["seed", "speedup"]))
    *curves, _ = ax.lines
    assert len(curves) == len(seeds)
    assert len({(line.get_color(), line.get_linestyle()) for line in curves}) == len(seeds)


@pytest.mark.slow
def test_figures_and_claims_of_a_toy_scale(tmp_path, monkeypatch):
    for lengths in (runs.LENGTH, runs.SETTLED, runs.PHILLY_LENGTH):
        monkeypatch.setitem(lengths, "quick", (40, 10, 40))
    monkeypatch.setitem(runs.NODES, "quick", 2)
    monkeypatch.setitem(runs.PHILLY_NODES, "quick", 2)
    monkeypatch.setitem(runs.SEEDS, "quick", (1, 2))
    monkeypatch.setitem(runs.MORE_SEEDS, "quick", (1, 2))
    monkeypatch.setattr(draw, "HEADLINE", [80, 20, 60])
    monkeypatch.setitem(draw.LENGTH, "quick", ([80, 20, 60], 2))
    monkeypatch.setitem(draw.OTHERS, "quick", (1, 2))
    listed = tasks("quick")
    with Store(tmp_path / "store", create=True) as store:
        run_tasks(listed, store, workers=1, progress=False)
        results = Results(store, listed, "quick")
        assert not results.missing
        drawn = figures(results, tmp_path)
        made = claims(results)
        assert len(draws(results, 2)) == 3
        assert {c.place for c in draw_claims(results)} >= {"Figure 9, abstract"}
    assert {f"figure_{n}" for n in (1, 5, 6, 7, 8, 9, 10, 11, 12, 13)} <= {f.name for f in drawn}
    assert all(figure.png.stat().st_size > 5000 for figure in drawn)
    assert len({(c.place, c.claim) for c in made}) == len(made)
    assert not missing("Synergy2022", made)
