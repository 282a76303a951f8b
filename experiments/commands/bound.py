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
) -> None:
    """Lower bounds on the total cost of any schedule, as JSON on stdout.

    alone: each job as if it had the nodes to itself. shared: jobs share the nodes, by a linear
    program (up to 60 jobs). lagrangian: the same with one end for each job, by prices of node-time.

    Example: schedlab bound examples/hierarchical.toml
    """
    import json

    from experiments.analysis.floor import floor, read

    print(json.dumps(floor(*read(scenario, instance), intervals), indent=2))
