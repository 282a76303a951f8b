"""Table of a task by hand: ratios to a bound or to the best of each draw, ranks, and the sheet to read."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments.analysis import bounds, pooled
from experiments.bench.table import ASKED, bounds_of, expect_above_bounds, sheet, standing
from experiments.scenario import build
from tests.comparison.made import compared, runs_of
from tests.errors import input_error

JCT, WAIT, BUSY, LATE, COST = (
    "mean_jct_s",
    "mean_total_wait_s",
    "gpu_utilisation",
    "late_jobs",
    "total_cost",
)
NO_BOUND = pd.DataFrame()


def task(*rank: str, exact=None, knows=None) -> SimpleNamespace:
    return SimpleNamespace(rank=rank, exact=exact or {}, knows=knows or {})


def table(
    values, metric=JCT, bounds=NO_BOUND, more=None, exact=None, knows=None, **columns
) -> pd.DataFrame:
    runs = runs_of(values, metric, more, **columns)
    metrics = [metric, *(more or {})]
    return standing(compared(runs, metrics), task(*metrics, exact=exact, knows=knows), bounds)


def ratios(found: pd.DataFrame) -> dict[str, float]:
    return dict(zip(found["policy"], found["ratio"], strict=True))


@pytest.mark.parametrize(
    ("metric", "values", "base", "expected"),
    [
        # less is better: over the least of the draw
        (JCT, {"a": [10.0], "b": [15.0]}, "best of the draw", {"a": 1.0, "b": 1.5}),
        (COST, {"a": [10.0], "b": [15.0]}, "best of the draw", {"a": 1.0, "b": 1.5}),
        # more is better: the largest is 1, half of it is 2; a share that may be 0 has 1 % added to both
        (BUSY, {"a": [0.09], "b": [0.19]}, "best of the draw, 1 % added to both", {"a": 2.0, "b": 1.0}),
        ("jain_slowdown", {"a": [0.25], "b": [0.5]}, "best of the draw", {"a": 2.0, "b": 1.0}),
        # what may be 0 has an hour, or 1, added
        (WAIT, {"a": [0.0], "b": [3600.0]}, "best of the draw, 1 h added to both", {"a": 1.0, "b": 2.0}),
        (LATE, {"a": [0.0], "b": [2.0]}, "best of the draw, 1 added to both", {"a": 1.0, "b": 3.0}),
    ],
)  # fmt: skip
def test_a_ratio_to_the_best_of_the_draw(metric, values, base, expected):
    found = table(values, metric)
    assert ratios(found) == pytest.approx(expected)
    assert set(found["base"]) == {base}
    assert found["ratio"].is_monotonic_increasing  # the best policy first
    assert found["rank"].tolist() == [1, 2]


def test_a_geometric_mean_over_draws():
    """a: 1 and 2, of which the mean is the root of 2; b: 2 and 1 as well, so that the first named stands first."""
    found = table({"b": [20.0, 10.0], "a": [10.0, 20.0]})
    assert ratios(found) == pytest.approx({"b": math.sqrt(2), "a": math.sqrt(2)})
    assert found["policy"].tolist() == ["b", "a"]
    assert found["mean"].tolist() == [15.0, 15.0]
    assert found["rank"].tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("metric", "a", "b"),
    [(JCT, [10.0, 30.0], [20.0, 15.0]), ("jain_slowdown", [0.4, 0.3], [0.2, 0.6])],
)
def test_the_best_is_that_of_each_draw(metric, a, b):
    """Ratios 1 and 2 of a, 2 and 1 of b."""
    expected = {"a": math.sqrt(2), "b": math.sqrt(2)}
    assert ratios(table({"a": a, "b": b}, metric)) == pytest.approx(expected)


def test_a_ratio_to_a_lower_bound_of_the_same_seed():
    bounds = pd.DataFrame({JCT: {1: 10.0, 0: 5.0}})
    found = table({"a": [10.0, 20.0], "b": [20.0, 40.0]}, bounds=bounds)
    assert ratios(found) == pytest.approx({"a": 2.0, "b": 4.0})
    assert found["lower"].tolist() == pytest.approx([2.0, 4.0])  # in each draw
    assert set(found["base"]) == {"lower bound"}


def test_an_interval_is_not_below_1():
    """Logarithms 0, 0, log 4: Student's interval with a tail; the lower end would be below 0."""
    found = table({"a": [10.0] * 3, "b": [10.0, 10.0, 40.0]}).set_index("policy")
    assert found.loc["b", "lower"] == 1.0
    assert found.loc["b", "ratio"] == pytest.approx(4 ** (1 / 3))
    assert found.loc["b", "upper"] > found.loc["b", "ratio"]
    assert found.loc["a", ["ratio", "lower", "upper"]].tolist() == [1.0, 1.0, 1.0]
    one = table({"a": [10.0], "b": [20.0]})
    assert one[["lower", "upper"]].isna().all(axis=None)


