"""`schedlab validate`: a log under a policy, compared with what it recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import (
    POLICY,
    AllowCode,
    GpuCount,
    Kind,
    NodeCount,
    Settings,
    Workers,
)

LIMIT_S = 600.0
"""Seconds after which a run is stopped."""


def validate(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="Jobs in one of the formats of docs/files.md, with recorded starts; or a scenario (TOML) that names them.",
        ),
    ],
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO",
            help="The cluster of the log, as `schedlab import` writes it (TOML).",
        ),
    ] = None,
    nodes: NodeCount = None,
    gpus: GpuCount = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY",
            help=f"{POLICY} Give the option once for each policy, or the name all for every policy that can run; the verdict is about the first. Default: that of the scenario, else easy-backfill.",
        ),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Also try site rules that the log suggests, on the first half of the jobs, and write the scenario with "
            "those that are kept: calibrated.toml.",
        ),
    ] = False,
    settings: Settings = None,
    kind: Kind = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds after which a run is stopped.")
    ] = LIMIT_S,
    workers: Workers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for validate.csv, validation.json, validate.png, and for the runs, which are not made again. "
            "Default: out/validate-NAME."
        ),
    ] = None,
    allow_code: AllowCode = False,
) -> None:
    """Compare the simulated waits of a log with the recorded ones, and say which questions the simulation can answer.

    The number of nodes is fitted on the first half of the jobs and judged on the second.

    Example: schedlab validate sacct.txt --nodes 8 --gpus 8

    Example: schedlab validate sacct.txt cluster.toml --policy easy-backfill --policy sjf --calibrate
    """
    from experiments.scenario.options import scenario_of_log
    from experiments.sweep.runner import exit_code
    from experiments.sweep.store import store_to_write
    from experiments.text import printable
    from experiments.validation.simulating import Simulations
    from experiments.validation.validating import validate as held_against
    from experiments.validation.writing import write_validation

    asked = scenario_of_log(log, scenario, kind, settings or [], nodes, gpus)
    folder = out or Path("out") / f"validate-{log.stem}"

    def told(what: str) -> None:
        print(printable(f"schedlab: simulates {what}"), file=sys.stderr)

    def work() -> int:
        with store_to_write(folder) as store:
            options = {"workers": workers, "progress": True, "time_limit_s": time_limit}
            runs = Simulations(store, options, told)
            found = held_against(asked, str(log), policy or [], runs, calibrate, folder)
            written = [path.name for path in write_validation(found, folder)]
        print("\n".join(map(printable, found.lines())))
        print(f"{folder}: {', '.join(written)}")
        return 0

    raise typer.Exit(exit_code(work))
