"""Rules of AFS and EDF on elastic jobs by hand."""

from __future__ import annotations

import numpy as np
import pytest

from policies.goodput.afs import share_out
from policies.goodput.edf import widest_first


def test_the_shorter_of_two_equal_jobs_gets_the_gpus() -> None:
    speed = np.array([[0, 1, 1.8, 2.4], [0, 1, 1.8, 2.4]])
    assert share_out(speed, np.array([1.0, 5.0]), 3) == [2, 1]
    assert share_out(speed, np.array([5.0, 1.0]), 3) == [1, 2]


def test_the_longer_job_gets_it_where_it_gains_much_more() -> None:
    speed = np.array([[0, 1, 1.1, 1.1], [0, 1, 2.0, 2.0]])
    assert share_out(speed, np.array([1.0, 5.0]), 3) == [1, 2], "0.5 of the longer beats 0.1"


def test_nobody_gets_gpus_that_do_not_help() -> None:
    speed = np.array([[0, 1, 1, 1, 1], [0, 1, 2, 2, 2]])
    assert share_out(speed, np.array([1.0, 1.0]), 4) == [1, 2]


def test_a_job_without_gpus_comes_first_and_the_shorter_of_two() -> None:
    speed = np.array([[0, 1, 2.0], [0, 1, 2.0], [0, 1, 2.0]])
    assert share_out(speed, np.array([3.0, 1.0, 2.0]), 2) == [0, 1, 1]


def test_each_job_takes_the_most_that_is_free() -> None:
    assert widest_first([[1, 2, 4], [1, 2, 4], [2, 4]], 7) == [4, 2, 0]
    assert widest_first([[1, 2, 4], [1]], 5) == [4, 1], "all that is left"


@pytest.mark.parametrize(("longer", "gpus"), [(1.8, [2, 1]), (2.0, [2, 1]), (2.2, [1, 2])])
def test_gains_of_the_longer_job_count_relative_to_the_speed_after_them(longer, gpus) -> None:
    """The shorter job gains 0.5 / 1; the longer one 0.8 / 1.8 = 0.44, 1 / 2, which is no more, or 1.2 / 2.2 = 0.55."""
    speed = np.array([[0, 1, 1.5, 1.5], [0, 1, longer, longer]])
    assert share_out(speed, np.array([1.0, 5.0]), 3) == gpus
    assert share_out(speed[::-1], np.array([5.0, 1.0]), 3) == gpus[::-1]


def test_the_shorter_job_is_the_one_that_would_be_over_first_with_the_gpus_that_it_has() -> None:
    """Work of 8 and 5. On one GPU each, the second is shorter and gains 0.45, the first 3 / 4. Then the first is over in
    2 s, and gains 2 / 4 of a third GPU, the second 0.45 / 1.45."""
    speed = np.array([[0, 1, 4, 6, 6], [0, 1, 1.45, 1.45, 1.45]])
    assert share_out(speed, np.array([8.0, 5.0]), 3) == [2, 1]
    assert share_out(speed, np.array([8.0, 5.0]), 4) == [3, 1]
