"""Estimates, differences and ranks of runs, by hand.

Of three runs m - 1, m, m + 1 Student's interval is m +- 4.3027 / sqrt(3) = m +- 2.4841.
"""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from experiments.comparison.entrants import Entrant
from experiments.comparison.estimating import (
    best_first,
    best_of,
    by_setting,
    chosen,
    estimate,
    estimates,
    is_of_file,
    is_shown,
    ranked,
    ranks,
    runs_table,
    same,
    values_of,
)
from experiments.comparison.runs import PlannedRun, Ran
from simulator.statistics import Estimate
from tests.comparison.made import drawn, runs_of

JCT, BUSY = "mean_jct_s", "gpu_utilisation"
HALF = 4.302652729911275 / math.sqrt(3)


def rows(table: pd.DataFrame) -> list[list]:
    """The rows of a table; an end that is not there as None."""
    return [[None if isinstance(x, float) and math.isnan(x) else x for x in row] for row in table.to_numpy().tolist()]  # fmt: skip


@pytest.mark.parametrize(
    ("mean", "lower", "upper", "n", "shown"),
    [
        (2.0, 1.0, 3.0, 5, True),
        (-2.0, -3.0, -1.0, 5, True),
        (2.0, -1.0, 5.0, 5, False),
        (-2.0, -5.0, 1.0, 5, False),
        (2.0, 0.0, 4.0, 5, False),
        (-2.0, -4.0, 0.0, 5, False),
        # of a file: all drawn traces have the other sign, or none
        (2.0, -3.0, -1.0, 40, False),
        (-2.0, 1.0, 3.0, 40, False),
        (0.0, 1.0, 3.0, 40, False),
        (0.0, -3.0, -1.0, 40, False),
        (0.0, 0.0, 0.0, 40, False),
        (1e-4, 1e-5, 2e-4, 5, True),
        # one run
        (2.0, -math.inf, math.inf, 1, True),
        (-2.0, -math.inf, math.inf, 1, True),
        (0.0, -math.inf, math.inf, 1, False),
        (2.0, -math.inf, math.inf, 2, False),
    ],
)
def test_whether_a_difference_is_shown(mean, lower, upper, n, shown):
    assert is_shown(Estimate(mean, lower, upper, n)) == shown


def test_the_rows_of_each_setting():
    table = pd.DataFrame({"nodes": [2, 1, 2], "file": ["x", "x", None], "v": [1, 2, 3]})
    parts = list(by_setting(table, ["nodes"]))
    assert [labels for labels, _ in parts] == [{"nodes": 2}, {"nodes": 1}]
    assert [part["v"].tolist() for _, part in parts] == [[1, 3], [2]]
    labels = [labels for labels, _ in by_setting(table, ["nodes", "file"])]
    assert labels[:2] == [{"nodes": 2, "file": "x"}, {"nodes": 1, "file": "x"}]
    assert len(labels) == 3  # also where a label is missing
    for alone in (table, table[:0]):
        ((labels, part),) = by_setting(alone, [] if len(alone) else ["nodes"])
        assert labels == {}
        assert part is alone


def test_a_row_a_finished_run():
    made = [
        (PlannedRun(Entrant("a", "elastic", None), 3, {"nodes": 2}, 1), Ran({JCT: 5.0}, is_random=False)),
        (PlannedRun(Entrant("b", "as given", None), 3, {"nodes": 2}), Ran({}, "failed")),
        (PlannedRun(Entrant("c", "as given", None), 4, {"nodes": 2}), Ran({JCT: 6.0})),
    ]  # fmt: skip
    assert runs_table(made).to_dict("records") == [
        {"nodes": 2, "policy": "a", "view": "elastic", "seed": 3, "draw": 1, "random": False, JCT: 5.0},
        {"nodes": 2, "policy": "c", "view": "as given", "seed": 4, "draw": 0, "random": True, JCT: 6.0},
    ]  # fmt: skip


