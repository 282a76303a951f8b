"""`schedlab compare`: policies on the same random numbers; `schedlab bound`: what no schedule can cost less than.

`compare` is longer than a screen: Typer reads the options of a command from the parameters of its function.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import (
    POLICY,
    AllowCode,
    Columns,
    Dask,
    GpuCount,
    Kind,
    NodeCount,
    Precision,
    Settings,
    ValidationFile,
    Workers,
)

SHOWN = 4
"""So many metrics the table on the terminal has; the files have all."""


def compare(
    source: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE..",
            help="Scenarios (TOML), or jobs in one of the formats of docs/files.md.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help=f"{POLICY} Give the option once for each policy; the others are compared with the first. The name all adds every policy "
            "that can run; this is also the default.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Names of summary.json with commas between them; the policies are ranked by the first. "
            "Default: those of --columns, or completion times, waits, makespan, costs, utilisation, ..",
        ),
    ] = None,
    columns: Columns = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=a,b,c",
            help="Make the comparison at each value of a key, e.g. cluster.num_nodes=4,8. Can be given more than once. "
            "policy=a,b means --policy a --policy b.",
        ),
    ] = None,
    settings: Settings = None,
    nodes: NodeCount = None,
    gpus: GpuCount = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="If the jobs come from a file: number of traces drawn from it in blocks, at least 39, or 1 for the file "
            "alone (default 40). If they are random: number of runs, each with its own seed (default 10).",
        ),
    ] = None,
    precision: Precision = None,
    block_jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of jobs in a block. Default: the square root of the number of jobs."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first run.")] = None,
    validation: ValidationFile = None,
    kind: Kind = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which a run is stopped and its policy left out. Default: 60 if all policies are compared, "
            "otherwise no limit."
        ),
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for runs, tables and pictures. Default: out/compare-NAME."),
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Compare policies on the same jobs and random numbers: which is best, by how much, with 95 % intervals.

    If a policy needs jobs of another form, [adapt] converts them. Policies that cannot run are listed with the reason.
    After a stop the same command resumes.

    Example: schedlab compare examples/philly_like.csv --nodes 8 --policy fifo-strict --policy easy-backfill
    """
    from experiments.columns import names_of
    from experiments.comparison.answer import text_of
    from experiments.comparison.comparing import compare as compare_policies
    from experiments.comparison.writing import write_comparison
    from experiments.scenario.options import counts, format_of, scenario_of
    from experiments.sweep.runner import exit_code
    from experiments.sweep.store import store_to_write
    from experiments.text import printable
    from experiments.validation.carried import of_comparison, read_carried
    from simulator.statistics import parse_precision

    folder = out or Path("out") / f"compare-{source[0].stem}"
    wanted, shown = names_of(metric, "--metric"), names_of(columns, "--columns")

    carried = None if validation is None else read_carried(validation)
    given = [
        *counts(nodes, gpus),
        *(() if carried is None else carried.settings),
        *(settings or []),
    ]
    if carried is not None:
        for file in source:
            found_kind = format_of(file, kind)
            carried.expect_log(scenario_of(file, found_kind, None, None, given, None, None)[0])

    def work() -> int:
        with store_to_write(folder) as store:
            found = compare_policies(
                source, policy or [], wanted,
                over=over or [], settings=given, draws=draws,
                precision=None if precision is None else parse_precision(precision),
                block_jobs=block_jobs, seed=seed, store=store, progress=True, kind=kind,
                columns=shown, workers=workers, dask=dask, time_limit_s=time_limit,
            )  # fmt: skip
        written = [path.name for path in write_comparison(found, folder)]
        print(printable(text_of(found, SHOWN)))
        for line in () if carried is None else of_comparison(found, carried):
            print(printable(line))
        print(f"{folder}: {', '.join(written)}")
        return 0

    raise typer.Exit(exit_code(work))


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
    """Print lower bounds on the total cost of any schedule, as JSON.

    alone: each job as if it had the nodes to itself. shared: jobs share the nodes, by a linear
    program (up to 60 jobs). lagrangian: the same with one end for each job, by prices of node-time.
    The names of the bounds that have begun are shown on stderr.

    With --clairvoyant STEPS a local search looks for a cheap schedule that knows all jobs beforehand.
    The least possible cost lies between the best bound and that schedule.

    Example: schedlab bound examples/hierarchical.toml

    Example: schedlab bound examples/hierarchical.toml --clairvoyant 2000
    """
    import json
    import sys

    from experiments.analysis.lower_bound import lower_bounds, read

    def begins(name: str) -> None:
        print(f"schedlab: {name} ..", file=sys.stderr)

    found = lower_bounds(*read(scenario, instance), intervals, clairvoyant, begins)
    print(json.dumps(found, indent=2))
