"""Lengths of traces, windows, servers, loads and seeds at both scales."""

from __future__ import annotations

from experiments.report.contents import Scale

LENGTH: dict[Scale, tuple[int, int, int]] = {
    "quick": (1000, 600, 1000),
    "paper": (6500, 4000, 5000),
}
"""Jobs of a trace, and the window: first and one after the last."""

SETTLED: dict[Scale, tuple[int, int, int]] = {
    "quick": (400, 150, 350),
    "paper": (6500, 4000, 5000),
}
"""The same where arrivals leave GPUs free, or where the paper does not print the load."""

NODES: dict[Scale, int] = {"quick": 4, "paper": 16}
PHILLY_NODES: dict[Scale, int] = {"quick": 16, "paper": 64}

PHILLY_LENGTH: dict[Scale, tuple[int, int, int]] = {
    "quick": (700, 300, 600),
    "paper": (8000, 4000, 5000),
}
PHILLY_LOAD = 27.0
"""Jobs an hour that ask for about 1.1 times the 512 GPUs."""

LOADS: dict[str, dict[Scale, tuple[float, ...]]] = {
    "fifo": {"quick": (5, 6, 7, 8, 9), "paper": (5, 6, 7, 8, 9)},
    "las": {"quick": (3, 4, 4.5, 5, 5.5), "paper": (3, 4, 4.5, 5, 5.5)},
    "srtf": {"quick": (3, 4, 4.5, 5, 5.5), "paper": (3, 4, 4.5, 5, 5.5)},
    "split": {"quick": (3, 4.5, 5.5), "paper": (3, 4, 4.5, 5, 5.5)},
    "ratio": {"quick": (5, 6, 7, 8, 9), "paper": (5, 6, 7, 8, 9)},
}
MULTI_CLAIMED = 5.5
"""The load of jobs of several GPUs at which numbers are compared."""

SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1, 2, 3), "paper": (1, 2, 3, 4, 5)}
MORE_SEEDS: dict[Scale, tuple[int, ...]] = {
    "quick": (1, 2, 3, 4, 5),
    "paper": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
}
"""Of the runs behind a printed number."""
FEW_SEEDS: dict[Scale, tuple[int, ...]] = {"quick": (1,), "paper": SEEDS["paper"]}
"""Of the runs behind no printed number."""
FIGURE_9_SEEDS: dict[Scale, tuple[int, ...]] = {
    "quick": MORE_SEEDS["quick"],
    "paper": tuple(range(1, 21)),
}
"""Of the two mechanisms whose ratio is the headline; ten left their hours too wide to tell."""
