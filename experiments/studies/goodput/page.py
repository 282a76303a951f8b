"""The page: what figures, claims and texts register with."""

from __future__ import annotations

from pathlib import Path

from experiments.report.experiment import Experiment
from experiments.studies.goodput.runs import tasks

PAGE = Experiment(Path(__file__).parent, tasks)
