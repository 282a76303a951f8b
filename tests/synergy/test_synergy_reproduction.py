"""The Synergy experiment as a whole, at a toy scale; and what its pieces work out by themselves."""

import math

import numpy as np
import pandas as pd
import pytest

from experiments.estimates import geometric
from experiments.papers.synergy import PAGE, runs
from experiments.papers.synergy.claims import _of_orderings, settled
from experiments.papers.synergy.profiles import predicted
from experiments.papers.synergy.tables import (
    began,
    draws,
    gain,
    jobs_in_window,
    largest,
    load_of_several,
    with_length,
)
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from simulator.statistics import Estimate
from simulator.workloads.networks import sensitivity_matrices
from tests.command import compute


def test_ratios_are_averaged_on_their_logarithm():
    both = geometric([2.0, 0.5])
    assert both.mean == pytest.approx(1)
    assert both.lower == pytest.approx(1 / both.upper)
    assert math.isinf(geometric([3.0]).upper)
    rows = [(1, "proportional", 6.0), (1, "tune", 3.0), (2, "proportional", 8.0), (3, "tune", 1.0)]
    table = pd.DataFrame(rows, columns=["seed", "mechanism", "mean_jct_h"])
    assert gain(table).mean == pytest.approx(2)
    assert gain(table).n == 1


def test_the_interval_of_the_largest_gain_chooses_the_load_anew():
    ratios = {8: (2.0, 2.0, 2.0, 2.0, 2.0), 9: (1.2, 1.4, 1.8, 2.6, 3.0)}
    rows = [
        (load, seed, mechanism, hours)
        for load, of_load in ratios.items()
        for seed, ratio in enumerate(of_load)
        for mechanism, hours in (("proportional", ratio), ("tune", 1.0))
    ]
    table = pd.DataFrame(rows, columns=["load", "seed", "mechanism", "mean_jct_h"])
    load, found = largest(table)
    assert (load, found.mean, found.n) == (8, pytest.approx(2), 5)
    assert found.lower == pytest.approx(2)  # never below the other load
    assert 2.2 < found.upper < 3
    assert math.isinf(largest(table[table["seed"] < 4])[1].upper)


def test_jobs_are_short_by_their_jct_under_tune():
    rows = [("tune", 0, 3.0), ("proportional", 0, 9.0), ("tune", 1, 5.0), ("proportional", 1, 3.0)]
    table = pd.DataFrame(rows, columns=["mechanism", "job", "jct_h"]).assign(seed=1, load=1.0)
    found = with_length(table).set_index(["mechanism", "job"])["length"]
    assert found["proportional", 0] == found["tune", 0] == "short"
    assert found["proportional", 1] == found["tune", 1] == "long"


def test_the_day_on_which_the_log_began_places_the_window():
    assert began(55.5) == "10 July 12:00"
    assert [began(start) for start in (28, 56, 59)] == ["7 August", "10 July", "7 July"]
    assert [jobs_in_window(start) for start in (28, 60)] == [5985, 8000]


def test_load_of_the_authors_draw_with_several_gpus():
    """At twice the rate jobs ask for twice the GPUs, up to the rounding of gaps to seconds."""
    once, twice = (load_of_several(load, first_run=False) for load in (3.0, 6.0))
    assert twice == pytest.approx(2 * once, rel=0.01)
    assert 100 < load_of_several(5.5, first_run=False) < 105


def test_use_over_time_has_an_interval_or_none_that_flatters():
    rng = np.random.default_rng(1)
    found = settled(pd.Series([0.0, 10.0, 30.0, *rng.normal(50, 5, 600)]))
    assert found.contains(50)
    assert found.half_width < 2
    for values in ([50.0], np.arange(600.0)):  # too short, and a queue that grows
        assert math.isinf(settled(pd.Series(values)).upper)


def test_half_of_the_published_points_predicts_the_other_half():
    table = pd.DataFrame(predicted(sensitivity_matrices()["gnmt"]))
    assert set(table["half"]) == {"memory", "cpus"}
    assert table["error"].isna().equals(table["given"])
    assert (~table["given"]).sum() > 10
    assert table["error"].abs().max() < 0.01


@pytest.mark.slow
def test_figures_and_claims_of_a_toy_scale(tmp_path, monkeypatch):
    for name in runs.LENGTHS:
        monkeypatch.setitem(runs.LENGTHS, name, (40, 10, 40))
    for name, seeds in runs.SEEDS.items():
        monkeypatch.setitem(runs.SEEDS, name, {"quick": min(seeds["quick"], 2)})
    monkeypatch.setitem(runs.SERVERS, "quick", 2)
    listed = PAGE.tasks("quick")
    with Store(tmp_path / "store", create=True) as store:
        compute(listed, store)
        results = Results(store, listed, "quick")
        assert not results.missing
        drawn = PAGE.figures(results, tmp_path)
        made = PAGE.claims(results)
        assert len(draws(results, 2)) == 3
    assert {figure.name for figure in drawn} == {figure.name for figure in PAGE.registered}
    assert all(figure.png.stat().st_size > 5000 for figure in drawn)
    assert len({(c.place, c.claim) for c in made}) == len(made)
    wanted = {name for name, number in PAGE.numbers.items() if not number.paper_scale}
    assert {claim.published for claim in made} - {""} == wanted


def test_up_to_is_the_largest_gain_over_the_orderings():
    """A single ordering below another does not give the printed "up to"."""
    las, srtf = Estimate(1.9, 1.8, 2.0, 5), Estimate(1.5, 1.4, 1.6, 5)
    assert _of_orderings({"LAS": las, "SRTF": srtf}) == (
        {"ordering": "LAS (more than SRTF)"}, las, "LAS 1.90, SRTF 1.50",
    )  # fmt: skip
    assert _of_orderings({"LAS": srtf, "SRTF": las})[:2] == (
        {"ordering": "SRTF (more than LAS)"}, las,
    )  # fmt: skip
    assert _of_orderings({"LAS": las}) == ({"ordering": "LAS"}, las, "LAS 1.90")
