"""`schedlab theory queue`, `rental`, `size-server`, `decision`, `packing`: formulas and single decisions."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.commands.options import AllowCode, Precision, in_words

POLICIES = ("fifo-strict", "processor-sharing", "sjf", "sjf:preemptive=true", "srpt", "las")
"""Of which some queue has a formula."""

app = typer.Typer(
    help="Formulas and single decisions: queue, rental, size-server, decision, packing.",
    no_args_is_help=True,
)


@app.command()
@in_words
def queue(
    load: Annotated[float, typer.Option(min=1e-9, max=0.999999, help="Load of each server.")],
    servers: Annotated[int, typer.Option(min=1, max=10_000, help="Number of equal servers.")] = 1,
    service: Annotated[
        str, typer.Option(metavar="LAW", help="Law of the durations, s, e.g. lognormal:60,cv=2.")
    ] = "exponential:3600",
    gaps: Annotated[
        str, typer.Option(metavar="LAW", help="Law of the times between arrivals, of mean 1.")
    ] = "exponential",
) -> None:
    """Mean times of a queue of one-GPU jobs by formula, CSV: a row for each policy that has one.

    Example: schedlab theory queue --load 0.8 --servers 4
    """
    from experiments.scenario.formulas import queue_formula
    from experiments.scenario.options import parse_policy
    from experiments.scenario.schema import Scenario
    from simulator.laws import parse_law
    from simulator.workloads.machines import Nodes
    from simulator.workloads.poisson import PoissonJobs

    law = parse_law(service)
    rate_per_s = load * servers / law.mean
    jobs = PoissonJobs(arrival_rate_per_h=rate_per_s * 3600, duration_s=service, gaps=gaps)
    nodes = Nodes(num_nodes=1, gpus_per_node=servers)
    print("policy,formula,mean_wait_s,mean_completion_time_s,mean_jobs")
    for policy in POLICIES:
        name, options = parse_policy(policy)
        scenario = Scenario(policy=name, policy_options=options, workload=jobs, cluster=nodes)
        found = queue_formula(scenario, rate_per_s, law, servers)
        if found is not None:
            formula, response_s = found
            row = (response_s - law.mean, response_s, rate_per_s * response_s)
            print(f'{policy},"{formula}",' + ",".join(f"{value:.9g}" for value in row))


@app.command()
@in_words
def rental(
    types: Annotated[Path, typer.Argument(help="Types of jobs (TOML): rate, mean size, speed-up.")],
    budgets: Annotated[str, typer.Option(help="Time-average GPUs, comma-separated: 0.8,1,2,5.")],
    allow_code: AllowCode = False,
) -> None:
    """The optimal fixed widths and mean response times at each budget, as CSV on stdout.

    Example: schedlab theory rental examples/rental_figure1.toml --budgets 0.8,1,2,5
    """
    from experiments.papers.rental.frontier import rental_csv

    text, notes = rental_csv(types, budgets, allow_code=allow_code)
    for note in notes:
        print(f"schedlab: note: {note}", file=sys.stderr)
    print(text, end="")


@app.command()
@in_words
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
        float,
        typer.Option(
            help="Target: the mean time from a request to its decision is at most this, s."
        ),
    ],
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the simulation beside the formula.")
    ] = 0,
    precision: Precision = None,
) -> None:
    """Number of optimization servers for K controllers: by theory and by simulation.

    Example: schedlab theory size-server --controllers 20 --arrival-rate 2.22e-4 --service exponential:40 --target-delay 60
    """
    import warnings

    from experiments.analysis.sizing import parse_rate
    from experiments.analysis.sizing import size_server as size
    from simulator.statistics import parse_precision

    rate = parse_rate(arrival_rate)
    narrow = None if precision is None else parse_precision(precision)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = size(controllers, rate, service, target_delay, seed, narrow)
    for warning in caught:
        print(f"schedlab: note: {warning.message}", file=sys.stderr)
    print(answer)


@app.command()
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
    """One decision of the hierarchical paper's MILP, as JSON on stdout.

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


@app.command()
@in_words
def packing(
    pods: Annotated[
        Path | None,
        typer.Option(help="List of pods (Alibaba's openb CSV); default: drawn from its marginals."),
    ] = None,
    nodes: Annotated[
        Path | None, typer.Option(help="List of nodes (CSV); default: the 1,213 nodes of openb.")
    ] = None,
    rules: Annotated[
        str, typer.Option(help="all, or names with commas between them: best-fit,fgd.")
    ] = "all",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How many orders of the pods.")] = 10,
    ratio: Annotated[
        float, typer.Option(min=0.01, max=10.0, help="GPUs asked for in the end, over all GPUs.")
    ] = 1.3,
    memory: Annotated[bool, typer.Option(help="Main memory limits, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="CSV file for the table.")] = None,
) -> None:
    """GPU sharing without departures: GPUs allocated over GPUs asked for (FGD, ATC 2023).

    Example: schedlab theory packing --rules best-fit,fgd --seeds 3
    """
    import numpy as np

    from experiments.analysis.packing_experiment import packing_table
    from experiments.files import expect_writable, write_whole
    from simulator.workloads import openb

    if out is not None:
        expect_writable(out, (pods, nodes))
    demands = openb.read_pods(pods) if pods else openb.like_openb(8152, np.random.default_rng(0))
    machines = openb.read_nodes(nodes) if nodes else openb.openb_machines()
    table = packing_table(demands, machines, rules, range(seeds), ratio, memory)
    if out is not None:
        write_whole(out, table.to_csv(index=False, lineterminator="\n"))
    shown = table[table["arrived_gpu_percent"].isin([80, 90, 100, round(100 * ratio)])]
    print(shown.round(3).to_string(index=False))
