"""Traces drawn again in blocks: against laws that are known."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from experiments.analysis.compare import compare
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


def scenario(tmp_path: Path, seed: int = 1) -> Path:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(100.0, 60)).round(3)
    jobs = pd.DataFrame({"job_id": range(60), "submit_time_s": times})
    jobs = jobs.assign(duration_s=(rng.exponential(80, 60) + 1).round(3), num_gpus=1)
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    path = tmp_path / "trace.toml"
    path.write_text(
        'policy = "fifo-strict"\n[workload]\nkind = "csv"\npath = "jobs.csv"\n'
        '[cluster]\nkind = "nodes"\nnum_nodes = 60\ngpus_per_node = 1\n'
    )
    return path


def test_compare_on_a_trace(tmp_path):
    """Nobody waits on 60 GPUs, so completion times are durations: the law of their mean is known."""
    path = scenario(tmp_path)
    once = compare(path, [], ["mean_jct_s"])
    assert re.search("not ten replications.*--bootstrap 40", once.notes[0])
    plain = once.table
    assert math.isnan(plain["lower"][0])
    table = compare(path, ["fifo-strict", "srpt"], ["mean_jct_s"], bootstrap=39, block_jobs=1).table
    assert table["mean"][0] == plain["mean"][0]
    durations = np.loadtxt(tmp_path / "jobs.csv", delimiter=",", skiprows=1)[:, 2]
    expected = durations.std() / math.sqrt(60)
    half = (table["upper"][0] - table["lower"][0]) / 2
    assert half / 1.96 == pytest.approx(expected, rel=0.35)  # 39 draws: the ends vary by chance
    difference = table.iloc[2]
    assert difference["minus"] == "fifo-strict"
    assert difference[["mean", "lower", "upper"]].abs().max() < 1e-9  # the same draws for both


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"bootstrap": 38}, "--bootstrap: got 38, expected at least 39 for a 95 % interval"),
        ({"bootstrap": 39, "replications": 5}, "given with --precision or --replications"),
        ({"block_jobs": 5}, "--block-jobs: given without --bootstrap"),
        ({"bootstrap": 39, "block_jobs": 61}, "blocks of 61 jobs, expected 1 to 60"),
    ],
)
def test_mistakes_are_one_line(tmp_path, words, told):
    with pytest.raises(InputError, match=told):
        compare(scenario(tmp_path), [], ["mean_jct_s"], **words)


def test_a_file_that_draws_blocks_needs_the_option(tmp_path):
    """Means over drawn traces would give an interval that narrows for ever."""
    path = scenario(tmp_path)
    of_file = compare(path, [], ["mean_jct_s"], bootstrap=39, block_jobs=5).table
    path.write_text(path.read_text().replace('"jobs.csv"', '"jobs.csv"\nblock_bootstrap = 5'))
    with pytest.raises(InputError, match="block_bootstrap: given without --bootstrap"):
        compare(path, [], ["mean_jct_s"])
    assert compare(path, [], ["mean_jct_s"], bootstrap=39).table.equals(of_file)


def test_drawn_jobs_want_seeds(tmp_path):
    path = Path(__file__).parents[2] / "examples" / "mmc.toml"
    with pytest.raises(InputError, match="workload 'poisson' is drawn anew by each seed"):
        compare(path, [], ["mean_jct_s"], bootstrap=40)


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
