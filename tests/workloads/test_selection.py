"""Which rows of a file are asked for: times count from the first job, whenever that is."""

from types import SimpleNamespace

import numpy as np
import pytest

from simulator.workloads.selection import Selected
from tests.errors import input_error

SUBMIT_S = np.array([5000.0, 6000.0, 8599.0, 8600.0, 12_200.0])
"""The first job is submitted at 5,000 s; an hour later it is 8,600 s."""


@pytest.mark.parametrize(
    ("since", "until", "rows"),
    [
        (None, None, [0, 1, 2, 3, 4]),
        (0, None, [0, 1, 2, 3, 4]),
        (1000, None, [1, 2, 3, 4]),
        (3600, None, [3, 4]),
        (3600.5, None, [4]),
        (None, 3600, [0, 1, 2]),
        (None, 3600.5, [0, 1, 2, 3]),
        (1000, 3600, [1, 2]),
        (5000, None, [4]),
        (7200, None, [4]),
    ],
)
def test_seconds_after_the_first_job(since, until, rows):
    """The instant itself is in ``from``, and not in ``until``."""
    asked = SimpleNamespace(until=until, vc=None, partition=None, user=None, max_jobs=None)
    setattr(asked, "from", since)
    assert Selected.rows_asked_for(asked, SUBMIT_S).tolist() == rows


@pytest.mark.parametrize(
    ("since", "until", "key"), [(7201, None, "from"), (None, 0, "until"), (1001, 1002, "from")]
)
def test_a_time_without_jobs(since, until, key):
    asked = SimpleNamespace(until=until, vc=None, partition=None, user=None, max_jobs=None)
    setattr(asked, "from", since)
    with input_error(
        f"workload.{key}: no job is submitted then, expected some of the 7200 s after the first job"
    ):
        Selected.rows_asked_for(asked, SUBMIT_S)
