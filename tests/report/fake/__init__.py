"""A paper of the tests; at the paper's scale some runs fail and the figure cannot be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.replay import replay
from experiments.report.contents import Claim, Scale, Text
from experiments.report.experiment import Drawn, Experiment
from experiments.sweep.results import Results, kept
from experiments.sweep.task import Outcome, Task
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate


def run(config: dict[str, Any]) -> Outcome:
    if config["n"] == 13:
        raise ValueError("13 <b>never</b> works")
    rng = np.random.default_rng(config["seed"])
    value = float(rng.normal(config["n"]))
    return Outcome(
        {"value": value, "call_cpu_s": 0.125}, {"values": pd.DataFrame({"value": [value]})}
    )


def tasks(scale: Scale) -> list[Task]:
    sizes = (1, 2) if scale == "quick" else (1, 13)
    return [
        Task("fake:run", {"n": n, "seed": s}, cost_s=n, sources=("simulator.errors",))
        for n in sizes
        for s in range(3)
    ]


PAGE = Experiment(Path(__file__).parent, tasks)


@kept
def values(results: Results, function: str, *, seed: int) -> pd.DataFrame:
    """The values of a seed, from tables of the runs."""
    return results.where(function, seed=seed).table("values")


@PAGE.figure("figure_1", "Figure 1 <i>of</i> 1 & more", "What <b>is</b> seen")
def figure_1(results: Results) -> Drawn:
    import matplotlib.pyplot as plt

    if results.scale == "paper":
        raise RuntimeError("no <figures> today")
    table = pd.concat([values(results, "run", seed=seed) for seed in range(3)])
    table = table.sort_values(["n", "seed"])
    assert (results.runs("run")["call_cpu_s"] == 0.125).all()
    drawing, axes = plt.subplots()
    axes.plot(table["n"], table["value"], "o")
    axes.set(xlabel="n", ylabel="value")
    return Drawn(drawing, table[["n", "seed", "value"]], film=lambda path: replay(_one_run(), path))


@PAGE.figure("figure_2", "Figure 2", "Never drawn: there is no such run")
def figure_2(results: Results) -> Drawn:
    return Drawn(None, results.runs("run_another"))


def _one_run() -> Result:
    jobs = Workload(["a"], submit_s=np.zeros(1), performance=FixedDuration([60.0], [1]))
    return simulate(jobs, Cluster.of_nodes(NodeType("n", "GPU", 1), 1), make_policy("fifo"))


@PAGE.text
def texts(results: Results) -> Iterator[Text]:
    """One above the figures, one below the figure."""
    mean = float(results.scalars()["value"].mean())
    yield Text("Who & what", "The <lead>.", (f"It is {mean:.3f}.", "Another <line>."))
    yield Text("Why?", "Below the figure.", ("Because.",), "figure_1")


@PAGE.rows
def claims(results: Results) -> Iterator[Claim]:
    mean = float(results.scalars()["value"].mean())
    yield PAGE.row("mean", mean, labels=["count"])
    yield PAGE.new("Figure 1", "<script>alert(1)</script>", 10.0)
    yield PAGE.row("nine", 30.0, "it is far off", exact="one run", again=" again")
    yield PAGE.row("nine", 13.0, "it is 'so'", exact="one run", again="")
    yield PAGE.row("hundred", 100.0, exact="one run")
    results.runs("run_another")
    yield PAGE.new("–", "never reached: there is no such run", 1.0)
