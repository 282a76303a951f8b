"""Rules of Tiresias and Optimus by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from policies.goodput.emptiest_nodes import place_by_size
from policies.goodput.optimus import _gain_of_goodput, by_marginal_gain, remaining_steps
from policies.goodput.tiresias import Tiresias
from policies.queues.free_gpus import Nodes
from policies.registry.making import make_policy
from simulator.errors import InputError
from simulator.model.contract import View
from simulator.model.goodput import Goodput
from tests.core.jobs import elastic, fixed, nodes, run
from tests.goodput.applications import toy

TWO = {0: 4, 1: 4}


def anywhere(job: int, nodes: Nodes) -> bool:
    """Jobs run on any nodes."""
    return True


def on_one_node(job: int, nodes: Nodes) -> bool:
    """Jobs run on one node only."""
    return len(nodes) == 1


def test_smaller_jobs_pass_those_that_do_not_fit() -> None:
    found = run(fixed([0, 0, 0], [10, 10, 10], [6, 4, 2]), nodes(4, 2), "tiresias")
    assert found.completion_s.tolist() == [10, 20, 10]
    where = [(s.job, s.node, s.gpus) for s in found.schedule or () if s.start_s == 0]
    assert sorted(where) == [(0, 0, 4), (0, 1, 2), (2, 1, 2)]


@pytest.mark.parametrize(("comes_s", "ends_s"), [(12.4, [30, 35, 35]), (12.5, [35, 17.5, 17.5])])
def test_a_job_that_has_held_enough_is_preempted_by_one_of_the_first_queue(comes_s, ends_s) -> None:
    """Of 8 GPUs it has had 100 GPU-seconds after 12.5 s; that is seen when the third job comes."""
    jobs = fixed([0, 12, comes_s], [30, 5, 5], [8, 2, 2])
    found = run(jobs, nodes(4, 2), make_policy("tiresias", threshold_gpu_s=100))
    assert found.completion_s.tolist() == pytest.approx(ends_s)


def test_what_equals_the_threshold_but_for_rounding_has_reached_it() -> None:
    """0.1 and 0.2 s of 3 GPUs: 0.9 GPU-seconds, or 0.8999999999999999."""
    jobs = fixed([0, 0.1, 0.3], [1, 1, 1], [3, 3, 3])
    found = run(jobs, nodes(3), make_policy("tiresias", threshold_gpu_s=0.9))
    assert found.completion_s.tolist() == pytest.approx([3.0, 1.3, 2.3])


def test_the_second_queue_keeps_the_order_of_joining() -> None:
    """The second job joins it at 34 s, the first at 51 s. At 60 s one of three GPUs comes, and there are six."""
    jobs = fixed([0, 0, 0, 34, 51, 60], [100, 100, 34, 17, 9, 10], [2, 3, 1, 1, 1, 3])
    found = run(jobs, nodes(6), make_policy("tiresias", threshold_gpu_s=100))
    assert found.completion_s.tolist() == [110, 100, 34, 51, 60, 70]


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
    plan = place_by_size({0: 3, 1: 2, 2: 1}, {0: ((0, 2), (1, 1)), 1: ((1, 1),)}, TWO, anywhere)
    assert plan == {0: ((0, 2), (1, 1)), 2: ((1, 1),), 1: ((0, 2),)}


def test_a_job_without_a_time_on_the_free_gpus_gets_fewer() -> None:
    running = {0: ((0, 2),), 1: ((1, 3),)}
    wanted = {0: 2, 1: 3, 2: 3}
    assert place_by_size(wanted, running, TWO, anywhere)[2] == ((0, 2), (1, 1))
    assert place_by_size(wanted, running, TWO, on_one_node) == {**running, 2: ((0, 2),)}


def test_a_job_of_tiresias_without_a_time_on_the_free_gpus_waits_and_they_stay_free(monkeypatch):
    """Two and three GPUs of two nodes are taken; j2 needs three on one node, and j3 comes after it. At 10 s j1 is over."""
    monkeypatch.setattr(View, "can_run", lambda view, job, shares: len(shares) == 1)
    found = run(fixed([0, 0, 0, 1], [99, 10, 50, 50], [2, 3, 3, 1]), nodes(4, 2), "tiresias")
    assert found.first_start_s.tolist() == [0, 0, 10, 10]
    assert [(s.job, s.node) for s in found.schedule or ()] == [(1, 1), (2, 1), (3, 0), (0, 0)]


def test_a_threshold_is_positive() -> None:
    with pytest.raises(InputError, match="threshold_gpu_s is 0, expected a number > 0"):
        Tiresias(0)


def test_optimus_counts_steps_from_the_end_of_an_epoch_and_one_in_the_last():
    """Two epochs end after 100 and 200 steps of batch 10."""
    model = Goodput([toy()], np.array([0]), np.array([10]), num_gpus=np.array([1]))
    assert [remaining_steps(model, 0, left) for left in (1.0, 0.1)] == [100.0, 1.0]


def test_optimus_gives_no_more_gpus_than_the_batch_has_smallest_local_batches() -> None:
    """A batch of 20, of which a GPU takes 10 at least: the second GPU is of use, the third is not."""
    model = Goodput([toy()], np.array([0]), np.array([20]), num_gpus=np.array([1]))
    view = SimpleNamespace(jobs=np.array([0]), remaining=np.array([1.0]))
    gain = _gain_of_goodput(model, cast(View, view), 4)
    assert [gain(0, gpus) > 0 for gpus in (1, 2)] == [True, False]
