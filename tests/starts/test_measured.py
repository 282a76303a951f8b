"""Intervals and their coverage: by hand, against sums of the test's own, and on a log of a known law."""

import numpy as np
import pytest

from experiments.starts.forest import LEVELS, QUANTILES, in_seconds, scaled
from experiments.starts.history import History
from experiments.starts.measured import Measured, interval, levels_of, measure
from experiments.starts.plain import PlainRule
from experiments.starts.snapshot import snapshots

MINUTE, HOUR = 60.0, 3600.0


def predicted(median_s, half_widths):
    """Quantiles around a median: each level has a half width."""
    return [
        *(median_s - np.array(half_widths)),
        median_s,
        *(median_s + np.array(half_widths[::-1])),
    ]


WIDTHS = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
"""Of the levels, the nominal one first; ascending here, so the widest comes last."""


def rows(median_s, count):
    return np.array([predicted(median_s, WIDTHS)] * count)


@pytest.mark.parametrize(
    ("errors", "level"),
    [
        ([5.0] * 100, 0),
        ([5.0] * 90 + [15.0] * 10, 0),
        ([5.0] * 89 + [15.0] * 11, 1),
        ([35.0] * 100, 3),
        ([-35.0] * 100, 3),
        ([99.0] * 100, 5),
    ],
)
def test_the_narrowest_interval_that_held_for_nine_of_ten(errors, level):
    wait_s = 100.0 + np.array(errors)
    assert levels_of(rows(100.0, 100), wait_s) == (level,) * 3


def test_each_class_of_medians_has_its_own():
    """Medians of 200 s, 1,000 s and 5,000 s; the last class has too few jobs and takes the level of all."""
    many = np.concatenate([rows(200.0, 100), rows(1000.0, 100), rows(5000.0, 99)])
    wait_s = np.concatenate([np.full(100, 205.0), np.full(100, 1025.0), np.full(99, 5045.0)])
    assert levels_of(many, wait_s) == (0, 2, 4)
    low_s, high_s = interval(many[[0, 100, 299 - 1]], (0, 2, 4))
    assert low_s.tolist() == [190.0, 970.0, 4950.0]
    assert high_s.tolist() == [210.0, 1030.0, 5050.0]


@pytest.mark.parametrize(("median_s", "number"), [(300.0, 0), (300.1, 1), (3600.0, 1), (3600.1, 2)])
def test_bounds_of_classes(median_s, number):
    low_s, _ = interval(rows(median_s, 1), (0, 1, 2))
    assert low_s[0] == pytest.approx(median_s - WIDTHS[number])


def test_what_is_told_of_a_measurement():
    """Four jobs: two of more than an hour, of which one is outside; two days of which none has twenty jobs."""
    wait_s = np.array([0.0, 100.0, 2 * HOUR, 3 * HOUR])
    low_s, high_s = np.zeros(4), np.array([0.0, 50.0, 2 * HOUR, 4 * HOUR])
    found = Measured(
        np.arange(4),
        wait_s,
        np.array([0, 1, 90_000, 90_001.0]),
        rows(0.0, 4),
        low_s,
        high_s,
        (0, 0, 0),
    )
    assert found.coverage == 0.75
    assert found.coverage_of_long == 1.0
    assert np.isnan(found.worst_day)
    assert found.width_s == pytest.approx((50 + 6 * HOUR) / 4)
    short = Measured(
        np.arange(2), wait_s[:2], wait_s[:2], rows(0.0, 2), low_s[:2], high_s[:2], (0, 0, 0)
    )
    assert np.isnan(short.coverage_of_long)


def test_the_worst_day_is_one_of_twenty_jobs():
    """Day 0: 20 jobs of which 15 are inside. Day 1: 19 jobs, none inside. Day 2: 40 jobs, all inside."""
    day = np.repeat([0, 1, 2], [20, 19, 40])
    inside = np.concatenate([np.arange(20) < 15, np.zeros(19, bool), np.ones(40, bool)])
    wait_s = np.where(inside, 0.0, 10.0)
    found = Measured(
        day, wait_s, day * 86_400.0, rows(0.0, 79), np.zeros(79), np.zeros(79), (0, 0, 0)
    )
    assert found.worst_day == 0.75


