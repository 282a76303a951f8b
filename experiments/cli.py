"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from simulator.errors import InfeasibleDecision, InputError

app = typer.Typer(
    name="schedlab",
    help="A laboratory for GPU-cluster scheduling research.",
    epilog="Start with: schedlab policies; schedlab run examples/hierarchical.toml --out out",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


class Formulation(StrEnum):
    """Of the hierarchical paper's decision."""

    patterns = "patterns"
    literal = "literal"


class Solver(StrEnum):
    """Of MILPs."""

    auto = "auto"
    highs = "highs"
    gurobi = "gurobi"


class Scale(StrEnum):
    """Of a reproduction."""

    quick = "quick"
    paper = "paper"


Out = Annotated[Path, typer.Option(help="Folder for the results; made where it does not exist.")]


def main() -> None:
    """Entry point: what a user did wrong is one line on stderr and exit code 2."""
    try:
        sys.exit(app(prog_name="schedlab", standalone_mode=False))
    except TyperException as error:
        told = _usage(error)
        if told:
            print(told, file=sys.stderr)
        sys.exit(error.exit_code)
    except (InputError, InfeasibleDecision) as error:
        print(f"schedlab: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _usage(error: TyperException) -> str:
    """What is wrong with options or arguments, one line; empty where help was asked for."""
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "schedlab"
    message = " ".join(error.format_message().split())
    if type(error).__name__ == "NoArgsIsHelpError":  # The help is printed already.
        return ""
    message = re.sub(r"^Invalid value for '([^']*)': (Value error, )?", r"\1: ", message)
    message = message.replace(": Input should be ", ": expected ").rstrip(".")
    return f"{command}: {message} (see {command} --help)"


@app.command()
def policies() -> None:
    """Every policy with one line and its options (name=default)."""
    from rich.console import Console
    from rich.table import Table

    from policies import describe, policy_names

    table = Table("policy", "what it does", "options", box=None, pad_edge=False)
    for name in policy_names():
        try:
            info = describe(name)
        except InputError as error:  # another package's, broken; the others are listed all the same
            table.add_row(name, str(error), "")
            continue
        options = ", ".join(f"{k}={v}" for k, v in info.options.items())
        table.add_row(name, info.summary, options)
    width = None if sys.stdout.isatty() else 160
    console = Console(width=width)
    console.print(table)
    console.print(
        "\nSynergy: ORDERING+MECHANISM, orderings fifo srtf las ftf drf tetris, "
        "mechanisms proportional greedy tune opt (e.g. srtf+tune).",
        highlight=False,
    )


@app.command()
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
        int | None, typer.Option(min=1, help="With --jobs: GPUs of each node; 8 unless told.")
    ] = None,
    cpus_per_node: Annotated[
        float | None, typer.Option(help="With --jobs: CPUs of each; no limit unless told.")
    ] = None,
    memory_gb_per_node: Annotated[
        float | None, typer.Option(help="With --jobs: GB of each; no limit unless told.")
    ] = None,
    controllers: Annotated[int | None, typer.Option(min=1, help="Local controllers K.")] = None,
    dispatcher: Annotated[str | None, typer.Option(help="How jobs are split over them.")] = None,
    period_s: Annotated[float | None, typer.Option(help="Decide every H seconds as well.")] = None,
    round_s: Annotated[float | None, typer.Option(help="Decide in rounds only.")] = None,
    released: Annotated[
        bool, typer.Option("--released", help="Synergy as its released simulator behaves.")
    ] = False,
    window: Annotated[
        str | None, typer.Option(help="FIRST:LAST, the jobs that averages are taken over.")
    ] = None,
) -> None:
    """Simulate one scenario: a file, a CSV of jobs, or one of the authors' instances.

    Leaves summary.json, jobs.csv, decisions.csv and schedule.csv in the folder --out.
    """
    from experiments import output
    from experiments.config import of_file
    from experiments.options import parse_options, parse_window, read_run
    from experiments.scenario import run as simulate_scenario

    options = parse_options(option or [])
    if iterations is not None:
        options["iterations"] = iterations
    if released:
        options["released"] = True
    checked, source = read_run(
        scenario, jobs, instance,
        {"num_nodes": nodes, "gpus_per_node": gpus_per_node, "cpus_per_node": cpus_per_node,
         "memory_gb_per_node": memory_gb_per_node},
        {"policy": policy, "seed": seed, "dispatcher": dispatcher, "window": parse_window(window)},
        {"period_s": period_s, "round_s": round_s, "finish_at_round": released or None},
        options, controllers,
    )  # fmt: skip
    with output.new_folder(out):
        with of_file(source):
            result = simulate_scenario(checked)
        for note in result.workload.notes:
            print(f"schedlab: note: {note}", file=sys.stderr)
        output.write_result(result, out, checked.window)
    print(output.one_paragraph(result, out, checked.window))


