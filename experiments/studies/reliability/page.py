"""The page: what claims register with."""

from __future__ import annotations

from pathlib import Path

from experiments.report.experiment import Experiment
from experiments.studies.reliability.runs import tasks

PAGE = Experiment(Path(__file__).parent, tasks)
