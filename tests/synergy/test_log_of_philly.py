"""Jobs of the Philly log: the released simulator's draw with its GPUs, and the window that Figure 6 replays."""

import math
import random

import numpy as np
import pandas as pd
import pytest

from simulator.files.bundled import data_path
from simulator.workloads.networks import iteration_s, server
from simulator.workloads.synergy import PhillyWindowJobs, models_by_deficit, released_draw
from simulator.workloads.synergy.draw import LOG_JOBS
from simulator.workloads.table import Setting
from tests.errors import input_error


def log():
    return pd.read_csv(data_path("synergy_philly_jobs.csv"))


def test_gpus_are_those_of_the_log_in_its_order():
    """More than 16 GPUs are left out before the order counts, 12 count as 1; the first job has 4."""
    expected = [gpus if gpus in (1, 2, 4, 8, 16) else 1 for gpus in log()["num_gpus"] if gpus <= 16]
    assert expected[:6] == [4, 8, 8, 8, 16, 16]
    drawn = released_draw(LOG_JOBS, 9, multi_gpu=True)
    assert drawn.num_gpus[: len(expected)].tolist() == expected
    assert drawn.num_gpus[len(expected) :].tolist() == expected[: LOG_JOBS - len(expected)]
    alone = released_draw(100, 9)
    assert set(alone.num_gpus) == {1}
    assert released_draw(100, 9, multi_gpu=True).submit_s.tolist() == alone.submit_s.tolist()


def test_gaps_of_the_first_run_follow_the_durations():
    rng = random.Random(42)
    minutes = [
        10 ** (rng.uniform(3, 4) if rng.random() >= 0.8 else rng.uniform(1.5, 3))
        for _ in range(31_762)
    ]
    ends = []
    now = 0
    for _ in range(50):
        now += math.ceil(-math.log(1 - rng.random()) / 5.5 * 3600)
        rng.randint(0, 9)
        ends.append(now)
    first = released_draw(50, 5.5, multi_gpu=True, first_run=True)
    assert first.submit_s.tolist() == ends
    later = released_draw(50, 5.5, multi_gpu=True)
    assert later.submit_s.tolist() != ends
    assert first.performance.duration_s.tolist() == later.performance.duration_s.tolist()
    one_s = iteration_s(models_by_deficit(1, (20, 70, 10))[0], server(), released=True)
    assert first.performance.duration_s[0] == pytest.approx(60 * minutes[0] // one_s * one_s)


def test_the_window_counts_from_the_first_submission_of_the_log():
    """Of the table by hand: 28 days earlier, 2,400 h are 72 days after its own first submission."""
    table = log()
    after_s = table["gap_s"].cumsum() + 28 * 86400
    asked = table["num_gpus"].isin([1, 2, 4, 8, 16])
    inside = table[(after_s > 2400 * 3600) & (after_s < 3000 * 3600) & asked]
    jobs = PhillyWindowJobs(began_days_earlier=28).make(Setting())
    assert len(jobs) == len(inside) == 5985
    assert jobs.submit_s[0] == 0
    assert jobs.submit_s[-1] < 600 * 3600
    assert jobs.performance.duration_s.tolist() == inside["duration_s"].tolist()
    assert jobs.num_gpus.tolist() == inside["num_gpus"].tolist()
    assert np.diff(jobs.submit_s).min() >= 0
    assert len(PhillyWindowJobs(began_days_earlier=60).make(Setting())) == 8000
    with input_error("workload.began_days_earlier: 200 days put no job into the window, expected"):
        PhillyWindowJobs(began_days_earlier=200).make(Setting())
