"""The rental experiment as a whole, at a toy scale: every run, figure and claim."""

import pytest

from experiments.papers.rental import PAGE, bridge, runs
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from experiments.sweep.task import Task
from tests.command import compute
from tests.pictures.some import painted
from tests.report.redrawn import check_drawn_again


@pytest.mark.long
def test_tasks_that_share_a_run_have_labels_of_their_own():
    for scale in ("quick", "paper"):
        listed = [(task.key, tuple(sorted(task.columns().items()))) for task in PAGE.tasks(scale)]
        assert len(set(listed)) == len(listed)


@pytest.mark.long
def test_figures_and_claims_of_a_toy_scale(tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "code", "")  # a version takes seconds
    monkeypatch.setitem(runs.JOBS, "quick", 30)
    monkeypatch.setitem(runs.SEEDS, "quick", (1, 2))
    monkeypatch.setattr(runs, "BUDGETS", (1.0, 5.0))
    monkeypatch.setattr(runs, "RIVAL_BUDGETS", (5.0,))
    monkeypatch.setitem(bridge.JOBS_PER_NODE, "quick", 2)
    monkeypatch.setitem(bridge.SEEDS, "quick", (1, 2))
    monkeypatch.setitem(bridge.GAPS, "quick", (1.0,))
    monkeypatch.setitem(bridge.DUES, "quick", ("min-2max",))
    listed = PAGE.tasks("quick")
    with Store(tmp_path / "store", create=True) as store:
        compute(listed, store)
        results = Results(store, listed, "quick")
        assert not results.missing
        with painted("figure_1"):
            drawn = PAGE.figures(results, tmp_path)
        made = PAGE.claims(results)
        check_drawn_again(PAGE, results, tmp_path, drawn, made)
    assert {figure.name for figure in drawn} == {figure.name for figure in PAGE.registered}
    assert (tmp_path / "figure_1.png").stat().st_size > 5000
    assert all(figure.csv.read_text(encoding="utf-8").count("\n") > 1 for figure in drawn)
    below = next(c for c in made if c.place == "Theorem 1")
    assert below.ours == 0
    assert below.verdict == "reproduced"
    # The toy has two of the six budgets.
    absent = {f"{name}.at-{budget}" for name in ("time", "rented") for budget in (2, 10, 20, 30)}
    absent.add("equal-types")
    assert set(PAGE.numbers) - {claim.published for claim in made} == absent
    assert all(claim.ci_low is not None or "no interval" in claim.why for claim in made)


def test_each_setting_of_the_insensitivity_has_jobs_of_its_own():
    runs_of = [t for t in PAGE.tasks("paper") if t.columns().get("study") == "insensitivity"]
    assert len(runs_of) == len({task.config["seed"] for task in runs_of}) == 240


def test_nothing_run_nothing_drawn(tmp_path):
    with Store(tmp_path / "store", create=True) as store:
        results = Results(store, PAGE.tasks("quick"), "quick")
        assert not PAGE.figures(results, tmp_path)
        assert not PAGE.claims(results)
