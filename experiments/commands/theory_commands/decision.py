"""`schedlab theory decision`: one decision of the hierarchical paper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.commands.options import in_words


@in_words
def decision(
    instance: Annotated[Path, typer.Option(help="Folder in one of the authors' public formats.")],
    nodes: Annotated[int, typer.Option(min=1, help="Number of nodes N.")],
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Only the first J jobs. The time of the decision is the submission of the last one.",
        ),
    ] = None,
    formulation: Annotated[
        Literal["patterns", "literal"],
        typer.Option(help="patterns: exact and fast; literal: as the paper prints it."),
    ] = "patterns",
    solver: Annotated[
        Literal["auto", "highs", "gurobi"],
        typer.Option(help="auto: Gurobi where it has a full licence, else HiGHS."),
    ] = "auto",
    rho: Annotated[float, typer.Option(min=0, help="Penalty of postponed jobs.")] = 100.0,
    mu: Annotated[float, typer.Option(min=0, help="Penalty of idle GPUs.")] = 1.0,
    horizon_s: Annotated[
        float, typer.Option(min=0, help="Time until the next decision, H, s.")
    ] = 3600.0,
    mip_gap: Annotated[
        float, typer.Option(min=0, help="Relative gap at which the solver may stop.")
    ] = 1e-6,
    time_limit_s: Annotated[float | None, typer.Option(min=0, help="Of the solver, s.")] = None,
) -> None:
    """Compute one decision of the hierarchical paper's MILP, as JSON on stdout.

    All J jobs wait, unstarted. Times in s, prices per hour, tardiness weights per s.

    Example: schedlab theory decision --instance FOLDER --nodes 5 --jobs 50
    """
    import json

    from experiments.analysis.solve import solve

    answer = solve(
        instance,
        num_nodes=nodes,
        num_jobs=jobs,
        formulation=formulation,
        solver=solver,
        rho=rho,
        mu=mu,
        horizon_s=horizon_s,
        mip_gap=mip_gap,
        time_limit_s=time_limit_s,
    )
    print(json.dumps(_finite(answer), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    """The value as JSON can hold it: null where a number is infinite or none."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
