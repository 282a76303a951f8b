"""The mean of one long run: its interval, and the runs that are too short for one."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from simulator.errors import InputError
from simulator.statistics import (
    BATCHES,
    FEWEST,
    batch_means,
    long_run,
    mser5,
    skewed_student,
    skewness,
    steady_state_mean,
    student,
)


def ar1(seed: int, n: int, correlation: float) -> np.ndarray:
    """A stationary autoregressive run of mean 5."""
    noise = np.random.default_rng(seed).normal(size=n) * math.sqrt(1 - correlation**2)
    noise[0] /= math.sqrt(1 - correlation**2)
    return 5 + lfilter([1], [1, -correlation], noise)


@pytest.mark.parametrize("size", [3, 4, 50])
def test_skewness_is_scipys(size):
    x = np.random.default_rng(size).exponential(1.0, size)
    assert skewness(x) == pytest.approx(stats.skew(x, bias=False))
    assert skewness(x[:2]) == skewness(np.ones(size)) == 0.0


def test_without_skewness_it_is_students_interval():
    x = np.arange(10.0)
    ours = skewed_student(4.5, float(x.std(ddof=1)) / math.sqrt(10), 0.0, 10, 0.9)
    theirs = student(x, 0.9)
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), rel=1e-12)
    assert (ours.mean, ours.n, ours.level) == (4.5, 10, 0.9)


def test_skewness_moves_both_ends_towards_the_tail():
    # Willink: b = 2 / (6 sqrt 16) = 1/12; t(0.975; 15) = 2.13145; (cbrt(1 + (t - b)/2) - 1) * 6.
    found = skewed_student(10.0, 1.0, 2.0, 16)
    score = 2.1314495
    low = (np.cbrt(1 + (score - 1 / 12) / 2) - 1) * 6
    high = (np.cbrt(1 + (-score - 1 / 12) / 2) - 1) * 6
    assert found.lower == pytest.approx(10 - low, rel=1e-6)
    assert found.upper == pytest.approx(10 - high, rel=1e-6)
    mirrored = skewed_student(-10.0, 1.0, -2.0, 16)
    assert (mirrored.lower, mirrored.upper) == pytest.approx((-found.upper, -found.lower))


def test_the_first_part_is_the_warm_up_and_the_others_are_the_batches():
    x = ar1(1, 21 * 100 + 7, 0.0)
    plain = steady_state_mean(x, relaxation=0.0)
    assert plain == batch_means(x[107:])
    assert plain.n == BATCHES
    x[:107] += 1e6
    assert steady_state_mean(x, relaxation=0.0) == plain
    # Ten observations of a relaxation in batches of 100: c = 10 / (2 * 90).
    wider = steady_state_mean(x, relaxation=10.0)
    factor = math.sqrt((1 + 1 / 18) / (1 - 1 / 18))
    assert wider.mean == plain.mean
    assert wider.half_width == pytest.approx(factor * plain.half_width)


def test_a_run_that_is_too_short_has_no_interval_and_says_so():
    with pytest.warns(UserWarning, match=f"1279 observations, expected at least {FEWEST}") as told:
        found = steady_state_mean(ar1(1, FEWEST - 1, 0.0), 0.9)
    assert [w.filename for w in told] == [__file__]
    assert (found.lower, found.upper, found.level) == (-math.inf, math.inf, 0.9)
    assert found.mean == pytest.approx(ar1(1, FEWEST - 1, 0.0).mean())
    for seed in range(20):
        with pytest.warns(UserWarning, match="batch means are still correlated"):
            assert steady_state_mean(ar1(seed, 5000, 0.999)).half_width == math.inf
        assert steady_state_mean(ar1(seed, 20_000, 0.9)).half_width < 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert steady_state_mean(np.full(FEWEST, 3.0)).half_width == 0
        assert steady_state_mean(ar1(2, FEWEST, 0.0)).half_width < 0.2


@pytest.mark.parametrize(
    ("jobs", "of_values", "of_means", "asked"),
    [
        # 1,280 means, of one value each: spaced by 0 to 10 of them, or by 0 to 3 where they are skewed.
        (2303, 0.0, 0.5, [(1843, 1024), (1280, 640, 426, 320, 256, 213, 182, 160, 142, 128, 116)]),
        (2303, 4.0, 0.6, [(1843, 1024), (1280, 640, 426, 320)]),
        # Then 1,152 of two: (1,152, 576, 384, 288).
        (2304, 0.0, -0.6, [(1844, 1024, 922), (1280, 640, 426, 320, 1152, 576, 384, 288)]),
        # Then 1,037 of three, which take 3,111 values.
        (3110, 0.0, 0.6, [(2488, 1024, 922), (1280, 640, 426, 320, 1152, 576, 384, 288)]),
        (3111, 0.0, 0.6, [(2489, 1024, 922, 830), (1280, 640, 426, 320, 1152, 576, 384, 288, 1037, 518, 345, 259)]),
        # Values of a skewness over 4 begin with as many as fit 1,280 times, 16 at most.
        (3840, 4.1, 0.6, [(3072, 1024), (1280, 640, 426, 320)]),
        (3840, -4.1, 0.6, [(3072, 1024), (1280, 640, 426, 320)]),
        (26496, 4.1, 0.6, [(21197, 1024, 922), (1280, 640, 426, 320, 1152, 576, 384, 288)]),
    ],
)  # fmt: skip
def test_the_steps_of_the_test_of_independence(monkeypatch, jobs, of_values, of_means, asked):
    """N-Skart's steps 1 to 4, where no batches ever pass: whose skewness and correlation are asked for."""
    skewed, correlated = [], []

    def skewness_of(x):
        skewed.append(len(x))
        return of_values if len(skewed) == 1 else of_means

    monkeypatch.setattr(long_run, "skewness", skewness_of)
    monkeypatch.setattr(
        long_run, "_von_neumann_score", lambda x: correlated.append(len(x)) or -1.2816
    )
    with pytest.warns(UserWarning, match=r"interval: its batch means are still correlated$"):
        found = steady_state_mean(np.arange(float(jobs)), 0.9)
    assert [tuple(skewed), tuple(correlated)] == asked
    assert (found.n, found.level, found.half_width) == (jobs, 0.9, math.inf)
    monkeypatch.setattr(long_run, "_von_neumann_score", lambda x: -1.2815)  # z(0.9) is 1.28155
    monkeypatch.setattr(long_run, "skewness", skewness)
    assert math.isfinite(steady_state_mean(np.arange(float(jobs))).half_width)


@pytest.mark.parametrize("relaxation", [-1.0, 50.5, math.inf, math.nan])
def test_batches_shorter_than_two_relaxation_times_are_refused(relaxation):
    with pytest.raises(InputError, match="expected 0 to 50, half a batch"):
        steady_state_mean(ar1(1, 2100, 0.0), relaxation=relaxation)
    assert steady_state_mean(ar1(1, 2100, 0.0), relaxation=50.0).half_width > 0


def test_the_warm_up_of_replications_is_that_of_their_average():
    """One long busy period is no warm-up: in the average of the runs it does not show."""
    runs = np.array([ar1(seed, 2000, 0.5) for seed in range(100)])
    runs[0, :600] += 4.0
    assert mser5(runs[0]) >= 590
    assert mser5(runs) == mser5(runs.mean(axis=0)) < 300
    runs[:, :400] += 4.0
    assert 400 <= mser5(runs) <= 420
