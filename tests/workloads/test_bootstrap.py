"""Traces drawn again in blocks: against laws that are known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from simulator import InputError, Performance, SpeedupCurve, TimeTable, Workload
from simulator.model.fractional import SharedDuration
from simulator.model.speedup import Power
from simulator.statistics import bootstrap_interval
from simulator.workloads.bootstrap import block_length, drawn_blocks, resampled
from tests.core.jobs import fixed


def trace(durations_s, gaps_s=None, **columns) -> Workload:
    gaps_s = np.ones(len(durations_s)) if gaps_s is None else gaps_s
    return fixed(np.cumsum(gaps_s) - gaps_s[0], durations_s, **columns)


def test_blocks_by_hand():
    """Consecutive jobs stay consecutive, each with the gap before it and its own distance to its due date."""
    gaps = np.array([7.0, 1.0, 2.0, 3.0, 4.0])
    before = trace([10.0, 11.0, 12.0, 13.0, 14.0], gaps, due_s=np.cumsum(gaps) - 7.0 + 100.0)
    after = resampled(before, 2, np.random.default_rng(3))
    jobs = drawn_blocks(5, 2, np.random.default_rng(3))
    assert ((jobs[1] - jobs[0]) % 5, (jobs[3] - jobs[2]) % 5) == (1, 1)
    assert after.performance.duration_s.tolist() == (10.0 + jobs).tolist()
    mean_gap = (1 + 2 + 3 + 4) / 4
    own = np.array([mean_gap, 1.0, 2.0, 3.0, 4.0])[jobs]
    assert np.diff(after.submit_s) == pytest.approx(own[1:])
    assert after.due_s - after.submit_s == pytest.approx(100.0)
    assert len(set(after.job_id)) == 5


def test_a_block_has_the_square_root_of_the_number_of_jobs_rounded_up():
    assert [block_length(n) for n in (1, 2, 4, 5, 9, 10, 100, 101)] == [1, 2, 2, 3, 3, 4, 10, 11]


def test_one_block_of_all_jobs_is_the_trace_turned():
    before = trace(np.arange(1.0, 9.0))
    after = resampled(before, 8, np.random.default_rng(1))
    assert sorted(after.job_id) == sorted(before.job_id)
    turns = np.diff(after.performance.duration_s)
    assert ((turns == 1) | (turns == -7)).all()


def test_copies_have_names_of_their_own():
    before = replace(trace(np.ones(4)), job_id=("a", "a#2", "b", "c"))
    for seed in range(40):
        assert len(set(resampled(before, 1, np.random.default_rng(seed)).job_id)) == 4


def autoregressive(rng: np.random.Generator, count: int, phi: float) -> np.ndarray:
    """A stationary AR(1) of mean 100 and standard deviation 1."""
    noise = np.r_[rng.normal(), rng.normal(0, math.sqrt(1 - phi * phi), count - 1)]
    return 100 + lfilter([1.0], [1.0, -phi], noise)


def interval(values: np.ndarray, block: int, rng: np.random.Generator, draws: int = 199):
    means = [values[drawn_blocks(len(values), block, rng)].mean() for _ in range(draws)]
    return bootstrap_interval(values.mean(), means)


def test_the_width_is_that_of_the_known_law():
    """Mean of an AR(1): standard deviation sqrt((1 + phi) / (1 - phi) / n). Single jobs miss it."""
    phi, count = 0.7, 3000
    true_sd = math.sqrt((1 + phi) / (1 - phi) / count)
    blocks, single = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = autoregressive(rng, count, phi)
        blocks.append(interval(values, block_length(count), rng).half_width / 1.96)
        single.append(interval(values, 1, rng).half_width / 1.96)
    assert np.mean(blocks) == pytest.approx(true_sd, rel=0.1)
    assert np.mean(single) == pytest.approx(1 / math.sqrt(count), rel=0.1)  # less than half of it


def test_more_draws_make_no_narrower_interval():
    rng = np.random.default_rng(1)
    values = rng.normal(size=500)
    few, many = (interval(values, 1, rng, draws).half_width for draws in (119, 2999))
    assert few == pytest.approx(many, rel=0.25)


def test_tables_of_times_and_curves_go_too_and_models_without_rows_do_not():
    times = np.arange(1.0, 13.0).reshape(3, 1, 4)
    jobs = Workload(["a", "b", "c"], submit_s=np.zeros(3), performance=TimeTable(times))
    again = resampled(jobs, 1, np.random.default_rng(0))
    drawn = ["abc".index(name[0]) for name in again.job_id]
    np.testing.assert_array_equal(again.performance.times_s[:, :, 1:], times[drawn][:, :, 1:])
    curves = SpeedupCurve([1.0, 2.0, 3.0], [0, 1, 0], [Power(0.5), Power(0.6)])
    again = resampled(replace(jobs, performance=curves), 1, np.random.default_rng(0)).performance
    assert again.duration_s.tolist() == [(1, 2, 3)[j] for j in drawn]
    assert again.curve_of.tolist() == [(0, 1, 0)[j] for j in drawn]
    own = Performance()
    with pytest.raises(InputError, match="jobs with Performance cannot be drawn"):
        resampled(replace(jobs, performance=own), 1, np.random.default_rng(0))


def test_parts_of_gpus_go_with_their_jobs():
    """Each job holds the part that it had, beside the duration that it had."""
    before = trace([10.0, 20.0, 30.0, 40.0])
    part = np.array([0.1, 0.2, 0.3, 0.4])
    shared = SharedDuration(before.performance.duration_s, before.num_gpus, part=part)
    after = resampled(replace(before, performance=shared), 1, np.random.default_rng(3))
    assert after.performance.part * 100 == pytest.approx(after.performance.duration_s)
    assert sorted(set(after.performance.part.tolist())) != sorted(part.tolist())
