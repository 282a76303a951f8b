"""Intervals: hand-computed ones, their coverage over 200 seeds, and what they refuse."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from simulator import statistics as st
from simulator.statistics import Estimate, Streams
from tests.refusal import refused

SEEDS = range(200)


def between_92_and_98_percent(hits: list[bool]) -> bool:
    assert len(hits) == len(SEEDS)
    return 0.92 <= float(np.mean(hits)) <= 0.98


def test_student_by_hand() -> None:
    # Mean 3, sample deviation sqrt(2.5), t(0.975; 4) = 2.776445.
    estimate = st.student([1, 2, 3, 4, 5])
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(2.7764451 * math.sqrt(2.5 / 5), rel=1e-7)
    assert estimate.n == 5
    assert estimate.contains(3)
    assert not estimate.contains(6)
    assert str(estimate) == "3 ± 2"


def test_student_agrees_with_scipy_at_another_level() -> None:
    x = Streams(1).generator("x").exponential(size=37)
    ours = st.student(x, level=0.9)
    theirs = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), rel=1e-12)


def test_one_replication_says_nothing_of_its_error() -> None:
    assert st.student([2.0]).half_width == math.inf
    assert st.student([2.0]).relative_half_width == math.inf


def test_student_covers() -> None:
    draws = [Streams(s).generator("x").gamma(4, 1, size=30) for s in SEEDS]
    assert between_92_and_98_percent([st.student(x).contains(4) for x in draws])


def ar1(seed: int, n: int, mean: float, correlation: float) -> np.ndarray:
    """A stationary autoregressive run of known mean: autocorrelated like a queue."""
    rng = Streams(seed).generator("ar1")
    noise = rng.normal(size=n) * math.sqrt(1 - correlation**2)
    noise[0] = rng.normal()
    return mean + lfilter([1], [1, -correlation], noise)


def test_batch_means_cover_where_the_naive_interval_does_not() -> None:
    runs = [ar1(s, 40_000, 5.0, 0.9) for s in SEEDS]
    assert between_92_and_98_percent([st.batch_means(x).contains(5) for x in runs])
    assert np.mean([st.student(x).contains(5) for x in runs]) < 0.5


def test_batch_means_of_a_short_run_warn() -> None:
    with pytest.warns(UserWarning, match="too short"):
        st.batch_means(ar1(0, 200, 0.0, 0.99))


def test_batch_means_by_hand() -> None:
    # Seven observations in two batches: the first is dropped.
    estimate = st.batch_means([100, 1, 2, 3, 5, 6, 7], batches=2)
    assert estimate.mean == 4
    assert estimate.n == 2


def test_quantile_covers() -> None:
    truth = -math.log(0.1)
    found = [st.quantile(Streams(s).generator("x").exponential(size=200), 0.9) for s in SEEDS]
    assert between_92_and_98_percent([e.contains(truth) for e in found])


def test_pooled_quantile_takes_the_runs_and_not_their_jobs_for_independent() -> None:
    # Inside a run all observations share a shift: only the runs are independent.
    def runs(seed: int) -> list[np.ndarray]:
        rng = Streams(seed).generator("x")
        return [rng.normal(size=50) + 2 * rng.normal() for _ in range(40)]

    found = [st.pooled_quantile(runs(s), 0.5) for s in SEEDS]
    assert between_92_and_98_percent([e.contains(0) for e in found])
    naive = [st.quantile(np.concatenate(runs(s)), 0.5) for s in range(9)]
    assert np.mean([e.half_width for e in naive]) < 0.3 * np.mean([e.half_width for e in found])
    assert found[0].mean == pytest.approx(np.median(np.concatenate(runs(0))), abs=0.05)


def test_ratio_covers() -> None:
    def one(seed: int) -> Estimate:
        rng = Streams(seed).generator("x")
        y = rng.gamma(4, 1, 20) + 0.5
        return st.ratio(0.5 * y + rng.exponential(1, 20), y, rng)

    assert between_92_and_98_percent([one(s).contains(0.5 + 1 / 4.5) for s in SEEDS])


def test_ratio_of_proportional_pairs_is_exact() -> None:
    y = np.array([1.0, 2.0, 5.0])
    estimate = st.ratio(3 * y, y, Streams(0).generator("b"))
    assert estimate.mean == pytest.approx(3)
    assert estimate.half_width < 1e-9


def test_common_random_numbers_have_the_smaller_variance() -> None:
    def mean_wait(streams: Streams, speed: float) -> float:
        """Lindley's recursion for one server of this speed."""
        gaps = streams.generator("arrivals").exponential(1.0, 500)
        work = streams.generator("service").exponential(0.8, 500)
        wait, total = 0.0, 0.0
        for gap, size in zip(gaps, work, strict=True):
            total += wait
            wait = max(0.0, wait + size / speed - gap)
        return total / 500

    same = [Streams(0).replication(i) for i in range(60)]
    other = [Streams(1).replication(i) for i in range(60)]
    slow = [mean_wait(s, 1.0) for s in same]
    paired = st.paired_difference(slow, [mean_wait(s, 1.1) for s in same])
    unpaired = st.paired_difference(slow, [mean_wait(s, 1.1) for s in other])
    assert paired.half_width**2 < 0.5 * unpaired.half_width**2
    assert paired.lower > 0


