"""Ranks: numbers that differ by rounding are the same, wherever they lie, and no others are."""

import math

import numpy as np
import pytest

from simulator.model.ranks import Levels, less, levelled, ranked, ranks
from simulator.model.tolerances import INSTANT_S

NOISE = [0.1 + 0.2, 0.3, 138 - 138 * (120 / 138), 138 * (1 - 120 / 138), 18.0]


@pytest.mark.parametrize("within", [None, INSTANT_S])
def test_by_hand(within):
    assert NOISE[0] != NOISE[1]
    assert len(set(NOISE[2:])) > 1
    values = [18.0, *NOISE, math.inf, -math.inf, math.inf, 0.0]
    assert ranks(values, within).tolist() == [3, 2, 2, 3, 3, 3, 4, 0, 4, 1]
    assert ranked([7, 5, 9], [0.3, 0.1 + 0.2, 0.2], within) == [9, 5, 7]
    assert ranks([], within).tolist() == []


def test_times_by_seconds_and_others_by_their_size():
    """A billionth is no time, but a part of a weight of a hundredth of that."""
    assert ranks([1e-9, 2e-9, 1e-3], INSTANT_S).tolist() == [0, 0, 1]
    assert ranks([1e-9, 2e-9, 1e-3]).tolist() == [0, 1, 2]
    assert ranks([1e12, 1e12 + 1], INSTANT_S).tolist() == [0, 1]
    assert ranks([-1e12, -1e12 - 1]).tolist() == [0, 0]
    assert less(1e-9, 2e-9)
    assert not less(1e-9, 2e-9, INSTANT_S)
    assert less(-2.0, -1.0)
    assert not less(0.1 + 0.2, 0.3)


@pytest.mark.parametrize("within", [None, INSTANT_S])
def test_there_are_no_borders(within):
    """Pairs all over the range that differ by rounding, on either side of every border of a grid."""
    rng = np.random.default_rng(1)
    step = INSTANT_S if within else 1e-9
    value = np.concatenate([step * np.arange(1, 400), rng.uniform(1, 1e4, 400)])
    above = value + (step / 3 if within else value * step / 3)
    places = ranks(np.concatenate([value, above]), within)
    levels = Levels(within)
    pairs = list(zip(value[-400:], above[-400:], strict=True))
    assert all(levels.of(a) == levels.of(b) for a, b in pairs)
    assert (places[: len(value)] == places[len(value) :]).all()
    np.testing.assert_array_equal(
        levelled(np.array([value[-400:], above[-400:]]), within)[1], value[-400:]
    )


@pytest.mark.parametrize("within", [None, INSTANT_S])
def test_one_by_one_as_all_together(within):
    rng = np.random.default_rng(2)
    values = rng.integers(-30, 30, 300) / 10 + rng.choice([0.0, 1e-12, -1e-12], 300)
    values[np.abs(values) < 0.05] = 0.0
    levels = Levels(within)
    found = np.array([levels.of(v) for v in values.tolist()])
    np.testing.assert_array_equal(np.unique(found, return_inverse=True)[1], ranks(values, within))
    assert len(levels) == len(set(found.tolist())) <= 61
