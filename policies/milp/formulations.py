"""The formulations of the hierarchical paper's decision by name, and one decision as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from policies.milp.centralised import centralised_2019, centralised_2019_literal
from policies.milp.literal import literal
from policies.solving.decision import Answer, solve_decision
from policies.solving.instance import DecisionInput, Formulation
from policies.solving.model import SolverOptions
from policies.solving.patterns import patterns, second_model, third_model
from policies.solving.solvers import SolverName
from simulator.errors import InputError

FORMULATIONS: dict[str, Callable[[DecisionInput], Formulation]] = {
    "patterns": patterns,
    "literal": literal,
    "centralised-2019": centralised_2019,
    "centralised-2019-literal": centralised_2019_literal,
    "second-model": second_model,
    "third-model": third_model,
}


def check_formulation(formulation: str) -> None:
    """`InputError` unless there is such a formulation."""
    if formulation not in FORMULATIONS:
        known = ", ".join(FORMULATIONS)
        raise InputError(f"unknown formulation {formulation!r}, expected one of {known}")


def decide(
    instance: DecisionInput,
    formulation: str = "patterns",
    solver: SolverName = "auto",
    options: SolverOptions | None = None,
    start: bool = False,
) -> Answer:
    """Solve one decision in the formulation of a name.

    Parameters
    ----------
    formulation : a key of `FORMULATIONS`.
    solver, options, start : see `policies.solving.decision.solve_decision`.

    Raises InputError: unknown formulation or solver, or one that cannot be used here.
    """
    check_formulation(formulation)
    return solve_decision(instance, FORMULATIONS[formulation], solver, options, start)


def solve_instance(
    instance: DecisionInput,
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
