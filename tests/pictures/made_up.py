"""A store full of made-up runs: tables as the drawing functions read them, nothing simulated.

Each number is drawn from the configuration of its task, so it does not depend on the code. Seeds
differ by factors of three. So intervals reach below zero and beyond the axes, as those of few seeds do.
"""

import zlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.sweep.results import Results
from experiments.sweep.task import Task

Scalars = Mapping[str, float]
"""Name of each number that a task function leaves, and about how large it is."""
Tables = Mapping[str, Callable[[Task, np.random.Generator], pd.DataFrame]]


class MadeUpStore:
    """Stands for a store in which every task is done."""

    def __init__(
        self, tasks: list[Task], scalars: Mapping[str, Scalars], tables: Mapping[str, Tables]
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Task, "code", "")  # a version takes seconds, and nothing is kept
            self._tasks = {task.key: task for task in tasks}
        self._scalars, self._tables = scalars, tables

    def run(self, key: str) -> Any:
        """Outcome of the task."""
        task = self._tasks[key]
        name = task.function.partition(":")[2]
        factor = self._random(task).lognormal(0.0, 0.5)
        scalars = {k: v * factor for k, v in self._scalars.get(name, {}).items()}
        tables = tuple(self._tables.get(name, {}))
        return SimpleNamespace(status="done", scalars=scalars, tables=tables, cpu_s=1.0)

    def table(self, key: str, name: str) -> pd.DataFrame:
        """A table of the run."""
        task = self._tasks[key]
        return self._tables[task.function.partition(":")[2]][name](task, self._random(task))

    @staticmethod
    def _random(task: Task) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(task.config_json.encode()))


def results(
    experiment: Any, scalars: Mapping[str, Scalars], tables: Mapping[str, Tables]
) -> Results:
    """The made-up runs of a paper at the quick scale."""
    tasks = experiment.tasks("quick")
    return Results(MadeUpStore(tasks, scalars, tables), tasks, "quick")
