"""Estimates that come out exactly: by hand, by a count of cases, or by a second formula."""

import itertools
import math
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import stats

from simulator.errors import InputError
from simulator.statistics import (
    Estimate,
    Streams,
    batch_means,
    bootstrap_interval,
    differences,
    jain,
    mean_of_skewed,
    mser5,
    paired_difference,
    parse_precision,
    pooled_quantile,
    quantile,
    ratio,
    replicate,
    replicate_until_precise,
    replications_needed,
    skewness,
    student,
)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.lower, estimate.upper


# -- streams and estimates ----------------------------------------------------------------------


def test_replications_are_the_same_on_every_machine():
    assert Streams(0).replication(0).seed == 15736121939170704779
    assert Streams(7).replication(3).seed == 12217005195761559075


def test_an_interval_covers_its_ends():
    estimate = Estimate(2.0, 1.0, 3.0, 5)
    assert [estimate.contains(x) for x in (0.9, 1.0, 3.0, 3.1)] == [False, True, True, False]
    assert (estimate.half_width, estimate.relative_half_width) == (1.0, 0.5)
    assert str(student([1, 2, 3, 4, 5])) == "3 ± 2"  # t(0.975; 4) sqrt(2.5 / 5) = 1.96


@pytest.mark.parametrize(("least", "lower"), [(0.0, 0.0), (-1.0, -1.0), (-2.0, -1.0), (1.5, 1.5)])
def test_an_interval_of_a_quantity_with_a_least_value(least, lower):
    estimate = Estimate(2.0, -1.0, 3.0, 5, 0.9)
    assert estimate.at_least(least) == Estimate(2.0, lower, 3.0, 5, 0.9)


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ([3.0, 3.0], 1.0), ([4.0, 0.0], 0.5), ([1.0, 2.0, 3.0], 36 / 42), ([1.0, math.nan, 3.0], 16 / 20),
        ([0.0, 0.0], math.nan), ([], math.nan), ([math.inf], math.nan),
    ],
)  # fmt: skip
def test_jains_index(values, index):
    assert jain(np.array(values)) == pytest.approx(index, nan_ok=True)


# -- means --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("size", [2, 3, 12])
def test_student_is_scipys_interval(size, level):
    x = rng(size).exponential(3.0, size)
    ours = student(x, level)
    theirs = stats.t.interval(level, size - 1, x.mean(), stats.sem(x))
    assert ends(ours) == pytest.approx(theirs, rel=1e-12)
    assert (ours.mean, ours.n, ours.level) == (pytest.approx(x.mean()), size, level)


def test_the_correction_for_skewness_goes_with_the_root_of_the_count():
    """1, 1, 1, 5: mean 2, standard error 1, skewness 2, so b = 2 / (6 * 2); t(0.975; 3) = 3.182446.

    The ends are 2 - 3 (cbrt(1 + t - 1/6) - 1) and 2 - 3 (cbrt(1 - t - 1/6) - 1).
    """
    found, t = mean_of_skewed([1.0, 1.0, 1.0, 5.0]), 3.182446305284263
    assert skewness(np.array([1.0, 1.0, 1.0, 5.0])) == pytest.approx(2.0)
    expected = [2 - 3 * (float(np.cbrt(1 + sign * t - 1 / 6)) - 1) for sign in (1, -1)]
    assert ends(found) == pytest.approx(expected)
    assert (found.mean, found.n, found.level) == (2.0, 4, 0.95)
    mirrored = mean_of_skewed([-1.0, -1.0, -1.0, -5.0])
    assert ends(mirrored) == pytest.approx((-expected[1], -expected[0]))


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [
        (3.0, 1.0, 2.0), (1.0, 3.0, -2.0), (1e-3, 0.0, 1e-3), (5e-4, 1e-4, 4e-4), (1e-12, 0.0, 1e-12), (0.0, 0.0, 0.0),
        (1e9, 1e9 + 1, -1.0), (1e9, 1e9 * (1 + 1e-14), 0.0), (1.0, 1.0 + 1e-6, -1e-6),
    ],
)  # fmt: skip
def test_a_difference_is_0_where_it_is_rounding_alone(a, b, apart):
    """Relative to the numbers, whatever their size."""
    assert differences([a], [b]).tolist() == pytest.approx([apart], rel=1e-6, abs=0.0)


def test_one_observation_has_a_mean_and_no_interval():
    found = student([4.0], 0.9)
    assert (found.mean, *ends(found), found.n, found.level) == (4, -math.inf, math.inf, 1, 0.9)
    assert found.half_width == found.relative_half_width == math.inf


def test_single_precision_is_not_kept():
    x = rng().normal(1e4, 1, 1000).astype(np.float32)
    assert student(x) == student(x.astype(np.float64))


