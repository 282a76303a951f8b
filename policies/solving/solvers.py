"""One call for both back ends, and the choice between them."""

from __future__ import annotations

from typing import Literal, get_args

from policies.solving import gurobi, highs
from policies.solving.model import FloatArray, Model, Solution, SolverOptions
from simulator.errors import InputError

SolverName = Literal["auto", "highs", "gurobi"]


def check_solver(solver: str) -> None:
    """`InputError` unless the solver can be used here."""
    if solver not in get_args(SolverName):
        raise InputError(
            f"unknown solver {solver!r}, expected one of {', '.join(get_args(SolverName))}"
        )
    if solver == "gurobi":
        gurobi._environment()


def solve(
    model: Model,
    solver: SolverName = "auto",
    options: SolverOptions | None = None,
    start: FloatArray | None = None,
) -> Solution:
    """Solve a model; the solution says who did.

    Parameters
    ----------
    solver : ``"auto"``: Gurobi where a full licence is found, else HiGHS, the same all through a
        process. ``"gurobi"``: the wheel's size-limited licence serves too, and HiGHS answers where
        the model is too large for it.
    options : see `SolverOptions`.
    start : ``(n,)`` solution to begin from, NaN where a value is left to the solver.

    Raises InputError: unknown solver, or ``"gurobi"`` without a licence or without gurobipy.
    """
    check_solver(solver)
    options = options or SolverOptions()
    if solver == "gurobi" or (solver == "auto" and gurobi.has_full_licence()):
        try:
            return gurobi.solve(model, options, start)
        except gurobi.TooLarge:
            pass
    return highs.solve(model, options, start)
