"""The page of large jobs, at a toy scale: every run and claim."""

from experiments.studies.reliability import PAGE, runs
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from experiments.sweep.task import Task
from tests.command import compute


def test_claims_of_a_toy_scale(tmp_path, monkeypatch):
    """Every published number has a row; servers that fail a hundred times as often, on a job of fewer hours."""
    monkeypatch.setattr(Task, "code", "")  # a version takes seconds
    monkeypatch.setattr(runs, "SIZE", 64)
    small = {
        name: (spec | {"time_to_failure_s": spec["time_to_failure_s"] / 10}, 80, work_h / 100, 60.0)
        for name, (spec, _, work_h, _) in runs.SETTINGS.items()
    }
    monkeypatch.setattr(runs, "SETTINGS", small)
    monkeypatch.setitem(runs.RUNS, "quick", (2, 2))
    listed = PAGE.tasks("quick")
    with Store(tmp_path / "store", create=True) as store:
        compute(listed, store)
        results = Results(store, listed, "quick")
        assert not results.missing
        made = PAGE.claims(results)
    assert {claim.published for claim in made} == set(PAGE.numbers)
    assert len(made) == len(PAGE.numbers)
