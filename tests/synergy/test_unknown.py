"""Orderings that know no job's duration."""

import numpy as np
import pytest

from policies import make_policy
from policies.synergy.unknown import gittins_index
from simulator import Cluster, FixedDuration, NodeType, Workload, simulate

ONE = Cluster.of_nodes(NodeType("one", "GPU", 1), 1)


def brute(sizes: list[float], age: float) -> float:
    """The definition, over every stopping age."""
    left = [x for x in sizes if x > age]
    best = 0.0
    for b in left:
        done = sum(x <= b for x in left) / len(left)
        work = sum(min(x, b) - age for x in left) / len(left)
        best = max(best, done / work)
    return best


def test_index_is_its_definition() -> None:
    sizes = np.random.default_rng(1).lognormal(3, 1.5, 60)
    ages = np.array([0.0, 1.0, 5.0, 20.0, 100.0])
    expected = [brute(sizes.tolist(), a) for a in ages]
    assert gittins_index(sizes, ages) == pytest.approx(expected)


def test_index_of_equal_sizes_rises_with_age() -> None:
    """One over what is left: the most advanced job goes first."""
    index = gittins_index(np.full(5, 10.0), np.array([0.0, 5.0, 9.0]))
    assert index == pytest.approx([1 / 10, 1 / 5, 1.0])


def test_index_of_many_small_and_few_large_falls_after_the_small() -> None:
    index = gittins_index(np.array([1.0] * 9 + [1000.0]), np.array([0.0, 0.5, 1.0]))
    assert index[1] > index[0] > index[2]
    assert index[2] == pytest.approx(1 / 999)


def completions(policy: str, submit_s: list[float], duration_s: list[float], model=()) -> list:
    count = len(submit_s)
    jobs = Workload(
        [str(j) for j in range(count)], submit_s, FixedDuration(duration_s, [1] * count),
        [1] * count, model=model,
    )  # fmt: skip
    return simulate(jobs, ONE, make_policy(policy)).completion_s.tolist()


def test_gittins_lets_a_new_job_pass_an_old_one_that_proved_large() -> None:
    """Sizes are 1 or 1000: what is older than 1 is large, and a new job is probably small."""
    submit = [0.0, 10.0, 20.0, 30.0]
    assert completions("gittins+proportional", submit, [1000.0, 1.0, 1.0, 1.0])[1:] == [11, 21, 31]


def test_gittins_finishes_what_it_began_where_sizes_are_equal() -> None:
    assert completions("gittins+proportional", [0.0, 10.0], [100.0, 100.0]) == [100, 200]


def test_history_learns_from_finished_jobs_of_the_same_model() -> None:
    """Nothing is known of b at 0: order of submission. At 100 s b is known to be short."""
    got = completions(
        "history+proportional",
        [0.0, 1.0, 60.0, 105.0, 105.0],
        [50.0, 5.0, 100.0, 50.0, 5.0],
        ["a", "b", "a", "a", "b"],
    )
    assert got[:2] == [50.0, 55.0]
    assert got[4] == 110.0  # it passes the running a
    assert got[2] == 165.0
    assert got[3] == 215.0


def test_history_knows_the_user() -> None:
    """Jobs of one model: u's first took 50 s, v's 5 s. v's next one goes first, though it came later."""
    jobs = Workload(
        ["u1", "v1", "hold", "u2", "v2", "w"],
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        FixedDuration([50.0, 5.0, 100.0, 50.0, 5.0, 30.0], [1] * 6),
        [1] * 6,
        model=["a", "a", "b", "a", "a", "a"],
        user=["u", "v", "u", "u", "v", "w"],
    )
    policy = make_policy("history+proportional")
    ends = dict(zip(jobs.job_id, simulate(jobs, ONE, policy).completion_s.tolist(), strict=True))
    assert ends["v2"] < ends["w"] < ends["u2"]  # w is new: 27.5 s, the mean of model a


def test_history_is_of_jobs_that_ran() -> None:
    """B leaves at 10 s without having run. So D, of its model, counts as C does, which came first."""
    ones = np.ones(4, dtype=np.int64)
    jobs = Workload(
        list("abcd"),
        np.array([0.0, 1.0, 50.0, 60.0]),
        FixedDuration(np.array([100.0, 50.0, 5.0, 70.0]), ones),
        num_gpus=ones,
        model=["m", "x", "m", "x"],
        patience_s=np.array([np.inf, 10.0, np.inf, np.inf]),
    )
    result = simulate(jobs, ONE, make_policy("history+proportional"))
    assert result.first_start_s[2:].tolist() == [100.0, 105.0]
