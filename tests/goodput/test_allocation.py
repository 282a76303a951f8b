"""Rules of Tiresias and Optimus by hand."""

from __future__ import annotations

import pytest

from policies.goodput.optimus import by_marginal_gain, place_by_size
from policies.goodput.placing import Nodes, take
from policies.goodput.tiresias import Tiresias
from simulator.errors import InputError

TWO = {0: 4, 1: 4}


def anywhere(job: int, nodes: Nodes) -> bool:
    """Jobs run on any nodes."""
    return True


def on_one_node(job: int, nodes: Nodes) -> bool:
    """Jobs run on one node only."""
    return len(nodes) == 1


def test_gpus_come_from_the_node_with_most_free() -> None:
    free = {0: 2, 1: 4, 2: 3}
    assert take(6, free) == ((1, 4), (2, 2))
    assert free == {0: 2, 1: 0, 2: 1}
    with pytest.raises(ValueError, match="4 GPUs wanted, 3 are free"):
        take(4, free)


def test_smaller_jobs_pass_those_that_do_not_fit() -> None:
    plan = Tiresias(100).plan({0: 0, 1: 0, 2: 0}, {0: 6, 1: 4, 2: 2}, {}, TWO, anywhere)
    assert plan == {0: ((0, 4), (1, 2)), 2: ((1, 2),)}


def test_a_job_that_has_held_enough_is_preempted_by_one_of_the_first_queue() -> None:
    policy, running = Tiresias(100), {0: ((0, 4), (1, 4))}
    assert policy.plan({0: 99.9, 1: 0}, {0: 8, 1: 2}, running, TWO, anywhere) == running
    assert policy.plan({0: 100, 1: 0}, {0: 8, 1: 2}, running, TWO, anywhere) == {1: ((0, 2),)}


def test_the_second_queue_keeps_the_order_of_joining() -> None:
    policy = Tiresias(100)
    policy.plan({0: 0, 1: 100}, {0: 4, 1: 4}, {}, TWO, anywhere)
    assert policy.plan({0: 100, 1: 100}, {0: 8, 1: 8}, {}, TWO, anywhere) == {1: ((0, 4), (1, 4))}


def test_gpus_go_to_the_largest_gain_until_nobody_gains() -> None:
    gains = {0: [0, 5, 2, 0], 1: [0, 4, 3, 1, 0]}
    assert by_marginal_gain([0, 1], 10, lambda job, gpus: gains[job][gpus]) == {0: 3, 1: 4}
    assert by_marginal_gain([0, 1], 4, lambda job, gpus: gains[job][gpus]) == {0: 2, 1: 2}
    assert by_marginal_gain([0, 1], 1, lambda job, gpus: gains[job][gpus]) == {0: 1, 1: 0}


def test_a_job_whose_number_of_gpus_stays_keeps_its_nodes() -> None:
    plan = place_by_size({0: 3, 1: 2, 2: 1}, {0: ((0, 2), (1, 1)), 1: ((1, 1),)}, TWO, anywhere)
    assert plan == {0: ((0, 2), (1, 1)), 2: ((1, 1),), 1: ((0, 2),)}


def test_a_job_without_a_time_on_the_free_gpus_gets_fewer() -> None:
    running = {0: ((0, 2),), 1: ((1, 3),)}
    wanted = {0: 2, 1: 3, 2: 3}
    assert place_by_size(wanted, running, TWO, anywhere)[2] == ((0, 2), (1, 1))
    assert place_by_size(wanted, running, TWO, on_one_node) == {**running, 2: ((0, 2),)}


def test_a_job_of_tiresias_without_a_time_on_the_free_gpus_waits_and_they_stay_free() -> None:
    running, gpus = {0: ((0, 2),), 1: ((1, 3),)}, {0: 2, 1: 3, 2: 3, 3: 1}
    attained = dict.fromkeys(gpus, 0.0)
    plan = Tiresias(100).plan(attained, gpus, running, TWO, on_one_node)
    assert plan == running, "job 3 does not take a GPU that job 2 waits for"
    del attained[1], running[1]
    assert Tiresias(100).plan(attained, gpus, running, TWO, on_one_node) == {
        **running, 2: ((1, 3),), 3: ((0, 1),)
    }  # fmt: skip


def test_a_threshold_is_positive() -> None:
    with pytest.raises(InputError, match="threshold_gpu_s is 0, expected a number > 0"):
        Tiresias(0)