def test_the_interval_is_students_of_logarithms():
    """Logarithms of 2 less, plus 0, plus 0.1: 0.1 / sqrt 3 times 4.3027."""
    ratio = np.exp(np.log(2) + np.array([-0.1, 0.0, 0.1]))
    found = table({"a": [10.0] * 3, "b": 10.0 * ratio}).set_index("policy").loc["b"]
    half = 4.302652729911275 * 0.1 / math.sqrt(3)
    assert found["ratio"] == pytest.approx(2.0)
    assert found["lower"] == pytest.approx(2 * math.exp(-half))
    assert found["upper"] == pytest.approx(2 * math.exp(half))


def test_several_metrics_in_the_order_of_the_first():
    """A metric that no run has is left out; who failed in a draw has no rank there."""
    found = table(
        {"a": [20.0, 20.0], "b": [10.0, 10.0], "c": [5.0, math.nan]},
        more={COST: {"a": [1.0, 1.0], "b": [3.0, 3.0], "c": [2.0, 2.0]}},
        view={"a": "elastic", "b": "as given", "c": "as given"}, mean_decision_cpu_s=0.002,
        exact={"b": "solver"},
    )  # fmt: skip
    assert list(zip(found["policy"], found["metric"], strict=True)) == [
        ("c", JCT), ("c", COST), ("b", JCT), ("b", COST), ("a", JCT), ("a", COST),
    ]  # fmt: skip
    rank = {(row["policy"], row["metric"]): row["rank"] for row in found.to_dict("records")}
    assert rank["b", JCT] == 1 and rank["a", JCT] == 2 and math.isnan(rank["c", JCT])  # noqa: PT018
    assert [rank[name, COST] for name in "acb"] == [1, 2, 3]
    own = found.set_index(["policy", "metric"])
    assert own.loc[("b", JCT), ["view", "exact"]].tolist() == ["as given", "solver"]
    assert own.loc[("a", JCT), ["view", "exact"]].tolist() == ["elastic", ""]
    assert own.loc[("c", JCT), "mean"] == 5.0
    assert set(found["cpu_s"]) == {0.002}
    given = compared(runs_of({"a": [1.0]}, more={COST: {"a": [1.0]}}))
    assert standing(given, task(JCT, "own", COST), NO_BOUND)["metric"].tolist() == [JCT, COST]
    assert standing(given, task(JCT), NO_BOUND)["cpu_s"].isna().all()


@pytest.mark.parametrize(
    ("value", "view", "is_below"),
    [
        (10.0, "as given", False), (9.99, "as given", True), (10.0 * (1 - 1e-10), "as given", False),
        (10.0 * (1 - 1e-8), "as given", True), (1.0, "elastic", False), (11.0, "as given", False),
    ],
)  # fmt: skip
def test_a_run_below_its_bound_is_an_error(value, view, is_below):
    found = compared(runs_of({"a": [50.0, value]}, view=view))
    bounds = pd.DataFrame({JCT: {0: 50.0, 1: 10.0}, "makespan_s": {0: 1.0, 1: 1.0}})
    if is_below:
        told = f"a: mean_jct_s is {value:.6g} under seed 1, expected 10 at least, which no schedule is below (ratio {value / 10:.3g})"
        with input_error(told):
            expect_above_bounds(found, task("makespan_s", JCT), bounds)
    else:
        expect_above_bounds(found, task("makespan_s", JCT), bounds)
    expect_above_bounds(found, task(COST), bounds)
    expect_above_bounds(found, task(JCT), NO_BOUND)


