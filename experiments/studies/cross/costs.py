"""CPU seconds of the runs, measured on single runs: they decide the order of runs and the estimate of the time left."""

from __future__ import annotations

from experiments.report.contents import Scale

CELL: dict[str, tuple[float, float]] = {
    "hierarchical": (5.6, 16.4),
    "2020 family": (4.7, 14.2),
    "2021 family": (4.1, 12.8),
    "ANDREAS 1": (0.5, 1.9),
    "ANDREAS 2": (0.5, 2.0),
    "Synergy, 1 GPU": (4.0, 13.0),
    "Synergy, multi-GPU": (4.5, 16.5),
    "Philly-like": (3.4, 11.4),
}
"""All policies on one workload, at quick and at paper scale."""

BOUND = (1.25, 4.0)

RUN: dict[tuple[str, str], tuple[float, float]] = {
    ("dispatching", "greedy"): (0.04, 0.16),
    ("dispatching", "milp"): (0.5, 1.0),
    ("controllers", ""): (0.04, 0.13),
    ("predictions", "SRTF"): (0.08, 0.25),
    ("predictions", "SRTF, learned"): (0.1, 0.27),
    ("predictions", "LAS"): (0.27, 0.7),
    ("predictions", "Gittins"): (0.3, 0.8),
    ("predictions", "SJF by history"): (0.58, 1.5),
    ("predictions", "MILP"): (0.4, 1.6),
    ("predictions", ""): (0.03, 0.25),
    ("delays", "LAS, rounds of 5 min"): (0.52, 0.75),
    ("delays", "LAS, hysteresis"): (0.33, 0.86),
    ("delays", "SRTF, hysteresis"): (0.1, 0.4),
    ("delays", "greedy, hysteresis"): (0.06, 0.57),
    ("delays", ""): (0.05, 0.2),
    ("periods", "greedy"): (0.28, 0.7),
    ("periods", "SRTF"): (0.07, 0.25),
    ("periods", ""): (0.04, 0.1),
    ("elasticity", "fixed, SRTF, tune"): (0.065, 0.37),
    ("elasticity", "elastic, greedy, tune"): (0.063, 0.45),
    ("elasticity", ""): (0.03, 0.2),
}
"""One run of a question, by what is run; an empty name stands for all others of the question."""


def cost_s(scale: Scale, study: str, name: str) -> float:
    """CPU seconds of one run of a question."""
    return RUN.get((study, name), RUN.get((study, ""), (0.2, 0.5)))[scale == "paper"]
