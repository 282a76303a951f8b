"""The page: what figures, claims and texts register with."""

from __future__ import annotations

from pathlib import Path

from experiments.papers.rental import bridge, runs
from experiments.report.contents import Scale
from experiments.report.experiment import Experiment
from experiments.sweep.task import Task


def tasks(scale: Scale) -> list[Task]:
    """Every run of this paper."""
    return [*runs.tasks(scale), *bridge.tasks(scale)]


PAGE = Experiment(Path(__file__).parent, tasks)
