"""A paper of the tests; what it does is told by the folder it draws into."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from experiments.replay import replay
from experiments.report.contents import Claim, Figure, Passage, Scale, save_figure
from experiments.sweep.results import Results
from experiments.sweep.task import Outcome, Task
from policies import make_policy
from simulator import Cluster, FixedDuration, NodeType, Result, Workload, simulate


def run(config: dict[str, Any]) -> Outcome:
    if config["n"] == 13:
        raise ValueError("13 <b>never</b> works")
    rng = np.random.default_rng(config["seed"])
    return Outcome({"value": float(rng.normal(config["n"]))})


def tasks(scale: Scale) -> list[Task]:
    sizes = (1, 2) if scale == "quick" else (1, 13)
    return [
        Task("fake_paper:run", {"n": n, "seed": s}, cost_s=n, sources=("simulator.errors",))
        for n in sizes
        for s in range(3)
    ]


def figures(results: Results, out_dir: Path) -> list[Figure]:
    import matplotlib.pyplot as plt

    if (out_dir.parent / "no figures").exists():
        raise RuntimeError("no <figures> today")
    table = results.scalars()
    drawing, axes = plt.subplots()
    axes.plot(table["n"], table["value"], "o")
    axes.set(xlabel="n", ylabel="value")
    command = f"schedlab reproduce fake --scale {results.scale}"
    figure = save_figure(
        out_dir, "figure_1", "Figure 1 <i>of</i> 1 & more", "What <b>is</b> seen", drawing,
        table[["n", "seed", "value"]], command=command, seeds=results.seeds,
    )  # fmt: skip
    return [dataclasses.replace(figure, replay=replay(_one_run(), out_dir / "watch it.html"))]


def _one_run() -> Result:
    jobs = Workload(["a"], submit_s=np.zeros(1), performance=FixedDuration([60.0], [1]))
    return simulate(jobs, Cluster.of_nodes(NodeType("n", "GPU", 1), 1), make_policy("fifo"))


def passages(results: Results) -> list[Passage]:
    """One above the figures, one below the figure."""
    mean = float(results.scalars()["value"].mean())
    return [
        Passage("Who & what", "The <lead>.", (f"It is {mean:.3f}.", "Another <line>.")),
        Passage("Why?", "Below the figure.", ("Because.",), "figure_1"),
    ]


def claims(results: Results) -> list[Claim]:
    mean = float(results.scalars()["value"].mean())
    return [
        Claim("fake", "Table <1>", "Mean & more", 1.5, mean, mean - 1, mean + 1, "s"),
        Claim("fake", "–", "<script>alert(1)</script>", None, 10.0, verdict="new"),
        Claim("fake", "–", "Nine", 9.0, 9.0, unit="%", verdict="partly", why="it is 'so'"),
        Claim("fake", "–", "Hundred", 100, 100.0),
    ]
