"""Rules of Tiresias and Optimus by hand."""

from __future__ import annotations

import numpy as np
import pytest

from policies.goodput.optimus import by_marginal_gain, place_by_size
from policies.goodput.placing import take
from policies.goodput.tiresias import Tiresias
from simulator.errors import InputError
from tests.core.jobs import elastic, nodes, run

TWO = {0: 4, 1: 4}


def test_gpus_come_from_the_node_with_most_free() -> None:
    free = {0: 2, 1: 4, 2: 3}
    assert take(6, free) == ((1, 4), (2, 2))
    assert free == {0: 2, 1: 0, 2: 1}
    with pytest.raises(ValueError, match="4 GPUs wanted, 3 are free"):
        take(4, free)


def test_smaller_jobs_pass_those_that_do_not_fit() -> None:
    plan = Tiresias(100).plan({0: 0, 1: 0, 2: 0}, {0: 6, 1: 4, 2: 2}, {}, TWO)
    assert plan == {0: ((0, 4), (1, 2)), 2: ((1, 2),)}


def test_a_job_that_has_held_enough_is_preempted_by_one_of_the_first_queue() -> None:
    policy, running = Tiresias(100), {0: ((0, 4), (1, 4))}
    assert policy.plan({0: 99.9, 1: 0}, {0: 8, 1: 2}, running, TWO) == running
    assert policy.plan({0: 100, 1: 0}, {0: 8, 1: 2}, running, TWO) == {1: ((0, 2),)}


def test_the_second_queue_keeps_the_order_of_joining() -> None:
    policy = Tiresias(100)
    policy.plan({0: 0, 1: 100}, {0: 4, 1: 4}, {}, TWO)
    assert policy.plan({0: 100, 1: 100}, {0: 8, 1: 8}, {}, TWO) == {1: ((0, 4), (1, 4))}


def test_gpus_go_to_the_largest_gain_until_nobody_gains() -> None:
    gains = {0: [0, 5, 2, 0], 1: [0, 4, 3, 1, 0]}
    assert by_marginal_gain([0, 1], 10, lambda job, gpus: gains[job][gpus]) == {0: 3, 1: 4}
    assert by_marginal_gain([0, 1], 4, lambda job, gpus: gains[job][gpus]) == {0: 2, 1: 2}
    assert by_marginal_gain([0, 1], 1, lambda job, gpus: gains[job][gpus]) == {0: 1, 1: 0}


def test_gains_of_known_times_go_up_to_the_last_one() -> None:
    """Of three GPUs the first job has two, on which it saves 4 s; the second would save 3 s, and then has them all."""
    jobs = elastic([[[np.inf, 10, 6, 6]], [[np.inf, 10, 7, 1]]])
    result = run(jobs, nodes(3), "optimus")
    left = 1 - 6 / 10
    assert result.completion_s.tolist() == pytest.approx([6.0, 6.0 + left * 1.0])


def test_a_job_whose_number_of_gpus_stays_keeps_its_nodes() -> None:
    plan = place_by_size({0: 3, 1: 2, 2: 1}, {0: ((0, 2), (1, 1)), 1: ((1, 1),)}, TWO)
    assert plan == {0: ((0, 2), (1, 1)), 2: ((1, 1),), 1: ((0, 2),)}


def test_a_threshold_is_positive() -> None:
    with pytest.raises(InputError, match="threshold_gpu_s is 0, expected a number > 0"):
        Tiresias(0)
