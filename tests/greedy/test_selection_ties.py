"""Ties of the selection rule: equal costs go to the shorter time, equal times to the lower cost."""

from __future__ import annotations

import numpy as np

from policies.selection import choose_configuration


def times(*by_gpus: list[float]) -> np.ndarray:
    """One row a node type; column 0, no GPU, is never possible."""
    return np.array([[np.inf, *row] for row in by_gpus])


def test_of_equally_cheap_ones_on_time_the_fastest() -> None:
    # Perfect speed-up on one type: every share costs the same, 4 GPUs take a quarter of the time.
    assert choose_configuration(times([400, 200, np.inf, 100]), 1e9, np.array([4.0]), [4]) == (0, 4)


def test_of_equally_fast_late_ones_the_cheapest() -> None:
    late = choose_configuration(times([100, 100], [100, 100]), -1.0, np.array([6.0, 4.0]), [2, 2])
    assert late == (1, 1)


def test_of_equal_ones_the_first_type_and_the_fewest_gpus() -> None:
    assert choose_configuration(times([100], [100]), 1e9, np.array([1.0, 1.0]), [1, 1]) == (0, 1)


def test_cheapest_on_time_beats_cheaper_but_late_and_faster_but_dearer() -> None:
    # 1 GPU: late and cheapest; 2 GPUs: on time, 200 s * 2/4; 4 GPUs: fastest and dearest.
    found = choose_configuration(times([390, 200, np.inf, 150]), 250.0, np.array([4.0]), [4])
    assert found == (0, 2)
