"""Curves over load under FIFO: plain simulations, each a sweep file of this folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.papers.synergy.lengths import (
    FEW_SEEDS,
    FIGURE_9_SEEDS,
    LENGTH,
    LOADS,
    MORE_SEEDS,
    NODES,
    SEEDS,
    SETTLED,
)
from experiments.report.contents import Scale
from experiments.report.sweeps import Labels, study
from experiments.sweep.task import Scalar, Task

FOLDER = Path(__file__).parent
SOURCES = ("simulator", "policies.synergy", "policies.milp", "experiments.scenario")
FILES = ("single_gpu", "single_gpu_mechanisms", "cpu_ratios", "splits")
MORE_AT_9 = ("single_gpu", "cpu_ratios")
"""A printed number rests on their runs at 9 jobs an hour: more seeds there."""
COMPARED = ("single_gpu", "single_gpu_mechanisms")
COMPARED_AT = (8, 9)
"""Setting in which tune is compared with opt. With five seeds of the paper's scale the interval was 50 points wide."""
SERVERS = 16
"""Of the files, and of the paper."""


def curves(scale: Scale) -> Iterator[Task]:
    """The runs of all files that this scale asks for; labels are those of `runs.cell`."""
    for file in FILES:

        def keep(columns: Labels, file: str = file) -> bool:
            more = file in MORE_AT_9 and columns["load"] == 9
            compared = file in COMPARED and columns["load"] in COMPARED_AT and scale == "paper"
            seeds = (MORE_SEEDS if more or compared else SEEDS if _printed(columns) else FEW_SEEDS)[
                scale
            ]
            if file == "single_gpu" and columns["load"] == 9:
                seeds = FIGURE_9_SEEDS[scale]
            loads = LOADS["split"][scale] if file == "splits" else LOADS["fifo"][scale]
            return columns["seed"] in seeds and columns["load"] in loads

        for task in study(FOLDER / f"{file}.toml", _labels, keep=keep, cost_s=_cost_s,
                          sources=SOURCES, smaller=lambda c: _at(scale, c)):  # fmt: skip
            yield Task(
                task.function,
                task.config,
                {**task.columns(), "nodes": NODES[scale]},
                task.cost_s,
                task.sources,
            )


def _printed(columns: Labels) -> bool:
    """Whether a printed number is compared with such runs: at least three seeds."""
    if columns["multi_gpu"]:
        return columns["split"] == "50-0-50" and columns["load"] != 4.5
    return columns["load"] == 9 and columns["ratio"] == 3


def _labels(swept: Labels) -> dict[str, Scalar]:
    ordering, _, mechanism = str(swept.get("label", swept.get("policy", "fifo+tune"))).partition(
        "+"
    )
    split = json.loads(str(swept.get("workload.split", "[20, 70, 10]")))
    return {
        "study": "derived",
        "ordering": ordering,
        "mechanism": mechanism,
        "load": float(swept["workload.jobs_per_hour"] or 0),
        "seed": swept["seed"],
        "split": "-".join(f"{part:g}" for part in split),
        "multi_gpu": "workload.split" in swept,
        "ratio": int(float(swept.get("cluster.cpus_per_node", 24.0) or 0) / 8),
        "released": False,
    }


def _at(scale: Scale, config: dict[str, Any]) -> None:
    """The scenario of a file at the size of a scale: fewer servers, as many arrivals for each."""
    jobs, machines = config["workload"], config["cluster"]
    lengths = LENGTH if jobs["jobs_per_hour"] == 9 else SETTLED
    count, *window = lengths[scale]
    jobs["num_jobs"], config["window"] = count, window
    jobs["jobs_per_hour"] *= NODES[scale] / SERVERS
    machines["num_nodes"] = NODES[scale]


def _cost_s(columns: Labels) -> float:
    return 5.0 if columns["mechanism"] == "opt" else 1.0
