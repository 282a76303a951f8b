"""Rules of AFS and EDF on elastic jobs by hand."""

from __future__ import annotations

import numpy as np

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
