"""One decision, solved: formulation, solver, and the greedy answer where the solver has none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from policies.solving.greedy_start import greedy_start
from policies.solving.instance import DecisionInput, Formulation, JobOnNode
from policies.solving.model import BOUND_ABOVE, Solution, SolverOptions, relative_gap
from policies.solving.patterns import patterns
from policies.solving.solvers import SolverName, solve

GREEDY = "greedy"
"""`Answer.fallback` where the greedy answer is used."""


@dataclass(frozen=True)
class Answer:
    """One decision, and how it came about.

    Attributes
    ----------
    assignments : jobs on nodes; every other job waits.
    objective : of the assignments, with the constant part, evaluated without the model.
    bound : proven lower bound on it; ``-inf`` where the solver gave none.
    gap : between the two, relative to the objective without its constant part.
    fallback : ``"greedy"`` where that answer is used, for want of a better one in time; else "".
    solver, status, columns, rows, nonzeros, solve_cpu_s, nodes : as in `Solution`.
    build_cpu_s : CPU seconds to build the model, and to read its solution.
    """

    assignments: tuple[JobOnNode, ...]
    objective: float
    bound: float
    gap: float
    fallback: str
    solver: str
    status: str
    columns: int
    rows: int
    nonzeros: int
    build_cpu_s: float
    solve_cpu_s: float
    nodes: int

    def info(self) -> dict[str, float | int | str | bool]:
        """The facts as scalars, without the assignments."""
        return {name: value for name, value in vars(self).items() if name != "assignments"}


def solve_decision(
    instance: DecisionInput,
    form: Callable[[DecisionInput], Formulation] = patterns,
    solver: SolverName = "auto",
    options: SolverOptions | None = None,
    start: bool = False,
) -> Answer:
    """Solve one decision.

    Parameters
    ----------
    form : the formulation, a function from an instance to a model.
    solver, options : see `policies.solving.solvers.solve`.
    start : give the greedy answer to the solver to begin from, which may then end at another of equal
        optima; a `Model.tight` one is solved from its relaxation, and its answer does not depend on it.

    Raises InputError: an unknown solver, or one that cannot be used here.
    """
    if instance.nodes_in_use == 0:
        return _nothing_to_run(instance)
    begin = time.process_time()
    formulation = form(instance)
    first = greedy_start(instance) if start and not formulation.model.tight else None
    # A start on fewer nodes than the model wants is no solution of it.
    usable = first is not None and len({a.node for a in first}) == instance.nodes_in_use
    encoded = formulation.encode(first) if first is not None and usable else None
    build_cpu_s = time.process_time() - begin
    solution = solve(formulation.model, solver, options, encoded)
    begin = time.process_time()
    decoded = None if solution.x is None else formulation.decode(solution.x)
    assignments, objective, fallback = _best(instance, formulation, solution, decoded)
    bound = solution.bound
    if 0 < bound - objective <= BOUND_ABOVE * max(1.0, abs(objective)):
        bound = objective
    return Answer(
        assignments=tuple(assignments),
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound, instance.constant),
        fallback=fallback,
        solver=solution.solver,
        status=solution.status,
        columns=solution.columns,
        rows=solution.rows,
        nonzeros=solution.nonzeros,
        build_cpu_s=build_cpu_s + time.process_time() - begin,
        solve_cpu_s=solution.solve_cpu_s,
        nodes=solution.nodes,
    )


def _best(
    instance: DecisionInput,
    form: Formulation,
    solution: Solution,
    assignments: Sequence[JobOnNode] | None,
) -> tuple[Sequence[JobOnNode], float, str]:
    """The solver's answer; the greedy one where there is none, or where it is better."""
    objective = math.inf if assignments is None else form.evaluate(assignments)
    if solution.status == "optimal" and assignments is not None:
        return assignments, objective, ""
    greedy = greedy_start(instance)
    value = form.evaluate(greedy)
    if assignments is not None and objective <= value:
        return assignments, objective, ""
    return greedy, value, GREEDY


def _nothing_to_run(instance: DecisionInput) -> Answer:
    """No job, or none that could run anywhere."""
    waiting = float(instance.postponed_cost.sum())
    return Answer((), waiting, waiting, 0.0, "", "none", "optimal", 0, 0, 0, 0.0, 0.0, 0)
