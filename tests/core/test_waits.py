"""Summary of waits, and the part of them with room, against sums by hand and by seconds."""

import numpy as np
import pytest

from simulator.metrics.waits import waits_of, with_room_s


def test_summary_leaves_out_what_is_not_known():
    found = waits_of(np.array([0.0, 60.0, 61.0, 1000.0, np.nan]))
    assert (found.count, found.mean_s, found.median_s) == (4, 280.25, 60.5)
    assert found.p95_s == pytest.approx(61 + 0.85 * 939)
    assert found.at_once == 0.5


def test_no_wait_is_known():
    found = waits_of(np.array([np.nan]))
    assert found.count == 0
    assert np.isnan(found[1:]).all()


def test_room_by_hand():
    # 4 GPUs. a holds 3 from 0 to 10, b asks for 2 at 1 and starts at 15: room from 10 to 15.
    # c asks for 1 at 2, starts at 12: room from 2 on, 10 s. d waits and its start is not known.
    submit, start = np.array([0.0, 1, 2, 3]), np.array([0.0, 15, 12, np.nan])
    end, gpus = np.array([10.0, 20, 30, np.nan]), np.array([3.0, 2, 1, 4])
    np.testing.assert_array_equal(
        with_room_s(submit, start, end, gpus, 4), [0.0, 5.0, 10.0, np.nan]
    )


def test_a_job_without_an_end_holds_its_gpus_until_the_last():
    submit, start = np.array([0.0, 1]), np.array([0.0, 9])
    room_s = with_room_s(submit, start, np.array([np.nan, 10]), np.array([2.0, 1]), 2)
    np.testing.assert_array_equal(room_s, [0.0, 0.0])


def test_more_in_use_than_there_is_leaves_no_room():
    submit, start = np.array([0.0, 0, 1]), np.array([0.0, 0, 5])
    room_s = with_room_s(submit, start, np.array([5.0, 5, 6]), np.array([2.0, 2, 1]), 3)
    np.testing.assert_array_equal(room_s, [0.0, 0.0, 0.0])


def test_jobs_at_random_second_by_second():
    rng = np.random.default_rng(0)
    submit = np.sort(rng.integers(0, 300, 60)).astype(float)
    start = submit + rng.integers(0, 60, 60)
    end, gpus = start + rng.integers(1, 40, 60), rng.integers(1, 5, 60).astype(float)
    wanted = [
        sum(12 - gpus[(start <= t) & (t < end)].sum() >= g for t in np.arange(a, b))
        for a, b, g in zip(submit, start, gpus, strict=True)
    ]
    np.testing.assert_array_equal(with_room_s(submit, start, end, gpus, 12), wanted)
