"""HiGHS as a back end: one thread, quiet, the model passed as arrays."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from policies.solving import tree
from policies.solving.model import (
    FEASIBLE_WITHIN,
    FloatArray,
    Model,
    Solution,
    SolverOptions,
    Status,
    make_solution,
)

TIGHT: dict[str, Any] = {
    "presolve": "off",
    "mip_detect_symmetry": False,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_pool_soft_limit": 1,
    "mip_pool_age_limit": 0,
    "mip_lp_age_limit": 0,
    "mip_feasibility_tolerance": FEASIBLE_WITHIN,
    "primal_feasibility_tolerance": FEASIBLE_WITHIN,
}
"""For `Model.tight`: presolve removes two rows, and cuts and heuristics cost more than the nodes
that they save (without these, five times the time on decisions of the authors' instances)."""

_STATUS: dict[str, Status] = {
    "kOptimal": "optimal",
    "kModelEmpty": "optimal",
    "kInfeasible": "infeasible",
    "kUnboundedOrInfeasible": "infeasible",
    "kUnbounded": "unbounded",
}
_LIMITS = {"kTimeLimit", "kIterationLimit", "kSolutionLimit", "kInterrupt", "kObjectiveBound"}


def solve(
    model: Model,
    options: SolverOptions,
    start: FloatArray | None = None,
    learned: tuple[tree.Learned, Sequence[Hashable]] | None = None,
) -> Solution:
    """Solve with HiGHS: a `tight` model by `tree.search` over its LPs, any other by its own MIP.

    Where the tree grows too large, the MIP solver goes on from the best solution found.

    Parameters
    ----------
    start : ``(n,)`` solution to begin from, NaN where a value is left to the solver.
    learned : of earlier searches (`tree.search`).
    """
    begin, wall = time.process_time(), time.monotonic()
    nodes = 0
    if model.tight and model.integer.any():
        found = tree.search(_lp(model, options), model, options, start, learned)
        if found.status is not None:
            return make_solution(
                model,
                "highs",
                found.status,
                found.x,
                found.bound + options.shift(model),
                solve_cpu_s=time.process_time() - begin,
                nodes=found.nodes,
            )
        start = found.x if found.x is not None else start
        nodes = found.nodes
    if options.time_limit_s is not None:
        left = options.time_limit_s - (time.monotonic() - wall)
        options = replace(options, time_limit_s=max(0.0, left))
    status, x, bound, more = _mip(model, options, start)
    return make_solution(
        model,
        "highs",
        status,
        x,
        bound,
        solve_cpu_s=time.process_time() - begin,
        nodes=nodes + more,
    )


def least_cost(cost: FloatArray, rows: Any, lower: FloatArray, upper: FloatArray) -> float:
    """Least ``cost @ x`` over x >= 0 with ``lower <= rows @ x <= upper``, by the simplex method.

    Parameters
    ----------
    rows : ``(m, n)`` sparse array of SciPy, by rows.

    Raises RuntimeError where the program has no optimum.
    """
    import highspy

    rows.sum_duplicates()
    n = len(cost)
    program = Model(
        cost=cost,
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=np.bool_),
        row_start=rows.indptr.astype(np.int32),
        column=rows.indices.astype(np.int32),
        value=rows.data.astype(np.float64),
        row_lower=lower,
        row_upper=upper,
    )
    highs = _quiet(SolverOptions())
    highs.setOptionValue("solver", "simplex")
    _pass(highs, program, program.integer, 0.0)
    highs.run()
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"the linear program ended with: {status.name}")
    return float(highs.getInfo().objective_function_value)


def _mip(
    model: Model, options: SolverOptions, start: FloatArray | None
) -> tuple[Status, FloatArray | None, float, int]:
    """Status, solution, bound and nodes of the MIP solver."""
    import highspy

    highs = _quiet(options)
    highs.setOptionValue("mip_rel_gap", options.mip_gap)
    for name, value in TIGHT.items() if model.tight else ():
        highs.setOptionValue(name, value)
    shift = options.shift(model)
    _pass(highs, model, model.integer, shift)
    if start is not None:
        known = np.flatnonzero(~np.isnan(start)).astype(np.int32)
        highs.setSolution(len(known), known, start[known])
    highs.run()
    info = highs.getInfo()
    feasible = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    x = np.array(highs.getSolution().col_value) if feasible else None
    bound = float(info.mip_dual_bound) + shift if model.integer.any() else -math.inf
    status = _status(highs.getModelStatus().name, x is not None)
    return status, x, bound, max(0, info.mip_node_count)


def _lp(model: Model, options: SolverOptions) -> Any:
    """The relaxation, loaded for many solves that begin from the last one's basis."""
    highs = _quiet(options)
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("solver", "simplex")
    highs.setOptionValue("primal_feasibility_tolerance", FEASIBLE_WITHIN)
    _pass(highs, model, np.zeros_like(model.integer), options.shift(model))
    return highs


def _pass(highs: Any, model: Model, integer: Any, shift: float) -> None:
    import highspy

    highs.passModel(
        model.columns,
        model.rows,
        model.nonzeros,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        model.offset - shift,
        model.cost,
        model.lower,
        model.upper,
        model.row_lower,
        model.row_upper,
        model.row_start,
        model.column,
        model.value,
        integer.astype(np.int32),
    )


def _quiet(options: SolverOptions) -> Any:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    # Another number of threads in the same process would break the next solve.
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("random_seed", options.seed)
    if options.time_limit_s is not None:
        highs.setOptionValue("time_limit", options.time_limit_s)
    return highs


def _status(name: str, found: bool) -> Status:
    if name in _LIMITS:
        return "feasible" if found else "no_solution"
    status = _STATUS.get(name, "error")
    return "error" if status == "optimal" and not found else status
