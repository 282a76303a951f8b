"""Optimal widths: the paper's Figure 1 in closed form, certificates, rivals, bad input."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.rental import (
    FixedWidths,
    JobType,
    OptimalWidths,
    equal_widths,
    optimal_widths,
    rental_table,
    whole_gpu_widths,
    widths_by_size,
)
from simulator.errors import InputError
from simulator.laws import BoundedPareto, Exponential
from simulator.model.speedup import Amdahl, Power, Speedup, Tabulated, UserDefined

FIGURE_1 = (JobType("amdahl", 0.4, 1.0, Amdahl(0.8)), JobType("root", 0.4, 1.0, Power(0.5)))


def duality_gap(plan: OptimalWidths) -> float:
    """Mean response time over its lower bound by Lagrange's dual at the price, minus 1."""
    if math.isinf(plan.price):
        return 0.0
    best = [t.speedup.best_width(plan.price) if plan.price > 0 else k
            for t, k in zip(plan.types, plan.widths_gpus, strict=True)]  # fmt: skip
    least = replace(plan, widths_gpus=np.array(best))
    saved = plan.price * (least.budget_gpus - plan.budget_limit_gpus)
    rate = sum(t.arrival_rate_per_h for t in plan.types)
    return plan.mean_response_time_h / (least.mean_response_time_h + saved / rate) - 1


def closed_form(budget: float) -> tuple[float, float, float]:
    """k1, k2 and E[T] of Figure 1, by its KKT conditions on paper."""
    if budget >= 0.88:
        k1 = (budget - 0.32) / 0.28
        return k1, k1**2 / 4, 0.1 + 0.392 / (budget - 0.32)
    k1 = (budget - 0.72) / 0.08
    return k1, 1.0, (0.4 * (0.2 + 0.8 / k1) + 0.4) / 0.8


@pytest.mark.parametrize("budget", [0.8, 0.81, 0.87, 0.88, 0.89, 1, 2, 5, 10, 20, 30])
def test_figure_1_in_closed_form(budget):
    plan = optimal_widths(FIGURE_1, budget)
    k1, k2, mean = closed_form(budget)
    assert plan.widths_gpus == pytest.approx([k1, k2], rel=1e-8)
    assert plan.mean_response_time_h == pytest.approx(mean, rel=1e-8)
    assert plan.budget_gpus == pytest.approx(budget, rel=1e-10)
    assert plan.kkt_residual < 1e-8
    assert abs(duality_gap(plan)) < 1e-10


def test_figure_1_all_along():
    table = rental_table(FIGURE_1, np.linspace(0.8, 30, 200).tolist())
    expected = np.array([closed_form(b) for b in table["budget_gpus"]])
    columns = ["width_amdahl_gpus", "width_root_gpus", "mean_response_time_h"]
    assert np.abs(table[columns].to_numpy() / expected - 1).max() < 1e-8
    assert (table["mean_response_time_h"].diff().dropna() < 0).all()
    at_two = rental_table(FIGURE_1, [2.0]).iloc[0]
    by_type = [at_two["mean_response_time_amdahl_h"], at_two["mean_response_time_root_h"]]
    assert by_type == pytest.approx([1 / 3, 1 / 3])


SPEEDUPS: st.SearchStrategy[Speedup] = st.one_of(
    st.floats(0, 0.999).map(Amdahl),
    st.floats(0, 0.95).map(Power),
    st.lists(st.floats(0.05, 1), min_size=1, max_size=6).map(
        lambda slopes: Tabulated(
            tuple(range(1, len(slopes) + 2)),
            tuple(1 + np.concatenate([[0], np.cumsum(sorted(slopes, reverse=True))])),
        )
    ),
    st.just(UserDefined(lambda k: 1 + math.log(k), lambda k: 1 / k)),
)
TYPES = st.lists(
    st.tuples(st.floats(0.01, 50), st.floats(0.01, 50), SPEEDUPS), min_size=1, max_size=6
).map(lambda rows: tuple(JobType(str(i), *row) for i, row in enumerate(rows)))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(types=TYPES, slack=st.floats(0, 20))
def test_certificates_of_random_problems(types: tuple[JobType, ...], slack: float) -> None:
    load = sum(t.load for t in types)
    budget = load * (1 + slack)
    plan = optimal_widths(types, budget)
    assert plan.kkt_residual < 1e-8
    assert abs(duality_gap(plan)) < 1e-8
    assert plan.budget_gpus <= budget * (1 + 1e-9)
    assert (plan.widths_gpus >= 1).all()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(types=TYPES, data=st.data())
def test_no_random_widths_lie_below_the_frontier(types, data):
    widths = data.draw(st.lists(st.floats(1, 200), min_size=len(types), max_size=len(types)))
    rival = FixedWidths(types, np.array(widths))
    best = optimal_widths(types, rival.budget_gpus * (1 + 1e-12))
    assert best.mean_response_time_h <= rival.mean_response_time_h * (1 + 1e-9)