def test_replications_add_up_until_the_interval_is_narrow_enough() -> None:
    def run(streams: Streams) -> float:
        return float(streams.generator("x").normal(10, 2))

    estimate = st.replicate_until_precise(run, seed=3, precision=0.02)
    assert estimate.relative_half_width <= 0.02
    # (1.96 * 2 / 10 / 0.02)^2 = 384 replications, give or take.
    assert 250 < estimate.n < 550
    assert st.replicate(run, seed=3, replications=estimate.n) == estimate


def test_sequential_stopping_keeps_its_level() -> None:
    def one(seed: int) -> bool:
        return st.replicate_until_precise(
            lambda s: float(s.generator("x").gamma(2, 1)), seed, 0.1
        ).contains(2)

    assert between_92_and_98_percent([one(s) for s in SEEDS])


def test_a_cap_on_replications_is_told() -> None:
    with pytest.warns(UserWarning, match="stopped at 20 replications"):
        st.replicate_until_precise(lambda s: float(s.generator("x").normal(0, 1)), 0, 0.01, most=20)


def test_mser5_removes_a_known_transient() -> None:
    """An exponential transient of time constant 200 on noise: the cut takes the bias away."""
    index = np.arange(20_000)
    biased, kept, cuts = [], [], []
    for seed in range(40):
        x = ar1(seed, len(index), 10.0, 0.7) + 8 * np.exp(-index / 200)
        cuts.append(st.mser5(x))
        biased.append(x.mean() - 10)
        kept.append(x[cuts[-1] :].mean() - 10)
    assert not st.student(biased).contains(0)
    assert abs(np.mean(kept)) < 0.2 * np.mean(biased)
    assert 200 < np.median(cuts) < 2000
    assert all(cut % 5 == 0 for cut in cuts)


def test_mser5_keeps_a_stationary_run_and_cuts_a_step_exactly() -> None:
    assert np.median([st.mser5(ar1(s, 5000, 0.0, 0.5)) for s in range(20)]) < 500
    step = np.r_[np.full(50, 9.0), np.tile([0.0, 1.0, 2.0, 3.0, 4.0], 100)]
    assert st.mser5(step) == 50


def test_mser5_of_a_run_that_never_settles_warns() -> None:
    with pytest.warns(UserWarning, match="too short"):
        st.mser5(np.arange(100.0))


@pytest.mark.parametrize(("text", "value"), [("1%", 0.01), ("0.5%", 0.005), ("0.02", 0.02)])
def test_precision_reads_percentages(text: str, value: float) -> None:
    assert st.parse_precision(text) == pytest.approx(value)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: st.student([]),
        lambda: st.student([1.0, math.nan]),
        lambda: st.student([[1.0, 2.0]]),
        lambda: st.student([1.0, 2.0], level=95),
        lambda: st.paired_difference([1.0], [1.0, 2.0]),
        lambda: st.batch_means([1.0, 2.0, 3.0], batches=2),
        lambda: st.mser5([1.0] * 9),
        lambda: st.quantile([1.0, 2.0], 1.0),
        lambda: st.pooled_quantile([], 0.5),
        lambda: st.ratio([1.0], [1.0, 2.0], RNG),
        lambda: st.ratio([1.0, 2.0], [0.0, 0.0], RNG),
        lambda: st.replicate(lambda s: 0.0, 0, 0),
        lambda: st.replications_needed([1.0, 2.0], 1.0),
        lambda: st.parse_precision("narrow"),
        lambda: st.parse_precision("120%"),
    ],
)
def test_bad_input_is_one_clear_line(call) -> None:  # type: ignore[no-untyped-def]
    with refused("expected"):
        call()
