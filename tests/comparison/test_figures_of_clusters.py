"""Each figure of the study of clusters is legible, drawn from made-up tables."""

import pytest

from experiments.studies import clusters
from experiments.studies.clusters.questions import questions
from tests.pictures.drawn import ALL, drawn_of
from tests.pictures.made_up import results


@pytest.mark.long
@pytest.mark.parametrize("names", [("promises",), ALL])
def test_all_figures_are_drawn(tmp_path, names):
    """A picture a question, and one where a policy failed; promises are counted."""
    metrics = {name for one in questions() for name in one.metrics} | {"promised_jobs"}
    runs = results(clusters.PAGE, {"run_scenario": dict.fromkeys(metrics, 1000.0)}, {})
    runs._runs = [pair for pair in runs._runs if pair[0].columns()["policy"] != "edf-shared"]
    drawn = drawn_of(clusters.PAGE, runs, tmp_path, names)
    assert [one.name for one in drawn] == [one.name for one in questions()]
    if names is None:
        assert [text.figure for text in clusters.PAGE.texts(runs)] == [one.name for one in drawn]
    assert clusters.PAGE.claims(runs)[0].verdict == "not reproduced"