@app.command()
def solve(
    instance: Annotated[Path, typer.Option(help="Folder in one of the authors' public formats.")],
    nodes: Annotated[int, typer.Option(min=1, help="Number of nodes N.")],
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first J jobs; now is the last one's submission."),
    ] = None,
    formulation: Annotated[Formulation, typer.Option(help="Exact and fast, or as printed.")] = (
        Formulation.patterns
    ),
    solver: Annotated[Solver, typer.Option(help="auto: Gurobi with a full licence.")] = Solver.auto,
    rho: Annotated[float, typer.Option(min=0, help="Penalty of postponed jobs.")] = 100.0,
    mu: Annotated[float, typer.Option(min=0, help="Penalty of idle GPUs.")] = 1.0,
    horizon_s: Annotated[float, typer.Option(min=0, help="H, s.")] = 3600.0,
    mip_gap: Annotated[float, typer.Option(min=0)] = 1e-6,
    time_limit_s: Annotated[float | None, typer.Option(min=0)] = None,
) -> None:
    """One decision of the hierarchical paper's MILP, as JSON on stdout.

    All J jobs wait, unstarted. Times in s, prices per hour, tardiness weights per s.
    """
    import json

    from experiments.solve import solve as solve_folder

    answer = solve_folder(
        instance,
        num_nodes=nodes,
        num_jobs=jobs,
        formulation=formulation.value,
        solver=solver.value,
        rho=rho,
        mu=mu,
        horizon_s=horizon_s,
        mip_gap=mip_gap,
        time_limit_s=time_limit_s,
    )
    print(json.dumps(answer, indent=2))


@app.command()
def gantt(
    folder: Annotated[Path, typer.Argument(help="Folder that `schedlab run --out` wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF to write; FOLDER/gantt.png.")
    ] = None,
) -> None:
    """A Gantt chart of a run: what ran where and when, and how many jobs waited."""
    from experiments.gantt import gantt as draw

    print(draw(folder, out))


@app.command()
def rental(
    types: Annotated[Path, typer.Argument(help="Types of jobs (TOML): rate, mean size, speed-up.")],
    budgets: Annotated[str, typer.Option(help="Time-average GPUs, comma-separated: 0.8,1,2,5.")],
) -> None:
    """The optimal fixed widths and mean response times at each budget, as CSV on stdout."""
    from experiments.rental.types_file import rental_csv

    text, notes = rental_csv(types, budgets)
    for note in notes:
        print(f"schedlab: note: {note}", file=sys.stderr)
    print(text, end="")


@app.command()
def compare(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (TOML).")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME:OPTION=VALUE,..; again for each; the first is compared with."
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Of summary.json, comma-separated; precision counts for the first.")
    ] = "mean_jct_s",
    precision: Annotated[
        str | None, typer.Option(help="Replicate until the interval's relative half width: 1%.")
    ] = None,
    replications: Annotated[
        int | None, typer.Option(help="So many; with --precision at most so many.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the first replication.")] = None,
) -> None:
    """Policies on the same random numbers: means and paired differences with 95 % intervals, CSV."""
    import warnings

    from experiments.compare import compare as compare_policies
    from simulator.statistics import parse_precision

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = compare_policies(
            scenario,
            policy or [],
            [name.strip() for name in metric.split(",")],
            precision=None if precision is None else parse_precision(precision),
            replications=replications,
            seed=seed,
        )
    for warning in caught:
        print(f"schedlab: note: {warning.message}", file=sys.stderr)
    print(table.to_csv(index=False, float_format="%.9g", lineterminator="\n"), end="")


