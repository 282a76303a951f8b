"""`schedlab bound`: what no schedule can cost less than."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def bound(
    scenario: Annotated[Path | None, typer.Argument(help="Scenario file (TOML).")] = None,
    instance: Annotated[
        Path | None, typer.Option(help="Folder in one of the authors' public formats.")
    ] = None,
    intervals: Annotated[
        int,
        typer.Option(
            min=4,
            max=400,
            help="Number of time intervals. With more, the bound is tighter and takes longer.",
        ),
    ] = 40,
    clairvoyant: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Steps of a search for a schedule that knows all jobs beforehand; 0: none.",
        ),
    ] = 0,
) -> None:
    """Lower bounds on the total cost of any schedule, as JSON on stdout.

    alone: each job as if it had the nodes to itself. shared: jobs share the nodes, by a linear
    program (up to 60 jobs). lagrangian: the same with one end for each job, by prices of node-time.

    With --clairvoyant STEPS a local search looks for a cheap schedule that knows all jobs beforehand.
    The least possible cost lies between the best bound and that schedule.

    Example: schedlab bound examples/hierarchical.toml

    Example: schedlab bound examples/hierarchical.toml --clairvoyant 2000
    """
    import json

    from experiments.analysis.lower_bound import lower_bounds, read

    print(json.dumps(lower_bounds(*read(scenario, instance), intervals, clairvoyant), indent=2))
