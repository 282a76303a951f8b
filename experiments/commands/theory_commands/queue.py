"""`schedlab theory queue`: mean times of a queue by formula."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.commands.options import in_words

POLICIES = ("fifo-strict", "processor-sharing", "sjf", "sjf:preemptive=true", "srpt", "las")
"""Of which some queue has a formula."""


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
    """Compute the mean times of a queue of one-GPU jobs by formula, CSV: a row for each policy that has one.

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
