"""Pictures of a comparison: what is joined by a line, and what a legend shows, from numbers made by hand."""

import pandas as pd
import pytest

from experiments.comparison.answer import Comparison
from experiments.comparison.comparing import of_runs
from experiments.comparison.pictures import pictures_of


def over(key: str, settings: list, values: dict[str, list[float]]) -> Comparison:
    """Mean completion times of policies, a seed each, the same at each value of a key."""
    rows = [
        {key: setting, "policy": name, "view": "as given", "seed": k, "draw": 0, "random": True, "mean_jct_s": value}
        for setting in settings
        for name, numbers in values.items()
        for k, value in enumerate(numbers)
    ]  # fmt: skip
    return of_runs("x.toml", pd.DataFrame(rows), [key], ["mean_jct_s"], "a")


@pytest.mark.parametrize(
    ("key", "values", "joined"),
    [
        ("file", ["jobs1", "jobs2"], False),
        ("workload.kind", ["philly-like", "acme-like"], False),
        ("workload.duration_s", ["exponential:60", "lognormal:60,cv=2"], False),
        ("failures.time_to_failure", ["exponential:2592000", "exponential:3.6e3"], True),
        ("cluster.num_nodes", [4, 8], True),
    ],
)
def test_only_values_that_have_an_order_are_joined(key, values, joined):
    found = over(key, values, {"a": [1.0, 2.0], "b": [3.0, 4.0]})
    ((name, figure),) = pictures_of(found)
    assert name == "lines"
    marks = [line for line in figure.axes[0].lines if line.get_marker() in ("o", "s")]
    assert [line.get_linestyle() for line in marks] == ["-" if joined else "None"] * 2
    assert [len(line.get_xdata()) for line in marks] == [2, 2]


@pytest.mark.parametrize("numbers", [[7200.0], [7200.0, 7300.0, 7250.0]])
def test_there_is_an_interval_only_of_several_runs(numbers):
    """Two views, so that a forest has a legend."""
    values = {"a": numbers, "b": [2 * x for x in numbers]}
    one = over("nodes", [2], values)
    views = {"a": "as given", "b": "fixed demand"}
    runs = one.runs.assign(view=one.runs["policy"].map(views))
    forest = dict(pictures_of(of_runs("x.toml", runs, [], ["mean_jct_s"], "a")))["forest"]
    lines = dict(pictures_of(over("nodes", [2, 4], values)))["lines"]
    for figure in (forest, lines):
        bars = [hasattr(handle, "get_segments") for handle in figure.legends[0].legend_handles]
        drawn = [c.has_xerr or c.has_yerr for c in figure.axes[0].containers]
        assert (any(bars), any(drawn)) == ((len(numbers) > 1,) * 2)
