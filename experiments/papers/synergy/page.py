"""The paper's page: what figures, claims and texts register with."""

from __future__ import annotations

from pathlib import Path

from experiments.papers.synergy.runs import tasks
from experiments.report.experiment import Experiment

PAGE = Experiment(Path(__file__).parent, tasks)
