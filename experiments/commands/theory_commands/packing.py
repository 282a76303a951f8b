"""`schedlab theory packing`: GPUs that jobs share, without departures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import in_words


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
    """Simulate GPU sharing without departures: GPUs allocated over GPUs asked for (FGD, ATC 2023).

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
