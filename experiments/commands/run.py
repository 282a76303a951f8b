"""`schedlab run`: one scenario.

`run` is longer than a screen: Typer reads the options of a command from the parameters of its function.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import Out
from simulator.errors import InputError


def run(
    scenario: Annotated[Path | None, typer.Argument(help="Scenario file (TOML).")] = None,
    out: Out = Path("out"),
    jobs: Annotated[Path | None, typer.Option(help="Jobs of fixed demand, CSV.")] = None,
    instance: Annotated[
        Path | None, typer.Option(help="Folder in one of the authors' public formats.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="See `schedlab policies`.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="Policy option, name=value.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=0, help="Iterations of the randomised policies.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="With --jobs: number of nodes.")] = None,
    gpus_per_node: Annotated[
        int | None, typer.Option(min=1, help="With --jobs: GPUs of each node. Default: 8.")
    ] = None,
    cpus_per_node: Annotated[
        float | None, typer.Option(help="With --jobs: CPUs of each node. Default: no limit.")
    ] = None,
    memory_gb_per_node: Annotated[
        float | None, typer.Option(help="With --jobs: GB of each node. Default: no limit.")
    ] = None,
    controllers: Annotated[int | None, typer.Option(min=1, help="Local controllers K.")] = None,
    dispatcher: Annotated[
        str | None, typer.Option(help="How jobs are split over the controllers.")
    ] = None,
    period_s: Annotated[
        float | None, typer.Option(help="Decide every H seconds, and at events.")
    ] = None,
    round_s: Annotated[
        float | None,
        typer.Option(help="Decide in rounds of so many seconds, and never between them."),
    ] = None,
    released: Annotated[
        bool, typer.Option("--released", help="Synergy as its released simulator behaves.")
    ] = False,
    adapt: Annotated[
        list[str] | None,
        typer.Option(help=r"Add what the jobs lack, KEY=VALUE of \[adapt]; see docs/workloads.md."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="FIRST:LAST: averages are over these jobs only, e.g. 100:900."),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="For long runs: write the tables as Parquet files while the simulation runs.",
        ),
    ] = False,
    timing: Annotated[
        bool,
        typer.Option("--timing", help="Measure the CPU time of each decision: timing.csv."),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Keep names in CSV files as they are, also names like '=1+1'."),
    ] = False,
) -> None:
    """Simulate one scenario: a file, a CSV of jobs, or one of the authors' instances.

    Leaves summary.json, jobs.csv, decisions.csv, schedule.csv, timeline.csv and machines.json in the folder
    --out (docs/tables.md has all columns). With --stream: jobs.parquet, decisions.parquet, schedule.parquet.

    Example: schedlab run examples/hierarchical.toml --policy edf --out out
    """
    from experiments.config import of_file
    from experiments.scenario import output
    from experiments.scenario.formulas import formula_line
    from experiments.scenario.options import (
        as_released,
        parse_adapt,
        parse_options,
        parse_window,
        read_run,
    )
    from experiments.scenario.run import run as simulate_scenario
    from experiments.scenario.schema import input_files
    from experiments.text import printable

    options = parse_options(option or [])
    if iterations is not None:
        options["iterations"] = iterations
    if released and options.get("released", True) is not True:
        raise InputError("run: --released and -o released=false were both given, expected one")
    if released:
        options["released"] = True
    checked, source = read_run(
        scenario, jobs, instance,
        {"num_nodes": nodes, "gpus_per_node": gpus_per_node, "cpus_per_node": cpus_per_node,
         "memory_gb_per_node": memory_gb_per_node},
        {"policy": policy, "seed": seed, "dispatcher": dispatcher, "window": parse_window(window)},
        {"period_s": period_s, "round_s": round_s, "finish_at_round": released or None},
        options, controllers,
        as_released(scenario, policy) if released else None, parse_adapt(adapt or []),
    )  # fmt: skip
    whole = [name for name, table in checked.features.items() if table.needs_schedule]
    if stream and whole:
        raise InputError(f"--stream: was given with [{whole[0]}], which needs the whole schedule")
    output.expect_no_records(out, stream)
    with output.new_folder(out, input_files(checked, scenario)):
        output.clear_unfinished(out)
        with of_file(source):
            result = simulate_scenario(checked, stream_to=out if stream else None, measure=timing)
        notes = output.write_result(result, out, checked.window, raw=raw)
        for note in (*result.workload.notes, *notes):
            print(f"schedlab: note: {printable(note)}", file=sys.stderr)
    print(output.one_paragraph(result, out, checked.window))
    if line := formula_line(checked, result):
        print(line)
