"""The page: what its figures and rows register with."""

from __future__ import annotations

from pathlib import Path

from experiments.report.experiment import Experiment
from experiments.studies.clusters.questions import tasks

PAGE = Experiment(Path(__file__).parent, tasks)
