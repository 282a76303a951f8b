"""Statistics against second, naive implementations, and at the edges of what they accept."""

import contextlib
import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import stats

from simulator.errors import InputError
from simulator.statistics import (
    Streams,
    batch_means,
    long_run,
    mean_of_skewed,
    mser5,
    paired_difference,
    parse_precision,
    ratio,
    replicate,
    replicate_until_precise,
    steady_state_mean,
    student,
)


def naive_mser5(values: list[float]) -> int:
    """MSER-5 as White, Cobb and Spratt print it, one truncation point after the other."""
    means = [sum(values[i : i + 5]) / 5 for i in range(0, len(values) // 5 * 5, 5)]
    best, cut = math.inf, 0
    for d in range(len(means) // 2 + 1):
        rest = means[d:]
        centre = sum(rest) / len(rest)
        error = sum((m - centre) ** 2 for m in rest) / len(rest) ** 2
        if error < best - 1e-12:
            best, cut = error, d
    return 5 * cut


@pytest.mark.parametrize("seed", range(30))
def test_mser5_is_the_naive_rule(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(10, 200))
    x = rng.exponential(1.0, size) + 5 * np.exp(-np.arange(size) / rng.uniform(1, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mser5(x) == naive_mser5(x.tolist())


def test_mser5_needs_ten_observations_and_says_where_it_cuts_at_the_half():
    assert mser5([1.0] * 10) == 0
    with pytest.raises(InputError, match="9 observations, expected at least 10"):
        mser5([1.0] * 9)
    with pytest.warns(UserWarning, match="^MSER-5 cuts half of the run: it is too short to tell$"):
        assert mser5([10.0] * 5 + [0.0] * 5) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A cut before the half is no reason to warn.
        assert mser5([10.0] * 5 + [0.0] * 15) == 5


def von_neumann_score(means: np.ndarray) -> float:
    """1 - half the mean square successive difference over the variance, in standard errors."""
    n = len(means)
    mssd = sum((b - a) ** 2 for a, b in itertools.pairwise(means))
    score = 1 - mssd / (2 * sum((m - means.mean()) ** 2 for m in means))
    return float(score / math.sqrt((n - 2) / (n * n - 1)))


def warns_of_correlation(means: np.ndarray) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batch_means(np.repeat(means, 2), len(means))
    return [str(w.message) for w in caught] == ["batch means are correlated: the run is too short"]


def test_batch_means_warn_exactly_where_von_neumanns_test_says_so_at_one_percent():
    """Also where six batches are nearly a ramp: scores around 2.33, the one per cent point."""
    rng = np.random.default_rng(3)
    told, near = [], 0
    for size in (3, 4, 8, 20, *[6] * 3):
        for _ in range(150):
            if size == 6:
                means = np.arange(6.0) + rng.normal(0, 0.7, 6)
            else:
                noise = rng.normal(0, 1, size)
                means = noise + rng.uniform(0, 1.2) * np.cumsum(noise)
            score = von_neumann_score(means)
            assert warns_of_correlation(means) == (score > stats.norm.ppf(0.99))
            told.append(score > stats.norm.ppf(0.99))
            near += 2.26 < score < 2.40
    assert 60 < sum(told) < 950
    assert near > 20


def test_batch_means_that_do_not_vary_are_exact_and_two_batches_cannot_be_tested():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert batch_means([2.0] * 12, 3).half_width == 0
        assert batch_means([0.0, 0.0, 1.0, 1.0], 2).mean == 0.5
        # Seven observations in two batches: the first is dropped.
        found, expected = batch_means([100, 1, 2, 3, 5, 6, 7], 2, 0.8), student([2, 6], 0.8)
        ends = pytest.approx((expected.lower, expected.upper))
        assert (found.mean, found.n, (found.lower, found.upper)) == (4, 2, ends)
    with pytest.raises(InputError, match="2 batches of 3 observations, expected 2 batches or more"):
        batch_means([1.0, 2.0, 3.0], 2)
    with pytest.raises(InputError, match="each of 2 observations or more"):
        batch_means([1.0, 2.0, 3.0, 4.0], 1)


@pytest.mark.parametrize("level", [0.5, 0.99])
def test_the_level_asked_for_is_the_level_used(level):
    x, y = np.arange(12.0) ** 1.3, np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    assert paired_difference(x, y, level) == mean_of_skewed(x - y, level)
    assert batch_means(np.repeat(y, 2), 12, level).level == level
    made = replicate(lambda s: float(s.generator("x").normal()), 1, 5, level)
    assert made.level == level
    found = ratio(x + 1, y + 1, np.random.default_rng(1), level)
    assert (found.level, found.n) == (level, 12)


def test_a_ratio_of_one_pair_has_a_value_and_no_interval():
    found = ratio([6.0], [3.0], np.random.default_rng(1), 0.9)
    assert (found.mean, found.lower, found.upper) == (2.0, -math.inf, math.inf)
    assert (found.n, found.level) == (1, 0.9)
    two = ratio([6.0, 7.0], [3.0, 2.0], np.random.default_rng(1))
    assert math.isfinite(two.half_width)


def test_a_ratio_by_bootstrap_t_step_by_step():
    """Hall 1992: scores of resamples by their own errors, turned round about the estimate."""
    rng = np.random.default_rng(9)
    x, y = rng.exponential(3.0, 25), rng.exponential(2.0, 25) + 1
    found = ratio(x, y, np.random.default_rng(4), 0.9)
    assert found.mean == pytest.approx(x.mean() / y.mean())

    def error(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.std(a - a.mean() / b.mean() * b, ddof=1) / math.sqrt(25) / b.mean())

    scores = []
    for _ in range(3000):
        rows = rng.integers(0, 25, 25)
        a, b = x[rows], y[rows]
        scores.append((a.mean() / b.mean() - found.mean) / error(a, b))
    low, high = np.quantile(scores, [0.05, 0.95])
    mine = error(x, y)
    # Two sets of resamples agree as far as quantiles of some thousand draws do.
    assert found.lower == pytest.approx(found.mean - high * mine, abs=0.25 * mine)
    assert found.upper == pytest.approx(found.mean - low * mine, abs=0.25 * mine)


def test_replications_are_counted_as_asked():
    calls: list[int] = []

    def run(streams: Streams) -> float:
        calls.append(1)
        return float(len(calls) % 2)

    assert replicate(run, 1, 1).n == 1
    with pytest.raises(InputError):
        replicate(run, 1, 0)
    calls.clear()
    replicate_until_precise(lambda s: 1.0 + 0 * run(s), 1, precision=0.5)
    assert len(calls) == 10
    calls.clear()
    replicate_until_precise(lambda s: 1.0 + 0 * run(s), 1, precision=0.5, first=1)
    assert len(calls) == 2
    calls.clear()
    with pytest.warns(UserWarning, match="stopped at 25 replications"):
        replicate_until_precise(run, 1, precision=1e-6, first=2, most=25)
    assert len(calls) == 25


@pytest.mark.parametrize("text", ["0", "0%", "1", "100%", "-1%", "nan"])
def test_a_precision_is_a_part_of_the_mean(text):
    with pytest.raises(InputError, match="expected a percentage such as 1%"):
        parse_precision(text)


@pytest.mark.parametrize(("level", "t"), [({}, 2.0930240544), ({"level": 0.9}, 1.7291328115)])
def test_the_interval_of_a_long_run_has_the_quantile_of_its_level(level, t):
    """Twenty batches, of means +1 and -1 in turn: the standard error is sqrt(20 / 19 / 20); t of a table, 19 degrees."""
    x = np.repeat([7.0] + [1.0, -1.0] * 10, 100)
    for found in (steady_state_mean(x, relaxation=0.0, **level), batch_means(x[100:], **level)):
        assert (found.mean, found.n) == (0.0, 20)
        assert (found.lower, found.upper) == pytest.approx((-t / math.sqrt(19), t / math.sqrt(19)))


@pytest.mark.parametrize(
    ("score", "passes"), [(1.28, True), (-1.28, True), (1.29, False), (-1.29, False)]
)
def test_the_test_of_independence_has_the_quantile_of_its_size(monkeypatch, score, passes):
    """Of its 20 %, 10 % on either side: 1.2816."""
    monkeypatch.setattr(long_run, "_von_neumann_score", lambda _: score)
    x = np.tile([1.0, -1.0], 1000)
    with contextlib.nullcontext() if passes else pytest.warns(UserWarning, match="correlated"):
        assert math.isfinite(steady_state_mean(x).lower) == passes