def needed(values: list[float], precision: float, level: float = 0.95) -> int:
    """The rule in one line: n grows with the square of the half width that is too much."""
    n, x = len(values), np.array(values)
    half = stats.t.interval(level, n - 1, x.mean(), stats.sem(x))[1] - x.mean()
    excess = half / abs(x.mean()) * (1 + precision) / precision
    return n if excess <= 1 else min(max(math.ceil(n * excess**2), n + 1), 2 * n)


def test_replications_needed_grow_with_the_square_of_the_error_and_at_most_double():
    values = [9.0, 11.0, 10.0, 10.5, 9.5] * 4
    found = {}
    for precision in (0.2, 0.0334, *np.arange(0.02, 0.04, 0.0002), 0.001):
        for level in (0.9, 0.95):
            wanted = needed(values, precision, level)
            assert replications_needed(values, precision, level) == wanted
            found[precision, level] = wanted
    # Enough, one more, some more, and twice as many: all are among them.
    assert {20, 21, 40} < set(found.values())
    assert replications_needed([-x for x in values], 0.2) == 20
    assert replications_needed([-x for x in values], 0.001) == 40


def test_a_half_width_at_exactly_the_target_suffices():
    hits = 0
    for seed in range(200):
        x = rng(seed).normal(10, 1, 6)
        part = student(x).relative_half_width
        precision = part / (1 - part)
        if precision / (1 + precision) == part:
            hits += 1
            assert replications_needed(x, precision) == 6
    assert hits > 10


def test_replications_needed_where_the_error_is_unknown():
    assert replications_needed([3.0], 0.1) == 2
    assert replications_needed([1.0, -1.0], 0.1) == 4
    assert replications_needed([1.0, -1.0, 2.0, -2.0], 0.1) == 8