def test_the_loss_is_the_pinball_loss():
    """Prediction 0 of all quantiles, a wait of one minute: ln 2 times the mean of 0.05, 0.5 and 0.95."""
    one = Measured(np.zeros(1, int), np.array([60.0]), np.zeros(1), np.zeros((1, len(QUANTILES))), np.zeros(1), np.zeros(1), (0, 0, 0))  # fmt: skip
    assert one.loss == pytest.approx(np.log(2) * 0.5)
    low = Measured(np.zeros(1, int), np.zeros(1), np.zeros(1), np.full((1, len(QUANTILES)), 60.0), np.zeros(1), np.zeros(1), (0, 0, 0))  # fmt: skip
    assert low.loss == pytest.approx(np.log(2) * 0.5)


def test_scales():
    assert scaled(np.array([-5.0, 0.0, 60.0])).tolist() == pytest.approx([0, 0, np.log(2)])
    assert in_seconds(np.array([0.0, np.log(2)])).tolist() == pytest.approx([0, 60])
    assert len(QUANTILES) == 2 * len(LEVELS) + 1
    assert list(QUANTILES) != sorted(QUANTILES)  # levels come from the nominal one outwards
    assert all(QUANTILES[k] + QUANTILES[-1 - k] == pytest.approx(1) for k in range(len(LEVELS)))


def log_of(count, rng, wait_s):
    """Jobs of one and eight GPUs, every five minutes; ``wait_s``: of each."""
    submit = np.arange(count) * 300.0
    gpus = np.where(rng.random(count) < 0.5, 1.0, 8.0)
    waits = wait_s(gpus)
    return History(
        submit, submit + waits, submit + waits + 600, gpus, np.full(count, 900.0),
        np.zeros(count, int), np.zeros(count, int), ["p"], ["a"],
    )  # fmt: skip


def test_the_plain_rule_has_the_quantiles_of_such_jobs():
    """Waits of jobs of one GPU are uniform to 100 s, of eight to 1,000 s; 5 to 95 % covers nine of ten of each."""
    rng = np.random.default_rng(1)
    log = log_of(3_000, rng, lambda gpus: rng.random(3_000) * np.where(gpus == 1, 100.0, 1000.0))
    inputs = snapshots(log)
    found = PlainRule(log, inputs).quantiles(np.arange(2_000), inputs[2_000:2_050])
    for row, gpus in zip(found, log.gpus[2_000:2_050], strict=True):
        own = log.wait_s[:2_000][log.gpus[:2_000] == gpus]
        assert row[0] == pytest.approx(np.quantile(own, 0.05))
        assert row[QUANTILES.index(0.5)] == pytest.approx(np.median(own))
    told = []
    measured = measure(log, inputs, PlainRule(log, inputs), 1e9, lambda *at: told.append(at))
    assert len(measured.jobs) == 2_000
    assert told[-1] == (6, 6)
    assert 0.89 <= measured.coverage <= 0.95
    inside = [low - 1e-6 <= w <= high + 1e-6 for w, low, high in zip(log.wait_s[measured.jobs], measured.low_s, measured.high_s, strict=True)]  # fmt: skip
    assert measured.coverage == pytest.approx(sum(inside) / 2_000)


def test_kinds_with_few_jobs_are_joined():
    """One job in a hundred has another size: it gets the quantiles of all jobs of the partition."""
    rng = np.random.default_rng(2)
    log = log_of(1_000, rng, lambda gpus: np.where(np.arange(1_000) % 2 == 0, 10.0, 500.0))
    inputs = snapshots(log)
    inputs[999, 2] = 64.0
    found = PlainRule(log, inputs).quantiles(np.arange(900), inputs[[999]])
    assert found[0].tolist() == pytest.approx(np.quantile(log.wait_s[:900], QUANTILES).tolist())
