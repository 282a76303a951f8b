"""`schedlab compare`: policies on the same random numbers.

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
