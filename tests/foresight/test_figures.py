"""Each figure of the study is legible, drawn from made-up tables."""

import pytest

from experiments.studies import foresight
from tests.pictures.drawn import ALL, drawn_of
from tests.pictures.made_up import results


@pytest.mark.long
@pytest.mark.parametrize("names", [(), ALL])
def test_all_figures_are_drawn(tmp_path, names):
    costs = {"total_cost": 100.0, "mean_jct_s": 1000.0}
    scalars = {"run_scenario": costs, "run_bounds": {"best": 10.0}}
    drawn = drawn_of(foresight.PAGE, results(foresight.PAGE, scalars, {}), tmp_path, names)
    assert len(drawn) == len(foresight.PAGE.registered)
