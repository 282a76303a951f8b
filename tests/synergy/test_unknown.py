"""Orderings that know no job's duration."""

import numpy as np
import pytest

from policies import make_policy
from policies.synergy.unknown import gittins_index
from simulator import simulate
from tests.core.jobs import fixed, nodes

ONE = nodes()


def brute(sizes: list[float], age: float) -> float:
    """The definition, over every stopping age."""
    left = [x for x in sizes if x > age]
    return max(sum(x <= b for x in left) / sum(min(x, b) - age for x in left) for b in left)


def test_index_is_its_definition():
    sizes = np.random.default_rng(1).lognormal(3, 1.5, 60)
    ages = np.array([0.0, 1.0, 5.0, 20.0, 100.0])
    expected = [brute(sizes.tolist(), a) for a in ages]
    assert gittins_index(sizes, ages) == pytest.approx(expected)


def test_index_of_equal_sizes_rises_with_age():
    """One over what is left: the most advanced job goes first."""
    index = gittins_index(np.full(5, 10.0), np.array([0.0, 5.0, 9.0]))
    assert index == pytest.approx([1 / 10, 1 / 5, 1.0])


def test_index_of_many_small_and_few_large_falls_after_the_small():
    index = gittins_index(np.array([1.0] * 9 + [1000.0]), np.array([0.0, 0.5, 1.0]))
    assert index[1] > index[0] > index[2]
    assert index[2] == pytest.approx(1 / 999)


def completions(policy: str, submit_s: list[float], duration_s: list[float], **columns) -> list:
    jobs = fixed(submit_s, duration_s, **columns)
    return simulate(jobs, ONE, make_policy(policy)).completion_s.tolist()


def test_gittins_lets_a_new_job_pass_an_old_one_that_proved_large():
    """Sizes are 1 or 1000: what is older than 1 is large, and a new job is probably small."""
    submit = [0.0, 10.0, 20.0, 30.0]
    assert completions("gittins+proportional", submit, [1000.0, 1.0, 1.0, 1.0])[1:] == [11, 21, 31]


def test_gittins_finishes_what_it_began_where_sizes_are_equal():
    assert completions("gittins+proportional", [0.0, 10.0], [100.0, 100.0]) == [100, 200]


def test_history_learns_from_finished_jobs_of_the_same_model():
    """Nothing is known of b at 0: order of submission. At 100 s b is known to be short."""
    submit_s, duration_s = [0, 1, 60, 105, 105], [50, 5, 100, 50, 5]
    got = completions("history+proportional", submit_s, duration_s, model=list("abaab"))
    assert got == [50, 55, 165, 215, 110]  # the last passes the running a


def test_history_knows_the_user():
    """Jobs of one model: u's first took 50 s, v's 5 s. v's next one goes first, though it came later.

    The last job's user is new: 27.5 s, the mean of model a.
    """
    _, _, _, of_u, of_v, of_w = completions(
        "history+proportional", [0, 1, 2, 3, 4, 5], [50, 5, 100, 50, 5, 30],
        model=list("aabaaa"), user=list("uvuuvw"),
    )  # fmt: skip
    assert of_v < of_w < of_u


def test_history_is_of_jobs_that_ran():
    """B leaves at 10 s without having run. So D, of its model, counts as C does, which came first."""
    got = completions(
        "history+proportional", [0, 1, 50, 60], [100, 50, 5, 70],
        model=list("mxmx"), patience_s=[np.inf, 10, np.inf, np.inf],
    )  # fmt: skip
    assert got[2:] == [105, 175]
