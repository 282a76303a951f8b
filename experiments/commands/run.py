"""`schedlab run`: one scenario."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.options import (
    AllowCode,
    GpuCount,
    Kind,
    NodeCount,
    Out,
    PolicyName,
    Settings,
    Source,
    ValidationFile,
)
from simulator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.scenario.schema import Scenario
    from experiments.scenario.steps import Setup
    from simulator import Result
    from simulator.model.recorded import Recorded

LEAST_S, MOST_S = 0.5, 10.0
"""CPU seconds for the search of keys that change nothing: those of the run, within these bounds."""


def run(
    source: Source,
    out: Out = Path("out"),
    nodes: NodeCount = None,
    gpus: GpuCount = None,
    policy: PolicyName = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random streams.")] = None,
    settings: Settings = None,
    validation: ValidationFile = None,
    kind: Kind = None,
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
        typer.Option(
            "--raw",
            help="Keep names in CSV files as they are; otherwise names like '=1+1' are escaped.",
        ),
    ] = False,
    allow_code: AllowCode = False,
) -> None:
    """Simulate one scenario, or the jobs of a file.

    Writes summary.json, jobs.csv, decisions.csv, schedule.csv, timeline.csv and machines.json into --out
    (docs/files.md has all columns). With --stream: jobs.parquet, decisions.parquet, schedule.parquet.

    Example: schedlab run examples/hierarchical.toml --policy edf --out out

    Example: schedlab run examples/philly_like.csv --nodes 12 --gpus 8 --policy easy-backfill
    """
    from experiments.comparison.recorded import beside_record
    from experiments.config import of_file
    from experiments.scenario import output
    from experiments.scenario.effects import without_effect
    from experiments.scenario.formulas import formula_line
    from experiments.scenario.options import format_of, scenario_of
    from experiments.scenario.schema import input_files
    from experiments.text import printable
    from experiments.validation.carried import of_run, read_carried

    found = format_of(source, kind)
    carried = None if validation is None else read_carried(validation)
    given = [*(() if carried is None else carried.settings), *(settings or [])]
    checked, name = scenario_of(source, found, policy, seed, given, nodes, gpus)
    if carried is not None:
        carried.expect_log(checked)
    whole = [table for table, keys in checked.features.items() if keys.needs_schedule]
    if stream and whole:
        raise InputError(f"--stream: was given with [{whole[0]}], which needs the whole schedule")
    output.expect_no_records(out, stream)
    with output.new_folder(out, input_files(checked, source)):
        output.clear_unfinished(out)
        with of_file(name):
            before_s = time.process_time()
            result, drawn, jobs, record = _simulated(checked, out if stream else None, timing)
            most_s = min(MOST_S, max(LEAST_S, time.process_time() - before_s))
        notes = [*result.workload.notes, *output.write_result(result, out, checked.window, raw=raw)]
        line = formula_line(checked, result)
        for note in (*notes, *_on_chance(checked, drawn, line)):
            print(f"schedlab: note: {printable(note)}", file=sys.stderr)
        for note in () if stream else without_effect(checked, result, most_s, jobs):
            if not any(known.startswith(note.partition(": ")[0]) for known in notes):
                print(f"schedlab: note: {printable(note)}", file=sys.stderr)
    if found is not None:
        print(f"{source} is read as {found!r}")
    print(output.one_paragraph(result, out, checked.window))
    if line:
        print(line)
    wait_s = float(result.wait_s.mean())
    for each in beside_record(record, wait_s):
        print(each)
    for each in () if carried is None else of_run(wait_s, carried):
        print(printable(each))


def _simulated(
    scenario: Scenario, stream_to: Path | None, timing: bool
) -> tuple[Result, bool, Setup, Recorded | None]:
    """The result, whether anything random was drawn, the jobs as they were read, and the record of the log."""
    from experiments.commands.progress import shown
    from experiments.scenario.build import build, policy_of
    from experiments.scenario.run import RunProgress, has_fixed_jobs, run
    from experiments.scenario.steps import read
    from simulator.statistics import watched

    policy_of(scenario)  # a mistake in it is told before a long file is read
    progress = RunProgress()
    with shown(progress.line), watched() as drawn:
        jobs = read(scenario)
        built = build(scenario, jobs)
        result = run(
            scenario, built=built, stream_to=stream_to, measure=timing, features=[progress]
        )
    return result, drawn() or not has_fixed_jobs(scenario), jobs, built[0].record


def _on_chance(scenario: Scenario, drawn: bool, line: str) -> Iterator[str]:
    """Notes on what one run says; ``line`` is the formula's, which has the interval of a long one."""
    if drawn and "95 % interval" not in line:
        yield (
            f"this is one run of a random scenario, seed {scenario.seed}: its numbers have no interval, and "
            "another seed gives others; `schedlab compare` makes several, and compares policies on the "
            "same random numbers"
        )
    if "seed" in scenario.model_fields_set and not drawn:
        yield (
            "seed: has no effect here, because the jobs come from a file and nothing else is random; "
            "workload.block_bootstrap draws another trace for each seed"
        )
