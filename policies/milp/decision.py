"""Solve one decision: formulation, solver, and the greedy answer where the solver has none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from policies.milp.centralised import centralised_2019, centralised_2019_literal
from policies.milp.greedy_start import greedy_start
from policies.milp.instance import Assignment, Formulation, Instance
from policies.milp.literal import literal
from policies.milp.patterns import patterns, second_model, third_model
from policies.solving.model import BOUND_ABOVE, Solution, SolverOptions, relative_gap
from policies.solving.solvers import SolverName, solve
from simulator.errors import InputError

FORMULATIONS: dict[str, Callable[[Instance], Formulation]] = {
    "patterns": patterns,
    "literal": literal,
    "centralised-2019": centralised_2019,
    "centralised-2019-literal": centralised_2019_literal,
    "second-model": second_model,
    "third-model": third_model,
}

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

    assignments: tuple[Assignment, ...]
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


def check_formulation(formulation: str) -> None:
    """`InputError` unless there is such a formulation."""
    if formulation not in FORMULATIONS:
        known = ", ".join(FORMULATIONS)
        raise InputError(f"unknown formulation {formulation!r}, expected one of {known}")


def decide(
    instance: Instance,
    formulation: str = "patterns",
    solver: SolverName = "auto",
    options: SolverOptions | None = None,
    start: bool = False,
) -> Answer:
    """Solve one decision.

    Parameters
    ----------
    formulation : a key of `FORMULATIONS`.
    solver, options : see `policies.solving.solvers.solve`.
    start : give the greedy answer to the solver to begin from, which may then end at another of equal
        optima; a `Model.tight` one is solved from its relaxation, and its answer does not depend on it.

    Raises InputError: unknown formulation or solver, or one that cannot be used here.
    """
    check_formulation(formulation)
    if instance.nodes_in_use == 0:
        return _nothing_to_run(instance)
    begin = time.process_time()
    form = FORMULATIONS[formulation](instance)
    first = greedy_start(instance) if start and not form.model.tight else None
    # A start on fewer nodes than the model wants is no solution of it.
    usable = first is not None and len({a.node for a in first}) == instance.nodes_in_use
    encoded = form.encode(first) if first is not None and usable else None
    build_cpu_s = time.process_time() - begin
    solution = solve(form.model, solver, options, encoded)
    begin = time.process_time()
    decoded = None if solution.x is None else form.decode(solution.x)
    assignments, objective, fallback = _best(instance, form, solution, decoded)
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
    instance: Instance,
    form: Formulation,
    solution: Solution,
    assignments: Sequence[Assignment] | None,
) -> tuple[Sequence[Assignment], float, str]:
    """The solver's answer; the greedy one where there is none, or where it is better."""
    objective = math.inf if assignments is None else form.evaluate(assignments)
    if solution.status == "optimal" and assignments is not None:
        return assignments, objective, ""
    greedy = greedy_start(instance)
    value = form.evaluate(greedy)
    if assignments is not None and objective <= value:
        return assignments, objective, ""
    return greedy, value, GREEDY


def _nothing_to_run(instance: Instance) -> Answer:
    """No job, or none that could run anywhere."""
    waiting = float(instance.postponed_cost.sum())
    return Answer((), waiting, waiting, 0.0, "", "none", "optimal", 0, 0, 0, 0.0, 0.0, 0)


def solve_instance(
    instance: Instance,
    formulation: str = "patterns",
    solver: SolverName = "auto",
    options: SolverOptions | None = None,
    *,
    job_ids: Sequence[str] | None = None,
    node_types: Sequence[str] | None = None,
) -> dict[str, Any]:
    """One decision as a dictionary that JSON can hold.

    Parameters
    ----------
    job_ids, node_types : names; indices where not given.
    formulation, solver, options : see `decide`.

    Returns
    -------
    formulation; objective (with its constant part), bound and gap (null where unknown), status,
    fallback; columns, rows, nonzeros, nodes; build_cpu_s, solve_cpu_s; solver; placements, a list of
    job_id, node, vm_type, gpus, by node.

    Raises InputError: as `decide`.
    """
    answer = decide(instance, formulation, solver, options)
    facts: dict[str, Any] = {"formulation": formulation, **answer.info()}
    for name in ("objective", "bound", "gap"):
        if not math.isfinite(facts[name]):
            facts[name] = None
    facts["placements"] = [
        {
            "job_id": job_ids[a.job] if job_ids is not None else a.job,
            "node": a.node,
            "vm_type": node_types[a.node_type] if node_types is not None else a.node_type,
            "gpus": a.gpus,
        }
        for a in sorted(answer.assignments, key=lambda a: (a.node, a.job))
    ]
    return facts