def test_adding_replications_is_the_rule_applied_again_and_again():
    def run(streams: Streams) -> float:
        return float(streams.generator("x").normal(10, 1))

    for level in (0.8, 0.95):
        values = [run(Streams(5).replication(i)) for i in range(4)]
        while (wanted := replications_needed(values, 0.02, level)) > len(values):
            values += [run(Streams(5).replication(i)) for i in range(len(values), wanted)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it is precise enough, and says nothing
            found = replicate_until_precise(run, 5, 0.02, level, first=4)
        assert found == student(values, level)
    assert replicate(run, 5, 7) == student([run(Streams(5).replication(i)) for i in range(7)])


def test_ten_thousand_replications_are_the_end():
    turns = itertools.cycle([1.0, -1.0])
    with pytest.warns(UserWarning, match=r"stopped at 10000 replications .* of inf, wanted 0.01"):
        replicate_until_precise(lambda s: next(turns), 1, 0.01)


@pytest.mark.parametrize(
    ("text", "value"), [("1%", 0.01), ("50%", 0.5), ("0.02", 0.02), ("99.5%", 0.995)]
)
def test_precisions(text, value):
    assert parse_precision(text) == pytest.approx(value)


# -- one long run -------------------------------------------------------------------------------


def test_a_large_offset_does_not_move_the_cut():
    for seed in range(20):
        noise = rng(seed).normal(0, 1, 100) + 3 * np.exp(-np.arange(100) / 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert mser5(noise + 1e9) == mser5(noise)


@pytest.mark.parametrize(
    "call",
    [
        partial(mser5, np.arange(40.0)),
        partial(batch_means, np.arange(40.0)),
        partial(replicate_until_precise, lambda s: s.generator("x").normal(), 1, 0.01, most=12),
    ],
)
def test_a_warning_points_at_the_line_that_called(call):
    with pytest.warns(UserWarning, match="too short|stopped at") as caught:
        call()
    assert [w.filename for w in caught] == [__file__]


# -- bootstrap ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resamples", "level", "k"),
    [(39, 0.95, 1), (199, 0.95, 5), (198, 0.95, 4), (99, 0.9, 5), (9, 0.8, 1), (199, 0.99, 1)],
)
def test_the_ends_are_the_kth_of_each_side(resamples, level, k):
    drawn = rng().permutation(np.arange(1.0, resamples + 1))
    found = bootstrap_interval(-5.0, drawn, level)
    assert (found.mean, *ends(found)) == (-5, k, resamples + 1 - k)
    assert (found.n, found.level) == (resamples, level)
    assert type(found.lower) is type(found.upper) is float


@pytest.mark.parametrize(("level", "least"), [(0.95, 39), (0.9, 19), (0.99, 199), (0.8, 9)])
def test_resamples_that_are_too_few_are_refused(level, least):
    assert ends(bootstrap_interval(0.0, np.arange(1.0, least + 1), level)) == (1, least)
    message = f"{least - 1} resamples, expected at least {least} for {level:.0%}"
    with pytest.raises(InputError, match=message):
        bootstrap_interval(0.0, np.zeros(least - 1), level)


def test_a_quantile_is_the_median_unbiased_one():
    """Hyndman and Fan's type 8: at place (n + 1/3) q + 1/3, here 28/3 * 0.3 + 1/3 = 3.1333."""
    x = rng().permutation(np.arange(10.0, 100.0, 10.0))
    assert quantile(x, 0.3).mean == pytest.approx(30 + 10 * (28 * 0.1 + 1 / 3 - 3))


@pytest.mark.parametrize(("n", "q", "level"), [(9, 0.5, 0.95), (200, 0.9, 0.95), (30, 0.3, 0.8)])
def test_the_ends_of_a_quantile_are_the_closest_that_the_binomial_law_allows(n, q, level):
    found = quantile(rng().permutation(np.arange(1.0, n + 1)), q, level)
    low, high, part = int(found.lower), int(found.upper), (1 - level) / 2
    assert stats.binom.cdf(low - 1, n, q) <= part < stats.binom.cdf(low, n, q)
    assert stats.binom.sf(high - 1, n, q) <= part < stats.binom.sf(high - 2, n, q)
    assert (found.n, found.level) == (n, level)


def test_a_quantile_with_nothing_beyond_it_has_an_infinite_end():
    found = quantile(np.arange(20.0), 0.95)
    assert math.isfinite(found.lower)
    assert found.upper == math.inf
    assert ends(quantile([0.0, 1.0], 0.5)) == (-math.inf, math.inf)
    assert ends(quantile([0.0, 1.0], 0.5, 0.5)) == (0.0, 1.0)


def test_a_pooled_quantile_is_the_value_that_the_part_of_all_does_not_exceed():
    runs = [rng(i).exponential(1.0, n) for i, n in enumerate((3, 9, 1, 14))]
    pool = np.sort(np.concatenate(runs))
    for q in (0.1, 0.5, 0.9, 0.99):
        assert pooled_quantile(runs, q).mean == pool[math.ceil(27 * q) - 1]
    runs = [[10.0, 0.0, 0.0], [10.0]]
    assert [pooled_quantile(runs, q).mean for q in (0.5, 0.51)] == [0, 10]
    assert pooled_quantile(runs[::-1], 0.5).mean == 0


def test_the_ends_of_a_pooled_quantile_by_hand():
    """Ten runs of ten; five have 4 of them at most 50, five have 6: the part is 0.5 +- t 0.1/3."""
    runs = [
        np.r_[np.arange(low) + 10 * k / 1000, 60 + np.arange(10 - low) + k / 1000]
        for k, low in enumerate([4, 6] * 5)
    ]
    pool = np.sort(np.concatenate(runs))
    found = pooled_quantile(runs, 0.5, 0.9)
    half = stats.t.ppf(0.95, 9) * math.sqrt(10 / 9 * 10 * 1.0) / 100
    assert found.mean == pool[49]
    assert ends(found) == (
        pool[math.ceil(50 - 100 * half) - 1],
        pool[math.ceil(50 + 100 * half) - 1],
    )
    assert (found.n, found.level) == (10, 0.9)
    extreme = pooled_quantile(runs, 0.999)
    assert extreme.mean == pool[-1]


@pytest.mark.parametrize(
    ("q", "level", "lower", "upper"),
    [
        # Two runs of 100: 49 and 51 values are at most the median. Its part is 0.5 +- t(1) sqrt(2 * 2) / 200.
        (0.5, 0.5, 98, 102), (0.5, 0.9, 88, 113), (0.5, 0.99, -math.inf, math.inf),
        (0.5, 0.98, 37, 164),
    ],
)  # fmt: skip
def test_a_pooled_quantile_of_two_runs_by_hand(q, level, lower, upper):
    """t(1; (1 + level) / 2) is 1, 6.314, 63.66, 31.82, so the parts are 0.5 +- 0.01, 0.0631, 0.637, 0.318."""
    runs = [[*range(1, 50), *range(150, 201)], [*range(50, 101), *range(101, 150)]]
    found = pooled_quantile(runs, q, level)
    assert (found.mean, *ends(found), found.n) == (100, lower, upper, 2)


@pytest.mark.parametrize(
    ("x", "y", "value"),
    [
        ([1.0, 2.0, 3.0], [1.0, -1.0, 2.0], 3.0),  # -1 - 1 + 2 = 0 below 2 + 2 + 3
        ([0.0, 2.0, 1.0], [0.0, 1.0, 2.0], 1.0),  # 0 / 0
    ],
)
def test_a_ratio_whose_resamples_may_have_a_mean_of_0(x, y, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ratio(x, y, rng())
    assert found.mean == value
    assert found.lower < value < found.upper  # numbers, not NaN


def test_a_ratio_draws_from_the_generator_that_is_given():
    used = rng(3)
    ratio([1.0, 2.0], [3.0, 4.0], used)
    assert used.integers(1 << 40) != rng(3).integers(1 << 40)


def test_one_run_or_observation_has_a_quantile_and_no_interval():
    for found in (quantile([3.0], 0.5, 0.9), pooled_quantile([[3.0]], 0.5, 0.9)):
        assert (found.mean, *ends(found), found.n) == (3, -math.inf, math.inf, 1)
        assert found.level == 0.9


def test_the_mean_of_skewed_values_is_students_where_nothing_leans():
    x = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    assert ends(mean_of_skewed(x, 0.9)) == pytest.approx(ends(student(x, 0.9)))
    assert mean_of_skewed([4.0], 0.9) == student([4.0], 0.9)
    assert mean_of_skewed([1.0, 2.0, 9.0]) == student(
        [1.0, 2.0, 9.0]
    )  # three tell nothing of skewness
    assert mean_of_skewed([1.0, 2.0, 2.0, 9.0]) != student([1.0, 2.0, 2.0, 9.0])
    leaning = mean_of_skewed([1.0, 1.0, 2.0, 9.0])
    assert leaning.upper - leaning.mean > leaning.mean - leaning.lower


def test_a_ratio_that_never_varies_is_exact():
    found = ratio([3.0, 6.0, 15.0], [1.0, 2.0, 5.0], rng(), 0.9)
    assert (found.mean, *ends(found), found.n, found.level) == (3, 3, 3, 3, 0.9)


def test_a_ratio_does_not_depend_on_units():
    x, y = rng(1).exponential(1, 20), rng(2).exponential(1, 20)
    plain = ratio(x, y, rng(3))
    for unit in (1e-9, 1e9):
        scaled = ratio(unit * x, y, rng(3))
        assert ends(scaled) == pytest.approx((unit * plain.lower, unit * plain.upper), rel=1e-6)
    assert ratio([1.0, 3.0], [1.0, 1.0], rng()).mean == 2  # a mean of 1 is a mean like others


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: student([]), r"shape \(0,\), expected \(n,\) with n >= 1"),
        (lambda: student([[1.0, 2.0]]), r"shape \(1, 2\), expected \(n,\) with n >= 1"),
        (lambda: student(3.0), r"shape \(\), expected \(n,\) with n >= 1"),
        (lambda: student([1.0, math.inf]), "observation 1 is inf, expected a finite number"),
        (lambda: student([1.0, math.nan]), "observation 1 is nan, expected a finite number"),
        (lambda: student([1.0], 0.0), "confidence level is 0.0, expected between 0 and 1"),
        (lambda: student([1.0], 1.0), "confidence level is 1.0, expected between 0 and 1"),
        (lambda: student([1.0], 1.5), "confidence level is 1.5, expected between 0 and 1"),
        (lambda: quantile([1.0], 0.0), "quantile is 0.0, expected between 0 and 1"),
        (lambda: quantile([1.0], 1.0), "quantile is 1.0, expected between 0 and 1"),
        (lambda: pooled_quantile([[1.0]], 1.5), "quantile is 1.5, expected between"),
        (lambda: quantile([1.0], 0.5, 2.0), "confidence level is 2.0"),
        (lambda: bootstrap_interval(0.0, np.zeros(99), 1.0), "confidence level is 1.0"),
        (lambda: pooled_quantile([], 0.5), "^pooled quantile of no runs, expected at least"),
        (lambda: paired_difference([1.0], [1.0, 2.0]), "of 1 and 2 runs, expected equal numbers"),
        (lambda: ratio([1.0], [1.0, 2.0], rng()), "ratio of 1 and 2 runs, expected equal numbers"),
        (lambda: ratio([1.0, 2.0], [1.0, -1.0], rng()), "^ratio: the denominators' mean is 0, exp"),
        (lambda: ratio([1.0, 2.0], [0.0, 0.0], rng()), "^ratio: the denominators' mean is 0, exp"),
        (lambda: ratio([1.0], [1.0], rng(), 0.0), "confidence level is 0.0"),
        (lambda: replications_needed([1.0], 0.0), r"precision is 0.0, expected between 0 and 1 \("),
        (lambda: replications_needed([1.0], 1.0), "precision is 1.0, expected between 0 and 1"),
        (lambda: replications_needed([1.0], 1.5), "precision is 1.5, expected between 0 and 1"),
        (lambda: replicate(lambda s: 1.0, 1, 0), "replications is 0, expected at least 1"),
        (lambda: parse_precision("narrow"), "precision is 'narrow', expected a percentage such"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
