"""Figures and claims of a paper from a few real runs.

The cheapest task of each kind is run; every other task of that kind is given its numbers, each times
a factor drawn from the task's configuration. So all figures and claims of a scale can be made in seconds, from
tables and scalars that the task functions really leave.
"""

import importlib
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.report.contents import Claim, Figure, Scale
from experiments.sweep.results import Results
from experiments.sweep.task import Task

EXACT = ("exact", "hierarchical", "central", "central-2019", "hierarchical-milp")


def kind_of(task: Task) -> tuple[str, str]:
    """Tasks of one kind leave the same scalars and tables."""
    method = str(task.columns().get("method", ""))
    return task.function, method if method == "fifo-shared" else str(method in EXACT)


SMALLER = {
    "run_server": {"num_nodes": 5, "period_s": 36_000.0},
    "run_literal": {"period_s": 36_000.0},
    "run_armida_seeds": {"seeds": 20},
    "run_queue": {"requests": 3000},
    "run_largest": {"num_nodes": 60},
}
"""Sizes of the runs that take longest; simulations have few jobs a node."""


def run(task: Task) -> Any:
    """The outcome of a task."""
    module, _, name = task.function.partition(":")
    config = dict(task.config) | SMALLER.get(name, {})
    if "jobs_per_node" in config.get("workload", {}):
        config["workload"] = config["workload"] | {"jobs_per_node": 3}
    return getattr(importlib.import_module(module), name)(config)


class MadeUp:
    """Stands for a store in which every task is done."""

    def __init__(self, tasks: list[Task]) -> None:
        cheapest: dict[tuple[str, str], Task] = {}
        for task in sorted(tasks, key=lambda t: t.cost_s):
            cheapest.setdefault(kind_of(task), task)
        self._outcome = {kind: run(task) for kind, task in cheapest.items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Task, "code", "")  # a version takes seconds, and nothing is kept
            self._kind = {task.key: kind_of(task) for task in tasks}
        self._config = {task.key: task.config_json for task in tasks}

    def run(self, key: str) -> Any:
        """Outcome of the task, all its numbers times one factor."""
        found = self._outcome[self._kind[key]]
        factor = random.Random(self._config[key]).uniform(0.7, 1.3)
        scalars = {
            name: value * factor if isinstance(value, float) else value
            for name, value in found.scalars.items()
        }
        return SimpleNamespace(
            status="done", scalars=scalars, tables=tuple(found.tables or ()), cpu_s=1.0
        )

    def table(self, key: str, name: str) -> Any:
        """A table of the run."""
        return self._outcome[self._kind[key]].tables[name].copy()


def reproduce(
    experiment: Any, folder: Path, scale: Scale = "quick"
) -> tuple[list[Figure], list[Claim]]:
    """Figures, drawn into the folder, and claims."""
    import matplotlib as mpl

    mpl.use("Agg")
    tasks = experiment.tasks(scale)
    results = Results(MadeUp(tasks), tasks, scale)
    return experiment.figures(results, folder), experiment.claims(results)
