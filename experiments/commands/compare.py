"""`schedlab compare`: policies on the same random numbers; `schedlab bound`: what no schedule can cost less than.

`compare` is longer than a screen: Typer reads the options of a command from the parameters of its function.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import POLICY, AllowCode, Figure, Precision, Workers


def compare(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help=f"{POLICY} Once for each policy; the others are compared with the first.",
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="Names of summary.json with commas between them. --precision looks at the first."
        ),
    ] = "mean_jct_s",
    precision: Precision = None,
    replications: Annotated[
        int | None, typer.Option(help="Number of runs of each policy; with --precision, the most.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first replication.")] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            help="Jobs from a file: intervals from so many traces drawn from it in blocks, e.g. 40."
        ),
    ] = None,
    block_jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Jobs of a block. Default: the square root of their number."),
    ] = None,
    workers: Workers = None,
    figure: Figure = None,
    allow_code: AllowCode = False,
) -> None:
    """Policies on the same random numbers: means and paired differences with 95 % intervals, CSV.

    Example: schedlab compare examples/hierarchical.toml --policy edf --policy greedy --metric total_cost
    """
    from experiments.analysis.compare import compare as compare_policies
    from experiments.pictures.saving import check_kind, save_picture
    from simulator.plugins import allow_code as allow
    from simulator.statistics import parse_precision

    if allow_code:
        allow()
    if figure is not None:
        check_kind(figure, "--figure")
    found = compare_policies(
        scenario,
        policy or [],
        [name.strip() for name in metric.split(",")],
        precision=None if precision is None else parse_precision(precision),
        replications=replications,
        seed=seed,
        bootstrap=bootstrap,
        block_jobs=block_jobs,
        workers=workers,
        progress=True,
    )
    for note in found.notes:
        print(f"schedlab: note: {note}", file=sys.stderr)
    print(found.csv(), end="")
    if figure is not None and found.numbers is not None:
        from experiments.pictures.estimates import draw_estimates

        save_picture(draw_estimates(found.table, found.numbers), figure)


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
