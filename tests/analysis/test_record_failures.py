"""Failures that the states of a log tell, by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from experiments.analysis.record_failures import failures_of
from simulator.model.recorded import Recorded

HOUR_S = 3600.0


def log(states: Sequence[str], hours: Sequence[float], users: Sequence[str] = ()) -> Recorded:
    """Jobs of one GPU, each from 0 s on for so many hours."""
    count = len(states)
    start_s, end_s = np.zeros(count), np.array(hours) * HOUR_S
    no = ("",) * count
    return Recorded(start_s, start_s, end_s, np.ones(count), states, no, [*users] or no)


def words(record: Recorded) -> list[str]:
    return [found.words() for found in failures_of(record)]


AWAY = (
    "nodes were away, and the simulation has all of them at all times. List the outages in a file, and name it: "
    "--set outages.path=FILE"
)
AGAIN = "where the site started them again, their waits hold runs that failed. [failures] simulates such failures"


def test_one_failure_of_a_node_is_told():
    record = log(["COMPLETED"] * 99 + ["NODE_FAIL"], [1] * 99 + [1])
    assert words(record) == [f"1 job ended as NODE_FAIL (1 GPU-hours, 1 % of all): {AWAY}"]


def test_many_hours_are_whole():
    record = log(["COMPLETED", "NODE_FAIL"], [250_000.25, 250_000.25])
    assert words(record) == [f"1 job ended as NODE_FAIL (250,000 GPU-hours, 50 % of all): {AWAY}"]


def test_jobs_that_fail_are_told_where_they_are_many():
    few = log(["COMPLETED"] * 96 + ["FAILED"] * 4, [1] * 100)
    assert words(few) == []
    many = log(["COMPLETED"] * 95 + ["FAILED"] * 4 + ["REQUEUED"], [1] * 100)
    assert words(many) == [f"5 jobs ended as FAILED or REQUEUED (5 GPU-hours, 5 % of all): {AGAIN}"]
    long = log(["COMPLETED"] * 99 + ["FAILED"], [1] * 99 + [99])
    assert words(long) == [f"1 job ended as FAILED (99 GPU-hours, 50 % of all): {AGAIN}"]


def test_states_in_the_words_of_other_logs():
    found = [*failures_of(log(["Pass", "Failed", "NodeLost", "failed by 7"], [1, 1, 2, 4]))]
    assert [(each.table, each.states, each.jobs, each.gpu_h) for each in found] == [
        ("outages", ("NODELOST",), 1, 2.0),
        ("failures", ("FAILED",), 2, 5.0),
    ]


@pytest.mark.parametrize(
    ("hours", "users", "seconds"),
    [
        ([1, 1, 1], "aab", 1),
        ([1, 1, 1], "aaa", 0),  # an array of one user
        ([1, 1, 2], "abc", 0),
        ([1, 1, 1, 2, 2, 2], "abcabc", 2),
    ],
)
def test_jobs_of_several_users_that_fail_at_once(hours, users, seconds):
    (found,) = failures_of(log(["FAILED"] * len(hours), hours, [*users]))
    assert found.instants == seconds
    at_once = {
        0: "",
        1: ". Once, jobs of several users failed at once: nodes may have been away then, so list these times: --set outages.path=FILE",
        2: ". At 2 times, jobs of several users failed at once: nodes may have been away then, so list these times: --set outages.path=FILE",
    }
    assert found.words().endswith(AGAIN + at_once[seconds])


def test_a_log_without_states_tells_none():
    assert words(log([""] * 5, [1] * 5)) == []
