"""Fairness between entities, then between the jobs of each (Gavel, OSDI 2020, Section 4.3)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from policies.shares.linear import Program
from policies.shares.optimal import normalised
from policies.shares.problem import Active, Shares
from policies.solving.model import BoolArray
from policies.solving.solvers import SolverName
from simulator.errors import InputError
from simulator.model.cluster import FloatArray, IntArray

Within = Literal["fairness", "fifo"]
"""How the jobs of one entity share: by their weights, or the first submitted before the others."""


def hierarchical_fairness(
    active: Active,
    entity: IntArray,
    weight: FloatArray,
    within: str = "fairness",
    together: bool = False,
    solver: SolverName = "highs",
) -> Shares:
    """Water filling: normalised throughputs rise together, each entity's at the pace of its weight.

    A job that can rise no more leaves its pace to the other jobs of its entity.

    Parameters
    ----------
    entity : ``(n,)`` index of each job's entity.
    weight : ``(E,)`` of each entity.
    within : see `Within`.
    together : jobs that rise at a time stop together, when the first of them can rise no more.

    Raises InputError for another value of ``within``.
    """
    check_within(within)
    owner = np.equal.outer(np.arange(len(weight)), entity)

    def split(open_: BoolArray) -> FloatArray:
        mine = owner & open_
        if within == "fifo":
            first = np.zeros_like(mine)
            some = mine.any(axis=1)
            first[some, mine[some].argmax(axis=1)] = True
            return np.asarray(weight @ first)
        part = mine * active.weight
        total = part.sum(axis=1, keepdims=True)
        return np.asarray(weight @ (part / np.where(total > 0, total, 1.0)))

    return Program(active, solver=solver).max_min(normalised(active), split, together)


def check_within(within: str) -> None:
    """`InputError` unless ``within`` is one of `Within`."""
    if within not in get_args(Within):
        raise InputError(
            f"hierarchical-fairness: within is {within!r}, expected one of fairness, fifo"
        )