COLUMNS = ["metric", "policy", "view", "minus", "mean", "lower", "upper", "replications"]


def test_each_policy_and_then_its_difference_from_the_base():
    """b - a is 10, 11, 12 against 9, 10, 11: 1 in each."""
    runs = runs_of(
        {"a": [9.0, 10.0, 11.0], "b": [10.0, 11.0, 12.0]}, view={"a": "as given", "b": "elastic"}
    )
    table = estimates(runs, [], [JCT], "a")
    assert list(table) == COLUMNS
    assert rows(table) == [
        [JCT, "a", "as given", "", 10.0, pytest.approx(10 - HALF), pytest.approx(10 + HALF), 3],
        [JCT, "b", "elastic", "", 11.0, pytest.approx(11 - HALF), pytest.approx(11 + HALF), 3],
        [JCT, "b", "elastic", "a", 1.0, 1.0, 1.0, 3],
    ]
    other = estimates(runs, [], [JCT], "b")
    assert rows(other)[2] == [JCT, "a", "as given", "b", -1.0, -1.0, -1.0, 3]


@pytest.mark.parametrize(
    ("base", "metric", "expected"),
    [("", JCT, "a"), ("c", JCT, "c"), ("gone", JCT, "a"), ("", BUSY, "b"), ("c", BUSY, "c")],
)
def test_without_a_base_the_best_of_each_setting_and_metric(base, metric, expected):
    values = {"c": [0.2], "a": [0.1], "b": [0.3]}
    table = estimates(runs_of(values, metric), [], [metric], base)
    assert table["minus"].tolist() == ["", "", "", expected, expected]
    assert table["policy"].tolist() == ["c", "a", "b", *(x for x in "cab" if x != expected)]


def test_a_base_for_each_setting():
    runs = pd.concat([
        runs_of({"a": [1.0], "b": [2.0]}, nodes=1),
        runs_of({"a": [4.0], "b": [2.0]}, nodes=2),
        runs_of({"b": [2.0]}, nodes=3),
    ])  # fmt: skip
    table = estimates(runs, ["nodes"], [JCT], "a")
    assert rows(table[["nodes", "policy", "minus", "mean", "lower"]]) == [
        [1, "a", "", 1.0, None], [1, "b", "", 2.0, None], [1, "b", "a", 1.0, None],
        [2, "a", "", 4.0, None], [2, "b", "", 2.0, None], [2, "b", "a", -2.0, None],
        [3, "b", "", 2.0, None],
    ]  # fmt: skip
    best = estimates(runs, ["nodes"], [JCT], "")
    assert best["minus"].tolist() == ["", "", "a", "", "", "b", ""]


def found(part: pd.DataFrame, name: str, minus: str = "", metric: str = JCT) -> tuple:
    e = estimate(part, values_of(part, metric), name, minus)
    return e.mean, pytest.approx(e.lower), pytest.approx(e.upper), e.n


def test_an_estimate_of_seeds():
    part = runs_of({"a": [9.0, 10.0, 11.0], "b": [12.0, 11.0, 10.0]})
    assert found(part, "a") == (10, 10 - HALF, 10 + HALF, 3)
    # Differences -3, -1, 1: -1 +- 2 * 2.4841.
    assert found(part, "a", "b") == (-1, -1 - 2 * HALF, -1 + 2 * HALF, 3)
    assert found(part, "b", "a") == (1, 1 - 2 * HALF, 1 + 2 * HALF, 3)


def test_a_time_is_not_below_0_and_a_difference_may_be():
    part = runs_of({"a": [0.0, 1.0, 2.0], "b": [0.0, 0.0, 0.0]})
    assert found(part, "a") == (1, 0, 1 + HALF, 3)
    assert found(part, "a", "b") == (1, 1 - HALF, 1 + HALF, 3)


def test_differences_of_runs_that_both_have():
    part = runs_of({"a": [1.0, 2.0, 7.0], "b": [3.0, 4.0, math.nan]})
    assert found(part, "a", "b") == (-2, -2, -2, 2)
    assert found(part, "b")[3] == 2
    assert found(part, "a")[3] == 3