@app.command(name="size-server")
def size_server(
    controllers: Annotated[int, typer.Option(min=1, help="Local controllers K.")],
    arrival_rate: Annotated[
        str, typer.Option(help="Requests per second of one controller: 1/4500 (paper), 2.22e-4.")
    ],
    service: Annotated[
        str,
        typer.Option(
            help="Law of a decision's time, s: exponential:40, lognormal:40,cv=2, deterministic:40."
        ),
    ],
    target_delay: Annotated[
        float, typer.Option(help="Mean time from request to decision to stay below, s.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation beside the formula.")] = 0,
    precision: Annotated[
        str | None, typer.Option(help="Replicate until the interval's relative half width: 1%.")
    ] = None,
) -> None:
    """How many optimization servers K controllers need: by theory and by simulation."""
    import warnings

    from experiments.sizing import parse_rate
    from experiments.sizing import size_server as size
    from simulator.statistics import parse_precision

    rate = parse_rate(arrival_rate)
    narrow = None if precision is None else parse_precision(precision)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = size(controllers, rate, service, target_delay, seed, narrow)
    for warning in caught:
        print(f"schedlab: note: {warning.message}", file=sys.stderr)
    print(answer)


Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; all cores by default.")]
Dask = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, or local; needs the extra 'dask'.")
]


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="Sweep file (TOML), see examples/sweep_small.toml.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; out/<the file's name> by default.")
    ] = None,
    workers: Workers = None,
    dask: Dask = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what still fits after the file or code changed.")
    ] = False,
) -> None:
    """Many runs: a grid over any parameter, policies and seeds. Killed, it goes on where it was."""
    from experiments import sweep as sweeps

    folder = out or Path("out") / file.stem
    raise typer.Exit(sweeps.sweep(file, folder, workers=workers, dask=dask, resume=resume))


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    tracebacks: Annotated[bool, typer.Option("--tracebacks", help="Of failed runs.")] = False,
) -> None:
    """How many runs are done, failed and left."""
    from experiments import sweep as sweeps

    raise typer.Exit(sweeps.status(folder, tracebacks=tracebacks))


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    format: Annotated[str, typer.Option(help="csv or parquet.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write.")] = None,
    table: Annotated[
        str | None, typer.Option(help="A table of the runs instead of their scalars.")
    ] = None,
    timings: Annotated[bool, typer.Option("--timings", help="Measured times as well.")] = False,
) -> None:
    """All runs of a sweep as one tidy table."""
    from experiments import sweep as sweeps

    raise typer.Exit(sweeps.export(folder, format=format, out=out, table=table, timings=timings))


@app.command()
def retry(
    folder: Annotated[Path, typer.Argument(help="Folder of a sweep.")],
    failed: Annotated[bool, typer.Option("--failed", help="Run the failed ones again.")] = False,
    workers: Workers = None,
    dask: Dask = None,
) -> None:
    """Finish a sweep; with --failed, run what failed again as well."""
    from experiments import sweep as sweeps

    raise typer.Exit(sweeps.retry(folder, failed=failed, workers=workers, dask=dask))


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(help="hierarchical, andreas, ..; all where none is named.")
    ] = None,
    scale: Annotated[
        Scale, typer.Option(help="quick (minutes) or paper (the full sizes).")
    ] = Scale.quick,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; all cores by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="results/<scale> by default.")] = None,
) -> None:
    """Every figure and claim of the papers, with a report; resumes where it was stopped."""
    from experiments.experiment import reproduce as reproduce_papers

    code = reproduce_papers(papers or [], scale=scale.value, workers=workers, out=out)
    raise typer.Exit(code)


if __name__ == "__main__":
    main()
