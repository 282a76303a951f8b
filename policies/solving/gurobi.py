"""Gurobi as a back end: one thread, quiet, the model passed as arrays.

The wheel brings a licence for models of up to 2,000 columns and 2,000 rows. It is used only where
Gurobi is asked for by name; `has_full_licence` never counts it.
"""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import numpy as np
import scipy

from policies.solving.model import (
    FEASIBLE_WITHIN,
    FloatArray,
    Model,
    Solution,
    SolverOptions,
    Status,
    make_solution,
)
from simulator.errors import InputError

SIZE_LIMIT = 2000
"""Columns, and rows, that the wheel's own licence allows."""

TOO_LARGE = 10010
"""Gurobi's error number for a model over the licence's size."""


class TooLarge(Exception):
    """The model is larger than the licence allows."""


def solve(model: Model, options: SolverOptions, start: FloatArray | None = None) -> Solution:
    """Solve with Gurobi.

    Parameters
    ----------
    start : ``(n,)`` solution to begin from, NaN where a value is left to the solver.

    Raises
    ------
    InputError
        Gurobi is not installed, or there is no licence at all.
    TooLarge
        The model is larger than the licence allows.
    """
    import gurobipy as gp

    begin = time.process_time()
    with gp.Model(env=_environment()) as gurobi:
        gurobi.Params.Threads = 1
        gurobi.Params.Seed = options.seed
        gurobi.Params.MIPGap = options.mip_gap
        if model.tight:
            gurobi.Params.IntFeasTol = FEASIBLE_WITHIN
            gurobi.Params.FeasibilityTol = FEASIBLE_WITHIN
        if options.time_limit_s is not None:
            gurobi.Params.TimeLimit = options.time_limit_s
        shift = options.shift(model)
        x = _pass(gurobi, model, shift)
        if start is not None:
            x.Start = np.where(np.isnan(start), gp.GRB.UNDEFINED, start)
        try:
            gurobi.optimize()
        except gp.GurobiError as error:
            if error.errno == TOO_LARGE:
                raise TooLarge from error
            raise
        found = gurobi.SolCount > 0
        bound = float(gurobi.ObjBound) if gurobi.IsMIP else -math.inf
        return make_solution(
            model,
            "gurobi",
            _status(gp.GRB, gurobi.Status, found),
            np.array(x.X) if found else None,
            # An unknown bound is reported as -1e100.
            bound + shift if bound > -1e99 else -math.inf,
            solve_cpu_s=time.process_time() - begin,
            nodes=int(gurobi.NodeCount),
        )


def _pass(gurobi: Any, model: Model, shift: float) -> Any:
    """Columns and rows; a row between two bounds becomes two rows."""
    x = gurobi.addMVar(
        model.columns,
        lb=model.lower,
        ub=model.upper,
        obj=model.cost,
        vtype=np.where(model.integer, "I", "C"),
    )
    if model.priority.any():
        x.BranchPriority = model.priority
    gurobi.ObjCon = model.offset - shift
    matrix = scipy.sparse.csr_array(
        (model.value, model.column, model.row_start), shape=(model.rows, model.columns)
    )
    low, up = model.row_lower, model.row_upper
    equal = low == up
    for rows, sense, side in (
        (equal, "=", low),
        (~equal & np.isfinite(low), ">", low),
        (~equal & np.isfinite(up), "<", up),
    ):
        if rows.any():
            gurobi.addMConstr(matrix[rows], x, sense, side[rows])
    return x


def _status(grb: Any, status: int, found: bool) -> Status:
    if status == grb.OPTIMAL:
        return "optimal"
    if status in (grb.INFEASIBLE, grb.INF_OR_UNBD):
        return "infeasible"
    if status == grb.UNBOUNDED:
        return "unbounded"
    if status in (grb.TIME_LIMIT, grb.NODE_LIMIT, grb.SUBOPTIMAL, grb.INTERRUPTED, grb.MEM_LIMIT):
        return "feasible" if found else "no_solution"
    return "error"


@functools.cache
def _environment() -> Any:
    """The process's environment, silent from its first line on.

    Raises InputError: Gurobi is not installed, or no licence was found.
    """
    try:
        import gurobipy as gp
    except ImportError as error:
        raise InputError(
            "solver 'gurobi': gurobipy is not installed, expected it or solver 'highs'"
        ) from error
    try:
        environment = gp.Env(empty=True)
        environment.setParam("OutputFlag", 0)
        environment.start()
    except gp.GurobiError as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"solver 'gurobi': {reason}; expected a valid licence or solver 'highs'"
        ) from error
    return environment


@functools.cache
def has_full_licence() -> bool:
    """True where a model over the wheel's size limit can be solved. Tried once a process."""
    try:
        environment = _environment()
    except InputError:
        return False
    import gurobipy as gp

    with gp.Model(env=environment) as probe:
        probe.addMVar(SIZE_LIMIT + 1)
        try:
            probe.optimize()
        except gp.GurobiError:
            return False
    return True