@pytest.mark.parametrize(
    ("a", "b", "n"), [(False, False, 1), (True, False, 3), (False, True, 3), (True, True, 3)]
)
def test_what_no_seed_changes_is_one_run(a, b, n):
    part = runs_of({"a": [1.0] * 3, "b": [2.0] * 3}, random={"a": a, "b": b})
    assert found(part, "a", "b")[3] == n
    assert found(part, "a")[3] == (3 if a else 1)
    assert found(part, "b")[3] == (3 if b else 1)


def test_an_estimate_of_a_file_is_its_own_number():
    """39 drawn traces: the ends are the least and the largest of them; the file's 12 is none of these."""
    part = drawn({"a": [12.0, *map(float, range(20, 59))], "b": [10.0, 10.0]})
    assert found(part, "a") == (12, 20, 58, 39)
    assert found(part, "a", "b") == (2, 10, 48, 39)
    assert is_of_file(part)
    assert not is_of_file(runs_of({"a": [1.0]}))


def test_differences_by_rounding_are_none():
    part = runs_of({"a": [1e9, 2e9], "b": [1e9 * (1 + 1e-14), 2e9]})
    assert found(part, "a", "b")[0] == 0.0
    part = runs_of({"a": [0.1004], "b": [0.1]})
    assert found(part, "a", "b")[0] == pytest.approx(0.0004)


@pytest.mark.parametrize(
    ("part", "metric", "best"),
    [
        (runs_of({"a": [3.0, 3.0], "b": [1.0, 4.0]}), JCT, "b"),  # 2.5 against 3
        (runs_of({"a": [1.0, 6.0], "b": [3.0, 3.0]}), JCT, "b"),
        (runs_of({"a": [0.3], "b": [0.5]}, BUSY), BUSY, "b"),
        (runs_of({"b": [1.0], "a": [1.0]}), JCT, "b"),  # equal ones: the first
        # of a file: on the file itself
        (drawn({"a": [9.0, 12.0], "b": [10.0, 10.0]}), JCT, "a"),
        (drawn({"a": [12.0, 9.0], "b": [10.0, 10.0]}), JCT, "b"),
        (drawn({"a": [0.9, 0.1], "b": [0.5, 0.5]}, BUSY), BUSY, "a"),
    ],
)
def test_the_best(part, metric, best):
    assert best_of(values_of(part, metric), metric) == best


def test_the_best_first():
    means = pd.Series({"a": 2.0, "b": 1.0, "c": 2.0 + 1e-14, "d": 0.5})
    assert best_first(means) == ["d", "b", "a", "c"]
    assert best_first(means, True) == ["a", "c", "b", "d"]
    assert best_first(means.astype(object)) == ["d", "b", "a", "c"]
    assert same(np.array([2.0, 1.0, 2.0 + 1e-14, 1e-10])).tolist() == [2.0, 1.0, 2.0, 0.0]
    assert same(np.array([1.0, 1.0001, 1e-8])).tolist() == [1.0, 1.0001, 1e-8]


# -- ranks --------------------------------------------------------------------------------------


def test_ranks_of_one_run():
    found = ranks(runs_of({"a": [2.0], "b": [1.0], "c": [2.0], "d": [9.0]}), [], [JCT])
    assert list(found) == ["metric", "policy", "rank", "lower", "upper"]
    assert rows(found) == [
        [JCT, "a", 2.5, None, None], [JCT, "b", 1.0, None, None],
        [JCT, "c", 2.5, None, None], [JCT, "d", 4.0, None, None],
    ]  # fmt: skip


def test_where_more_is_better_the_largest_is_first():
    found = ranks(runs_of({"a": [0.2], "b": [0.4]}, BUSY), [], [BUSY])
    assert found["rank"].tolist() == [2, 1]