def test_the_sheet_to_read():
    found = table(
        {"a": [7200.0] * 3, "b": [14400.0] * 3}, more={BUSY: {"a": [0.5] * 3, "b": [0.5, 0.4, 0.6]}},
        mean_decision_cpu_s=0.0021, view={"a": "as given", "b": "elastic"}, exact={"b": "solver"},
        knows={"a": "all jobs"},
    )  # fmt: skip
    told = sheet(found, task(JCT, BUSY))
    assert list(told)[:3] == ["rank", "policy", "jobs"]
    rows = told.to_dict("records")
    assert [row["policy"] for row in rows] == ["a [informed]", "b [exact]"]
    assert [row["rank"] for row in rows] == ["1", "2"]
    assert [row["jobs"] for row in rows] == ["as given", "elastic"]
    assert [row["mean completion time (h)"] for row in rows] == ["2", "4"]
    assert [row["over the best of the draw, mean completion time"] for row in rows] == [
        "1 (1 to 1)",
        "2 (2 to 2)",
    ]
    assert [row["GPU time in use (%)"] for row in rows] == ["50", "50"]
    assert [row["CPU time of a decision (ms)"] for row in rows] == ["2.1", "2.1"]
    one = sheet(table({"a": [4.0], "b": [6.0]}, COST), task(COST), "EUR").to_dict("records")
    assert one[1]["total cost (EUR)"] == "6"
    assert one[1]["over the best of the draw, total cost"] == "1.5"
    assert one[1]["rank"] == "2"


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        # Two digits of the half width: 0.2, 0.03, 0.012.
        (2.3, 2.7, "2.50 (2.30 to 2.70)"), (2.47, 2.53, "2.500 (2.470 to 2.530)"),
        (2.488, 2.512, "2.500 (2.488 to 2.512)"), (math.nan, math.nan, "2.5"),
    ],
)  # fmt: skip
def test_a_ratio_has_the_digits_that_its_interval_knows(lower, upper, told):
    found = table({"a": [4.0]}, exact={"a": "solver"}, knows={"a": "all jobs"})
    (row,) = sheet(found.assign(ratio=2.5, lower=lower, upper=upper), task(JCT)).to_dict("records")
    assert row["over the best of the draw, mean completion time"] == told
    assert row["policy"] == "a [exact] [informed]"


@pytest.mark.parametrize(
    ("lower", "upper", "rank"), [(1.0, 3.0, "2 (1 to 3)"), (1.0, 2.0, "2 (1 to 2)"), (2.0, 3.0, "2 (2 to 3)"), (2.0, 2.0, "2"), (math.nan, math.nan, "2"), (1.0, 1.0, "2 (1 to 1)")]
)  # fmt: skip
def test_a_rank_and_its_interval(lower, upper, rank):
    found = table({"a": [4.0]}).assign(rank=2.0, rank_lower=lower, rank_upper=upper)
    assert sheet(found, task(JCT))["rank"].tolist() == [rank]


@pytest.mark.parametrize(
    ("marked", "stated", "told"),
    [
        ([0.0, 0.0], "", ""), ([0.0, 1.0], "", ASKED), ([1.0, 0.0], "", ASKED), (None, "", ""),
        ([1.0, 1.0], "all jobs", "all jobs"), ([0.0, 0.0], "all jobs", "all jobs"),
    ],
)  # fmt: skip
def test_what_a_policy_knew(marked, stated, told):
    """What the task says of it; else that it asked for jobs to come, in any of its runs."""
    more = {} if marked is None else {"informed": {"a": marked, "b": [0.0, 0.0]}}
    found = compared(runs_of({"a": [1.0, 1.0], "b": [2.0, 2.0]}, more=more))
    found = standing(found, task(JCT, knows={"a": stated} if stated else {}), NO_BOUND)
    assert dict(zip(found["policy"], found["informed"], strict=True)) == {"a": told, "b": ""}


@pytest.mark.parametrize(
    ("configurable", "pool", "has_cost"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_bounds_of_each_seed(monkeypatch, configurable, pool, has_cost):
    """A row a seed; a cost where machines can be chosen, and are not a pool of GPUs."""
    cluster = SimpleNamespace(is_configurable=configurable, is_pool=pool)
    scenario = SimpleNamespace(model_copy=lambda update: update)
    monkeypatch.setattr(build, "build", lambda scenario: (f"jobs {scenario['seed']}", cluster))
    at = {"jobs 7": 1.0, "jobs 3": 2.0}
    monkeypatch.setattr(
        pooled, "pooled_bounds", lambda jobs, on: {JCT: at[jobs]} if on is cluster else None
    )
    monkeypatch.setattr(
        bounds, "alone", lambda jobs, on: np.array([at[jobs], 10.0]) if on is cluster else None
    )
    found = bounds_of(scenario, [7, 3, 7])
    assert found.index.tolist() == [7, 3]
    expected = {JCT: [1.0, 2.0], **({COST: [11.0, 12.0]} if has_cost else {})}
    assert found.to_dict("list") == expected
