"""The page: what figures, claims and texts register with."""

from __future__ import annotations

from pathlib import Path

from experiments.pages import Experiment, Scale, Task
from experiments.papers.rental import bridge, runs


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper."""
    return [*runs.tasks(scale), *bridge.tasks(scale)]


PAGE = Experiment(Path(__file__).parent, tasks)
