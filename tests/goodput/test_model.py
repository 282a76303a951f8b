"""The goodput model by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.model.cluster import Cluster, NodeType
from simulator.model.contract import Placement
from simulator.model.goodput import Application, BatchSize, Goodput, canonical, packed, ring_of
from tests.goodput.applications import toy


def model(batch: int = 40) -> Goodput:
    return Goodput([toy()], np.array([0]), np.array([batch]))


def test_an_epoch_ends_at_the_least_progress_of_all_batch_sizes() -> None:
    assert toy().borders.tolist() == [0.0, 100.0, 199.0]


def test_gain_of_a_batch_four_times_as_large() -> None:
    assert toy().gains(40) == pytest.approx([2 / 1.25, 4 / 1.75])


def test_gain_between_two_batch_sizes_interpolates_the_noise() -> None:
    assert toy().gains(25) == pytest.approx([2 / (1 / 2.5 + 1), 4 / (3 / 2.5 + 1)])


def test_times_are_interpolated_between_local_batch_sizes() -> None:
    assert toy().step((2,), 15) == pytest.approx((1.7, 0.2))


def test_a_ring_is_the_same_from_each_of_its_nodes() -> None:
    assert toy().step((2, 1), 10) == toy().step((1, 2), 10) == pytest.approx((1.5, 0.5))
    assert canonical((4, 2, 4, 2)) == (2, 4, 2, 4)
    assert canonical((4, 4, 2, 2)) == (2, 2, 4, 4)


def test_placements_that_were_not_measured_lie_between_nodes_and_gpus() -> None:
    app = toy()
    assert app.step((1, 1, 1, 1), 15) == pytest.approx((2.5, 1.0))
    assert math.isnan(app.step((1,), 21).step_s)
    assert math.isnan(app.step((4, 4), 10).step_s)


def test_local_batch_sizes_with_times() -> None:
    """With times of 4 GPUs on 4 nodes at a local batch of 10 only, 2 on 2 nodes are a third of the way there from 10 to 20."""
    assert toy().limits((2, 1)) == toy().limits((1, 1, 1, 1)) == (10, 20)
    low, high = toy().limits((4, 4))
    assert low > high
    assert replace(toy(), spread=toy().spread[:1]).limits((1, 1)) == (10, 16)
    assert replace(toy(), spread=toy().spread[:1], max_local=12).limits((1, 1)) == (10, 12)


def test_times_that_span_no_volume_are_not_interpolated() -> None:
    one_node = {ring: toy().by_ring[ring] for ring in [(1,), (2,)]}
    app = replace(toy(), by_ring=one_node, spread=np.empty((0, 5)))
    assert math.isnan(app.step((1, 1), 10).step_s)
    low, high = app.limits((1, 1))
    assert low > high


def test_a_batch_is_split_in_as_few_passes_as_fit() -> None:
    app = toy()
    assert app.split(40, 2) == BatchSize(20, 0)
    assert app.split(40, 1) == BatchSize(20, 1)
    assert app.split(20, 1) == BatchSize(10, 1), "one GPU accumulates for the estimate of the noise"
    assert app.split(20, 1, accumulate_alone=False) == BatchSize(20, 0)
    assert app.split(40, 3) == BatchSize(13, 0), "14 a GPU would exceed the largest batch size"


def test_rate_and_epochs() -> None:
    goodput, shares = model(), (Placement(0, 3, 2),)
    first, second = 1.6 / 2.2 / 199, 4 / 1.75 / 2.2 / 199
    border = 99 / 199
    assert goodput.next_change(0, 1.0) == pytest.approx(border)
    assert goodput.next_change(0, goodput.next_change(0, 1.0)) == 0.0
    assert goodput.rate(0, shares, None, 1.0) == pytest.approx(first)
    assert goodput.rate(0, shares, None, goodput.next_change(0, 1.0)) == pytest.approx(second)
    assert goodput.rate(0, shares, BatchSize(10, 1), 1.0) == pytest.approx(1.6 / 2.2 / 199)
    assert goodput.rate(0, shares, BatchSize(10, 0), 1.0) == pytest.approx(2 / 1.5 / 1.2 / 199)


def test_time_of_the_whole_job_and_the_table() -> None:
    goodput = model()
    whole_s = 100 / (1.6 / 2.2) + 99 / (4 / 1.75 / 2.2)
    assert goodput.time_s(0, 0, 2, 0, 0) == pytest.approx(whole_s)
    assert goodput.time_s(0, 0, 1.5, 0, 0) == math.inf
    table = goodput.table_s(np.array([0]), Cluster.of_nodes(NodeType("s", "T4", 2), 1))
    assert table[0, 0].tolist() == pytest.approx([math.inf, goodput.time_s(0, 0, 1, 0, 0), whole_s])


def test_ring_keeps_the_order_of_the_nodes() -> None:
    assert ring_of([Placement(0, 7, 4), Placement(0, 2, 1), Placement(0, 3, 2)]) == (4, 1, 2)
    assert packed(9, 4) == (4, 4, 1)


def test_a_batch_size_that_was_not_measured_is_refused() -> None:
    with pytest.raises(InputError, match="batch size of job 0 is 50, expected 10 to 40"):
        model(50)


def test_progress_must_rise() -> None:
    app = toy()
    with pytest.raises(InputError, match="progress does not rise"):
        Application(
            "toy", app.batch_sizes, np.array([[5.0, 6], [4, 3]]), app.iterations, app.grad_sqr,
            app.grad_var, app.by_ring, app.spread,
        )  # fmt: skip
