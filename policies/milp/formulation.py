"""Result of a formulation: a model, and the way back from its solution to jobs on nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policies.milp.instance import Assignment
from policies.milp.model import FloatArray, Model


@dataclass(frozen=True, eq=False)
class Formulation:
    """One instance as a model.

    Attributes
    ----------
    model : the arrays.
    decode : columns of a solution -> assignments. Where the instance fixes the types of nodes,
        they are numbered type by type.
    encode : assignments -> columns, NaN where the solver is to complete them (a MIP start).
    evaluate : the formulation's objective of any assignment, computed without the model.
    """

    model: Model
    decode: Callable[[FloatArray], list[Assignment]]
    encode: Callable[[Sequence[Assignment]], FloatArray]
    evaluate: Callable[[Sequence[Assignment]], float]
