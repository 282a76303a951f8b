"""`schedlab theory size-server`: how many optimization servers are needed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from experiments.commands.options import Precision, in_words


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
    """Find the number of optimization servers for K controllers: by theory and by simulation.

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