def test_a_budget_that_cannot_be_used_has_no_price():
    table = JobType("t", 1.0, 1.0, Tabulated((1, 2, 4), (5, 9, 15)))
    plan = optimal_widths([table], 10.0)
    assert plan.widths_gpus == pytest.approx([4])
    assert (plan.price, plan.kkt_residual) == (0, 0)
    assert plan.budget_gpus == pytest.approx(4 / 3)


def test_equal_types_share_a_straight_piece():
    """Both types are indifferent at the same price; only the sum of their GPU-times is fixed."""
    speedup = Tabulated((1, 3), (1, 2))
    types = [JobType("a", 1.0, 1.0, speedup), JobType("b", 1.0, 1.0, speedup)]
    plan = optimal_widths(types, 2.4)
    assert plan.budget_gpus == pytest.approx(2.4)
    assert plan.kkt_residual < 1e-10


def test_whole_gpus_all_along():
    """At large widths the pieces are nearly parallel: certificates and budgets must hold there."""
    for budget in np.linspace(0.8, 30, 150):
        whole = whole_gpu_widths(FIGURE_1, budget)
        assert whole.kkt_residual < 1e-8
        assert whole.budget_gpus <= budget * (1 + 1e-9)


@pytest.mark.parametrize("budget", [0.8, 1, 2, 5, 10, 30])
def test_whole_gpus_cost_little(budget):
    real = optimal_widths(FIGURE_1, budget)
    whole = whole_gpu_widths(FIGURE_1, budget)
    loss = whole.mean_response_time_h / real.mean_response_time_h - 1
    assert -1e-12 <= loss < 0.05
    mixtures = [t.speedup.mix(k) for t, k in zip(whole.types, whole.widths_gpus, strict=True)]
    assert sum(0 < fraction < 1 for *_, fraction in mixtures) <= 1
    # Enumerate: no pair of whole widths within the budget does better.
    pairs = itertools.product(range(1, 40), range(1, 60))
    rest = [FixedWidths(FIGURE_1, np.array(pair, dtype=float)) for pair in pairs]
    allowed = [p.mean_response_time_h for p in rest if p.budget_gpus <= budget]
    assert whole.mean_response_time_h <= min(allowed) * (1 + 1e-12)


@pytest.mark.parametrize("size", [Exponential(1), BoundedPareto.with_mean(1, 1.5, 1e3)], ids=str)
def test_rival_rules_use_the_budget_and_lose(size):
    best = optimal_widths(FIGURE_1, 5.0)
    same = equal_widths(FIGURE_1, 5.0)
    assert same.budget_gpus == pytest.approx(5)
    assert same.widths_gpus[0] == same.widths_gpus[1]
    assert same.mean_response_time_h > best.mean_response_time_h
    x = size.sample(np.random.default_rng(0), 20_000)
    x /= x.mean()
    for exponent in (0.5, -0.5):
        widths = widths_by_size(FIGURE_1, size, exponent, 5.0).width(x)
        time = [float((x / t.speedup(widths)).mean()) for t in FIGURE_1]
        gpus = [float((x * widths / t.speedup(widths)).mean()) for t in FIGURE_1]
        assert 0.4 * sum(gpus) == pytest.approx(5, rel=1e-6)
        assert 0.4 * sum(time) / 0.8 > best.mean_response_time_h
    flat = widths_by_size(FIGURE_1, size, 0.0, 5.0)
    assert flat.scale_gpus == pytest.approx(same.widths_gpus[0])


ONE = FIGURE_1[:1]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: optimal_widths(FIGURE_1, 0.79), "load of 0.8 GPUs"),
        (lambda: optimal_widths(FIGURE_1, math.nan), "at least the load"),
        (lambda: optimal_widths(FIGURE_1, math.inf), "at least the load"),
        (lambda: optimal_widths([], 1.0), "no job types"),
        (lambda: rental_table([], [1.0]), "no job types"),
        (lambda: FixedWidths(FIGURE_1, np.array([0.5, 2.0])), "width is 0.5 GPUs"),
        (lambda: FixedWidths(FIGURE_1, np.array([2.0])), "1 widths for 2 types"),
        (lambda: JobType("x", -0.4, 1.0, Power(0.5)), "arrival_rate_per_h is -0.4"),
        (lambda: JobType("x", 0.4, math.inf, Power(0.5)), "mean_size_h is inf"),
        (lambda: optimal_widths([replace(ONE[0], speedup=Amdahl(1.0))], 2.0), "linear without end"),
        (lambda: optimal_widths([*ONE, *ONE], 2.0), "occurs twice"),
        (lambda: equal_widths(FIGURE_1, 0.5), "at least 0.8 GPUs"),
    ],
)
def test_bad_input_is_one_clear_line(call, told):
    with pytest.raises(InputError, match=told) as caught:
        call()
    assert "expected" in str(caught.value)