def test_what_is_not_judged_has_no_rank():
    found = ranks(runs_of({"a": [0.2]}, "mean_decision_cpu_s"), ["x"], ["mean_decision_cpu_s"])
    assert list(found) == ["x", "metric", "policy", "rank", "lower", "upper"]
    assert found.empty


def test_who_failed_in_a_run_has_no_rank():
    runs = runs_of({"a": [2.0, 2.0], "b": [1.0, math.nan]})
    runs = pd.concat([runs.assign(nodes=1), runs_of({"b": [3.0], "a": [1.0]}, nodes=2)])
    found = ranks(runs, ["nodes"], ["mean_decision_cpu_s", JCT])
    assert found[["nodes", "metric", "policy", "rank"]].to_numpy().tolist() == [
        [1, JCT, "a", 1], [2, JCT, "b", 2], [2, JCT, "a", 1],
    ]  # fmt: skip


def ranks_on(values: dict, *of_file: bool) -> dict:
    return {r["policy"]: (r["rank"], r["lower"], r["upper"]) for r in ranked(pd.DataFrame(values), *of_file)}  # fmt: skip


def test_the_interval_of_a_rank_is_of_ranks_that_there_were():
    """On one of 40 drawn traces a is first, on the others second: its rank is 2, from 1 to 2, nothing in between."""
    found = ranks(drawn({"a": [12.0, 8.0, 12.0], "b": [10.0, 10.0]}, traces=40), [], [JCT])
    found = found.set_index("policy")
    assert found.loc["a", ["rank", "lower", "upper"]].tolist() == [2, 1, 2]
    assert found.loc["b", ["rank", "lower", "upper"]].tolist() == [1, 1, 1]


def test_a_rank_on_each_of_the_drawn_traces():
    """Of 200 the 5th and the 195th count: 4 or 5 in which a is first, and so many in which it is third."""
    for first, last in product((4, 5), (4, 5, 6)):
        a = [2.5, *[1.0] * first, *[9.0] * last, *[2.5] * (200 - first - last)]
        found = ranks_on({"a": a, "b": [2.0] * 201, "c": [3.0] * 201}, True)
        assert found["a"] == (2, 1 if first == 5 else 2, 3 if last == 6 else 2)


def test_ranks_on_seeds_that_are_drawn_again():
    """Of the means 2.9 and 3 of ten: a is ahead by 10, behind by 9 in half of the runs; c is always last."""
    values = {"a": [0.0] * 5 + [5.8] * 5, "b": [3.0] * 10, "c": [9.0] * 10}
    assert ranks_on(values) == {"a": (1, 1, 2), "b": (2, 1, 2), "c": (3, 3, 3)}
    # Of two runs a quarter of the draws has twice the first one, and a quarter twice the second.
    assert ranks_on({"a": [1.0, 4.0], "b": [2.4, 2.4]}) == {"a": (2, 1, 2), "b": (1, 1, 2)}
    # A run in which a is last weighs too little: 9 of 10 are needed to change the order.
    values = {"a": [1.0] * 9 + [2.0], "b": [1.9] * 10}
    assert ranks_on(values) == {"a": (1, 1, 1), "b": (2, 2, 2)}


def test_values_of_a_metric():
    """Policies in the order of the runs; draws from the first one on; what no run has is left out."""
    part = runs_of({"b": [1.0, 2.0], "a": [3.0, 4.0], "c": [math.nan, math.nan]})[::-1]
    part = pd.concat([part[part["policy"] == "b"], part[part["policy"] != "b"]])
    values = values_of(part, JCT)
    assert list(values) == ["b", "a"]
    assert values.to_numpy().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert values.index.tolist() == [(0, 0), (0, 1)]


def test_rows_with_labels():
    table = pd.DataFrame({"a": [1, 1, 2], "b": [3, 4, 3]})
    assert chosen(table, {"a": 1, "b": 3}).index.tolist() == [0]
    assert chosen(table, {"b": 3}).index.tolist() == [0, 2]
    assert chosen(table, {}) is table
