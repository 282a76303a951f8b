"""The page of clusters is comparisons: the same numbers as the command."""

import pandas as pd
import pytest

from experiments.comparison.comparing import compare
from experiments.studies.clusters.questions import HERE, questions
from experiments.sweep.results import Results
from experiments.sweep.store import Store
from experiments.sweep.task import Task
from tests.command import compute


@pytest.mark.parametrize(("name", "over"), [("checkpoints", "checkpoints.interval_s=600,2400")])
def test_a_question_is_what_the_command_says(name, over, tmp_path, monkeypatch):
    monkeypatch.setattr(Task, "code", "")  # a version takes seconds
    (declared,) = (one for one in questions() if one.name == name)
    few = declared.model_copy(update={"over": (over,), "jobs": 3, "seeds": (2, 2)})
    tasks = list(few.tasks("quick"))
    with Store(tmp_path / "store", create=True) as store:
        compute(tasks, store)
        ours = few.found(Results(store, tasks, "quick"))
    theirs = compare(
        HERE / f"{name}.toml", few.policies, few.metrics,
        over=few.over, settings=["workload.num_jobs=3"], draws=2,
    )  # fmt: skip
    shown = [found.table[found.table["metric"].isin(few.metrics)] for found in (ours, theirs)]
    pd.testing.assert_frame_equal(*(table.reset_index(drop=True) for table in shown))


def test_every_question_has_its_file_and_every_file_its_question():
    files = {path.stem for path in HERE.glob("*.toml")} - {"questions", "published"}
    assert files == {one.name for one in questions()}
